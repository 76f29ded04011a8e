"""What Ask mode reports of an answer in the `roteiro` field: what was looked up, called, read and spent.

Pure; thread: event loop.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from roteiro.conversation.events import ToolRun
from roteiro.conversation.turn import TurnFinished


@dataclass(slots=True, kw_only=True)
class AskReport:
    """The report as it grows.

    Attributes:
        strategy: what was done with the question.
        facts: how many facts stood beside the question.
        sources: the `path:line` that facts and results cite.
        lookup_ms: what the first look-up took.
        rounds: one entry a turn.
        result_tokens: results of all calls together, estimated.
    """

    strategy: str
    facts: int = 0
    sources: tuple[str, ...] = ()
    lookup_ms: float = 0.0
    rounds: list[dict[str, Any]] = field(default_factory=list)
    result_tokens: int = 0
    _began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since the answer was begun."""
        return time.perf_counter() - self._began

    def add_round(self, turn: TurnFinished, runs: tuple[ToolRun, ...], places: tuple[str, ...] = ()) -> None:
        """Note a finished turn and the calls that were run after it."""
        self.result_tokens += sum(run.result_tokens for run in runs)
        self.sources = tuple(dict.fromkeys((*self.sources, *places)))
        self.rounds.append(
            {
                "calls": [
                    {
                        "name": run.name,
                        "arguments": run.arguments,
                        "ok": run.ok,
                        "result_tokens": run.result_tokens,
                        "ms": round(run.ms, 1),
                    }
                    for run in runs
                ],
                "prompt_tokens": turn.usage.prompt_tokens,
                "cached_tokens": turn.usage.cached_tokens,
                "completion_tokens": turn.usage.completion_tokens,
                "prompt_ms": round(turn.timings.prompt_ms, 1),
                "predicted_ms": round(turn.timings.predicted_ms, 1),
            }
        )

    def to_json(self, *, answered_by: str = "model") -> dict[str, Any]:
        """The field's value. `answered_by` is `graph` where Roteiro gave the answer itself."""
        return {
            "mode": "ask",
            "strategy": self.strategy,
            "answered_by": answered_by,
            "facts": self.facts,
            "sources": list(self.sources),
            "lookup_ms": round(self.lookup_ms, 1),
            "rounds": self.rounds,
        }

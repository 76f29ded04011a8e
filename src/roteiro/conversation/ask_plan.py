"""How Ask mode works, and what a request's window leaves room for. Pure; thread: any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from roteiro.conversation.turn import TurnFinished
from roteiro.tools.briefing import MAX_TOKENS
from roteiro.tools.graph_tools import DEFAULT_RESULT_TOKENS

Strategy = Literal["brief", "loop", "guided", "brief+loop"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

# The tools' statement and one result need this much; a smaller window is briefed instead.
LEAST_WINDOW_FOR_TOOLS = 3072
LEAST_RESULT_TOKENS = 48
# Kept free for an answer whose length the client left open.
_ANSWER_TOKENS = 256
# Facts and each result take at most this share of the window.
_FACTS_SHARE, _RESULT_SHARE = 1 / 6, 1 / 8


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """How Ask mode works.

    Attributes:
        strategy: `brief` looks the question up and states no tools; `loop` states the tools and runs
            the calls; `guided` also makes the model choose between a call and answering; `brief+loop`
            does both. The default was measured (ADR-0018).
        max_rounds: rounds in which tools may be called; the one after answers.
        max_seconds: after so long no further round is begun.
        max_result_tokens: results of all rounds together, estimated.
    """

    strategy: Strategy = "brief"
    max_rounds: int = 4
    max_seconds: float = 120.0
    max_result_tokens: int = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one request is answered with.

    Attributes:
        strategy: the configured one, or `brief` where the window is too small for tools.
        window: the most tokens of prompt and answer.
        reserve: what is kept free for the answer.
    """

    strategy: Strategy
    window: int
    reserve: int

    @property
    def tools(self) -> bool:
        """Whether the model is handed the tools."""
        return self.strategy != "brief"

    @property
    def fact_tokens(self) -> int:
        """The most tokens of facts, estimated."""
        return min(MAX_TOKENS, int(self.window * _FACTS_SHARE))

    def result_tokens(self, turn: TurnFinished, calls: int) -> int:
        """The most tokens of one result, so that all of a round's leave room for an answer."""
        spent = turn.usage.prompt_tokens + turn.usage.completion_tokens
        room = max(0, self.window - spent - self.reserve) // 2 // max(1, calls)
        return max(LEAST_RESULT_TOKENS, min(DEFAULT_RESULT_TOKENS, int(self.window * _RESULT_SHARE), room))

    def is_full(self, turn: TurnFinished) -> bool:
        """Whether another round of calls would not leave room for an answer."""
        return self.window - turn.usage.prompt_tokens - self.reserve < 4 * LEAST_RESULT_TOKENS


def plan_of(options: AskOptions, *, window: int, max_tokens: int | None) -> Plan:
    """The plan for a request to a model with this window."""
    return Plan(
        strategy=options.strategy if window >= LEAST_WINDOW_FOR_TOOLS else "brief",
        window=window,
        reserve=max_tokens or min(_ANSWER_TOKENS, window // 4),
    )

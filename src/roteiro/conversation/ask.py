"""Ask mode: the served model answers from the code graph.

Roteiro looks the question up first and puts the few facts that answer it beside it (`tools.briefing`); what
does not exist, it says itself. A strategy may also hand the model the tools and run the calls it makes,
within a budget of rounds, tokens and time. The client sees one assistant message. Thread: event loop; the
graph is asked in worker threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from roteiro.chat.events import TextDelta
from roteiro.chat.messages import Message, Tool, ToolCall
from roteiro.conversation import ask_prompt
from roteiro.conversation.constraints import Rules
from roteiro.conversation.events import (
    AnswerEvent,
    AnswerFinished,
    Delta,
    RoundFinished,
    ToolRun,
    Usage,
)
from roteiro.conversation.held_text import HeldText
from roteiro.conversation.profile import Profile
from roteiro.conversation.request import ChatRequest, ToolChoice
from roteiro.conversation.turn import Prompt, Turn, TurnFinished
from roteiro.engine.engine import Engine
from roteiro.engine.request import Timings
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import Briefer, Briefing
from roteiro.tools.graph_tools import tokens_of
from roteiro.tools.registry import Registry

Strategy = Literal["brief", "loop", "guided", "brief+loop"]

_NO_ANSWER = "The model reached no answer with what it looked up."
# The pseudo-tool by which a model that must decide says that it has enough.
ANSWER = Tool(name="answer", description="Answer the question now.")


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


@dataclass(slots=True, kw_only=True)
class _Log:
    """What the answer's `roteiro` field reports."""

    strategy: str
    facts: int = 0
    sources: tuple[str, ...] = ()
    lookup_ms: float = 0.0
    rounds: list[dict[str, Any]] = field(default_factory=list)
    result_tokens: int = 0

    def add_round(self, turn: TurnFinished, runs: tuple[ToolRun, ...]) -> None:
        self.result_tokens += sum(run.result_tokens for run in runs)
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

    def report(self) -> dict[str, Any]:
        return {
            "mode": "ask",
            "strategy": self.strategy,
            "facts": self.facts,
            "sources": list(self.sources),
            "lookup_ms": round(self.lookup_ms, 1),
            "rounds": self.rounds,
        }


class Ask:
    """See the module's docstring.

    Args:
        engine: makes tokens.
        access: the graph.
        registry: the tools over it.
        briefer: looks questions up.
        options: the strategy and its budgets.
    """

    def __init__(
        self,
        engine: Engine,
        access: GraphAccess,
        registry: Registry,
        briefer: Briefer,
        options: AskOptions,
    ) -> None:
        self._engine = engine
        self._access = access
        self._registry = registry
        self._briefer = briefer
        self.options = options

    async def available(self) -> bool:
        """Whether there is a graph to answer from."""
        return await asyncio.to_thread(self._access.available)

    async def prompt(self, profile: Profile, request: ChatRequest) -> Prompt:
        """The first round's prompt."""
        briefing = await self._brief(request)
        messages = self._messages(request, briefing)
        return await self._turn(profile, request, messages, last=not self._uses_tools).prompt()

    async def answer(self, profile: Profile, request: ChatRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Look the question up, then let the model answer, round by round."""
        began = time.perf_counter()
        log = _Log(strategy=self.options.strategy)
        briefing = await self._brief(request)
        log.facts, log.sources = len(briefing.facts), briefing.places
        log.lookup_ms = (time.perf_counter() - began) * 1000
        if briefing.refusal is not None:
            yield Delta(event=TextDelta(text=briefing.refusal))
            yield _without_model(profile, log)
            return
        messages = self._messages(request, briefing)
        number = 0
        while True:
            last = not self._uses_tools or self._is_last(number, log, began)
            stated = (
                (*messages, Message(role="user", content=ask_prompt.LAST_ROUND))
                if last and number
                else messages
            )
            turn = self._turn(profile, request, stated, last=last)
            finished: TurnFinished | None = None
            held = HeldText(release_at_once=last)
            async with aclosing(turn.take()) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        finished = event
                    else:
                        for passed in held.receive(event):
                            yield passed
            assert finished is not None
            runs = await self._run(finished.calls) if not last else ()
            log.add_round(finished, tuple(run for run, _ in runs))
            if not runs or (len(runs) == 1 and runs[0][0].name == ANSWER.name and last):
                for passed in held.release():
                    yield passed
                if not finished.content:
                    yield Delta(event=TextDelta(text=_NO_ANSWER))
                yield _finished(finished, profile, log)
                return
            number += 1
            yield RoundFinished(number=number, runs=tuple(run for run, _ in runs if run.name != ANSWER.name))
            messages = _continued(messages, finished, runs)
            if any(run.name == ANSWER.name for run, _ in runs):
                number = self.options.max_rounds

    # ---------------------------------------------------------------------------------------------

    @property
    def _uses_tools(self) -> bool:
        return self.options.strategy != "brief"

    async def _brief(self, request: ChatRequest) -> Briefing:
        at = ask_prompt.last_question(request.messages)
        if not self.options.strategy.startswith("brief") or at is None:
            return Briefing()
        return await asyncio.to_thread(self._briefer.brief, request.messages[at].content or "")

    def _messages(self, request: ChatRequest, briefing: Briefing) -> tuple[Message, ...]:
        if self._uses_tools:
            messages = ask_prompt.with_instruction(request.messages, ask_prompt.WITH_TOOLS)
        elif briefing.facts:
            messages = ask_prompt.with_instruction(request.messages, ask_prompt.INSTRUCTION)
        else:
            return request.messages
        return ask_prompt.with_facts(messages, briefing.facts)

    def _turn(
        self, profile: Profile, request: ChatRequest, messages: tuple[Message, ...], *, last: bool
    ) -> Turn:
        tools: tuple[Tool, ...] = self._registry.declarations() if self._uses_tools else ()
        rules = Rules(tools=tools)
        if self.options.strategy == "guided" and not last:
            tools = (*tools, ANSWER)
            rules = Rules(tools=tools, choice=ToolChoice(mode="required"), several=False)
        return Turn(self._engine, profile, request, messages=messages, tools=tools, rules=rules)

    def _is_last(self, number: int, log: _Log, began: float) -> bool:
        options = self.options
        late = time.perf_counter() - began > options.max_seconds
        return number >= options.max_rounds or late or log.result_tokens > options.max_result_tokens

    async def _run(self, calls: tuple[ToolCall, ...]) -> list[tuple[ToolRun, str]]:
        """Run a turn's calls in order; each with the text that the model is to read."""
        results = []
        for call in calls:
            began = time.perf_counter()
            if call.name == ANSWER.name:
                ok, text = True, "Answer now."
            else:
                result = await asyncio.to_thread(self._registry.call, call.name, call.arguments)
                ok, text = result.ok, result.text
            run = ToolRun(
                name=call.name,
                arguments=call.arguments,
                ok=ok,
                result_tokens=tokens_of(text),
                ms=(time.perf_counter() - began) * 1000,
            )
            results.append((run, text))
        return results


def _continued(
    messages: tuple[Message, ...], turn: TurnFinished, runs: list[tuple[ToolRun, str]]
) -> tuple[Message, ...]:
    """The conversation with the round's calls and their results."""
    results = [
        Message(role="tool", name=call.name, tool_call_id=call.id, content=text)
        for call, (_, text) in zip(turn.calls, runs, strict=True)
    ]
    return (*messages, turn.message(), *results)


def _finished(turn: TurnFinished, profile: Profile, log: _Log) -> AnswerFinished:
    return AnswerFinished(
        finish_reason="length" if turn.kind == "length" else "stop",
        usage=turn.usage,
        timings=turn.timings,
        model=profile.record.id,
        roteiro=log.report(),
        reuse_note=turn.reuse_note,
    )


def _without_model(profile: Profile, log: _Log) -> AnswerFinished:
    """The end of an answer that Roteiro gave itself: no token was evaluated."""
    return AnswerFinished(
        finish_reason="stop",
        usage=Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0),
        timings=Timings(),
        model=profile.record.id,
        roteiro=log.report() | {"answered_by": "graph"},
    )

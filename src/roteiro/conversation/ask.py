"""Ask mode: the served model answers from the code graph.

Roteiro looks the question up first and puts the few facts that answer it beside it (`tools.briefing`); what
does not exist, it says itself. A strategy may also hand the model the tools and run the calls it makes,
within a budget of rounds, tokens and time. The client sees one assistant message. Thread: event loop; the
graph is asked in worker threads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from roteiro.chat.events import TextDelta
from roteiro.chat.messages import Message, Tool, ToolCall
from roteiro.conversation import ask_prompt
from roteiro.conversation.ask_report import AskReport
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
from roteiro.errors import GraphError
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import MAX_TOKENS, Briefer, Briefing
from roteiro.tools.graph_tools import DEFAULT_RESULT_TOKENS, capped, tokens_of
from roteiro.tools.registry import Registry, ToolResult

log = logging.getLogger("roteiro.ask")

Strategy = Literal["brief", "loop", "guided", "brief+loop"]

NO_ANSWER = "The model reached no answer with what it looked up."
# The pseudo-tool by which a model that must decide says that it has enough.
ANSWER = Tool(name="answer", description="Answer the question now.")
# The tools' statement and one result need this much; a smaller window is briefed instead.
LEAST_WINDOW_FOR_TOOLS = 3072
# Kept free for an answer whose length the client left open.
_ANSWER_TOKENS = 256
# Facts and each result take at most this share of the window.
_FACTS_SHARE, _RESULT_SHARE = 1 / 6, 1 / 8
_LEAST_RESULT_TOKENS = 48


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
class _Plan:
    """What a request's window leaves room for."""

    strategy: Strategy
    window: int
    reserve: int

    @property
    def tools(self) -> bool:
        return self.strategy != "brief"

    @property
    def fact_tokens(self) -> int:
        return min(MAX_TOKENS, int(self.window * _FACTS_SHARE))

    def result_tokens(self, turn: TurnFinished, calls: int) -> int:
        """The most tokens of one result, so that all of a round's leave room for an answer."""
        spent = turn.usage.prompt_tokens + turn.usage.completion_tokens
        room = max(0, self.window - spent - self.reserve) // 2 // max(1, calls)
        return max(_LEAST_RESULT_TOKENS, min(DEFAULT_RESULT_TOKENS, int(self.window * _RESULT_SHARE), room))

    def is_full(self, turn: TurnFinished) -> bool:
        """Whether another round of calls would not leave room for an answer."""
        return self.window - turn.usage.prompt_tokens - self.reserve < 4 * _LEAST_RESULT_TOKENS


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
        plan = self._plan(profile, request)
        messages, _ = await self._messages(profile, request, plan, await self._brief(request, plan))
        return await self._turn(profile, request, messages, plan, last=not plan.tools).prompt()

    async def answer(self, profile: Profile, request: ChatRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Look the question up, then let the model answer, round by round."""
        plan = self._plan(profile, request)
        report = AskReport(strategy=plan.strategy)
        briefing = await self._brief(request, plan)
        report.lookup_ms = report.seconds * 1000
        if briefing.refusal is not None:
            report.sources = briefing.places
            yield Delta(event=TextDelta(text=briefing.refusal))
            yield _without_model(profile, report)
            return
        messages, told = await self._messages(profile, request, plan, briefing)
        report.facts, report.sources = told, briefing.places if told else ()
        source = self._rounds(profile, request, messages, plan, report)
        async with aclosing(source):
            async for event in source:
                yield event

    # ---------------------------------------------------------------------------------------------

    def _plan(self, profile: Profile, request: ChatRequest) -> _Plan:
        window = self._engine.window(profile.record)
        strategy = self.options.strategy
        if window < LEAST_WINDOW_FOR_TOOLS:
            strategy = "brief"
        reserve = request.max_tokens or min(_ANSWER_TOKENS, window // 4)
        return _Plan(strategy=strategy, window=window, reserve=reserve)

    async def _brief(self, request: ChatRequest, plan: _Plan) -> Briefing:
        """The facts for the question; a graph that cannot be read leaves the model without, and is logged."""
        asked = ask_prompt.last_question(request.messages)
        if not plan.strategy.startswith("brief") or asked is None:
            return Briefing()
        try:
            return await asyncio.to_thread(
                self._briefer.brief,
                asked.text,
                asked=asked.before,
                answered=asked.answered,
                max_tokens=plan.fact_tokens,
            )
        except GraphError as error:
            log.warning("no facts were looked up: %s", error.sentence())
            return Briefing()

    async def _messages(
        self, profile: Profile, request: ChatRequest, plan: _Plan, briefing: Briefing
    ) -> tuple[tuple[Message, ...], int]:
        """The conversation with what is added to it, and how many facts it holds.

        Where the window has no room for all facts the last ones go, never the user's own text.
        """
        facts = briefing.facts
        while True:
            messages = _added(request.messages, facts, tools=plan.tools)
            if not facts or await self._fits(profile, request, messages, plan):
                return messages, len(facts)
            facts = facts[: len(facts) // 2]

    async def _fits(
        self, profile: Profile, request: ChatRequest, messages: tuple[Message, ...], plan: _Plan
    ) -> bool:
        surely = sum(_size(message) for message in messages)
        if not plan.tools and surely + plan.reserve + 64 * len(messages) < plan.window:
            return True  # a token is a byte at least
        prompt = await self._turn(profile, request, messages, plan, last=not plan.tools).prompt()
        return len(prompt.tokens) + plan.reserve <= plan.window

    async def _rounds(
        self,
        profile: Profile,
        request: ChatRequest,
        messages: tuple[Message, ...],
        plan: _Plan,
        report: AskReport,
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Generate, run calls, feed back, until there is an answer."""
        number, last = 0, not plan.tools
        while True:
            stated = (
                (*messages, Message(role="user", content=ask_prompt.LAST_ROUND))
                if number and last
                else messages
            )
            held = HeldText(release_at_once=last)
            finished: TurnFinished | None = None
            async with aclosing(self._turn(profile, request, stated, plan, last=last).take()) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        finished = event
                    else:
                        for passed in held.receive(event):
                            yield passed
            assert finished is not None
            ran = [] if last else await self._run(finished, plan)
            runs = tuple(run for run, _ in ran if run.name != ANSWER.name)
            report.add_round(finished, runs, _places(result for _, result in ran))
            if not ran:
                for passed in held.release():
                    yield passed
                if not finished.content:
                    yield Delta(event=TextDelta(text=NO_ANSWER))
                yield _finished(finished, profile, report)
                return
            number += 1
            yield RoundFinished(number=number, runs=runs)
            messages = _continued(messages, finished, [result.text for _, result in ran])
            decided = any(run.name == ANSWER.name for run, _ in ran)
            last = decided or plan.is_full(finished) or self._is_over(number, report)

    def _turn(
        self,
        profile: Profile,
        request: ChatRequest,
        messages: tuple[Message, ...],
        plan: _Plan,
        *,
        last: bool,
    ) -> Turn:
        tools: tuple[Tool, ...] = self._registry.declarations() if plan.tools else ()
        if plan.strategy == "guided":
            tools = (*tools, ANSWER)
        rules = Rules(tools=tools)
        if plan.strategy == "guided" and not last:
            rules = Rules(tools=tools, choice=ToolChoice(mode="required"), several=False)
        return Turn(self._engine, profile, request, messages=messages, tools=tools, rules=rules)

    def _is_over(self, number: int, report: AskReport) -> bool:
        options = self.options
        late = report.seconds > options.max_seconds
        return number >= options.max_rounds or late or report.result_tokens > options.max_result_tokens

    async def _run(self, turn: TurnFinished, plan: _Plan) -> list[tuple[ToolRun, ToolResult]]:
        """Run a turn's calls in order; what fails is a result that says so."""
        limit = plan.result_tokens(turn, len(turn.calls))
        return [await self._run_one(call, limit) for call in turn.calls]

    async def _run_one(self, call: ToolCall, limit: int) -> tuple[ToolRun, ToolResult]:
        began = time.perf_counter()
        if call.name == ANSWER.name:
            result = ToolResult(ok=True, text="Answer now.")
        else:
            result = await asyncio.to_thread(self._call, call, limit)
        run = ToolRun(
            name=call.name,
            arguments=call.arguments,
            ok=result.ok,
            result_tokens=tokens_of(result.text),
            ms=(time.perf_counter() - began) * 1000,
        )
        return run, result

    def _call(self, call: ToolCall, limit: int) -> ToolResult:
        result: ToolResult = self._registry.call(call.name, call.arguments)
        if tokens_of(result.text) <= limit:
            return result
        text = capped(result.text.split("\n"), limit, "ask for less.")
        return ToolResult(ok=result.ok, found=result.found, code=result.code, text=text, places=result.places)


# ------------------------------------------------------------------------------------------------


def _added(messages: tuple[Message, ...], facts: tuple[str, ...], *, tools: bool) -> tuple[Message, ...]:
    if tools:
        messages = ask_prompt.with_instruction(messages, ask_prompt.WITH_TOOLS)
    elif facts:
        messages = ask_prompt.with_instruction(messages, ask_prompt.INSTRUCTION)
    return ask_prompt.with_facts(messages, facts)


def _size(message: Message) -> int:
    texts = [message.content, message.reasoning_content, *(call.arguments for call in message.tool_calls)]
    return sum(len(text.encode()) for text in texts if text)


def _places(results: Iterable[ToolResult]) -> tuple[str, ...]:
    return tuple(place for result in results for place in result.places)


def _continued(messages: tuple[Message, ...], turn: TurnFinished, texts: list[str]) -> tuple[Message, ...]:
    """The conversation with the round's calls and their results."""
    results = [
        Message(role="tool", name=call.name, tool_call_id=call.id, content=text)
        for call, text in zip(turn.calls, texts, strict=True)
    ]
    return (*messages, turn.message(), *results)


def _finished(turn: TurnFinished, profile: Profile, report: AskReport) -> AnswerFinished:
    return AnswerFinished(
        finish_reason="length" if turn.kind == "length" else "stop",
        usage=turn.usage,
        timings=turn.timings,
        model=profile.record.id,
        roteiro=report.to_json(),
        reuse_note=turn.reuse_note,
    )


def _without_model(profile: Profile, report: AskReport) -> AnswerFinished:
    """The end of an answer that Roteiro gave itself: no token was evaluated."""
    return AnswerFinished(
        finish_reason="stop",
        usage=Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0),
        timings=Timings(),
        model=profile.record.id,
        roteiro=report.to_json(answered_by="graph"),
    )

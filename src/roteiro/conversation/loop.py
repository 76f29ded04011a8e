"""The conversation: decides which mode a request is in, and turns it into one stream of events.

    General   the request carries tools: the client's only, and the client runs them
    Ask       no tools, and Roteiro has a graph: its tools, which it runs itself (`ask.py`)
    Plain     neither

It knows no HTTP and no native library. Thread: event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, Protocol

from roteiro.conversation import constraints
from roteiro.conversation.answer import Answer
from roteiro.conversation.catalog import Catalog
from roteiro.conversation.constraints import Rules
from roteiro.conversation.events import AnswerEvent, AnswerFinished, FinishReason
from roteiro.conversation.profile import Profile, Profiles
from roteiro.conversation.request import ChatRequest
from roteiro.conversation.turn import Prompt, Turn, TurnFinished
from roteiro.engine.engine import Engine

ControlOutcome = Literal["done", "unknown", "not_enabled"]


class AskMode(Protocol):
    """Answers a request with the graph's tools."""

    async def available(self) -> bool:
        """Whether there is a graph to answer from."""

    def answer(self, profile: Profile, request: ChatRequest) -> AsyncGenerator[AnswerEvent, None]:
        """The events of the whole tool loop, AnswerFinished last."""

    async def prompt(self, profile: Profile, request: ChatRequest) -> Prompt:
        """The first round's prompt."""


class Conversation:
    """See the module's docstring.

    Args:
        engine: makes tokens.
        catalog: which models there are.
        profiles: what is known of them.
        ask: Ask mode, or None where it is off.
    """

    def __init__(self, engine: Engine, catalog: Catalog, profiles: Profiles, ask: AskMode | None) -> None:
        self._engine = engine
        self._catalog = catalog
        self._profiles = profiles
        self._ask = ask
        self._live: dict[str, Turn | None] = {}

    def answer(self, request: ChatRequest) -> Answer:
        """Begin an answer; nothing happens before its first event is awaited.

        The events may raise any `RoteiroError`; before the first event these are the request's own faults.
        """
        return Answer(self._events(request), lambda: self._forget(request.id))

    async def prompt(self, request: ChatRequest) -> Prompt:
        """The prompt that `answer` would begin with, without generating anything.

        Raises:
            ModelNotFound, TemplateError, InvalidRequest: as `answer`.
        """
        profile = await self._profile(request)
        if self._ask is not None and await self._asks(request):
            return await self._ask.prompt(profile, request)
        return await self._turn(profile, request).prompt()

    def end_reasoning(self, completion_id: str) -> ControlOutcome:
        """End the thought of a running completion before its next token."""
        if completion_id not in self._live:
            return "unknown"
        turn = self._live[completion_id]
        if turn is None or turn.limit is None or not turn.controllable:
            return "not_enabled"
        turn.limit.end_thought()
        return "done"

    # ---------------------------------------------------------------------------------------------

    def _forget(self, completion_id: str) -> None:
        self._live.pop(completion_id, None)

    async def _events(self, request: ChatRequest) -> AsyncGenerator[AnswerEvent, None]:
        profile = await self._profile(request)
        rules = rules_of(request)
        await asyncio.to_thread(constraints.check, rules)
        if self._ask is not None and await self._asks(request):
            source = self._ask.answer(profile, request)
        else:
            source = self._once(profile, request)
        async with aclosing(source):
            async for event in source:
                yield event

    async def _once(self, profile: Profile, request: ChatRequest) -> AsyncGenerator[AnswerEvent, None]:
        """General and Plain mode: one turn is the answer."""
        turn = self._turn(profile, request)
        self._live[request.id] = turn
        async with aclosing(turn.take()) as events:
            async for event in events:
                yield finished(event, profile.record.id) if isinstance(event, TurnFinished) else event

    async def _profile(self, request: ChatRequest) -> Profile:
        record = await self._catalog.choose(request.model, "generative")
        return await self._profiles.get(record)

    async def _asks(self, request: ChatRequest) -> bool:
        wanted = (
            not request.tools
            and request.tool_choice.mode != "none"
            and request.response_format.kind == "text"
        )
        return wanted and self._ask is not None and await self._ask.available()

    def _turn(self, profile: Profile, request: ChatRequest) -> Turn:
        rules = rules_of(request)
        tools = rules.tools
        banned: tuple[int, ...] = ()
        if request.tool_choice.mode == "none" and profile.call_markers:
            # The prompt stays the one that is held from the turns before; only calls are impossible.
            tools, banned = request.tools, profile.call_markers
        return Turn(
            self._engine,
            profile,
            request,
            messages=request.messages,
            tools=tools,
            rules=rules,
            banned=banned,
        )


def rules_of(request: ChatRequest) -> Rules:
    """What a request asks of its answer; with `tool_choice: "none"` it is held to no tool.

    A forced call is one call unless several are asked for: a model that must call and has nothing more
    to ask goes on calling to the limit.
    """
    mode = request.tool_choice.mode
    several = request.parallel_tool_calls
    return Rules(
        tools=() if mode == "none" else request.tools,
        choice=request.tool_choice,
        several=mode not in ("required", "named") if several is None else several,
        format=request.response_format,
    )


def finish_reason(turn: TurnFinished) -> FinishReason:
    """OpenAI's word for how a turn ended; docs/http-api.md has the table.

    A limit that cut the turn is `length` even where calls came before it: the client must not act on a
    turn that was going to say more.
    """
    if turn.kind == "length":
        return "length"
    return "tool_calls" if turn.calls else "stop"


def finished(turn: TurnFinished, model: str) -> AnswerFinished:
    """A turn's end as the answer's."""
    return AnswerFinished(
        finish_reason=finish_reason(turn),
        usage=turn.usage,
        timings=turn.timings,
        model=model,
        reuse_note=turn.reuse_note,
    )

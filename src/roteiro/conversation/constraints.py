"""Decides what a turn is held to: calls, a JSON Schema, or nothing, and from where on.

    tool_choice required or named   calls from the start (a thought may come first)
    tool_choice auto                free text; a call's arguments are held to their schema once it begins
    response_format                 JSON from the start (a thought may come first)
    both                            JSON or calls

Grammars are built off the loop. Thread: event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from roteiro.chat.call_frame import call_frame
from roteiro.chat.dialects.bare_json import BARE_JSON
from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.messages import Tool
from roteiro.conversation import grammar
from roteiro.conversation.profile import Profile
from roteiro.conversation.request import ResponseFormat, ToolChoice
from roteiro.conversation.schemas import enforceable
from roteiro.engine.gates import AfterThought, StartableConstraint, Thought, WhenTriggered
from roteiro.engine.request import Constraint
from roteiro.errors import InvalidRequest

_ANY_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a request asks of the form of its answer."""

    tools: tuple[Tool, ...] = ()
    choice: ToolChoice = field(default_factory=ToolChoice)
    several: bool = True
    format: ResponseFormat = field(default_factory=ResponseFormat)

    @property
    def forced(self) -> bool:
        """Whether a call must be made."""
        return self.choice.mode in ("required", "named")


def check(rules: Rules) -> None:
    """Refuse what cannot be enforced, before anything is rendered or queued. Blocks for milliseconds.

    Raises:
        InvalidRequest: a schema cannot be enforced, or the named tool was not sent.
    """
    if rules.forced and not rules.tools:
        raise InvalidRequest(
            f"tool_choice is {rules.choice.mode!r}, but the request has no tools.",
            hint="Send tools, or leave tool_choice out.",
            param="tool_choice",
        )
    if rules.choice.mode == "named" and rules.choice.name not in {tool.name for tool in rules.tools}:
        known = ", ".join(tool.name for tool in rules.tools)
        raise InvalidRequest(
            f"tool_choice names {rules.choice.name!r}, which is not among the tools: {known}.",
            param="tool_choice",
        )
    _format_schema(rules.format)
    if rules.forced:
        for number, tool in enumerate(rules.tools):
            grammar.tool_schema(tool, number)


async def build(rules: Rules, profile: Profile, *, thought_open: bool, thinking: bool) -> Constraint | None:
    """The constraint of one turn, or None for free text.

    Args:
        rules: what was asked; `check` has passed.
        profile: the model.
        thought_open: the prompt ends inside a thought.
        thinking: the model may open a thought itself.
    """
    if not rules.tools and rules.format.kind == "text":
        return None
    work = _Building(rules, profile, thought_open=thought_open, thinking=thinking)
    return await asyncio.to_thread(work.constraint)


# ------------------------------------------------------------------------------------------------


def _format_schema(wanted: ResponseFormat) -> Any:
    if wanted.kind == "text":
        return None
    schema = _ANY_OBJECT if wanted.schema is None else wanted.schema
    where = "response_format.json_schema.schema" if wanted.kind == "json_schema" else "response_format.schema"
    return enforceable(schema, param=where, close=True)


class _Building:
    def __init__(self, rules: Rules, profile: Profile, *, thought_open: bool, thinking: bool) -> None:
        self._rules = rules
        self._profile = profile
        reasoning = profile.reasoning
        self._thought = None
        if reasoning is not None and (thinking or thought_open):
            self._thought = Thought(
                opener_token=profile.opener, end=reasoning.end.encode(), open=thought_open
            )

    def constraint(self) -> Constraint | None:
        schema = _format_schema(self._rules.format)
        if self._rules.forced:
            return self._after_thought(self._calls(self._forced_dialect(), self._callable()))
        if schema is None:
            return self._when_called()
        text = grammar.schema_grammar(schema, after_thought=self._thought is not None)
        if self._rules.tools:
            calls = self._calls(self._forced_dialect(), self._callable())
            text = grammar.either_grammar(calls, schema)
        return self._after_thought(text)

    def _callable(self) -> tuple[Tool, ...]:
        choice = self._rules.choice
        if choice.mode == "named":
            return tuple(tool for tool in self._rules.tools if tool.name == choice.name)
        return self._rules.tools

    def _forced_dialect(self) -> Dialect:
        """The model's own form where a grammar can write it, else the one every reader knows."""
        proved = self._profile.detection.dialect
        if proved is not None and all(call_frame(proved, tool.name) for tool in self._rules.tools):
            return proved
        return BARE_JSON

    def _calls(self, dialect: Dialect, tools: Sequence[Tool], written: str = "") -> str:
        framed = []
        for tool in tools:
            frame = call_frame(dialect, tool.name)
            assert frame is not None, f"{dialect.name} has no frame"
            framed.append(grammar.FramedTool(tool=tool, frame=frame))
        schemas = {tool.name: grammar.tool_schema(tool, number) for number, tool in enumerate(tools)}
        return grammar.calls_grammar(
            framed,
            schemas,
            self._specials(framed),
            several=self._rules.several,
            written=written,
            after_thought=self._thought is not None and not written,
        )

    def _specials(self, framed: Sequence[grammar.FramedTool]) -> dict[str, int]:
        texts = [
            text for item in framed for text in (item.frame.before, item.frame.between, item.frame.after)
        ]
        ids = self._profile.special_ids
        return {text: ids[text] for text in grammar.special_texts_in([t or "" for t in texts], tuple(ids))}

    def _after_thought(self, text: str) -> Constraint:
        inner = self._profile.guide.constraint(text)
        if self._thought is None:
            return inner
        return AfterThought(
            inner,
            self._thought,
            token_bytes=self._profile.token_bytes,
            eog_tokens=tuple(self._profile.vocabulary.facts.end_tokens),
        )

    def _when_called(self) -> Constraint | None:
        """Hold calls to their schemas from their marker on, where the dialect has one and a frame."""
        dialect = self._profile.detection.dialect
        if dialect is None or dialect.envelope.line_start:
            return None
        frames = [call_frame(dialect, tool.name) for tool in self._rules.tools]
        openers = [o for o in dialect.envelope.openers if all(f and f.before.startswith(o) for f in frames)]
        made = {}
        for opener in openers:
            try:
                made[opener.encode()] = self._calls(dialect, self._rules.tools, written=opener)
            except InvalidRequest:
                # Under `auto` a schema that cannot be enforced leaves the arguments as the model writes
                # them; the client was promised a call, not this schema.
                return None
        if not made:
            return None

        def make(marker: bytes) -> StartableConstraint | None:
            return self._profile.guide.constraint(made[marker])

        for marker in made:
            make(marker)  # compile off the engine thread; the copy there is cheap
        reasoning = self._profile.reasoning
        return WhenTriggered(
            make,
            tuple(made),
            token_bytes=self._profile.token_bytes,
            thought=self._thought,
            thought_start=reasoning.start.encode() if reasoning is not None and self._thought else b"",
        )

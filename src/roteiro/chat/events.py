"""What the parser says about a turn's text, in the order in which it becomes certain.

Sans-IO: `ChatParser.receive_text(piece)` returns these; `finish(kind)` returns the rest. The same text
gives the same joined events however it was cut into pieces. Thread: event loop.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """More of the answer; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """More of the model's thought; never empty, without its delimiters."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallStart:
    """A call's name is certain. `index` counts from 0 within the turn; `id` is unique."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallArguments:
    """More of the arguments' JSON text; never empty; belongs to the call started last."""

    index: int
    fragment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallEnd:
    """The call was proved whole by its own dialect; `arguments` is its complete JSON object as text."""

    index: int
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallBroken:
    """The turn ended inside a call. `raw` is its text as written; it is neither an answer nor a call."""

    index: int
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReached:
    """A stop string was completed; it and everything after it are not part of the answer."""

    stop: str


ChatEvent = (
    TextDelta
    | ReasoningDelta
    | ToolCallStart
    | ToolCallArguments
    | ToolCallEnd
    | ToolCallBroken
    | StopReached
)

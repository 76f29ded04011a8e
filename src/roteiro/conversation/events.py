"""What an answer is made of: one ordered stream of frozen events.

One JSON body and the SSE stream are two folds over it, so the two cannot differ. The engine's `Queued`,
`Loading` and `PromptProgress` pass through unchanged; the parser's events arrive wrapped in `Delta`.
Order: Queued* Loading? PromptProgress* Delta* (per turn; RoundFinished between the turns of the tool
loop), then exactly one AnswerFinished. Thread: event loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from roteiro.chat.events import (
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)
from roteiro.engine.request import Loading, PromptProgress, Queued, Timings

FinishReason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogprobEntry:
    """One token of the content with its alternatives, as text and bytes."""

    token: str
    id: int
    data: bytes
    logprob: float
    top: tuple[LogprobEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One thing the parser became certain of.

    `timings` is set on the last delta of a token when the request has `timings_per_token`;
    `logprobs` holds the tokens since the delta before when the request asked for them.
    """

    event: TextDelta | ReasoningDelta | ToolCallStart | ToolCallArguments | ToolCallEnd
    timings: Timings | None = None
    logprobs: tuple[LogprobEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRun:
    """One graph tool that Roteiro ran: what was asked, and how big the result was."""

    name: str
    arguments: str
    ok: bool
    result_tokens: int
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinished:
    """A round of the tool loop is over; its calls were run and fed back. Nothing of it is the answer."""

    number: int
    runs: tuple[ToolRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Exact token counts. Over a tool loop, of the last turn; `rounds` in `roteiro` has the others."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFinished:
    """The end of the answer.

    `model` is the served model's id. `roteiro` reports on Ask mode (rounds, calls, result sizes, timings)
    and is None elsewhere. `reuse_note` says what of the prompt was reused, or why nothing, for the log.
    """

    finish_reason: FinishReason
    usage: Usage
    timings: Timings
    model: str
    roteiro: dict[str, Any] | None = field(default=None)
    reuse_note: str = ""


AnswerEvent = Queued | Loading | PromptProgress | Delta | RoundFinished | AnswerFinished

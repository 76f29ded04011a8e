"""The two folds over an answer's events: chunks of a stream, and one JSON body.

Both read the same events in the same order, so a streamed answer and an unstreamed one cannot differ.
Pure; thread: any.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from roteiro import __version__
from roteiro.chat.events import (
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)
from roteiro.conversation.events import AnswerEvent, AnswerFinished, Delta, LogprobEntry
from roteiro.engine.request import PromptProgress, Queued
from roteiro.server.wire.figures import (
    logprobs_json,
    progress_json,
    progress_timings,
    timings_json,
    usage_json,
)

FINGERPRINT = f"roteiro-{__version__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyHead:
    """What every object of one reply repeats, and what the client asked to see in it."""

    id: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))
    choices: int = 1
    include_usage: bool = False
    return_progress: bool = False
    logprobs: bool = False
    timings_per_token: bool = False


class ChunkFold:
    """Turns events into `chat.completion.chunk` objects, in order.

    The role stands in each choice's first chunk, which comes when the prompt is evaluated (and beside
    progress, as llama-server's clients expect): what follows may be held until it is known to be no call.
    `timings` and `usage` stand in the last chunk of all.
    """

    def __init__(self, head: ReplyHead) -> None:
        self._head = head
        self._begun: set[int] = set()
        self._finished: list[AnswerFinished] = []

    def chunks(self, index: int, event: AnswerEvent) -> Iterator[dict[str, Any]]:
        """The chunks that choice `index` owes for one event; often none."""
        if isinstance(event, Delta):
            yield from self._delta(index, event)
        elif isinstance(event, AnswerFinished):
            yield from self._end(index, event)
        elif isinstance(event, PromptProgress):
            yield from self._evaluated(index, event)
        elif isinstance(event, Queued) and self._head.return_progress:
            yield self._progress(index, "queued", {"position": event.position})

    def _evaluated(self, index: int, event: PromptProgress) -> Iterator[dict[str, Any]]:
        if self._head.return_progress:
            chunk = self._progress(index, "prompt_progress", progress_json(event))
            if self._head.timings_per_token:
                chunk["timings"] = timings_json(progress_timings(event))
            yield chunk
        if event.processed == event.total:
            yield from self._begin(index)

    def _delta(self, index: int, event: Delta) -> Iterator[dict[str, Any]]:
        delta = _delta_json(event)
        if delta is None:
            return
        yield from self._begin(index)
        chunk = self._chunk(index, delta)
        if self._head.logprobs and event.logprobs:
            chunk["choices"][0]["logprobs"] = logprobs_json(event.logprobs)
        if event.timings is not None:
            chunk["timings"] = timings_json(event.timings)
        yield chunk

    def _begin(self, index: int) -> Iterator[dict[str, Any]]:
        if index not in self._begun:
            self._begun.add(index)
            yield self._chunk(index, {"role": "assistant", "content": None})

    def _end(self, index: int, event: AnswerFinished) -> Iterator[dict[str, Any]]:
        yield from self._begin(index)
        self._finished.append(event)
        last = self._chunk(index, {}, finish=event.finish_reason)
        if len(self._finished) < self._head.choices:
            yield last
            return
        if self._head.include_usage:
            yield last
            last = self._object([])
            last["usage"] = usage_json([end.usage for end in self._finished])
        last["timings"] = timings_json(self._finished[0].timings)
        _add_report(last, self._finished)
        yield last

    def _progress(self, index: int, key: str, value: dict[str, int]) -> dict[str, Any]:
        chunk = self._chunk(index, {"role": "assistant", "content": None})
        chunk[key] = value
        return chunk

    def _chunk(self, index: int, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return self._object([{"index": index, "delta": delta, "finish_reason": finish}])

    def _object(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return _object(self._head, "chat.completion.chunk", choices)


class BodyFold:
    """Gathers events into one `chat.completion` object."""

    def __init__(self, head: ReplyHead) -> None:
        self._head = head
        self._choices: dict[int, _Choice] = {}

    def add(self, index: int, event: AnswerEvent) -> None:
        """Take one event of choice `index`."""
        choice = self._choices.setdefault(index, _Choice())
        if isinstance(event, Delta):
            choice.add(event)
        elif isinstance(event, AnswerFinished):
            choice.end = event

    def body(self) -> dict[str, Any]:
        """The whole reply, once every choice has ended."""
        ends = [choice.end for choice in self._choices.values() if choice.end is not None]
        choices = [
            choice.json(index, with_logprobs=self._head.logprobs)
            for index, choice in sorted(self._choices.items())
        ]
        value = _object(self._head, "chat.completion", choices)
        value["usage"] = usage_json([end.usage for end in ends])
        value["timings"] = timings_json(ends[0].timings)
        _add_report(value, ends)
        return value


@dataclass(slots=True)
class _Call:
    """A tool call while it arrives."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list)
    whole: bool = False


@dataclass(slots=True)
class _Choice:
    """One choice while it arrives."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    logprobs: list[LogprobEntry] = field(default_factory=list)
    end: AnswerFinished | None = None

    def add(self, delta: Delta) -> None:
        self.logprobs.extend(delta.logprobs)
        event = delta.event
        if isinstance(event, TextDelta):
            self.text.append(event.text)
        elif isinstance(event, ReasoningDelta):
            self.reasoning.append(event.text)
        elif isinstance(event, ToolCallStart):
            self.calls[event.index] = _Call(id=event.id, name=event.name)
        elif isinstance(event, ToolCallArguments):
            self.calls[event.index].arguments.append(event.fragment)
        else:
            self.calls[event.index].whole = True

    def json(self, index: int, *, with_logprobs: bool) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.text)}
        if self.reasoning:
            message["reasoning_content"] = "".join(self.reasoning)
        # A call that the limit cut is not shown: the client would run it.
        whole = [call for call in self.calls.values() if call.whole]
        if whole:
            message["tool_calls"] = [
                {
                    "type": "function",
                    "function": {"name": call.name, "arguments": "".join(call.arguments)},
                    "id": call.id,
                }
                for call in whole
            ]
        finish = self.end.finish_reason if self.end is not None else None
        choice: dict[str, Any] = {"index": index, "message": message, "finish_reason": finish}
        if with_logprobs:
            choice["logprobs"] = logprobs_json(self.logprobs)
        return choice


# ---------------------------------------------------------------------------------------------------


def _object(head: ReplyHead, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": head.id,
        "object": kind,
        "created": head.created,
        "model": head.model,
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
    }


def _delta_json(delta: Delta) -> dict[str, Any] | None:
    event = delta.event
    if isinstance(event, TextDelta):
        return {"content": event.text}
    if isinstance(event, ReasoningDelta):
        return {"reasoning_content": event.text}
    if isinstance(event, ToolCallStart):
        function = {"name": event.name, "arguments": ""}
        return _call_delta(event.index, id=event.id, type="function", function=function)
    if isinstance(event, ToolCallArguments):
        return _call_delta(event.index, function={"arguments": event.fragment})
    assert isinstance(event, ToolCallEnd)
    return None


def _call_delta(index: int, **fields: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **fields}]}


def _add_report(value: dict[str, Any], ends: list[AnswerFinished]) -> None:
    reports = [end.roteiro for end in ends if end.roteiro is not None]
    if reports:
        value["roteiro"] = reports[0] if len(ends) == 1 else {"choices": reports}

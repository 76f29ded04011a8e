"""An agent's harness over a real socket: it streams, folds, and echoes what it received unchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx

from fakes.served import events_of

URL = "/v1/chat/completions"

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name}: " + "one of the things that this agent can do. " * 4,
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        },
    }
    for name in ("search", "read", "run", "note")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One streamed answer: the message to echo, and the numbers that came with it."""

    message: dict[str, Any]
    finish: str
    timings: dict[str, Any]
    usage: dict[str, Any]
    progress: tuple[dict[str, int], ...]
    events: tuple[Any, ...]

    @property
    def cached(self) -> int:
        return int(self.timings["cache_n"])

    @property
    def evaluated(self) -> int:
        return int(self.timings["prompt_n"])

    @property
    def held(self) -> int:
        """Tokens in memory when it was over: all but the one that ended it."""
        return int(self.usage["total_tokens"]) - 1


def fold(text: str) -> Turn:
    """Fold a stream's text, checking what is promised of every stream."""
    events = events_of(text)
    assert events[-1] == "[DONE]", text[-300:]
    chunks = events[:-1]
    assert all("error" not in chunk for chunk in chunks), chunks[-1]
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    calls: dict[int, dict[str, Any]] = {}
    finish = ""
    for chunk in chunks:
        for choice in chunk["choices"]:
            finish = choice["finish_reason"] or finish
            _add(message, calls, choice["delta"])
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    turn = Turn(
        message=message,
        finish=finish,
        timings=chunks[-1]["timings"],
        usage=chunks[-1]["usage"],
        progress=tuple(chunk["prompt_progress"] for chunk in chunks if "prompt_progress" in chunk),
        events=tuple(chunks),
    )
    _check(turn)
    return turn


@dataclass(slots=True)
class Agent:
    """One conversation. `fields` go into each of its requests."""

    client: httpx.Client
    system: str = ""
    tools: list[dict[str, Any]] | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.system:
            self.messages.append({"role": "system", "content": self.system})

    def body(self, **fields: Any) -> dict[str, Any]:
        body = {"messages": self.messages, "stream": True, "return_progress": True}
        body["stream_options"] = {"include_usage": True}
        if self.tools:
            body["tools"] = self.tools
        return body | self.fields | fields

    def ask(self, text: str, **fields: Any) -> Turn:
        """Say something, or answer the calls of the turn before with it."""
        calls = self.messages[-1].get("tool_calls", []) if self.messages else []
        for call in calls:
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if not calls:
            self.messages.append({"role": "user", "content": text})
        return self.go_on(**fields)

    def go_on(self, **fields: Any) -> Turn:
        reply = self.client.post(URL, json=self.body(**fields))
        assert reply.status_code == 200, reply.text
        turn = fold(reply.text)
        self.messages.append(turn.message)
        return turn


# ---------------------------------------------------------------------------------------------------


def _add(message: dict[str, Any], calls: dict[int, dict[str, Any]], delta: dict[str, Any]) -> None:
    for key in ("content", "reasoning_content"):
        if delta.get(key):
            message[key] = message.get(key, "") + delta[key]
    for part in delta.get("tool_calls") or ():
        call = calls.setdefault(
            part["index"], {"type": "function", "function": {"name": "", "arguments": ""}}
        )
        call |= {"id": part["id"]} if "id" in part else {}
        for key, text in part["function"].items():
            call["function"][key] += text


def _check(turn: Turn) -> None:
    usage, timings = turn.usage, turn.timings
    assert timings["cache_n"] + timings["prompt_n"] == usage["prompt_tokens"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == timings["cache_n"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert timings["predicted_n"] == usage["completion_tokens"]
    processed = [one["processed"] for one in turn.progress]
    assert processed == sorted(set(processed)), "strictly increasing"
    assert processed[0] == timings["cache_n"]
    assert processed[-1] == usage["prompt_tokens"]
    assert {one["cache"] for one in turn.progress} == {timings["cache_n"]}
    assert {one["total"] for one in turn.progress} == {usage["prompt_tokens"]}

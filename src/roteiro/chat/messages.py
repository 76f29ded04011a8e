"""A conversation as the chat package knows it: text and calls, no tokens and no JSON of any wire.

Values are immutable. Thread: any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call in an assistant's turn. `arguments` is the JSON text exactly as the model or client wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `content` None and "" are the same to a template. `developer` arrives as `system`.

    `tool_call_id` and `name` belong to `tool` messages; `reasoning_content` and `tool_calls` to
    `assistant` ones; `name` may also stand on a `user` message.
    """

    role: Role
    content: str | None = None
    name: str | None = None
    reasoning_content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that may be called. `parameters` is a JSON Schema object; {} takes no arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False

"""Messages and tools as the plain dictionaries that a template reads, in the shape it was found to take.

Pure; thread: any.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Mapping, Sequence
from typing import Any

from roteiro.chat.messages import Message, Tool, ToolCall
from roteiro.chat.preamble import arguments_object
from roteiro.chat.template import Capabilities

# For templates that state tools in a system message and make none themselves.
TOOLS_SYSTEM = "You can call functions."
_NINE = 9
_ALPHANUMERICS = string.digits + string.ascii_letters


def shape_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Declarations in the form of the OpenAI API, which published templates read."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": _schema(tool.parameters),
            },
        }
        for tool in tools
    ]


def _schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Templates look into `properties` without asking whether they are there."""
    schema = dict(parameters)
    schema.setdefault("type", "object")
    schema.setdefault("properties", {})
    return schema


def shape_messages(messages: Sequence[Message], capabilities: Capabilities) -> list[dict[str, Any]]:
    """The conversation as the template reads it."""
    ids = _Ids(capabilities)
    shaped: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "assistant" and message.tool_calls and not capabilities.text_with_calls:
            shaped.extend(_spoken_apart(message, capabilities, ids))
        else:
            shaped.append(_shape(message, capabilities, ids))
    return shaped


class _Ids:
    """Ids of calls as the template takes them, and the names of the functions behind them."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._form = capabilities.call_ids
        self._given: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._count = 0
        self._last = ""

    def of_call(self, call: ToolCall) -> str:
        made = self._make(call)
        self._count += 1
        self._given[call.id] = made
        self._names[call.id] = self._last = call.name
        return made

    def of_result(self, message: Message) -> str:
        given = message.tool_call_id or ""
        if given in self._given:
            return self._given[given]
        return _nine(given) if self._form == "nine" else given

    def name_of(self, message: Message) -> str:
        return message.name or self._names.get(message.tool_call_id or "", self._last)

    def _make(self, call: ToolCall) -> str:
        if self._form == "nine":
            return _nine(call.id)
        if self._form == "function" and not call.id.startswith(f"functions.{call.name}:"):
            return f"functions.{call.name}:{self._count}"
        return call.id


def _nine(call_id: str) -> str:
    """The id itself where it fits, else nine characters that follow from it."""
    if len(call_id) == _NINE and call_id.isascii() and call_id.isalnum():
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "replace")).digest()[:8], "big")
    made = ""
    for _ in range(_NINE):
        number, digit = divmod(number, len(_ALPHANUMERICS))
        made += _ALPHANUMERICS[digit]
    return made


def _shape(message: Message, capabilities: Capabilities, ids: _Ids) -> dict[str, Any]:
    shaped: dict[str, Any] = {
        "role": message.role,
        "content": _content(message.content or "", capabilities),
    }
    if message.role == "tool":
        shaped["tool_call_id"] = ids.of_result(message)
        shaped["name"] = ids.name_of(message)
    elif message.role == "assistant":
        _add_calls(shaped, message, capabilities, ids)
        _add_thought(shaped, message, capabilities)
    elif message.name:
        shaped["name"] = message.name
    return shaped


def _spoken_apart(message: Message, capabilities: Capabilities, ids: _Ids) -> list[dict[str, Any]]:
    """Text and calls as two messages, for templates that would drop the text."""
    shaped = _shape(message, capabilities, ids)
    if not message.content:
        return [shaped]
    text = {"role": "assistant", "content": shaped["content"]}
    return [text, {**shaped, "content": _empty(capabilities)}]


def _content(text: str, capabilities: Capabilities) -> Any:
    if capabilities.string_content:
        return text
    return [{"type": "text", "text": text}] if text else []


def _empty(capabilities: Capabilities) -> Any:
    if capabilities.empty_content is None:
        return None
    return _content("", capabilities)


def _add_calls(shaped: dict[str, Any], message: Message, capabilities: Capabilities, ids: _Ids) -> None:
    if not message.tool_calls:
        return
    shaped["tool_calls"] = [
        {
            "id": ids.of_call(call),
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": arguments_object(call.arguments)
                if capabilities.object_arguments
                else call.arguments or "{}",
            },
        }
        for call in message.tool_calls
    ]
    if not message.content:
        shaped["content"] = _empty(capabilities)
    elif capabilities.tool_plan_field:
        shaped["tool_plan"] = message.content


def _add_thought(shaped: dict[str, Any], message: Message, capabilities: Capabilities) -> None:
    thought = message.reasoning_content or ""
    if message.tool_calls and message.content and thought and capabilities.one_text_with_calls:
        thought = f"{thought}\n\n{message.content}"
        shaped["content"] = _empty(capabilities)
    if thought:
        shaped["reasoning_content"] = thought
        if capabilities.thinking_field:
            shaped["thinking"] = thought

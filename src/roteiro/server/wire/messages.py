"""Messages and tools of the wire as values of the chat package: every legal shape, one meaning.

`developer` is `system`, parts are joined in order, null and "" are the same, an old `function` message is
a `tool` one. What would lose text (images, an old `function_call`) is refused. Pure; thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from roteiro.chat.messages import Message, Role, Tool, ToolCall
from roteiro.errors import InvalidRequest, UnsupportedParameter
from roteiro.server.wire.chat_body import WireMessage, WireTool

_ROLES: dict[str, Role] = {"developer": "system", "function": "tool"}
# What a part's text stands under, by the part's type.
_TEXT_PARTS = {"text": "text", "refusal": "refusal", "input_text": "text", "output_text": "text"}


def to_messages(messages: Sequence[WireMessage]) -> tuple[Message, ...]:
    """Convert a conversation.

    Raises:
        InvalidRequest: a message lacks what its role needs.
        UnsupportedParameter: a message holds what is not text.
    """
    return tuple(_message(message, f"messages[{i}]", i) for i, message in enumerate(messages))


def to_tools(tools: Sequence[WireTool]) -> tuple[Tool, ...]:
    """Convert the client's tools.

    Raises:
        InvalidRequest: two bear one name, or a parameter schema is not one of an object.
    """
    seen: set[str] = set()
    for i, entry in enumerate(tools):
        function, where = entry.function, f"tools[{i}].function"
        if function.name in seen:
            raise InvalidRequest(
                f"Two tools are called {function.name!r}; a call could not be told apart.",
                param=f"{where}.name",
            )
        seen.add(function.name)
        kind = (function.parameters or {}).get("type", "object")
        if kind != "object":
            raise InvalidRequest(
                f"The parameters of {function.name!r} are of type {kind!r}; arguments are always an object.",
                param=f"{where}.parameters",
            )
    return tuple(
        Tool(
            name=entry.function.name,
            description=entry.function.description or "",
            parameters=entry.function.parameters or {},
            strict=entry.function.strict is True,
        )
        for entry in tools
    )


# ---------------------------------------------------------------------------------------------------


def _message(message: WireMessage, where: str, number: int) -> Message:
    if message.audio is not None:
        raise UnsupportedParameter(f"{where} holds audio; text is served.", param=f"{where}.audio")
    if message.function_call is not None:
        raise UnsupportedParameter(
            f"{where} holds a function_call, the old form of tool_calls; send tool_calls.",
            param=f"{where}.function_call",
        )
    role = _ROLES.get(message.role, message.role)
    content = _text(message.content, f"{where}.content")
    if role == "assistant":
        return _assistant(message, content, where, number)
    if message.tool_calls:
        raise InvalidRequest(
            f"{where} is of role {message.role!r} and has tool_calls; only assistant messages do.",
            param=f"{where}.tool_calls",
        )
    if content is None:
        raise InvalidRequest(f"{where} of role {message.role!r} has no content.", param=f"{where}.content")
    return Message(
        role=role,  # type: ignore[arg-type]
        content=content,
        name=message.name,
        tool_call_id=message.tool_call_id if role == "tool" else None,
    )


def _assistant(message: WireMessage, content: str | None, where: str, number: int) -> Message:
    if content is None and message.refusal is not None:
        content = message.refusal
    said_nothing = content is None and "content" not in message.model_fields_set
    reasoning = message.reasoning_content
    if reasoning is None:
        reasoning = message.reasoning
    if said_nothing and not message.tool_calls and reasoning is None:
        raise InvalidRequest(
            f"{where} of role 'assistant' has neither content nor tool_calls.",
            param=f"{where}.content",
        )
    calls = tuple(
        ToolCall(
            # llama-server's clients may leave the id out; templates only need it to be stable.
            id=call.id or f"call_{number}_{i}",
            name=call.function.name,
            arguments=_arguments(call.function.arguments),
        )
        for i, call in enumerate(message.tool_calls or ())
    )
    return Message(
        role="assistant",
        content=content,
        name=message.name,
        reasoning_content=reasoning,
        tool_calls=calls,
    )


def _text(content: str | list[dict[str, Any]] | None, where: str) -> str | None:
    if content is None or isinstance(content, str):
        return content
    return "".join(_part(part, f"{where}[{i}]") for i, part in enumerate(content))


def _part(part: dict[str, Any], where: str) -> str:
    kind = part.get("type")
    key = _TEXT_PARTS.get(kind) if isinstance(kind, str) else None
    if key is None:
        raise UnsupportedParameter(
            f"{where} is of type {str(kind)[:40]!r}; text parts are served.", param=f"{where}.type"
        )
    text = part.get(key)
    if not isinstance(text, str):
        raise InvalidRequest(f"{where} has no {key!r} string.", param=f"{where}.{key}")
    return text


def _arguments(arguments: str | dict[str, Any] | None) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments or {}, ensure_ascii=False)

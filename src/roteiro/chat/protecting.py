"""Messages and tools with the special tokens' texts in them made inert, before our own text joins them.

Pure; thread: any.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from roteiro.chat import numbers
from roteiro.chat.inert import Placeholders
from roteiro.chat.messages import Message, Tool, ToolCall


def protect_message(message: Message, places: Placeholders, own: Collection[str] = ()) -> Message:
    """A copy of the message in which no text can become a special token, but for those in `own`."""

    def safe(text: str | None) -> str | None:
        return None if text is None else str(places.protect(text, except_for=own))

    return replace(
        message,
        content=safe(message.content),
        name=safe(message.name),
        reasoning_content=safe(message.reasoning_content),
        tool_call_id=safe(message.tool_call_id),
        tool_calls=tuple(_protect_call(call, places) for call in message.tool_calls),
    )


def protect_tool(tool: Tool, places: Placeholders) -> Tool:
    """A copy of the declaration in which no text can become a special token."""
    return replace(
        tool,
        name=places.protect(tool.name),
        description=places.protect(tool.description),
        parameters=places.protect(tool.parameters),
    )


def _protect_call(call: ToolCall, places: Placeholders) -> ToolCall:
    return ToolCall(
        id=places.protect(call.id),
        name=places.protect(call.name),
        arguments=_protect_arguments(call.arguments, places),
    )


def _protect_arguments(arguments: str, places: Placeholders) -> str:
    """JSON may spell a token with escapes, which are gone once it is read; else it stays as written."""
    try:
        value = numbers.loads(arguments)
    except (ValueError, RecursionError):
        return str(places.protect(arguments))
    safe = places.protect(value)
    return arguments if safe == value else numbers.dumps(safe)

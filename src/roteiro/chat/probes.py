"""The probe calls by which a dialect is proved: every kind of value a tool's argument can have.

Pure values; thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.messages import Tool, ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCalls:
    """One turn's calls with the tools they go to.

    Attributes:
        name: stable name, shown by `roteiro model check`.
        calls: function names and arguments, in order.
        tools: their declarations, with the types of the arguments.
    """

    name: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    tools: tuple[Tool, ...] = field(default=())

    def tool_calls(self, ids: Sequence[str]) -> tuple[ToolCall, ...]:
        """The calls as a client's history holds them."""
        return tuple(
            ToolCall(id=call_id, name=name, arguments=json.dumps(arguments, ensure_ascii=False))
            for call_id, (name, arguments) in zip(ids, self.calls, strict=False)
        )

    def stated_as_strings(self) -> ProbeCalls:
        """The same calls to tools whose every parameter is declared to be a string."""
        return replace(self, tools=tuple(map(_as_strings, self.tools)))

    def parsed_calls(self) -> tuple[ParsedCall, ...]:
        """The calls as a dialect's reader gives them."""
        return tuple(
            ParsedCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False))
            for name, arguments in self.calls
        )


_PROPERTIES: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "description": "Some text."},
    "count": {"type": "integer", "description": "A whole number."},
    "ratio": {"type": "number", "description": "A number."},
    "flag": {"type": "boolean", "description": "Yes or no."},
    "nothing": {"type": "null", "description": "Always null."},
    "options": {
        "type": "object",
        "description": "Settings.",
        "properties": {
            "depth": {"type": "integer", "description": "How deep."},
            "inner": {
                "type": "object",
                "description": "More settings.",
                "properties": {"name": {"type": "string", "description": "A name."}},
            },
        },
    },
    "tags": {"type": "array", "description": "Tags.", "items": {"type": "string"}},
}
_TOOL_NAME = "store_values"
_SECOND_NAME = "read_values"


def _tool(name: str, *properties: str, only: dict[str, Any] | None = None) -> Tool:
    return Tool(
        name=name,
        description=f"Probe tool {name}.",
        parameters={
            "type": "object",
            "properties": {key: only or _PROPERTIES[key] for key in properties},
            "required": list(properties),
        },
    )


def _as_strings(tool: Tool) -> Tool:
    return _tool(tool.name, *tool.parameters["properties"], only=_PROPERTIES["text"])


def _one(name: str, **arguments: Any) -> ProbeCalls:
    return ProbeCalls(name=name, calls=((_TOOL_NAME, arguments),), tools=(_tool(_TOOL_NAME, *arguments),))


PROBES: tuple[ProbeCalls, ...] = (
    _one("string", text="plain words"),
    _one("quotes", text="say \"yes\" or 'no' \\ maybe"),
    _one("newlines", text="first line\nsecond line\n\n\tindented"),
    _one("markup", text="a < b && c > d; <b>&amp;</b>"),
    _one("non_ascii", text="é ü 漢字 😀"),
    _one("embedded_json", text='{"key": [1, "two", null]}'),
    _one("integer", count=-42),
    _one("float", ratio=2.5),
    _one("boolean", flag=True),
    _one("null", nothing=None),
    _one("nested_object", options={"depth": 2, "inner": {"name": "x"}}),
    _one("array", tags=["one", "two words", "three"]),
    _one("several", text="a", count=3, flag=False, tags=["b"]),
    ProbeCalls(name="no_arguments", calls=((_TOOL_NAME, {}),), tools=(_tool(_TOOL_NAME),)),
    ProbeCalls(
        name="two_calls",
        calls=((_TOOL_NAME, {"text": "first"}), (_SECOND_NAME, {"count": 2})),
        tools=(_tool(_TOOL_NAME, "text"), _tool(_SECOND_NAME, "count")),
    ),
)


def same_calls(found: Sequence[tuple[str, str]], wanted: Sequence[ParsedCall]) -> str:
    """What differs between the calls read and those wanted; "" when nothing does."""
    if len(found) != len(wanted):
        return f"{len(found)} calls were read, {len(wanted)} were written"
    for (name, arguments), call in zip(found, wanted, strict=True):
        if name != call.name:
            return f"the name was read as {name!r}"
        if not _same(json.loads(arguments), json.loads(call.arguments)):
            return f"{call.arguments[:80]} was read as {arguments[:80]}"
    return ""


def _same(left: Any, right: Any) -> bool:
    """Equal in value and type: 1 is neither 1.0 nor true."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)

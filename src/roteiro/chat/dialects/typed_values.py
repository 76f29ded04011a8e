"""Text to JSON by the declared type, for call forms that write values without saying what they are.

The type comes from the tool's JSON Schema. A string is taken as it stands. Another value is taken where
the text says one of the declared kind, as JSON or as Python prints it; text that says none stays a
string, for the tool's own check to refuse. Without a declaration: JSON if it parses, else a string.
Thread: any.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roteiro.chat.dialects.source import Out
from roteiro.chat.messages import Tool

Kinds = frozenset[str]

STRING: Kinds = frozenset({"string"})
_MAX_REFERENCES = 16
# In this order: a bool is an int to Python.
_KINDS_OF_TYPES: tuple[tuple[type, Kinds], ...] = (
    (type(None), frozenset({"null"})),
    (bool, frozenset({"boolean"})),
    (int, frozenset({"integer", "number"})),
    (str, STRING),
    (dict, frozenset({"object"})),
)


@dataclass(frozen=True, slots=True)
class Declared:
    """A place in a tool's schema. `schema` is None where nothing is declared."""

    schema: Mapping[str, Any] | None
    root: Mapping[str, Any]

    @property
    def kinds(self) -> Kinds | None:
        """The JSON types allowed here; None where the schema does not say."""
        return None if self.schema is None else _kinds(self.schema, self.root)

    def member(self, name: str) -> Declared:
        """What is declared for a member of the object here."""
        schema = _resolve(self.schema or {}, self.root)
        properties = schema.get("properties")
        member = properties.get(name) if isinstance(properties, Mapping) else None
        return Declared(member if isinstance(member, Mapping) else None, self.root)

    def items(self) -> Declared:
        """What is declared for the items of the array here."""
        items = _resolve(self.schema or {}, self.root).get("items")
        return Declared(items if isinstance(items, Mapping) else None, self.root)


def declared(tool: Tool | None, parameter: str) -> Declared:
    """What a tool's schema says of a parameter."""
    root = tool.parameters if tool is not None else {}
    return Declared(root, root).member(parameter)


def declared_kinds(tool: Tool | None, parameter: str) -> Kinds | None:
    """The JSON types that the tool's schema allows for a parameter; None where it does not say."""
    return declared(tool, parameter).kinds


def json_text(text: str, kinds: Kinds | None) -> str:
    """The value that `text` says, as JSON text."""
    bare = text.strip()
    try:
        value = json.loads(bare, parse_constant=_refuse)
        spelled = bare
    except (ValueError, RecursionError):
        if kinds is None:
            return json.dumps(text, ensure_ascii=False)
        value, spelled = _python_value(bare)
    if kinds is None or (spelled and _kind(value) & kinds):
        return spelled
    return json.dumps(text, ensure_ascii=False)


def string_inside(text: str) -> str:
    """What stands between the quotes of a JSON string for this text."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


class ValueWriter:
    """Turns a value's text into JSON as it arrives: a declared string at once, anything else when whole."""

    def __init__(self, kinds: Kinds | None, out: Out) -> None:
        self._kinds = kinds
        self._out = out
        self._held: list[str] = []
        self._streams = kinds == STRING
        if self._streams:
            out('"')

    def write(self, text: str) -> None:
        """More of the value's text."""
        if self._streams:
            self._out(string_inside(text))
        else:
            self._held.append(text)

    def finish(self) -> None:
        """The value is whole."""
        self._out('"' if self._streams else json_text("".join(self._held), self._kinds))


# ---------------------------------------------------------------------------


def _kinds(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Kinds | None:
    if depth > _MAX_REFERENCES:
        return None
    schema = _resolve(schema, root)
    kind = schema.get("type")
    if kind:
        return frozenset([kind] if isinstance(kind, str) else map(str, kind)) | _null(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list | tuple):
        return frozenset().union(*map(_kind, values)) or None
    for key in ("anyOf", "oneOf", "allOf"):
        parts = [_kinds(p, root, depth + 1) for p in schema.get(key, ()) if isinstance(p, Mapping)]
        if parts:
            return _union(parts, any_known=key == "allOf")
    return None


def _union(parts: list[Kinds | None], *, any_known: bool) -> Kinds | None:
    known = [part for part in parts if part is not None]
    enough = known if any_known else len(known) == len(parts)
    return frozenset().union(*known) if enough else None


def _null(schema: Mapping[str, Any]) -> Kinds:
    return frozenset({"null"}) if schema.get("nullable") is True else frozenset()


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow `$ref` within the document; a reference that leads nowhere says nothing."""
    for _ in range(_MAX_REFERENCES):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return schema
        target: Any = root
        for step in reference.lstrip("#/").split("/") if reference != "#" else ():
            key = step.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            return {}
        schema = target
    return {}


def _kind(value: object) -> Kinds:
    if isinstance(value, float):
        return frozenset({"number", "integer"} if value.is_integer() else {"number"})
    for kind, kinds in _KINDS_OF_TYPES:
        if isinstance(value, kind):
            return kinds
    return frozenset({"array"})


def _python_value(text: str) -> tuple[object, str]:
    """A value as Python prints it, and as JSON; templates that print without `tojson` show these."""
    try:
        value = ast.literal_eval(text)
        return value, json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None, ""


def _refuse(name: str) -> object:
    raise ValueError(name)

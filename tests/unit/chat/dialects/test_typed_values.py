"""Text to JSON by the declared type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roteiro.chat.dialects.typed_values import ValueWriter, declared, declared_kinds, json_text
from roteiro.chat.messages import Tool


def kinds(schema: dict[str, Any], **root: Any) -> frozenset[str] | None:
    return declared_kinds(Tool(name="f", parameters={"properties": {"p": schema}, **root}), "p")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["integer", "null"]}, {"integer", "null"}),
        ({"type": "string", "nullable": True}, {"string", "null"}),
        ({"enum": ["a", 1]}, {"string", "integer", "number"}),
        ({"const": True}, {"boolean"}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"string", "null"}),
        ({"oneOf": [{"type": "string"}, {}]}, None),
        ({"allOf": [{"description": "x"}, {"type": "array"}]}, {"array"}),
        ({"$ref": "#/$defs/T"}, {"integer"}),
        ({"$ref": "#/$defs/missing"}, None),
        ({"$ref": "#/$defs/loop"}, None),
        ({"anyOf": [{"$ref": "#/$defs/deep"}]}, None),
        ({}, None),
        ({"description": "no type"}, None),
    ],
)
def test_the_schema_says_what_a_value_may_be(schema: dict[str, Any], expected: set[str] | None) -> None:
    defs = {
        "T": {"type": "integer"},
        "loop": {"$ref": "#/$defs/loop"},
        "deep": {"anyOf": [{"$ref": "#/$defs/deep"}]},
    }
    assert kinds(schema, **{"$defs": defs}) == (None if expected is None else frozenset(expected))


def test_nothing_is_declared_for_an_unknown_tool_or_parameter() -> None:
    assert declared_kinds(None, "p") is None
    assert declared_kinds(Tool(name="f", parameters={"properties": True}), "p") is None
    assert kinds({"type": "string"}) is not None
    assert declared_kinds(Tool(name="f"), "p") is None


def test_members_and_items_are_found() -> None:
    schema = {"properties": {"p": {"type": "array", "items": {"properties": {"q": {"type": "null"}}}}}}
    place = declared(Tool(name="f", parameters=schema), "p")
    assert place.items().member("q").kinds == {"null"}
    assert place.items().member("other").kinds is None
    assert place.member("q").items().kinds is None


@pytest.mark.parametrize(
    ("text", "declared_as", "value"),
    [
        ("42", {"string"}, "42"),
        (" padded ", {"string"}, " padded "),
        ("42", {"integer"}, 42),
        (" 42\n", {"integer"}, 42),
        ("42.0", {"integer"}, 42.0),
        ("42.5", {"integer"}, "42.5"),
        ("1e3", {"number"}, 1000.0),
        ("NaN", {"number"}, "NaN"),
        ("true", {"boolean"}, True),
        ("True", {"boolean"}, True),
        ("yes", {"boolean"}, "yes"),
        ("1", {"boolean"}, "1"),
        ("null", {"null"}, None),
        ("None", {"null", "string"}, None),
        ("null", {"null", "string"}, None),
        ("text", {"null", "string"}, "text"),
        ('{"a": [1]}', {"object"}, {"a": [1]}),
        ("{'a': [True, None]}", {"object"}, {"a": [True, None]}),
        ("[1, 2", {"array"}, "[1, 2"),
        ("__import__('os')", {"object"}, "__import__('os')"),
        ("{1, 2}", {"array"}, "{1, 2}"),
        ("{" * 5000, {"object"}, "{" * 5000),
        ("42", None, 42),
        ('"42"', None, "42"),
        ("True", None, "True"),
        ("plain", None, "plain"),
        ("", None, ""),
    ],
)
def test_text_becomes_the_declared_value(text: str, declared_as: set[str] | None, value: object) -> None:
    found = json.loads(json_text(text, None if declared_as is None else frozenset(declared_as)))
    assert (found, type(found)) == (value, type(value))


def test_a_string_is_written_as_it_arrives_and_another_value_when_it_is_whole() -> None:
    written: list[str] = []
    writer = ValueWriter(frozenset({"string"}), written.append)
    writer.write('a"\n')
    assert written == ['"', 'a\\"\\n']
    writer.finish()
    assert json.loads("".join(written)) == 'a"\n'
    held: list[str] = []
    writer = ValueWriter(frozenset({"integer"}), held.append)
    writer.write("4")
    writer.write("2")
    assert held == []
    writer.finish()
    assert held == ["42"]

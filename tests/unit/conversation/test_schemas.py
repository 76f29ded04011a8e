"""A schema is enforced exactly, or refused with the path of the part that cannot be."""

from __future__ import annotations

import pytest

pytest.importorskip("llguidance")

from roteiro.conversation.schemas import enforceable
from roteiro.errors import InvalidRequest

RECURSIVE = {
    "$defs": {
        "N": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}},
            "required": ["next"],
        }
    },
    "$ref": "#/$defs/N",
}
TAGGED = {
    "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
    "$defs": {
        "A": {"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]},
        "B": {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"]},
    },
}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        {"type": "array", "items": {"enum": ["x", 1, None]}},
        {"type": "string", "pattern": "^[0-9]{3}-x$"},
        {"type": "string", "format": "date-time"},
        {"type": "integer", "minimum": 3, "maximum": 7},
        {"type": "string", "minLength": 2, "maxLength": 5},
        RECURSIVE,
        TAGGED,
        True,
    ],
)
def test_what_can_be_enforced_is_taken(schema):
    assert isinstance(enforceable(schema, param="s"), dict)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "object", "properties": {"a": {"not": {"type": "string"}}}}, "s.properties.a"),
        ({"properties": {"a": {"items": {"uniqueItems": True}}}}, "s.properties.a.items"),
        ({"$defs": {"T": {"properties": {"e": {"if": {}}}}}, "items": {"$ref": "#/$defs/T"}}, "s.$defs.T.properties.e"),
        ({"$defs": {"T": {"properties": {"e": {"$ref": "#/$defs/No"}}}}, "items": {"$ref": "#/$defs/T"}}, "s.$defs.T.properties.e"),
        ({"oneOf": [{"type": "string"}, {"minLength": 3}]}, "s.oneOf"),
        ({"type": "hiccup"}, "s"),
        ({"type": "string", "pattern": "("}, "s"),
        (123, "s"),
        (None, "s"),
        (False, "s"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_path(schema, path):
    with pytest.raises(InvalidRequest) as caught:
        enforceable(schema, param="s")
    assert caught.value.param == path
    assert path in caught.value.message


def test_one_of_with_disjoint_branches_becomes_any_of():
    assert "oneOf" not in enforceable(TAGGED, param="s")
    assert len(enforceable(TAGGED, param="s")["anyOf"]) == 2


def test_closing_narrows_listed_objects_and_leaves_the_others_open():
    listed = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert enforceable(listed, param="s", close=True)["additionalProperties"] is False
    assert "additionalProperties" not in enforceable({"type": "object"}, param="s", close=True)
    both = {"allOf": [listed, {"type": "object", "properties": {"b": {"type": "integer"}}}]}
    assert all(
        "additionalProperties" not in part for part in enforceable(both, param="s", close=True)["allOf"]
    )
    assert "additionalProperties" not in listed, "the client's own object is not changed"


def test_a_schema_nested_without_end_is_refused():
    deep: dict = {"type": "string"}
    for _ in range(200):
        deep = {"type": "array", "items": deep}
    with pytest.raises(InvalidRequest, match="nested deeper"):
        enforceable(deep, param="s")

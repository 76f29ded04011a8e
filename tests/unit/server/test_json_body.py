"""Strict JSON: what a lenient parser would guess at is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from roteiro.errors import InvalidRequest
from roteiro.server.json_body import MAX_JSON_DEPTH, invalid_request, parse_json

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_whatever_is_json_is_read_as_the_plain_parser_reads_it(value: Any) -> None:
    raw = json.dumps(value).encode()
    assert parse_json(raw) == json.loads(raw)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        parse_json(raw)
    except InvalidRequest as error:
        assert error.message  # noqa: PT017 - either outcome is right


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "empty"),
        (b"   ", "empty"),
        (b"{", "not valid JSON"),
        (b"\xff\xfe{}", "UTF-8"),
        (b'{"a":1,"a":2}', "twice"),
        (b'{"x":{"a":1,"a":2}}', "twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":Infinity}', "Infinity"),
        (b'{"a":-Infinity}', "-Infinity"),
        (b'{"a":1e999}', "too large"),
        (b'{"a":' + b"9" * 6000 + b"}", "too long"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"a":["\\udfff"]}', "surrogate"),
        (b'{"\\ud83d":1}', "surrogate"),
        (b'{"a":"\\udc00\\ud800"}', "surrogate"),
        (b"[" * 100_000, "deep"),
        (b"[" * 500 + b"]" * 500, "deep"),
        (b'{"a":' * (MAX_JSON_DEPTH + 1) + b"1" + b"}" * (MAX_JSON_DEPTH + 1), "deep"),
    ],
)
def test_what_cannot_be_meant_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        parse_json(raw)


def test_whole_surrogate_pairs_and_escapes_are_text() -> None:
    assert parse_json(b'{"a":"\\ud83d\\ude00 \\u0000"}') == {"a": "\U0001f600 \0"}


def test_nesting_up_to_the_bound_is_fine() -> None:
    raw = b"[" * (MAX_JSON_DEPTH - 1) + b"]" * (MAX_JSON_DEPTH - 1)
    assert parse_json(raw)


class Example(BaseModel):
    """Something with places for mistakes."""

    class Item(BaseModel):
        """One of a list."""

        n: int

    items: list[Item]
    text: str | list[int] = ""


@pytest.mark.parametrize(
    ("value", "param"),
    [
        ({}, "items"),
        ({"items": [{"n": 1}, {"n": "x"}]}, "items[1].n"),
        ({"items": [{}]}, "items[0].n"),
        ({"items": [], "text": 3}, "text"),
        ({"items": [], "text": [1, "x"]}, "text[1]"),
    ],
)
def test_the_place_of_a_mistake_reads_as_the_client_wrote_it(value: Any, param: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Example.model_validate(value)
    assert invalid_request(caught.value).param == param


def test_a_body_of_too_many_values_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(InvalidRequest, match="more than"):
        parse_json(b'{"a": [' + b"[1,2]," * 200_000 + b"0]}")
    text = "a, [b], {c}" * 200_000
    assert parse_json(json.dumps({"a": text}).encode()) == {"a": text}, "what stands in text does not count"
    assert len(parse_json(b'{"a": [' + b"1," * 100_000 + b"0]}")["a"]) == 100_001

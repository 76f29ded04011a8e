"""JSON that is checked as it arrives."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.readings import run_steps
from roteiro.chat.dialects.json_scan import (
    MAX_DEPTH,
    MAX_NUMBER_LENGTH,
    is_object_text,
    read_string,
    read_value,
    scan_object,
    scan_value,
)
from roteiro.chat.dialects.source import Malformed, Source, Steps, Truncated

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def scan(source: Source, out: list[str]) -> Steps[None]:
    yield from scan_value(source, out.append)


@settings(deadline=None)
@given(JSON, st.sampled_from([None, 0, 2]), st.booleans(), st.lists(st.integers(0, 80), max_size=5))
def test_json_passes_unchanged_in_any_pieces(
    value: object, indent: int | None, ascii_only: bool, at: list[int]
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    cuts = sorted({0, *(cut for cut in at if cut < len(text)), len(text)})
    pieces = [text[a:b] for a, b in pairwise(cuts)]
    assert run_steps(scan, [*pieces, "!"])[1:] == (text, "!")
    assert run_steps(scan, text + "!")[1:] == (text, "!")


@pytest.mark.parametrize(
    "text",
    [
        "{,}", '{"a"}', '{"a":}', '{"a":1,}', "[1,]", "[1 2]", '{"a" 1}', "{a: 1}", "{'a': 1}", "[}", '{"a": 1]',
        "01 ", "1. ", ".5 ", "+1 ", "1e ", "--1 ", "tru ", "nulL", "True", "NaN", "Infinity",
        r'"\x41"', r'"\u00g0"', r'"\'"',
    ],
)  # fmt: skip
def test_what_is_no_json_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        run_steps(scan, text)


@settings(deadline=None)
@given(JSON.filter(lambda value: isinstance(value, dict | list | str)))
def test_no_proper_prefix_of_an_object_array_or_string_is_whole(value: object) -> None:
    text = json.dumps(value)
    for end in range(len(text)):
        with pytest.raises(Truncated):
            run_steps(scan, [text[:end]])


def test_a_raw_control_character_in_a_string_is_passed_on_escaped() -> None:
    _, written, _ = run_steps(scan, '"one\ntwo\tthree\x00"')
    assert json.loads(written) == "one\ntwo\tthree\x00"


def test_depth_and_numbers_are_bounded() -> None:
    run_steps(scan, "[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(Malformed):
        run_steps(scan, "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
    run_steps(scan, "1" * MAX_NUMBER_LENGTH + " ")
    with pytest.raises(Malformed):
        run_steps(scan, "1" * (MAX_NUMBER_LENGTH + 1) + " ")


def test_values_can_be_read_decoded() -> None:
    def string(source: Source, _: list[str]) -> Steps[str]:
        return (yield from read_string(source))

    def value(source: Source, _: list[str]) -> Steps[object]:
        return (yield from read_value(source))

    assert run_steps(string, r'"a\"\u00e9"x') == ('a"é', "", "x")
    assert run_steps(value, '[1, {"a": null}]x') == ([1, {"a": None}], "", "x")


def test_only_an_object_is_an_object() -> None:
    def obj(source: Source, out: list[str]) -> Steps[None]:
        yield from scan_object(source, out.append)

    assert run_steps(obj, ' {"a": 1} ')[1] == '{"a": 1}'
    with pytest.raises(Malformed):
        run_steps(obj, "[1]")
    assert is_object_text('{"a": 1}')
    assert not is_object_text("[1]")
    assert not is_object_text("{")
    assert not is_object_text("[" * 100_000)

"""Python literals and calls read as they arrive."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.readings import run_steps
from roteiro.chat.dialects.python_scan import MAX_DEPTH, python_text, scan_literal, write_python_call
from roteiro.chat.dialects.source import Malformed, Source, Steps, Truncated

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def scan(source: Source, out: list[str]) -> Steps[None]:
    yield from scan_literal(source, out.append)


@settings(deadline=None)
@given(VALUES)
def test_what_python_prints_is_read(value: object) -> None:
    for text in (repr(value), python_text(value)):
        _, whole, rest = run_steps(scan, [text + ")"])
        assert (json.loads(whole), rest) == (value, ")")
        assert run_steps(scan, text + ")")[1] == whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it\\'s \"x\"'", 'it\'s "x"'),
        ("'''a\n'b' ''c'''", "a\n'b' ''c"),
        ('""', ""),
        (r"'\x41\u00e9\U0001f600\d\0'", "Aé😀\\d\0"),
        (r"'\ud83d\ude00'", "😀"),
        ("'one\\\ntwo'", "onetwo"),
        ("(1, 2,)", [1, 2]),
        ("[true, false, null,]", [True, False, None]),
        ("{'a': 1, \"b\": {}}", {"a": 1, "b": {}}),
        ("+1_000", 1000),
        (".5", 0.5),
        ("1e3", 1000.0),
    ],
)
def test_forms_of_literals(text: str, value: object) -> None:
    assert json.loads(run_steps(scan, text + " ")[1]) == value


@pytest.mark.parametrize(
    "text", ["f(1)", "x", "{1: 2}", "{'a'}", "[1 2]", "1e999 ", "1-2 ", "-", "lambda", "f'x'", r"'\xzz'", "@"]
)
def test_expressions_are_malformed(text: str) -> None:
    with pytest.raises((Malformed, Truncated)):
        run_steps(scan, text)


def test_depth_is_bounded() -> None:
    with pytest.raises(Malformed):
        run_steps(scan, "[" * (MAX_DEPTH + 2))


def test_a_call_is_written_as_python() -> None:
    assert (
        write_python_call("f", '{"a": "x\\"", "b": [null, true, 1.5]}') == 'f(a="x\\"", b=[None, True, 1.5])'
    )

"""JSON with its numbers as they were written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from roteiro.chat import numbers

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_fractions_keep_their_text():
    text = '{"a": 1e5, "b": [1.50, -0.0, 1E+2, 1e400], "c": "1e5", "d": 7}'
    assert numbers.dumps(numbers.loads(text)) == text


def test_they_are_floats_all_the_same():
    value = numbers.loads("1.50")
    assert value == 1.5
    assert value + 1 == 2.5
    assert f"{value}" == str(value) == repr(value) == "1.50"


@given(VALUES)
def test_everything_else_is_what_json_writes(value: object):
    text = json.dumps(value, ensure_ascii=False)
    assert numbers.dumps(numbers.loads(text)) == text
    assert json.loads(numbers.dumps(numbers.loads(text), indent=2)) == value

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roteiro.chat.stops import StopMatcher


def feed(stops: list[str], pieces: list[str]) -> tuple[str, str | None]:
    matcher = StopMatcher(stops)
    text = ""
    for piece in pieces:
        released, stop = matcher.receive_text(piece)
        text += released
        if stop is not None:
            return text, stop
    return text + matcher.flush(), None


@pytest.mark.parametrize(
    ("stops", "text", "expected"),
    [
        (["beta gamma"], "alpha beta gamma delta", ("alpha ", "beta gamma")),
        (["beta gamma"], "beta gamut", ("beta gamut", None)),
        (["ab", "abc"], "xabcd", ("x", "ab")),
        (["abc", "bc"], "xabcd", ("x", "abc")),
        (["\n\n"], "a\nb\n\nc", ("a\nb", "\n\n")),
        (["aab"], "aaab", ("a", "aab")),
        ([""], "abc", ("abc", None)),
        ([], "abc", ("abc", None)),
        (["\nUser:"], "x\nUser", ("x\nUser", None)),
    ],
)
def test_stops_end_exactly_before_themselves(stops, text, expected):
    assert feed(stops, [text]) == expected
    assert feed(stops, list(text)) == expected


@given(
    stops=st.lists(st.text("ab", min_size=1, max_size=3), max_size=3),
    pieces=st.lists(st.text("abc", max_size=3), max_size=8),
)
def test_pieces_make_no_difference(stops: list[str], pieces: list[str]):
    text = "".join(pieces)
    whole = feed(stops, [text])
    assert feed(stops, pieces) == whole
    assert feed(stops, list(text)) == whole
    released, stop = whole
    assert text.startswith(released + (stop or ""))
    assert not any(stop in released for stop in stops)


def test_what_may_become_a_stop_is_held_back():
    matcher = StopMatcher(["END"])
    assert matcher.receive_text("a EN") == ("a ", None)
    assert matcher.receive_text("x") == ("ENx", None)

"""The cursor over text that arrives in pieces."""

from __future__ import annotations

import re

import pytest

from fakes.readings import run_steps
from roteiro.chat.dialects.source import Malformed, Source, Steps, Truncated


def test_text_is_consumed_once_and_can_be_given_back() -> None:
    source = Source()
    source.feed("abc")
    assert source.take(2) == "ab"
    source.feed("def")
    assert (source.head(), source.rest(), source.consumed()) == ("c", "cdef", "ab")
    source.mark()
    source.take(1)
    assert source.consumed() == "c"


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("<tool>x", "<tool>", "x"),
        ("<tools>x", "<tools>", "x"),
        ("<toox", None, "<toox"),
        ("<tool", "<tool", ""),
    ],
)
def test_the_longest_literal_is_chosen_however_the_text_is_cut(
    text: str, found: str | None, rest: str
) -> None:
    options = ("<tool", "<tool>", "<tools>")

    def steps(source: Source, _: list[str]) -> Steps[str | None]:
        return (yield from source.choose(options))

    assert run_steps(steps, text) == (found, "", rest)
    assert run_steps(steps, [text]) == (found, "", rest)


def test_a_literal_that_is_cut_off_is_truncated_and_another_text_is_malformed() -> None:
    def steps(source: Source, _: list[str]) -> Steps[None]:
        yield from source.expect("<tool>")

    with pytest.raises(Truncated):
        run_steps(steps, "<to")
    with pytest.raises(Malformed):
        run_steps(steps, "<ta")


def test_text_up_to_a_literal_keeps_back_no_more_than_may_be_its_beginning() -> None:
    def steps(source: Source, out: list[str]) -> Steps[str]:
        return (yield from source.until(("\n</x>", "</x>"), out.append))

    for pieces in (["ab<", "/y>\n</x>rest"], "ab</y>\n</x>rest", ["ab</y>\n</x>rest"]):
        assert run_steps(steps, pieces) == ("\n</x>", "ab</y>", "rest")
    with pytest.raises(Truncated):
        run_steps(steps, "ab</x")


def test_looking_ahead_skips_space_and_consumes_nothing() -> None:
    def steps(source: Source, _: list[str]) -> Steps[bool]:
        return (yield from source.ahead(("<a>", "<b>")))

    assert run_steps(steps, " \n <b>") == (True, "", " \n <b>")
    assert run_steps(steps, " \n <c>") == (False, "", " \n <c>")
    assert run_steps(steps, " \n <") == (False, "", " \n <")


def test_a_run_has_a_limit() -> None:
    def steps(source: Source, out: list[str]) -> Steps[None]:
        yield from source.run(re.compile("[a-z]*"), out.append, limit=3)

    assert run_steps(steps, "abc1") == (None, "abc", "1")
    with pytest.raises(Malformed):
        run_steps(steps, "abcd1")


def test_a_pattern_is_awaited_while_it_may_still_match() -> None:
    whole, maybe = re.compile(r"\s*,\s*x="), re.compile(r"\s*(,\s*x?)?")

    def steps(source: Source, _: list[str]) -> Steps[bool]:
        return (yield from source.looks_like(whole, maybe))

    assert run_steps(steps, " , x=1") == (True, "", " , x=1")
    assert run_steps(steps, " , y=1") == (False, "", " , y=1")
    assert run_steps(steps, " , ") == (False, "", " , ")

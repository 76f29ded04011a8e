"""A thought is ended when its budget is used up or when somebody asks, and only while it runs."""

from __future__ import annotations

from roteiro.conversation.thought_limit import ThoughtLimit

ENDING = (900, 901)


def limit(*, is_open: bool = False, budget: int | None = None) -> ThoughtLimit:
    """Tokens are byte values, so that a text is its own token list."""
    return ThoughtLimit(
        start=b"<t>",
        end=b"</t>",
        is_open=is_open,
        budget=budget,
        ending=ENDING,
        token_bytes=lambda t: bytes([t]),
    )


def run(subject: ThoughtLimit, text: bytes) -> list[int]:
    """Positions at which the ending was forced, feeding one token at a time."""
    return [end for end in range(len(text) + 1) if subject.take(tuple(text[:end]))]


def test_without_a_thought_nothing_is_forced():
    assert run(limit(budget=0), b"plain answer") == []


def test_a_budget_counts_tokens_of_the_thought_only():
    assert run(limit(budget=4), b"hi <t>abcdefgh")[0] == len(b"hi <t>abcd")


def test_a_budget_of_zero_ends_an_open_thought_at_once():
    assert run(limit(is_open=True, budget=0), b"")[:1] == [0]


def test_a_thought_that_ends_by_itself_is_left_alone():
    assert run(limit(is_open=True, budget=8), b"abc</t>and a long answer") == []


def test_a_new_thought_has_a_fresh_budget():
    assert run(limit(is_open=True, budget=9), b"abcd</t>x<t>efg</t>y") == []


def test_asking_ends_the_thought_that_runs_once():
    subject = limit(is_open=True)
    assert subject.take(tuple(b"ab")) == ()
    subject.end_thought()
    assert subject.take(tuple(b"abc")) == ENDING
    assert subject.take(tuple(b"abc</t>")) == ()


def test_no_character_is_cut_in_two():
    subject = limit(is_open=True, budget=1)
    euro = "€".encode()
    assert [bool(subject.take(tuple(euro[:end]))) for end in (1, 2, 3)] == [False, False, True]

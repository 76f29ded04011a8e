"""What a question asks is read from its words: names, wishes, parameters, and whether it asks at all."""

from __future__ import annotations

import time

import pytest

from roteiro.tools.briefing.follow_up import carried_over, points_back
from roteiro.tools.briefing.question import MAX_QUESTION_CHARACTERS, read_question


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Who calls _frame?", ("_frame",)),
        ("What does `send` return?", ("send",)),
        ("Where is the class Zorbo defined?", ("Zorbo",)),
        ("What does Client.send call, e.g. in client.py?", ("Client.send", "client.py")),
        ("What is ADR 7 about?", ("ADR-0007",)),
        ("Which file holds the errors?", ()),
    ],
)
def test_names_that_are_spelled_out(text, names):
    assert read_question(text).names == names


@pytest.mark.parametrize(
    ("text", "word", "likely"),
    [
        ("Which method creates a Router?", "Router", True),
        ("Where is Router defined?", "Router", True),
        ("Where are URL path templates compiled?", "URL", False),
        ("Who calls freeze?", "freeze", True),
        ("What does freeze return?", "freeze", True),
        ("Explain session", "session", True),
    ],
)
def test_plain_words_that_may_be_names(text, word, likely):
    assert read_question(text).maybe_names[word] is likely


def test_parts_of_a_spelled_out_name_are_no_names_of_their_own():
    assert "Client" not in read_question("What does Client.send take?").maybe_names


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("What is the default of the retries parameter of Client?", "retries"),
        ("What is the default max_age of CORS?", "max_age"),
        ("What is the default of include_extras in resolve?", "include_extras"),
        ("What does the parameter `limit` of search mean?", "limit"),
        ("What is the second parameter of search?", None),
        ("Which parameters does search take?", None),
    ],
)
def test_the_parameter_asked_for(text, parameter):
    assert read_question(text).parameter == parameter


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("Who calls it?", "callers"),
        ("From which method is Parser created?", "callers"),
        ("What is NotFound based on?", "inherits"),
        ("Which parameters does it take?", "signature"),
        ("Name a function between a and b.", "path"),
        ("How many TODO comments are there?", "debt"),
        ("In which version was it dropped?", "history"),
        ("How many methods does Router have?", "members"),
    ],
)
def test_what_is_wanted(text, intent):
    assert intent in read_question(text).intents


def test_a_word_inside_a_name_wishes_nothing():
    assert "callers" not in read_question("What is `used_calls`?").intents
    assert "path" not in read_question("What is the difference between a list and a tuple?").intents


@pytest.mark.parametrize(
    "text",
    [
        "Write a function parse_cookie for me",
        "Please create a class Foo that has a bar",
        "How do I set a timeout?",
        "hello",
        "Explain this:\n```\nprint(1)\n```",
        "What is this? " + "x" * MAX_QUESTION_CHARACTERS,
        "What is the difference between useState and useMemo?",
    ],
)
def test_what_asks_nothing_of_the_repository(text):
    assert not read_question(text).asks


def test_a_question_that_holds_a_verb_of_making_is_still_a_question():
    assert read_question("Which method creates the parser?").asks
    assert read_question("Where do we write the log file?").asks


@pytest.mark.parametrize(
    ("text", "below"),
    [
        ("Which classes derive from Base?", True),
        ("How many subclasses does Base have?", True),
        ("Which class does Form extend?", False),
        ("What is the base class of Form?", False),
    ],
)
def test_up_or_down_the_hierarchy(text, below):
    assert read_question(text).below is below


def test_tests_that_are_left_out_are_not_asked_about():
    assert read_question("Which tests use Client?").about_tests
    assert not read_question("How many TODO are there, leaving out tests?").about_tests


@pytest.mark.parametrize(
    "unit", ["x", "_", " ", "```", "which ", "does ", "default ", "class ", "Ab ", "a.", "this repo "]
)
def test_a_huge_message_is_read_at_once(unit):
    began = time.perf_counter()
    read_question(unit * (200_000 // len(unit)))
    assert time.perf_counter() - began < 2, "patterns hold the interpreter, and the server with it"


def test_a_question_is_read_at_both_ends_of_a_long_message():
    material = "some words of prose " * 1_000
    assert read_question(f"Who calls `send`? {material}").names == ("send",)
    assert read_question(f"{material} Who calls `send`?").names == ("send",)


class TestFollowUp:
    def test_it_is_what_was_asked_about(self):
        asked, answered = "Where is HeldText defined?", "`HeldText` is in src/held_text.py:21."
        assert points_back(read_question("Who calls it?"))
        assert carried_over("Who calls it?", asked, answered) == "Who calls it? (`HeldText`)"

    def test_that_is_what_the_answer_named(self):
        asked, answered = "Who calls `make_proxy`?", "`make_draft` calls `make_proxy`."
        assert carried_over("and who calls that?", asked, answered).endswith("(`make_draft`)")

    def test_a_question_without_a_name_is_continued_by_its_answer(self):
        asked, answered = "Which function reads cookies?", "`read_cookies` in web/cookies.py:3."
        assert carried_over("Who calls it?", asked, answered).endswith("(`read_cookies`)")

    def test_a_question_that_names_something_leans_on_nothing(self):
        assert not points_back(read_question("Does it call `send`?"))
        assert not points_back(read_question("Where are cookies parsed?"))

    def test_nothing_is_carried_over_from_nothing(self):
        assert carried_over("Who calls it?", "hello", "Hi!") == "Who calls it?"

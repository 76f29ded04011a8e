"""How a search text is taken apart, and which words stand for one another."""

from __future__ import annotations

import pytest

from roteiro.graph.queries.asked import MAX_TERMS, take_apart
from roteiro.graph.queries.thesaurus import synonyms
from roteiro.graph.words import stem


def test_a_question_gives_its_telling_words_names_and_kinds() -> None:
    asked = take_apart("Which method of Client.send calls _load_env?")
    assert asked.names == ("Client.send", "_load_env")
    assert asked.identifiers == {"send", "loadenv"}
    assert {"client", "send", "load", "env", "loadenv"} <= set(asked.terms)
    assert asked.kinds == {"method", "fn"}
    assert not asked.is_name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("HTTPTransport", ("HTTPTransport",)),
        ("pkg::module::run", ("pkg::module::run",)),
        ("TODO and HTTP are no names", ()),
        ("e.g. this, i.e. that", ()),
        ("version 0.24.0 of 127.0.0.1", ()),
        ("plain words", ()),
    ],
)
def test_names_are_told_from_prose(text: str, names: tuple[str, ...]) -> None:
    assert take_apart(text).names == names


def test_a_path_is_about_its_last_part() -> None:
    asked = take_apart("src/pkg/http_client.py")
    assert asked.terms == ("http", "client", "py")
    assert asked.identifiers == frozenset()


def test_a_pasted_page_is_bounded() -> None:
    asked = take_apart(" ".join(f"word{number}x" for number in range(5_000)))
    assert len(asked.terms) == MAX_TERMS
    assert asked.whole == ""


def test_synonyms_go_both_ways_and_never_to_the_word_itself() -> None:
    hide, mask = stem("hide"), stem("mask")
    assert mask in synonyms([hide])[hide]
    assert hide in synonyms([mask])[mask]
    assert hide not in synonyms([hide])[hide]
    assert synonyms(["quokka"]) == {}

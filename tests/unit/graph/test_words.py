"""How identifiers, prose and questions become terms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roteiro.graph.model import Node
from roteiro.graph.words import compact, index_text, query_words, split_identifier, stem, terms


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("load_env", ("load", "env")),
        ("_obfuscate_sensitive_headers", ("obfuscate", "sensitive", "headers")),
        ("HTTPServer", ("http", "server")),
        ("parseHTTPHeader2", ("parse", "http", "header2")),
        ("sha256", ("sha256",)),
        ("MAX_CLIENT_BYTES", ("max", "client", "bytes")),
        ("HTTP2Connection", ("http2", "connection")),
        ("__init__", ("init",)),
        ("größeÄndern", ("größe", "ändern")),
        ("解析", ("解析",)),
        ("x", ("x",)),
        ("404", ("404",)),
    ],
)
def test_an_identifier_splits_at_its_humps_and_underscores(
    identifier: str, expected: tuple[str, ...]
) -> None:
    assert split_identifier(identifier) == expected


@pytest.mark.parametrize(
    "family",
    [
        ("header", "headers"),
        ("hide", "hides", "hiding"),
        ("parse", "parses", "parsed", "parsing"),
        ("proxy", "proxies"),
        ("class", "classes"),
        ("validate", "validation", "validated", "validating"),
        ("connect", "connection", "connections", "connecting"),
        ("stop", "stopped", "stopping"),
        ("box", "boxes"),
    ],
)
def test_forms_of_one_word_share_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("exception", "except"), ("status", "statu"), ("string", "str"), ("this", "thi")],
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_names_in_any_spelling_are_one_word() -> None:
    spellings = ("load_env", "loadEnv", "LoadEnv", "_load_env", "LOAD-ENV")
    assert {compact(name) for name in spellings} == {"loadenv"}


def test_a_question_keeps_the_words_that_tell_something() -> None:
    question = "Which function hides the credential headers?"
    assert query_words(question) == ["hides", "credential", "headers"]
    assert query_words("the class") == ["class"]
    assert query_words("where is it") == ["where", "is", "it"]
    assert query_words("?! --") == []


def test_a_row_holds_each_column_in_stems() -> None:
    node = Node(
        key="sym:python:pkg/_models.py#Headers.multi_items", kind="method", name="multi_items",
        path="pkg/_models.py", line=2, end_line=4, signature="def multi_items(self) -> list[str]",
        doc="Return the pairs.",
    )  # fmt: skip
    text = "class H:\n def multi_items(self):\n  # keeps repeats\n  return self._list\nother()"
    row = index_text(node, text)
    assert row.name == "multiitems"
    assert row.parts == "header multi item"
    assert row.path == "pkg model py"
    assert row.doc == "return the pair"
    assert {"multi", "item", "multiitems", "keep", "repeat", "list"} <= set(row.body.split())
    assert "other" not in row.body


def test_the_body_leaves_out_inner_definitions() -> None:
    node = Node(key="sym:python:a.py#A", kind="class", name="A", path="a.py", line=1, end_line=5)
    text = "class A:\n    limit = 3\n    def inside(self):\n        hidden()\n    tail = 4"
    assert [term for term in index_text(node, text, inner=[(3, 4)]).body.split() if term != "a"] == [
        "class",
        "limit",
        "3",
        "tail",
        "4",
    ]


def test_a_decision_is_found_by_its_title() -> None:
    adr = Node(
        key="adr:0007", kind="adr", name="ADR-0007", path="docs/adr/0007-x.md", line=1, number=7,
        title="Use one transport",
    )  # fmt: skip
    assert index_text(adr, "").parts == "adr 0007 use one transport"
    assert index_text(adr, "").name == "adr0007"


def test_prose_goes_to_the_doc_column_and_files_are_named_by_their_stem() -> None:
    section = Node(key="doc:README.md#use", kind="doc", name="Use", path="README.md", line=3)
    row = index_text(section, ["# Top", "", "## Use", "Retries are bounded."])
    assert (row.name[:2], row.doc.partition(" ")[2], row.body) == ("us", "retry are bound", "")
    path = "src/http_client.py"
    file = Node(key=f"file:{path}", kind="file", name=path, path=path)
    assert (index_text(file, "").name, index_text(file, "").parts) == ("httpclient", "http client")


@given(st.text(max_size=200))
def test_any_text_gives_terms_that_the_index_can_hold(text: str) -> None:
    for term in terms(text):
        assert term
        assert term == term.lower() or not term.isascii()
        assert " " not in term
        assert '"' not in term

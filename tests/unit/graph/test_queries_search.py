"""What a search finds first, and what it says of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import sample_graph as s
from fakes.graph_store import build_graph, edge, key, symbol
from roteiro.errors import UsageError
from roteiro.graph.queries.search import search
from roteiro.graph.queries.spelling import distance
from roteiro.graph.store import GraphStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


def keys(store: GraphStore, query: str, **more: object) -> list[str]:
    return [hit.node.key for hit in search(store, query, **more).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Client", s.CLIENT_KEY),
        ("client", s.CLIENT_KEY),
        ("mask_secrets", s.MASK),
        ("maskSecrets", s.MASK),
        ("MaskSecrets", s.MASK),
        ("mask", s.MASK),
        ("secr", s.MASK),
        ("Client.send", s.SEND),
        ("pkg/transport.py", "file:pkg/transport.py"),
        ("which function hides credentials in headers?", s.MASK),
        ("Where is a socket opened?", s.CONNECT),
        ("who follows redirects", s.CLIENT_KEY),
        ("why are sockets costly", s.ADR_CONTEXT),
        ("use one transport", s.ADR),
        ("NotImplementedError", s.T_CLOSE),
        ("what does Client.send return, and when is the connection closed", s.SEND),
        ("how does pkg.Transport move bytes of a client", s.TRANSPORT_KEY),
        ("__init__", s.INIT),
    ],
)
def test_the_first_hit_for(store: GraphStore, query: str, expected: str) -> None:
    assert keys(store, query)[0] == expected


def test_a_misspelt_word_is_corrected_when_nothing_else_fits(store: GraphStore) -> None:
    result = search(store, "conect")
    assert result.corrected == {"conect": ("connect",)}
    assert result.hits[0].node.key == s.CONNECT
    assert not result.exact


def test_nothing_is_found_for_words_of_another_world(store: GraphStore) -> None:
    result = search(store, "photosynthesis")
    assert (result.total, result.hits, result.corrected) == (0, (), {})


def test_exact_says_that_something_bears_the_very_name(store: GraphStore) -> None:
    assert search(store, "Client").exact
    assert not search(store, "Clien").exact


def test_names_that_nothing_bears_are_told(store: GraphStore) -> None:
    found = search(store, "where is RetryClient defined, and does Client.send or mask_secrets use it?")
    assert found.undefined == ("RetryClient",)
    assert found.hits
    assert search(store, "pkg/client.py").undefined == ()
    assert search(store, "what is in transport.py, e.g. which classes").undefined == ()
    assert "file:pkg/transport.py" in keys(store, "what is in transport.py")[:2]
    assert search(store, "maskSecrets and CLIENT").undefined == ("maskSecrets",)


def test_kinds_narrow_hits_and_total(store: GraphStore) -> None:
    found = search(store, "transport", kinds=["adr", "class"])
    assert {hit.node.kind for hit in found.hits} == {"adr", "class"}
    assert found.total == len(found.hits) < search(store, "transport").total


def test_pages_make_up_the_whole_and_zero_is_all(store: GraphStore) -> None:
    whole = keys(store, "transport close client", limit=0)
    assert len(whole) == search(store, "transport close client", limit=1).total
    assert whole == [
        found
        for offset in range(0, len(whole), 2)
        for found in keys(store, "transport close client", limit=2, offset=offset)
    ]
    assert keys(store, "transport", offset=1_000) == []


def test_the_snippet_is_the_line_with_most_of_the_words(store: GraphStore) -> None:
    (hit, *_) = search(store, "retry on failure").hits
    assert (hit.node.key, hit.snippet) == (s.SEND, "# TODO: retry on failure")


def test_tests_come_after_what_they_test_unless_asked_for(store: GraphStore) -> None:
    found = keys(store, "send")
    assert found.index(s.SEND) < found.index(s.TEST_SEND)
    assert keys(store, "test for send")[0] == s.TEST_SEND


def test_of_equals_the_one_used_most_comes_first(tmp_path: Path) -> None:
    text = "def parse(): ...\n"
    nodes = [symbol(path, "parse") for path in ("a.py", "b.py", "c.py")]
    calls = [edge(key("c.py", "parse"), key("b.py", "parse"), at="c.py:1")]
    files = dict.fromkeys(("a.py", "b.py", "c.py"), text)
    with build_graph(tmp_path, files=files, nodes=nodes, edges=calls) as store:
        assert keys(store, "parse")[:3] == [key(path, "parse") for path in ("b.py", "a.py", "c.py")]


def test_a_word_that_everything_bears_still_finds(tmp_path: Path) -> None:
    """Lists longer than their bound are left out of the first pass, not out of the answer."""
    files = {"a.py": "x = 1\n"}
    nodes = [symbol("a.py", f"item_{number}") for number in range(1_500)]
    with build_graph(tmp_path, files=files, nodes=nodes) as store:
        assert search(store, "item").total >= 1_000
        assert keys(store, "item 77")[0] == key("a.py", "item_77")


@pytest.mark.parametrize("query", ["", "   "])
def test_an_empty_query_is_refused(store: GraphStore, query: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        search(store, query)


@pytest.mark.parametrize(
    "query", ['"', "'", "*", "a AND", "NEAR(", "name:", "^x", "{a b}:c", "-", "\x00", "é" * 50, "(" * 9]
)
def test_the_index_s_own_syntax_is_text(store: GraphStore, query: str) -> None:
    assert search(store, query).query == query.strip()


def test_mistakes_name_what_would_have_worked(store: GraphStore) -> None:
    with pytest.raises(UsageError, match="'klass' is no kind") as caught:
        search(store, "x", kinds=["klass"])
    assert "class" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be negative"):
        search(store, "x", limit=-1)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("abc", "xbc", 1), ("abcd", "badc", 2),
     ("kitten", "sitting", 3), ("a", "abcdef", 3)],
)  # fmt: skip
def test_the_distance_of_two_words(one: str, other: str, expected: int) -> None:
    assert distance(one, other, at_most=2) == distance(other, one, at_most=2) == expected


def test_a_synonym_fits_a_name_less_than_the_word_itself(tmp_path: Path) -> None:
    text = "def put_row():\n    pass\n\n\ndef store_row():\n    pass\n"
    nodes = [
        symbol("a.py", "put_row", "fn", (1, 2), signature="def put_row()"),
        symbol("a.py", "store_row", "fn", (5, 6), signature="def store_row()"),
    ]
    with build_graph(tmp_path, files={"a.py": text}, nodes=nodes) as store:
        assert keys(store, "where are rows stored")[0] == key("a.py", "store_row")


def test_a_name_that_runs_words_together_is_found_by_its_first(tmp_path: Path) -> None:
    text = "def run_in_threadpool():\n    to_thread()\n\n\ndef run_in_order():\n    to_thread()\n"
    nodes = [
        symbol("a.py", "run_in_order", "fn", (5, 6), signature="def run_in_order()"),
        symbol("a.py", "run_in_threadpool", "fn", (1, 2), signature="def run_in_threadpool()"),
    ]
    with build_graph(tmp_path, files={"a.py": text}, nodes=nodes) as store:
        assert keys(store, "run something in a thread")[0] == key("a.py", "run_in_threadpool")

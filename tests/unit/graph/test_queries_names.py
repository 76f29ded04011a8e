"""From what somebody types to the node that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import sample_graph as s
from fakes.graph_store import build_graph, symbol
from roteiro.errors import AmbiguousName, NodeNotFound
from roteiro.graph.queries.names import like, near_names, resolve_name
from roteiro.graph.store import GraphStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (s.SEND, s.SEND),
        ("pkg/client.py#Client.send", s.SEND),
        ("client.py#send", s.SEND),
        ("Client.send", s.SEND),
        ("Client::send", s.SEND),
        ("Client.send()", s.SEND),
        ("send", s.SEND),
        ("`Client`", s.CLIENT_KEY),
        ("client", s.CLIENT_KEY),
        ("Transport.close", s.T_CLOSE),
        ("mask_sec", s.MASK),
        ("secrets", s.MASK),
        ("pkg/client.py", "file:pkg/client.py"),
        ("./pkg/client.py", "file:pkg/client.py"),
        ("transport.py", "file:pkg/transport.py"),
        ("file:pkg/client.py", "file:pkg/client.py"),
        ("pkg.transport", "file:pkg/transport.py"),
        ("pkg.transport.connect", s.CONNECT),
        ("pkg.client.Client.send", s.SEND),
        ("ADR-0007", s.ADR),
        ("adr 7", s.ADR),
        ("7", s.ADR),
        ("Use one transport", s.ADR),
        ("marker:pkg/transport.py#5", s.HANDLE),
    ],
)
def test_a_node_is_found_by(store: GraphStore, text: str, expected: str) -> None:
    assert resolve_name(store, text).key == expected


def test_a_name_of_several_is_refused_with_all_of_them(store: GraphStore) -> None:
    with pytest.raises(AmbiguousName) as caught:
        resolve_name(store, "close")
    assert set(caught.value.keys) == {s.CLOSE, s.T_CLOSE}
    assert caught.value.name == "close"


@pytest.mark.parametrize("text", ["", "  ", "#", "nothing.like.this", "a/b/c.py", "%", "_", "zz"])
def test_what_nothing_bears_is_not_found(store: GraphStore, text: str) -> None:
    with pytest.raises(NodeNotFound):
        resolve_name(store, text)


def test_a_misspelt_name_suggests_the_right_one(store: GraphStore) -> None:
    with pytest.raises(NodeNotFound) as caught:
        resolve_name(store, "mask_secrts")
    assert caught.value.suggestions == ("mask_secrets",)
    assert "Did you mean: mask_secrets?" in caught.value.hint
    assert near_names(store, "pkg/client.py#Cleint.unrelatd")[0] == "unrelated"


def test_a_second_definition_of_a_name_is_found_by_its_number(tmp_path: Path) -> None:
    first, second = symbol("a.py", "C.size", "method"), symbol("a.py", "C.size", "method", (3, 3))
    second = replace(second, key=f"{second.key}~2")
    with build_graph(tmp_path, files={"a.py": "\n" * 4}, nodes=[first, second]) as store:
        assert resolve_name(store, "C.size").key == first.key
        assert resolve_name(store, "a.py#C.size~2").key == second.key
        with pytest.raises(AmbiguousName):
            resolve_name(store, "size")


def test_swapped_letters_are_seen_through(store: GraphStore) -> None:
    assert near_names(store, "Cleint") == ["Client"]


def test_wildcards_in_a_name_are_letters() -> None:
    assert like("a_b%c\\") == r"a\_b\%c\\"

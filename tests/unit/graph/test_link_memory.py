"""What linking keeps of a tree is bounded, and how much that is changes no edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.language_tree import read_tree
from roteiro.graph import facts_map
from roteiro.graph.extract.facts import FileFacts, FileHeader
from roteiro.graph.facts_map import Unpacked
from roteiro.graph.link import Linker, world
from roteiro.graph.link.edges import EdgeRow

SAMPLES = Path(__file__).parents[2] / "assets" / "languages"


@pytest.fixture(scope="module")
def facts() -> dict[str, FileFacts]:
    return read_tree(SAMPLES)


def edges(facts: dict[str, FileFacts], linker: Linker) -> dict[str, list[EdgeRow]]:
    return {path: linker.rows(path, row.header, row.body) for path, row in facts.items()}


def lazily(facts: dict[str, FileFacts], asked: list[str] | None = None) -> Unpacked[FileHeader]:
    def unpack(name: bytes) -> FileHeader:
        if asked is not None:
            asked.append(name.decode())
        return facts[name.decode()].header

    return Unpacked([(path, path.encode()) for path in facts], unpack)


def test_a_linker_that_keeps_nothing_finds_the_same(
    facts: dict[str, FileFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = edges(facts, Linker(lazily(facts)))
    assert sum(map(len, expected.values())) > 300
    monkeypatch.setattr(world, "_MAX_ROWS", 0)
    monkeypatch.setattr(facts_map, "_KEPT_BYTES", 0)
    assert edges(facts, Linker(lazily(facts))) == expected


def test_tables_are_forgotten_between_files(
    facts: dict[str, FileFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "_MAX_ROWS", 0)
    linker = Linker({path: row.header for path, row in facts.items()})
    edges(facts, linker)
    assert linker._world.rest() is False  # the last file's were forgotten already
    assert not linker._world._tables


def test_facts_are_unpacked_once_until_they_are_too_many(
    facts: dict[str, FileFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = list(facts)[:3]
    asked: list[str] = []
    headers = lazily(facts, asked)
    for path in (one, two, one, two):
        assert headers[path] == facts[path].header
    assert asked == [one, two]
    monkeypatch.setattr(facts_map, "_KEPT_BYTES", len(one))
    headers = lazily(facts, asked)
    asked.clear()
    for path in (one, two, three, one):
        assert headers[path] == facts[path].header
    assert asked == [one, two, three, one]


def test_a_pass_over_all_keeps_none(facts: dict[str, FileFacts]) -> None:
    asked: list[str] = []
    headers = lazily(facts, asked)
    first = next(iter(facts))
    assert headers[first] is facts[first].header
    assert dict(headers.items()) == {path: row.header for path, row in facts.items()}
    assert asked.count(first) == 1
    assert len(asked) == len(facts)
    dict(headers.items())
    assert len(asked) == 2 * len(facts) - 1

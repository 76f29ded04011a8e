"""What linking keeps of a tree is bounded, and how much that is changes no edge."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.language_tree import read_tree
from roteiro.graph import facts_map
from roteiro.graph.extract.facts import FileFacts, FileHeader, symbol_key
from roteiro.graph.facts_map import Unpacked
from roteiro.graph.link import Linker, world
from roteiro.graph.link.edges import EdgeRow
from roteiro.graph.link.survey import Survey

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
    monkeypatch.setattr(world, "_FEW_FILES", 0)
    monkeypatch.setattr(world, "_MAX_ROWS", 0)
    monkeypatch.setattr(facts_map, "_SMALL_BYTES", 0)
    monkeypatch.setattr(facts_map, "_KEPT_BYTES", 0)
    assert edges(facts, Linker(lazily(facts))) == expected


def test_tables_are_forgotten_between_files(
    facts: dict[str, FileFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "_FEW_FILES", 0)
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
    monkeypatch.setattr(facts_map, "_SMALL_BYTES", 0)
    monkeypatch.setattr(facts_map, "_KEPT_BYTES", len(one))
    headers = lazily(facts, asked)
    asked.clear()
    for path in (one, two, three, one):
        assert headers[path] == facts[path].header
    assert asked == [one, two, three, one]


def test_a_pass_over_all_keeps_what_there_is_room_for(
    facts: dict[str, FileFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    headers = lazily(facts, asked)
    for _ in range(2):
        assert dict(headers.items()) == {path: row.header for path, row in facts.items()}
    assert len(asked) == len(facts)
    monkeypatch.setattr(facts_map, "_SMALL_BYTES", 0)
    monkeypatch.setattr(facts_map, "_KEPT_BYTES", 0)
    asked.clear()
    headers = lazily(facts, asked)
    first = next(iter(facts))
    assert headers[first] is facts[first].header
    assert dict(headers.items()) == {path: row.header for path, row in facts.items()}
    assert asked.count(first) == 1
    assert len(asked) == len(facts)
    dict(headers.items())
    assert len(asked) == 2 * len(facts) - 1


def test_the_name_index_knows_the_only_bearer_of_each_name(facts: dict[str, FileFacts]) -> None:
    survey = Survey(lazily(facts))
    bearers: dict[str, list[str]] = {}
    for path, row in facts.items():
        for definition in row.header.defs:
            key = symbol_key(row.lang, path, definition.qualname)
            for name in {definition.qualname, definition.qualname.rpartition(".")[2]}:
                bearers.setdefault(name, []).append(key)
    assert {len(keys) for keys in bearers.values()} >= {1, 2}
    for name, keys in bearers.items():
        assert survey.symbol(name) == (keys[0] if len(keys) == 1 else None), name
    assert survey.symbol("no such name") is None
    assert Survey({}).symbol("anything") is None


def test_files_whose_names_share_a_hash_are_told_apart(
    facts: dict[str, FileFacts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roteiro.graph.link.survey._begin", lambda _: 0)
    lone = next(p for p, row in facts.items() if row.header.defs)
    only = Survey({path: row.header for path, row in facts.items() if path == lone})
    name = facts[lone].header.defs[0].qualname
    assert only.symbol(name) == symbol_key(facts[lone].lang, lone, name)
    assert only.symbol("no such name") is None

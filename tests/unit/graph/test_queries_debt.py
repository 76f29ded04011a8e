"""Debt, listed and by file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import sample_graph as s
from roteiro.errors import UsageError
from roteiro.graph.queries.debt import debt, density
from roteiro.graph.store import GraphStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


def test_markers_come_by_path_and_line_with_their_symbol(store: GraphStore) -> None:
    found = debt(store)
    assert [(item.path, item.line) for item in found.items] == [
        ("pkg/client.py", 16), ("pkg/transport.py", 5), ("pkg/transport.py", 9),
    ]  # fmt: skip
    assert found.by_category == {"todo": 1, "hack": 1, "stub": 1}
    assert found.items[0].symbol == s.SEND


def test_counts_are_of_the_whole_and_zero_is_no_limit(store: GraphStore) -> None:
    found = debt(store, limit=1, offset=1)
    assert (len(found.items), found.total) == (1, 3)
    assert sum(found.by_category.values()) == 3
    assert len(debt(store, limit=0).items) == 3


def test_filters_narrow_list_and_counts(store: GraphStore) -> None:
    assert [item.category for item in debt(store, categories=["hack", "stub"]).items] == ["hack", "stub"]
    assert debt(store, ignore=["pkg/tr*.py"]).by_category == {"todo": 1}
    assert debt(store, ignore=["**/*.py", "!pkg/client.py"]).total == 1
    assert debt(store, path="pkg/client.py").total == 1
    assert (debt(store, path="pkg/").total, debt(store, path="pk").total, debt(store, path=".").total) == (
        3,
        0,
        3,
    )


def test_files_rank_by_density_markers_or_length(store: GraphStore) -> None:
    found = density(store)
    assert [(item.path, item.markers, item.lines) for item in found.items] == [
        ("pkg/transport.py", 2, 18), ("pkg/client.py", 1, 26),
    ]  # fmt: skip
    assert (found.total, found.total_markers) == (2, 3)
    assert found.items[0].per_kloc == 111.11
    assert density(store, order="lines").items[0].path == "pkg/client.py"
    assert density(store, order="markers").items[0].path == "pkg/transport.py"
    assert [item.path for item in density(store, min_lines=20).items] == ["pkg/client.py"]
    assert density(store, limit=1, offset=1).total == 2


def test_mistakes_are_refused(store: GraphStore) -> None:
    with pytest.raises(UsageError, match="'bug' is no category"):
        debt(store, categories=["bug"])
    with pytest.raises(UsageError, match="'size' is no order"):
        density(store, order="size")
    with pytest.raises(UsageError, match="min-lines is -1"):
        density(store, min_lines=-1)

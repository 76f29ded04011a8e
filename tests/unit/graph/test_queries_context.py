"""What `context` collects within its budget."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import sample_graph as s
from fakes.graph_store import build_graph, key, symbol
from roteiro.errors import AmbiguousName, NodeNotFound, UsageError
from roteiro.graph.queries.context import context
from roteiro.graph.queries.excerpts import tokens_of
from roteiro.graph.store import GraphStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    with s.sample_graph(tmp_path) as store:
        yield store


def test_the_definition_comes_first_then_what_is_near(store: GraphStore) -> None:
    found = context(store, "Transport.handle")
    assert found.subject is not None
    first, *others = found.blocks
    assert (first.key, first.why, first.header) == (
        s.HANDLE, "definition", "pkg/transport.py:4 (definition)",
    )  # fmt: skip
    assert first.text.startswith("    def handle(self, request):")
    assert {block.key for block in others} == {s.CONNECT, s.SEND}
    assert "called by handle" in {block.why for block in others}


def test_a_question_brings_its_best_hits(store: GraphStore) -> None:
    found = context(store, "which function hides credentials in headers?")
    assert found.subject is None
    assert found.blocks[0].key == s.MASK


@pytest.mark.parametrize("budget", [50, 80, 120, 200, 400, 4_000])
@pytest.mark.parametrize("query", ["Client", "pkg/client.py", "how are requests sent", "ADR-0007"])
def test_the_budget_is_never_passed(store: GraphStore, query: str, budget: int) -> None:
    found = context(store, query, budget=budget)
    text = "".join(f"{block.header}\n{block.text}\n\n" for block in found.blocks)
    assert tokens_of(text) <= found.tokens <= budget
    assert found.blocks


def test_nothing_is_shown_twice(store: GraphStore) -> None:
    found = context(store, "Client")
    assert found.blocks[0].key == s.CLIENT_KEY
    assert s.SEND not in {block.key for block in found.blocks if block.path == "pkg/client.py"}


def test_what_does_not_fit_is_outlined_and_counted(tmp_path: Path) -> None:
    body = "".join(f"    def method_{n}(self):\n" + "        work()\n" * 20 for n in range(30))
    nodes = [symbol("a.py", "Big", "class", (1, 631), signature="class Big")]
    nodes += [
        symbol(
            "a.py", f"Big.method_{n}", "method", (2 + 21 * n, 22 + 21 * n), signature=f"def method_{n}(self)"
        )
        for n in range(30)
    ]
    with build_graph(tmp_path, files={"a.py": f"class Big:\n{body}"}, nodes=nodes) as store:
        outline = context(store, "Big", budget=800).blocks[0]
        assert (outline.key, outline.end_line) == (key("a.py", "Big"), 631)
        assert "def method_29(self)  # line 611" in outline.text
        assert "work()" not in outline.text
        cut = context(store, "Big", budget=150).blocks[0].text
        assert cut.splitlines()[-1].endswith("more lines")


def test_a_file_that_is_gone_leaves_the_signature(store: GraphStore) -> None:
    (store.root / "pkg/transport.py").unlink()
    assert context(store, "connect").blocks[0].text == "def connect(address)\nOpen a socket to an address."


def test_names_that_mislead_are_refused(store: GraphStore) -> None:
    with pytest.raises(AmbiguousName):
        context(store, "close")
    with pytest.raises(NodeNotFound):
        context(store, "photosynthesis")
    with pytest.raises(UsageError, match="A budget of 3 tokens"):
        context(store, "Client", budget=3)

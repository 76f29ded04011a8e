"""After any run of edits an updated graph equals one that is built anew: the slow way is the oracle."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from roteiro.graph.store import open_graph
from roteiro.graph.sync import sync

PYTHON = [
    "def make():\n    return Thing()\n\n\nclass Thing:\n    def run(self):\n        return 1\n",
    "class Thing:\n    def run(self):\n        return other()\n\n\ndef other():\n    return 2\n",
    "from {other} import make\n\n\ndef go():\n    return make().run()\n",
    "from {other} import *\n\n\ndef go():\n    thing = make()\n    thing.run()\n    other()\n",
    "from {other} import Thing\n\n\nclass Sub(Thing):\n    def run(self):\n        return super().run()\n",
    "import {other}\n\n\ndef go(x: {other}.Thing):\n    x.run()\n    {other}.other()\n",
    "from .{other} import Thing as T\nfrom .{third} import go\n\n\ndef both():\n    T().run()\n    return go\n",
    "def free(value):\n    # TODO: see [[a.py#Thing.run]] and ADR-0002\n    return value.run()\n",
    "from {other} import Sub\n\n\ndef late() -> Sub:\n    return Sub()\n\n\ndef use():\n    late().run()\n",
    "",
]
PROSE = [
    "# 1. First\n\nStatus: accepted\n\nSee [[a.py#Thing]] and [[b.py#go]].\n",
    "# 2. Second\n\nSupersedes ADR-0001.\n\n## Context\n\n[[c.py#other]] TODO\n",
    "# Notes\n\n## Part\n\nADR-0002, [[Thing]], [[docs/adr/0001-x.md]]\n",
]
MODULES = ["a.py", "b.py", "c.py", "pkg/__init__.py", "pkg/a.py", "pkg/b.py"]
DOCUMENTS = ["docs/adr/0001-x.md", "docs/adr/0002-y.md", "docs/notes.md"]


def step(root: Path, dice: random.Random) -> str:
    """One edit, creation or deletion."""
    path = dice.choice(MODULES * 2 + DOCUMENTS)
    if dice.random() < 0.2 and (root / path).exists():
        (root / path).unlink()
        return f"delete {path}"
    if path.endswith(".py"):
        other, third = dice.sample(["a", "b", "c", "pkg.a", "pkg"], 2)
        text = dice.choice(PYTHON).replace("{other}", other).replace("{third}", third)
    else:
        text = dice.choice(PROSE)
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    return f"write {path}: {text!r}"


def contents(root: Path) -> dict[str, list[str]]:
    with open_graph(root) as store:
        keys = {number: node.key for number, node in store.all_nodes()}
        return {
            "nodes": sorted(repr(node) for _, node in store.all_nodes()),
            "edges": sorted(
                f"{keys[e.source]} {e.kind} {keys[e.target]} {e.provenance} {e.confidence} {e.path}:{e.line}x{e.sites}"
                for e in store.all_edges()
            ),
            "markers": sorted(map(repr, store.markers())),
            "skipped": sorted(map(repr, store.skipped())),
            "search": sorted(hit.node.key for hit in store.search_rows("thing OR run OR go OR first")),
        }


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", range(4))
def test_an_updated_graph_equals_one_built_anew(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    root, fresh = tmp_path / "tree", tmp_path / "fresh"
    root.mkdir()
    history: list[str] = []
    for _ in range(12):
        history += [step(root, dice) for _ in range(dice.randint(1, 3))]
        sync(root)
        shutil.copytree(root, fresh, ignore=shutil.ignore_patterns(".roteiro"))
        sync(fresh)
        updated, anew = contents(root), contents(fresh)
        for what, rows in anew.items():
            assert updated[what] == rows, "\n".join(history)
        shutil.rmtree(fresh)

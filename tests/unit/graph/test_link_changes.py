"""After an edit, linking only the affected files again gives what linking everything gives."""

from __future__ import annotations

import pytest

from fakes.language_tree import read_sources
from roteiro.graph.extract.facts import FileFacts
from roteiro.graph.link import Linker
from roteiro.graph.model import Edge

TREE = {
    "pkg/__init__.py": "from .models import User as Person\nfrom .extra import *\n",
    "pkg/models.py": "from .base import Base\nclass User(Base):\n    def name(self): ...\n",
    "pkg/base.py": "class Base:\n    def save(self): ...\n    def load(self): ...\n",
    "pkg/extra.py": "def shown(): ...\n",
    "make.py": "from pkg import Person\ndef make(): return Person()\n",
    "wrap.py": "import make\ndef wrap(): return make.make()\n",
    "app.py": "import wrap\nfrom pkg import shown\ndef run():\n    wrap.wrap().save()\n    shown()\n",
    "other.py": "def alone(): return 1\nalone()\n",
}


def link(facts: dict[str, FileFacts], linker: Linker, paths: set[str]) -> dict[str, list[Edge]]:
    return {path: linker.resolve(path, facts[path].header, facts[path].body) for path in sorted(paths)}


def edited(changes: dict[str, str | None]) -> dict[str, str]:
    tree: dict[str, str | None] = {**TREE, **changes}
    return {path: text for path, text in tree.items() if text is not None}


@pytest.mark.parametrize(
    "changes",
    [
        {"pkg/base.py": "class Base:\n    def store(self): ...\n"},
        {"pkg/base.py": "\n\nclass Base:\n    def save(self): ...\n    def load(self): ...\n"},
        {"pkg/models.py": "class User:\n    def name(self): ...\n    def save(self): ...\n"},
        {"pkg/models.py": None},
        {"pkg/base.py": None},
        {"make.py": "def make(): return 1\n"},
        {"make.py": "from other import alone\ndef make(): return alone()\n"},
        {"pkg/extra.py": "def hidden(): ...\n"},
        {"pkg/extra.py": "__all__ = []\ndef shown(): ...\n"},
        {"pkg/__init__.py": ""},
        {"shown.py": "def shown(): ...\n"},
        {"pkg/make.py": "def make(): ...\n"},
        {"pkg/models.py": None, "pkg/models/__init__.py": "class User:\n    def save(self): ...\n"},
    ],
)
def test_affected_files_suffice(changes: dict[str, str | None]) -> None:
    before = read_sources(TREE)
    after = read_sources(edited(changes))
    kept = link(before, Linker({p: row.header for p, row in before.items()}), set(before))
    linker = Linker({path: row.header for path, row in after.items()})
    affected = linker.affected(
        {path: before[path].header if path in before else None for path in changes},
        {path: after[path].header if path in after else None for path in changes},
        {path: row.mentions for path, row in after.items()},
    )
    kept = {path: edges for path, edges in kept.items() if path in after}
    assert kept | link(after, linker, affected) == link(after, linker, set(after))


def test_an_edit_inside_a_body_affects_only_its_file() -> None:
    before = read_sources(TREE)
    after = read_sources(edited({"pkg/base.py": TREE["pkg/base.py"].replace("...", "print(1)")}))
    linker = Linker({path: row.header for path, row in after.items()})
    changed = {"pkg/base.py"}
    assert (
        linker.affected(
            {path: before[path].header for path in changed},
            {path: after[path].header for path in changed},
            {path: row.mentions for path, row in after.items()},
        )
        == changed
    )


def test_mentions_may_be_looked_up() -> None:
    facts = read_sources(TREE)
    linker = Linker({path: row.header for path, row in facts.items()})
    asked: list[frozenset[str]] = []

    def lookup(names: frozenset[str]) -> set[str]:
        asked.append(names)
        return {"app.py"} if "shown" in names else set()

    old = {"pkg/extra.py": facts["pkg/extra.py"].header}
    assert linker.affected(old, {"pkg/extra.py": None}, lookup) >= {"app.py"}
    assert asked

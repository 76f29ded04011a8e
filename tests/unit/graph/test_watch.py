"""The watch: syncs after changes, ignores what is no change, falls back to looking."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue

import pytest
import watchfiles

from roteiro.graph.store import open_graph
from roteiro.graph.sync import SyncReport, sync
from roteiro.graph.watch import watch


class Watched:
    """A watch on a thread of its own; `next` waits for what it reports."""

    def __init__(self, root: Path, *, poll: bool) -> None:
        self.notices: list[str] = []
        self._stop = threading.Event()
        self._reports: Queue[SyncReport] = Queue()
        self._thread = threading.Thread(target=self._run, args=(root, poll))
        self._thread.start()

    def _run(self, root: Path, poll: bool) -> None:
        for report in watch(root, stop=self._stop, notice=self.notices.append, poll=poll):
            self._reports.put(report)

    def next(self, seconds: float = 15) -> SyncReport:
        return self._reports.get(timeout=seconds)

    def nothing(self, seconds: float) -> bool:
        try:
            self._reports.get(timeout=seconds)
        except Empty:
            return True
        return False

    def end(self) -> None:
        self._stop.set()
        self._thread.join(timeout=10)
        assert not self._thread.is_alive()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "pkg").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("def a():\n    pass\n")
    sync(root)
    return root


@pytest.fixture(params=[False, True], ids=["told", "polled"])
def watched(tree: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    watching = Watched(tree, poll=request.param)
    yield watching
    watching.end()


def has(root: Path, name: str) -> bool:
    with open_graph(root) as store:
        return bool(store.nodes_by_name(name))


def test_a_change_is_synced_and_a_new_folder_is_watched_too(tree: Path, watched: Watched) -> None:
    (tree / "pkg" / "a.py").write_text("def later():\n    pass\n")
    assert watched.next().parsed == 1
    assert has(tree, "later")
    (tree / "new").mkdir()
    (tree / "new" / "b.py").write_text("def b():\n    pass\n")
    watched.next()
    assert has(tree, "b")
    (tree / "new" / "b.py").write_text("def bb():\n    pass\n")
    watched.next()
    assert has(tree, "bb")
    (tree / "pkg" / "a.py").unlink()
    assert watched.next().removed == 1


def test_our_own_files_and_assets_wake_nobody(tree: Path) -> None:
    watching = Watched(tree, poll=False)
    try:
        (tree / "pkg" / "app.log").write_text("x")
        (tree / ".roteiro" / "note").write_text("x")
        assert watching.nothing(2)
    finally:
        watching.end()


def test_where_watches_run_out_the_tree_is_looked_at(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> Iterator[object]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watchfiles, "watch", refused)
    watching = Watched(tree, poll=False)
    try:
        (tree / "pkg" / "a.py").write_text("def later():\n    pass\n")
        watching.next()
        assert has(tree, "later")
        assert "watch limit" in watching.notices[0]
    finally:
        watching.end()

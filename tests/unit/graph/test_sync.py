"""The graph follows the tree: edits, moves, branches, reverts, damage."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from roteiro.errors import GraphError, NoGraph, StoreLocked, StoreTooNew
from roteiro.graph import compare, link
from roteiro.graph import sync as sync_module
from roteiro.graph.freshness import is_stale
from roteiro.graph.store import GraphStore, open_graph
from roteiro.graph.store.database import sync_lock
from roteiro.graph.store.schema import SCHEMA_VERSION
from roteiro.graph.sync import SyncReport, sync


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def put(root: Path, path: str, text: str, *, age: float = 100) -> None:
    """A file that is old enough for its time to be believed."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    then = time.time() - age
    os.utime(root / path, (then, then))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    put(root, "pkg/__init__.py", "")
    put(
        root,
        "pkg/base.py",
        "class Base:\n    def run(self):\n        return helper()\n\n\ndef helper():\n    return 1\n",
    )
    put(root, "pkg/app.py", "from pkg.base import Base, helper\n\n\nclass App(Base):\n    def go(self):\n"
                            "        # TODO: more\n        return helper()\n")  # fmt: skip
    put(root, "docs/adr/0001-x.md", "# 1. Use X\n\nStatus: Accepted\n\nSee [[pkg/base.py#Base]].\n")
    put(root, "logo.png", "no source")
    return root


def edges(root: Path) -> set[tuple[str, str, str]]:
    with open_graph(root) as store:
        keys = {number: node.key for number, node in store.all_nodes()}
        return {(keys[edge.source], edge.kind, keys[edge.target]) for edge in store.all_edges()}


def keys(root: Path) -> set[str]:
    with open_graph(root) as store:
        return {node.key for _, node in store.all_nodes()}


def dump(root: Path) -> object:
    """Everything that a query could see, without numbers that may differ."""
    with open_graph(root) as store:
        return (
            sorted(repr(node) for _, node in store.all_nodes()),
            sorted(edges(root)),
            store.markers(),
            store.files(),
            store.skipped(),
            sorted(hit.node.key for hit in store.search_rows("helper OR run OR app OR x")),
        )


def rebuilt(root: Path) -> object:
    sync(root, rebuild=True)
    return dump(root)


HELPER = "sym:python:pkg/base.py#helper"
GO = "sym:python:pkg/app.py#App.go"


def test_a_first_sync_finds_symbols_edges_markers_and_decisions(tree: Path) -> None:
    report = sync(tree)
    assert (report.files, report.parsed, report.assets) == (4, 4, 1)
    assert report.languages == {"python": 3, "markdown": 1}
    found = edges(tree)
    assert (GO, "calls", HELPER) in found
    assert ("sym:python:pkg/app.py#App", "inherits", "sym:python:pkg/base.py#Base") in found
    assert ("adr:0001", "references", "sym:python:pkg/base.py#Base") in found
    assert ("sym:python:pkg/base.py#Base", "authored_by", "adr:0001") in found
    with open_graph(tree) as store:
        (marker,) = store.markers()
        assert (marker.category, marker.symbol) == ("todo", GO)
        assert store.read_source("pkg/__init__.py") == ""
        counts = store.counts()
    assert (report.nodes, report.edges) == (counts["nodes"], counts["edges"])


def test_nothing_changed_parses_nothing_and_keeps_the_generation(tree: Path) -> None:
    sync(tree)
    with open_graph(tree) as store:
        before = store.generation()
        report = sync(tree)
        assert (report.parsed, report.linked, report.changed) == (0, 0, False)
        assert report.files == 4
        assert store.generation() == before
        assert not is_stale(store)


def test_an_edit_reads_that_file_and_links_what_depends_on_it(tree: Path) -> None:
    sync(tree)
    put(tree, "pkg/base.py", "class Base:\n    pass\n\n\ndef other():\n    return 1\n")
    report = sync(tree)
    assert report.parsed == 1
    assert report.linked >= 2
    assert (GO, "calls", HELPER) not in edges(tree)
    assert dump(tree) == rebuilt(tree)
    put(tree, "pkg/base.py", "class Base:\n    pass\n\n\ndef helper():\n    return 2\n")
    sync(tree)
    assert (GO, "calls", HELPER) in edges(tree)
    assert dump(tree) == rebuilt(tree)


def test_an_edit_of_a_body_alone_keeps_the_others_edges(tree: Path) -> None:
    sync(tree)
    put(tree, "pkg/base.py", (tree / "pkg/base.py").read_text().replace("return 1", "return 22"))
    report = sync(tree)
    assert (report.parsed, report.linked) == (1, 1)
    assert (GO, "calls", HELPER) in edges(tree)
    assert dump(tree) == rebuilt(tree)


def test_a_deleted_file_leaves_nothing_behind(tree: Path) -> None:
    sync(tree)
    (tree / "pkg/base.py").unlink()
    report = sync(tree)
    assert report.removed == 1
    assert not any("base.py" in key for key in keys(tree))
    assert dump(tree) == rebuilt(tree)


def test_a_renamed_file_and_a_moved_decision(tree: Path) -> None:
    sync(tree)
    (tree / "pkg/base.py").rename(tree / "pkg/core.py")
    put(tree, "pkg/app.py", (tree / "pkg/app.py").read_text().replace("pkg.base", "pkg.core"))
    (tree / "docs/adr/0001-x.md").rename(tree / "docs/adr/0001-better.md")
    sync(tree)
    assert (GO, "calls", "sym:python:pkg/core.py#helper") in edges(tree)
    assert "adr:0001" in keys(tree)
    assert dump(tree) == rebuilt(tree)


def test_content_decides_whatever_the_times_say(tree: Path) -> None:
    sync(tree)
    path = tree / "pkg/base.py"
    status = path.stat()
    path.write_text(path.read_text().replace("helper", "hxlper"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert sync(tree).parsed == 1, "same size, same mtime, other content"
    put(tree, "pkg/base.py", path.read_text().replace("hxlper", "helper"), age=10_000)
    assert sync(tree).parsed == 1, "an older mtime"
    os.utime(path)
    report = sync(tree)
    assert (report.parsed, report.changed) == (0, False), "a touch is no change"
    assert (GO, "calls", HELPER) in edges(tree)


def test_two_edits_within_one_tick_are_both_seen(tree: Path) -> None:
    path = tree / "pkg/base.py"
    path.write_text("def aaa():\n    pass\n")
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    sync(tree)
    status = path.stat()
    path.write_text("def bbb():\n    pass\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    sync(tree)
    assert "sym:python:pkg/base.py#bbb" in keys(tree)


def test_branches_reverts_and_checkouts(tree: Path) -> None:
    git(tree, "init", "-q", "-b", "main")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "first")
    sync(tree)
    first = dump(tree)
    git(tree, "checkout", "-q", "-b", "other")
    put(tree, "pkg/new.py", "def fresh():\n    pass\n")
    (tree / "pkg/app.py").unlink()
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "second")
    sync(tree)
    assert "sym:python:pkg/new.py#fresh" in keys(tree)
    git(tree, "checkout", "-q", "main")
    with open_graph(tree) as store:
        assert is_stale(store)
    sync(tree)
    assert dump(tree) == first
    (tree / "pkg/base.py").write_text("broken\n")
    sync(tree)
    git(tree, "checkout", "-q", "--", "pkg/base.py")
    sync(tree)
    assert dump(tree) == first


def test_a_new_grammar_reads_unchanged_files_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(tree)
    for module in (compare, sync_module):
        monkeypatch.setattr(module, "FACTS_VERSION", "another")
    with open_graph(tree) as store:
        assert is_stale(store)
    assert sync(tree).parsed == 4
    assert sync(tree).parsed == 0


def test_a_decision_that_comes_later_is_found_by_those_who_named_it(tree: Path) -> None:
    put(tree, "pkg/late.py", "def f():\n    # see ADR-0009\n    return 1\n")
    sync(tree)
    put(tree, "docs/adr/0009-y.md", "# 9. Y\n\nSupersedes ADR-0001.\n")
    report = sync(tree)
    assert report.parsed == 1
    assert ("sym:python:pkg/late.py#f", "references", "adr:0009") in edges(tree)
    assert ("adr:0009", "supersedes", "adr:0001") in edges(tree)
    assert dump(tree) == rebuilt(tree)
    (tree / "docs/adr/0009-y.md").unlink()
    sync(tree)
    assert dump(tree) == rebuilt(tree)


def test_two_decisions_of_one_number_are_reported_and_heal(tree: Path) -> None:
    put(tree, "other/adr/0001-z.md", "# 1. Z\n")
    report = sync(tree)
    assert [item.path for item in report.skipped] == ["other/adr/0001-z.md"]
    (tree / "docs/adr/0001-x.md").unlink()
    report = sync(tree)
    assert report.skipped == ()
    with open_graph(tree) as store:
        node = store.node("adr:0001")
        assert node is not None
        assert node.title == "Z"


def test_what_is_left_out_is_said_and_not_read_again(tree: Path) -> None:
    put(tree, "bundle.js", "var a=1;" * 9000)
    put(tree, "made.py", "# Code generated by x. DO NOT EDIT.\n")
    (tree / "link.py").symlink_to("/etc/hostname")
    report = sync(tree)
    assert {item.path: item.reason.split(":")[0] for item in report.skipped} == {
        "bundle.js": "minified",
        "link.py": "a symbolic link",
        "made.py": "generated",
    }
    again = sync(tree)
    assert (again.skipped, again.changed) == (report.skipped, False)
    with open_graph(tree) as store:
        assert store.skipped() == list(report.skipped)


def test_scripts_without_an_extension_are_told_by_their_first_line(tree: Path) -> None:
    put(tree, "bin/tool", "#!/usr/bin/env python3\ndef main():\n    pass\n")
    put(tree, "LICENSE", "text\n")
    report = sync(tree)
    assert (report.files, report.assets) == (5, 2)
    assert "sym:python:bin/tool#main" in keys(tree)
    again = sync(tree)
    assert (again.parsed, again.files, again.assets) == (0, 5, 2)


def test_odd_files_never_stop_a_sync(tree: Path) -> None:
    odd = {
        "nul.py": b"x = 1\n" * 2000 + b"y = '\0'\n",
        "utf16.py": "def wide():\n    pass\n".encode("utf-16"),
        "latin.py": "# café\ndef latin():\n    pass\n".encode("latin-1"),
        "bom.py": b"\xef\xbb\xbfdef bom():\n    pass\n",
        "crlf.py": b"def crlf():\r\n    pass\r\n",
        "deep.py": b"x = " + b"(\n" * 5000 + b")\n" * 5000,
        "nest.py": b"".join(b"  " * i + b"def f%d():\n" % i for i in range(300)) + b"  " * 300 + b"pass\n",
        "empty.py": b"",
        "broken.py": b"def (:\n class\n",
        "binary.py": b"\x7fELF\0\0\0",
    }
    for name, data in odd.items():
        (tree / name).write_bytes(data)
    report = sync(tree)
    reasons = {item.path: item.reason for item in report.skipped}
    assert reasons.pop("binary.py") == "binary"
    assert reasons in ({}, {"deep.py": "nested too deeply to be read"})
    found = keys(tree)
    for name in ("utf16", "latin", "bom", "crlf"):
        assert any(key.endswith(f"{name}.py#{name.replace('utf16', 'wide')}") for key in found)


def test_workers_find_the_same_as_one_process(tree: Path) -> None:
    for number in range(30):
        put(
            tree,
            f"many/m{number}.py",
            f"from pkg.base import helper\n\n\ndef f{number}():\n    return helper()\n",
        )
    sync(tree, jobs=1)
    alone = dump(tree)
    sync(tree, rebuild=True, jobs=2)
    assert dump(tree) == alone


# -- the store -------------------------------------------------------------------------------------


def test_without_a_sync_there_is_no_graph(tree: Path) -> None:
    with pytest.raises(NoGraph) as caught:
        open_graph(tree)
    assert "roteiro sync" in caught.value.hint


@pytest.mark.parametrize("damage", ["garbage", "empty", "older", "foreign", "cut"])
def test_a_store_that_cannot_be_read_is_rebuilt(tree: Path, damage: str) -> None:
    sync(tree)
    whole = dump(tree)
    path = tree / ".roteiro" / "graph.db"
    if damage in ("garbage", "empty"):
        path.write_bytes(b"no database at all" * 100 if damage == "garbage" else b"")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    else:
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 0" if damage == "older" else "PRAGMA application_id = 7")
        database.close()
    if damage != "cut":  # this one may only show when it is read
        with pytest.raises(NoGraph):
            open_graph(tree)
    sync(tree)
    assert dump(tree) == whole


def test_a_newer_store_is_refused_and_left_alone(tree: Path) -> None:
    sync(tree)
    path = tree / ".roteiro" / "graph.db"
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()
    before = path.read_bytes()
    for attempt in (lambda: sync(tree), lambda: sync(tree, rebuild=True), lambda: open_graph(tree)):
        with pytest.raises(StoreTooNew, match="schema"):
            attempt()
    assert path.read_bytes() == before


def test_a_second_sync_waits_or_says_so(tree: Path) -> None:
    sync(tree)
    locked = sync_lock(tree / ".roteiro" / "graph.db", wait_seconds=1)
    with locked, pytest.raises(StoreLocked, match="syncing"):
        sync(tree, wait_seconds=0.05)
    sync(tree, wait_seconds=0.05)


def test_a_store_that_cannot_be_written_is_an_error_that_says_so(tree: Path) -> None:
    (tree / ".roteiro").write_text("a file where the folder should be")
    with pytest.raises(GraphError, match="cannot be written"):
        sync(tree)


def test_a_store_whose_folder_may_only_be_read_can_be_read(tree: Path) -> None:
    sync(tree)
    folder = tree / ".roteiro"
    folder.chmod(0o500)
    try:
        assert HELPER in keys(tree)
    finally:
        folder.chmod(0o700)


def test_a_reader_sees_one_sync_whole_and_the_next_one_after(tree: Path) -> None:
    sync(tree)
    with open_graph(tree) as store:
        with store.snapshot():
            assert store.node(HELPER) is not None
            (tree / "pkg/base.py").unlink()
            sync(tree)
            assert store.node(HELPER) is not None
        assert store.node(HELPER) is None


def test_a_reader_follows_a_rebuilt_file(tree: Path) -> None:
    sync(tree)
    with open_graph(tree) as store:
        first = store.generation()
        (tree / ".roteiro" / "graph.db").unlink()
        with pytest.raises(NoGraph):
            store.generation()
        sync(tree)
        assert store.generation() != first


def test_a_failed_sync_leaves_the_old_graph(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync(tree)
    before = dump(tree)
    put(tree, "pkg/base.py", "def other():\n    pass\n")

    class Failing:
        def __init__(self, headers: object) -> None:
            raise RuntimeError("power cut")

    monkeypatch.setattr(link, "Linker", Failing)
    for rebuild in (False, True):
        with pytest.raises(RuntimeError, match="power cut"):
            sync(tree, rebuild=rebuild)
        assert dump(tree) == before
    assert [path.name for path in (tree / ".roteiro").glob("*.new*")] == []


def test_the_reader_pages_and_filters(tree: Path) -> None:
    sync(tree)
    with GraphStore(tree, tree / ".roteiro" / "graph.db") as store:
        files = store.nodes_by_kind("file")
        assert [node.key for node in store.nodes_by_kind("file", limit=1, offset=1)] == [files[1].key]
        assert [node.key for node in store.nodes_by_name("HELPER", ignore_case=True)] == [HELPER]
        assert store.nodes_by_name("HELPER") == []
        ids = store.node_ids([HELPER, GO, "none"])
        assert set(ids) == {HELPER, GO}
        assert {node.key for node in store.nodes(ids.values()).values()} == {HELPER, GO}
        assert (ids[GO], ids[HELPER], "calls") in store.links_of([ids[GO]])
        assert store.in_degrees([ids[HELPER]])[ids[HELPER]] >= 2
        assert [edge.target for edge in store.edges_from(GO) if edge.kind == "calls"] == [HELPER]
        assert {edge.source for edge in store.edges_to(HELPER) if edge.kind == "calls"} >= {GO}
        assert store.markers(categories=["stub"]) == []
        assert [marker.line for marker in store.markers(path="pkg/app.py", symbol=GO)] == [6]
        hits = store.search_rows("helper", limit=1, weights=(8, 4, 1, 1, 1, 1), kinds=["fn"])
        assert [hit.node.key for hit in hits] == [HELPER]
        assert store.match_count("helper") >= 3


def test_the_report_is_the_document_that_was_promised(tree: Path) -> None:
    report: SyncReport = sync(tree)
    document = json.loads(json.dumps(report.document()))
    assert document["schema"] == "roteiro.query/v1"
    assert document["root"] == str(tree)
    assert set(document) >= {"files", "parsed", "skipped", "nodes", "edges", "languages", "seconds"}

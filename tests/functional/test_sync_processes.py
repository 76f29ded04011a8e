"""`roteiro sync` as a process: what it prints, how it exits, and what survives when it is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from roteiro.graph.store import open_graph

FILES = 100


def roteiro(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roteiro", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)


def started(*arguments: str, cwd: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "roteiro", *arguments]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    write(root, "first")
    return root


def write(root: Path, word: str) -> None:
    """Every file defines `<word>_<n>_<i>` and calls the file's before it."""
    for number in range(FILES):
        calls = f"from m{number - 1} import {word}_{number - 1}_0\n" if number else ""
        body = "".join(f"def {word}_{number}_{i}():\n    return {word}_{number}_0()\n\n\n" for i in range(20))
        # Enough of it that workers are started.
        filler = "# the quick brown fox jumps over the lazy dog\n" * 250
        (root / f"m{number}.py").write_text(calls + body + filler)


def words(root: Path) -> set[str]:
    """The words of the names in the graph: one, if what is there is one sync's."""
    with open_graph(root) as store:
        nodes = [node for _, node in store.all_nodes()]
        numbers = {number for number, _ in store.all_nodes()}
        for edge in store.all_edges():
            assert edge.source in numbers
            assert edge.target in numbers
    names = [node.name for node in nodes if node.kind == "fn"]
    assert len(names) == FILES * 20
    return {name.partition("_")[0] for name in names}


def test_json_summary_and_exit_codes(tree: Path) -> None:
    done = roteiro("sync", "--json", cwd=tree)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["files"] == document["parsed"] == FILES
    assert document["languages"] == {"python": FILES}
    inner = tree / "inner"
    inner.mkdir()
    again = roteiro("sync", cwd=inner)
    assert again.returncode == 0
    assert f"{FILES} files" in again.stdout
    assert "nothing changed" in again.stdout
    assert str(tree) in again.stdout


def test_refusals_say_what_to_do(tree: Path, isolated_home: Path) -> None:
    for folder in ("/", str(isolated_home)):
        refused = roteiro("sync", folder, cwd=tree)
        assert refused.returncode == 2
        assert "--force" in refused.stderr
    missing = roteiro("sync", str(tree / "none"), "--json", cwd=tree)
    assert missing.returncode == 2
    assert json.loads(missing.stderr)["error"]["code"] == "root_refused"
    asked = roteiro("search", "anything", cwd=tree)
    assert asked.returncode == 3
    assert "roteiro sync" in asked.stderr


@pytest.mark.timeout(180)
def test_a_killed_sync_leaves_the_old_graph_or_the_new_one(tree: Path) -> None:
    assert roteiro("sync", cwd=tree).returncode == 0
    began = time.monotonic()
    write(tree, "second")
    assert roteiro("sync", cwd=tree).returncode == 0
    whole = time.monotonic() - began
    known, dice = "second", random.Random(7)
    for attempt in range(6):
        word = f"w{attempt}"
        write(tree, word)
        process = started("sync", *(["--rebuild"] if attempt % 2 else []), cwd=tree)
        time.sleep(dice.uniform(0.2, 1.0) * whole)
        process.kill()
        process.wait()
        seen = words(tree)
        assert seen in ({known}, {word})
        known = seen.pop()
    assert roteiro("sync", cwd=tree).returncode == 0
    assert words(tree) == {"w5"}


@pytest.mark.timeout(60)
def test_a_first_sync_that_is_killed_leaves_nothing_and_its_workers_go(tree: Path) -> None:
    process = started("sync", cwd=tree)
    deadline = time.monotonic() + 20
    while not _children(process.pid) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    workers = _children(process.pid)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while any(map(_is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert workers
    assert not any(map(_is_alive, workers))
    assert roteiro("sync", cwd=tree).returncode == 0
    assert words(tree) == {"first"}
    assert [path.name for path in (tree / ".git" / "roteiro").glob("*.new*")] == []


@pytest.mark.timeout(60)
def test_several_processes_at_once_all_succeed(tree: Path) -> None:
    running = [started("sync", cwd=tree) for _ in range(3)]
    assert [process.wait(timeout=50) for process in running] == [0, 0, 0]
    assert words(tree) == {"first"}


@pytest.mark.timeout(60)
def test_a_watch_ends_with_ctrl_c(tree: Path) -> None:
    command = [sys.executable, "-m", "roteiro", "sync", "--watch"]
    with subprocess.Popen(
        command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert "100 read" in process.stdout.readline()
            assert "watching" in process.stderr.readline()
            write(tree, "other")
            while "100 read" not in (line := process.stdout.readline()):
                assert line
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 130
        finally:
            process.kill()  # else leaving the `with` would wait for it, and what failed stay untold
    assert words(tree) == {"other"}


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:
            continue
    return found


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"

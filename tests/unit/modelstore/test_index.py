"""The index and the folders after crashes, damage and two writers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fakes import gguf_files as g
from roteiro.errors import UsageError, UserError
from roteiro.modelstore import folders, index
from roteiro.modelstore.index import FileLock, write_atomically
from roteiro.modelstore.store import ModelStore


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    store = ModelStore(tmp_path / "store")
    for name in ("a", "b"):
        store.import_file(g.model(name=name).write(tmp_path / f"{name}.gguf"), source=f"test:{name}")
    return store


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b'{"schema": 1}', b'{"schema": 1, "models": [{}]}', b"\xff\xfe", b"null"],
)
def test_a_damaged_index_is_rebuilt_from_the_folders(store: ModelStore, damage: bytes) -> None:
    before = {record.id: record.identity for record in store.records()}
    (store.root / "index.json").write_bytes(damage)
    again = ModelStore(store.root)
    assert {record.id: record.identity for record in again.records()} == before
    assert {record.source for record in again.records()} == {"rescan"}
    # It was written again, and the damaged one is kept for whoever wants to look.
    assert json.loads((store.root / "index.json").read_bytes())["schema"] == 1
    assert (store.root / "index.json.damaged").read_bytes() == damage


def test_every_truncation_of_the_index_is_survived(store: ModelStore) -> None:
    path = store.root / "index.json"
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 97):
        path.write_bytes(whole[:length])
        assert {record.id for record in ModelStore(store.root).records()} == {"a", "b"}


def test_the_index_of_a_newer_roteiro_is_left_alone(store: ModelStore) -> None:
    path = store.root / "index.json"
    path.write_text('{"schema": 2, "models": []}')
    with pytest.raises(UsageError, match="newer Roteiro"):
        ModelStore(store.root).records()
    assert path.read_text() == '{"schema": 2, "models": []}'


def test_a_crash_between_folder_and_index_is_put_right(store: ModelStore, tmp_path: Path) -> None:
    old = (store.root / "index.json").read_bytes()
    store.import_file(g.model(name="c").write(tmp_path / "c.gguf"))
    (store.root / "index.json").write_bytes(old)
    again = ModelStore(store.root)
    again.import_file(g.model(name="d").write(tmp_path / "d.gguf"))
    assert [record.id for record in again.records()] == ["a", "b", "c", "d"]


def test_a_crash_in_the_middle_of_removal_is_put_right(store: ModelStore, tmp_path: Path) -> None:
    (store.root / "files" / "a").rename(store.root / "files" / ".trash-1")
    again = ModelStore(store.root)
    assert [record.id for record in again.records()] == ["b"]
    again.import_file(g.model(name="c").write(tmp_path / "c.gguf"))
    assert sorted(path.name for path in (store.root / "files").iterdir()) == ["b", "c"]
    assert again.missing() == ()


def test_an_abandoned_staging_folder_is_swept_and_a_live_one_left(store: ModelStore) -> None:
    files = store.root / "files"
    abandoned = files / ".staging-abandoned"
    abandoned.mkdir()
    with folders.Folders(store.root).staging():
        store.remove("a")
        (live,) = [path for path in files.glob(".staging-*") if path.is_dir()]
        assert live != abandoned
    assert sorted(path.name for path in files.iterdir()) == ["b"]


def test_a_killed_import_leaves_no_copy_behind(store: ModelStore, tmp_path: Path) -> None:
    large = g.model(name="large")
    large.trailing = bytes(64 << 20)
    source = large.write(tmp_path / "large.gguf")
    code = (
        "import sys; from pathlib import Path; from roteiro.modelstore.store import ModelStore\n"
        "from roteiro.modelstore import store as module\n"
        "module.identify = lambda parts: (print('copied', flush=True), sys.stdin.read())\n"
        f"ModelStore(Path({str(store.root)!r})).import_file(Path({str(source)!r}), copy=True)"
    )
    line = [sys.executable, "-c", code]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"copied\n"
        other.kill()
    assert len(list((store.root / "files").glob(".staging-*"))) == 2
    store.remove("a")
    assert sorted(path.name for path in (store.root / "files").iterdir()) == ["b"]


def test_a_folder_that_holds_nothing_usable_is_left_alone(store: ModelStore) -> None:
    stranger = store.root / "files" / "notes"
    stranger.mkdir()
    (stranger / "x.gguf").write_bytes(b"not a gguf")
    store.remove("a")
    assert (stranger / "x.gguf").exists()
    assert [record.id for record in store.records()] == ["b"]


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    write_atomically(path, b"old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index.os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_lock_keeps_another_process_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import sys; from pathlib import Path; from roteiro.modelstore.index import FileLock\n"
        f"with FileLock(Path({str(path)!r})): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match="Another process"), FileLock(path, wait_s=0.1):
            pass
        other.kill()
        other.wait()
        # The system drops the lock of a process that was killed.
        with FileLock(path, wait_s=5.0):
            pass


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "store"
    paths = [g.model(name=f"m{n}").write(tmp_path / f"m{n}.gguf") for n in range(8)]
    threads = [threading.Thread(target=lambda p=p: ModelStore(root).import_file(p)) for p in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {record.id for record in ModelStore(root).records()} == {f"m{n}" for n in range(8)}


def test_another_process_change_is_seen(store: ModelStore, tmp_path: Path) -> None:
    assert len(store.records()) == 2
    ModelStore(store.root).import_file(g.model(name="c").write(tmp_path / "c.gguf"))
    assert len(store.records()) == 3


def test_an_index_that_cannot_be_read_is_an_error_and_stays(store: ModelStore) -> None:
    path = store.root / "index.json"
    path.unlink()
    path.mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        ModelStore(store.root).records()
    assert path.is_dir()


def test_a_store_that_cannot_be_written_still_lists(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store.root / "index.json").write_text("{")

    def refuse(_: object) -> None:
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(index.Index, "lock", refuse)
    assert {record.id for record in ModelStore(store.root).records()} == {"a", "b"}
    assert (store.root / "index.json").read_text() == "{"

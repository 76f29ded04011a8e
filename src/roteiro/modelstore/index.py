"""The index file of the store: which models are installed, with their headers and probe verdicts.

A write is atomic (a new file, flushed, renamed over the old one) and happens under a lock that other
processes respect. It knows JSON and files; what a folder holds is read again by `store`. Thread: any.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, get_args

from roteiro.errors import UsageError, UserError
from roteiro.modelstore.record import FileIdentity, GgufHeader, ModelKind, ModelRecord

SCHEMA = 1
INDEX_FILE = "index.json"
LOCK_FILE = "index.lock"
# Longer than any change of the index takes; file contents are hashed and copied outside the lock.
LOCK_SECONDS = 30.0
LOCK_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeVerdict:
    """What the child process found out about one file.

    Attributes:
        ok: it loaded, tokenised and decoded.
        reason: why it is refused; empty when `ok`.
        sha256: the content it holds for.
        engine: version of the engine that gave it; another one is asked again.
        checked: Unix seconds.
        final: False for what may have been the machine's fault (a timeout, memory).
        facts: what the child reported beside `ok`.
    """

    ok: bool
    reason: str
    sha256: str
    engine: str
    checked: float
    final: bool = True
    facts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One installed model and its verdict, if it was probed."""

    record: ModelRecord
    verdict: ProbeVerdict | None = None


Entries = Mapping[str, Entry]


class IndexCorrupt(Exception):
    """Raised when the index cannot be read as what this module writes."""


class Index:
    """Reads and replaces the index of one store folder; keeps what it read until the file changes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / INDEX_FILE
        self._seen: tuple[int, int, int] | None = None
        self._entries: Entries = MappingProxyType({})

    def read(self) -> Entries:
        """The entries by id, in the order in which they were installed.

        Raises:
            IndexCorrupt: the file is there and is not an index; `store` rebuilds it from the folder.
            UsageError: a newer Roteiro wrote it.
        """
        try:
            stat = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            self._seen, self._entries = None, MappingProxyType({})
            return self._entries
        except OSError as error:
            raise _unreadable(self._path, error) from error
        stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if stamp != self._seen:
            self._entries = MappingProxyType(_decode(self._path))
            self._seen = stamp
        return self._entries

    def write(self, entries: Entries) -> None:
        """Replace the index. Call it with the lock held."""
        body = {"schema": SCHEMA, "models": [_entry_to_json(entry) for entry in entries.values()]}
        write_atomically(self._path, json.dumps(body, ensure_ascii=True, indent=1).encode())

    def lock(self) -> FileLock:
        """The lock over every change of the store; use it in a `with`."""
        self._root.mkdir(parents=True, exist_ok=True)
        return FileLock(self._root / LOCK_FILE)


class FileLock:
    """An advisory lock between processes (and threads) that the system drops when its holder dies."""

    def __init__(self, path: Path, *, wait_s: float = LOCK_SECONDS) -> None:
        self._path = path
        self._wait_s = wait_s
        self._file: IO[bytes] | None = None

    def __enter__(self) -> FileLock:
        file = self._path.open("ab")
        deadline = time.monotonic() + self._wait_s
        while not _try_lock(file):
            if time.monotonic() >= deadline:
                file.close()
                raise UserError(
                    f"Another process holds {self._path} for more than {self._wait_s:.0f} s.",
                    hint="Wait for the other `roteiro model` command to finish and try again.",
                )
            time.sleep(LOCK_POLL_SECONDS)
        self._file = file
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            _unlock(self._file)
            self._file.close()
            self._file = None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that after a crash at any point either the old or the new content is there."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # Temporary files are private; the index may belong to a store that several users read.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system can."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        # Some network file systems refuse; the rename itself is still atomic.
        pass
    finally:
        os.close(handle)


# -------------------------------------------------------------------------------------------------


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _decode(path: Path) -> dict[str, Entry]:
    try:
        body = json.loads(path.read_bytes())
        schema = body["schema"]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, TypeError, KeyError) as error:
        raise IndexCorrupt(f"{path}: {error}") from error
    if isinstance(schema, int) and schema > SCHEMA:
        raise UsageError(
            f"{path} was written by a newer Roteiro (schema {schema}, this one knows {SCHEMA}).",
            hint="Upgrade Roteiro, or point [paths] model_store at another folder.",
        )
    try:
        entries = [_entry_from_json(item) for item in body["models"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IndexCorrupt(f"{path}: {error!r}") from error
    return {entry.record.id: entry for entry in entries}


def _unreadable(path: Path, error: OSError) -> UserError:
    return UserError(
        f"The model store's index {path} cannot be read: {error.strerror or error}.",
        hint="Check its permissions, or choose another [paths] model_store.",
    )


def _entry_to_json(entry: Entry) -> dict[str, Any]:
    record = dataclasses.asdict(entry.record)
    record["path"] = str(entry.record.path)
    record["parts"] = [str(part) for part in entry.record.parts]
    verdict = None if entry.verdict is None else dataclasses.asdict(entry.verdict)
    return {"record": record, "verdict": verdict}


def _entry_from_json(item: dict[str, Any]) -> Entry:
    record = dict(item["record"])
    if record["kind"] not in get_args(ModelKind):
        raise ValueError(record["kind"])
    record["path"] = Path(record["path"])
    record["parts"] = tuple(Path(part) for part in record["parts"])
    record["header"] = GgufHeader(**record["header"])
    record["identity"] = FileIdentity(**record["identity"])
    verdict = item["verdict"]
    return Entry(
        record=ModelRecord(**record),
        verdict=None if verdict is None else ProbeVerdict(**verdict),
    )


@contextmanager
def exclusive(path: Path, *, busy: str) -> Iterator[None]:
    """Hold a lock without waiting for it; `busy` is the message when another process has it."""
    try:
        lock = FileLock(path, wait_s=0.0).__enter__()
    except UserError as error:
        raise UserError(busy, hint="Wait for it to finish.") from error
    try:
        yield
    finally:
        lock.__exit__()

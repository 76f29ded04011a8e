"""The store's folders and their index: staged, committed by one rename, and read again after damage.

A model's folder appears whole or not at all. Whatever a crash left behind is put right by the next
change: a folder without an entry is read again, an entry without a folder is dropped. Thread: any.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from roteiro.errors import ModelFileInvalid, UserError
from roteiro.modelstore.gguf_facts import kind_of
from roteiro.modelstore.importing import ImportMethod, place
from roteiro.modelstore.index import (
    INDEX_FILE,
    Entries,
    Entry,
    FileLock,
    Index,
    IndexCorrupt,
    ProbeVerdict,
    sync_folder,
)
from roteiro.modelstore.parts import USABLE_ID, find_parts, identify
from roteiro.modelstore.record import ModelRecord

FILES_FOLDER = "files"
STAGING_PREFIX = ".staging-"
TRASH_PREFIX = ".trash-"
LOCK_SUFFIX = ".lock"
# A lock file without its folder may be about to get it; older than this it never will.
LOCK_FILE_SECONDS = 24 * 3600

log = logging.getLogger("roteiro.modelstore")


class Folders:
    """The folders of one store; every change happens under `lock()`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = root / FILES_FOLDER
        self._index = Index(root)

    def entries(self) -> Entries:
        """What is installed; a damaged index is rebuilt from the folders first."""
        try:
            return self._index.read()
        except IndexCorrupt as error:
            log.warning("index damaged, reading the folders again: %s", error)
        try:
            with self.lock():
                return self.reconciled()
        except OSError:
            # A store that cannot be written still serves what its folders hold.
            return self._reconcile({})

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Turn what the system says about the store's disk into an error for the user."""
        try:
            yield
        except OSError as error:
            raise UserError(
                f"The model store at {self._root} cannot be used: {error.strerror or error}.",
                hint="Check its permissions and free space, or choose another [paths] model_store.",
            ) from error

    def lock(self) -> FileLock:
        """Keeps other processes and threads from changing the store."""
        return self._index.lock()

    def reconciled(self) -> Entries:
        """The entries after what a crash left behind has been put right. Needs the lock."""
        try:
            known = self._index.read()
        except IndexCorrupt:
            damaged = self._root / INDEX_FILE
            damaged.replace(damaged.with_suffix(".json.damaged"))
            known = {}
        self._sweep()
        entries = self._reconcile(known)
        if entries != known:
            self.write(entries)
        return entries

    def write(self, entries: Entries) -> None:
        """Replace the index. Needs the lock."""
        self._index.write(entries)

    def update(self, record: ModelRecord) -> None:
        """Replace one model's record. Its verdict stays, and holds for the bytes it names alone."""
        with self.lock():
            entries = dict(self.reconciled())
            old = entries.get(record.id)
            if old is None:
                return
            entries[record.id] = dataclasses.replace(old, record=record)
            self.write(entries)

    def keep_verdict(self, record: ModelRecord, verdict: ProbeVerdict) -> None:
        """Write a verdict beside its model, unless the model has gone or changed meanwhile."""
        with self.lock():
            entries = dict(self.reconciled())
            old = entries.get(record.id)
            if old is not None and old.record.identity.sha256 == verdict.sha256:
                entries[record.id] = dataclasses.replace(old, verdict=verdict)
                self.write(entries)

    def is_taken(self, model_id: str, entries: Entries) -> bool:
        """True when an entry or a folder bears the id."""
        return model_id in entries or os.path.lexists(self._files / model_id)

    def discard(self, model_id: str) -> None:
        """Move a model's folder out of sight in one step. Needs the lock."""
        folder = self._files / model_id
        if folder.exists():
            folder.rename(self._files / f"{TRASH_PREFIX}{uuid.uuid4().hex}")
            sync_folder(self._files)

    def empty_trash(self) -> None:
        """Delete what was discarded; links are unlinked and never followed."""
        for folder in self._files.glob(f"{TRASH_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def staging(self) -> Iterator[Staging]:
        """A folder to gather a model in; it is gone afterwards unless it was committed."""
        self._files.mkdir(parents=True, exist_ok=True)
        folder = self._files / f"{STAGING_PREFIX}{uuid.uuid4().hex}"
        lock = _lock_of(folder)
        # Held while the folder exists: whoever can take it knows that its owner has died.
        with FileLock(lock):
            folder.mkdir()
            try:
                yield Staging(folder, self._files)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)

    # ---------------------------------------------------------------------------------------------

    def _sweep(self) -> None:
        self.empty_trash()
        for path in self._files.glob(f"{STAGING_PREFIX}*"):
            if path.is_dir():
                _sweep_abandoned(path)
            else:
                _sweep_lock(path)

    def _reconcile(self, known: Entries) -> Entries:
        present = self._folder_ids()
        entries = {key: entry for key, entry in known.items() if key in present}
        for model_id in present:
            if model_id not in entries:
                record = self._read_folder(model_id)
                if record is not None:
                    entries[model_id] = Entry(record=record)
        return entries

    def _folder_ids(self) -> list[str]:
        if not self._files.is_dir():
            return []
        names = sorted(folder.name for folder in self._files.iterdir() if folder.is_dir())
        return [name for name in names if USABLE_ID.fullmatch(name)]

    def _read_folder(self, model_id: str) -> ModelRecord | None:
        folder = self._files / model_id
        candidates = sorted(folder.glob("*.gguf"))
        if not candidates:
            return None
        try:
            files = find_parts(candidates[0])
            identity = identify(files.parts)
        except (ModelFileInvalid, OSError) as error:
            log.warning("left out of the index: %s", error)
            return None
        return ModelRecord(
            id=model_id,
            path=files.parts[0],
            parts=files.parts,
            size=identity.size,
            kind=kind_of(files.header),
            header=files.header,
            identity=identity,
            source="rescan",
            created=int(folder.stat().st_mtime),
        )


class Staging:
    """One model being gathered."""

    def __init__(self, folder: Path, files: Path) -> None:
        self._folder = folder
        self._files = files
        self.parts: tuple[Path, ...] = ()

    def fill(self, sources: tuple[Path, ...], model_id: str, *, copy: bool) -> ImportMethod:
        """Bring every part in; the parts of one model come in one way."""
        method: ImportMethod = "present"
        parts: list[Path] = []
        for number, source in enumerate(sources, start=1):
            target = self._folder / _file_name(source, model_id, number, len(sources))
            method = place(source, target, copy=copy)
            parts.append(target)
        self.parts = tuple(parts)
        return method

    def commit(self, model_id: str) -> tuple[Path, ...]:
        """Give the folder its name, in one step; returns the files' final paths. Needs the lock."""
        sync_folder(self._folder)
        final = self._files / model_id
        self._folder.rename(final)
        sync_folder(self._files)
        return tuple(final / part.name for part in self.parts)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + LOCK_SUFFIX)


def _sweep_abandoned(folder: Path) -> None:
    """Delete a staging folder unless its owner is alive."""
    try:
        with FileLock(_lock_of(folder), wait_s=0.0):
            shutil.rmtree(folder, ignore_errors=True)
            _lock_of(folder).unlink(missing_ok=True)
    except UserError:
        log.debug("staging in use folder=%s", folder.name)


def _sweep_lock(path: Path) -> None:
    # Its owner may delete it at any moment.
    with suppress(FileNotFoundError):
        if time.time() - path.stat().st_mtime > LOCK_FILE_SECONDS:
            path.unlink()


def _file_name(source: Path, model_id: str, number: int, count: int) -> str:
    """The file's own name, or one made from the id where that is no clean name for a GGUF.

    Blobs of other tools have none that ends in .gguf, and a name may hold bytes that are no text.
    """
    if source.name.isprintable() and source.name.isascii() and source.suffix.lower() == ".gguf":
        return source.name
    return f"{model_id}.gguf" if count == 1 else f"{model_id}-{number:05}-of-{count:05}.gguf"

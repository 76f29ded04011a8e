"""The model store: the one place that adds, finds, checks and removes installed models.

    ROOT/index.json       what is installed (rebuilt from the folders when it is damaged)
    ROOT/files/ID/*.gguf  one folder a model: links or copies that Roteiro made
    ROOT/partial/         downloads under way

It knows files and headers; whether a model loads is told by the probe it is given. Thread: any; methods
block on the disk, the `async` ones do so in a thread.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from contextlib import AbstractContextManager
from pathlib import Path

from roteiro.errors import (
    ConfigError,
    ModelFileInvalid,
    ModelNotFound,
    ModelUnusable,
    RoteiroError,
    UsageError,
)
from roteiro.modelstore.folders import Folders
from roteiro.modelstore.gguf_facts import kind_of
from roteiro.modelstore.importing import ImportMethod, ImportResult
from roteiro.modelstore.index import Entries, Entry
from roteiro.modelstore.parts import USABLE_ID, default_id, find_parts, identify, stamp
from roteiro.modelstore.probe import ChildProbe
from roteiro.modelstore.record import FileIdentity, GgufHeader, ModelKind, ModelRecord
from roteiro.modelstore.verdicts import ProbeVerdict, Verdicts

SYMLINK_WARNING = (
    "{path} is on another file system, so the store holds a symbolic link to it: "
    "the model is gone when that file is moved or deleted. Import it with --copy to be independent of it."
)


class ModelStore:
    """The models under one folder. Creates nothing until something is installed.

    Args:
        root: the store's folder.
        probe: proves a file loadable; the default starts the engine's own child process.
    """

    def __init__(self, root: Path, *, probe: ChildProbe | None = None) -> None:
        self.root = root
        self._folders = Folders(root)
        self._verdicts = Verdicts(self._folders, probe or ChildProbe())

    def __repr__(self) -> str:
        return f"<ModelStore {str(self.root)!r}, {len(self._folders.entries())} models>"

    def reported(self) -> AbstractContextManager[None]:
        """Turns what the system says about the store's disk into an error for the user."""
        return self._folders.reported()

    # --- finding ---------------------------------------------------------------------------------

    def records(self) -> tuple[ModelRecord, ...]:
        """Every installed model whose files are there, in the order of installation."""
        entries = self._folders.entries().values()
        return tuple(entry.record for entry in entries if _is_there(entry.record))

    def missing(self) -> tuple[ModelRecord, ...]:
        """Installed models whose files another program has moved or deleted."""
        entries = self._folders.entries().values()
        return tuple(entry.record for entry in entries if not _is_there(entry.record))

    def get(self, model_id: str) -> ModelRecord:
        """The model of that id.

        Raises:
            ModelNotFound: none bears it, or its file has vanished; lists those that are there.
        """
        entry = self._folders.entries().get(model_id)
        if entry is None or not _is_there(entry.record):
            raise self._not_found(model_id)
        return entry.record

    def default(self, kind: ModelKind, configured_id: str | None) -> ModelRecord | None:
        """The model for requests that name none: the configured one, else the first of the kind.

        Returns:
            None when no model of the kind is installed and none is configured.

        Raises:
            ConfigError: the configured id is not installed or is of the other kind; quotes the key.
        """
        records = self.records()
        if configured_id is None:
            return next((record for record in records if record.kind == kind), None)
        found = next((record for record in records if record.id == configured_id), None)
        if found is not None and found.kind == kind:
            return found
        known = ", ".join(record.id for record in records if record.kind == kind) or "none"
        what = "is not installed" if found is None else f"is a model of kind {found.kind}"
        raise ConfigError(
            [f"[models] {kind} is {configured_id!r}, which {what} (installed {kind} models: {known})"],
            hint="Name an installed model or remove the key.",
            param=f"models.{kind}",
        )

    # --- changing --------------------------------------------------------------------------------

    def import_file(
        self,
        path: Path,
        *,
        copy: bool = False,
        model_id: str | None = None,
        name: str | None = None,
        source: str = "import",
    ) -> ImportResult:
        """Install a GGUF, or the whole split model that it is a part of.

        Args:
            path: the file.
            copy: keep bytes of our own even where a link would do.
            model_id: the id to give it, and no other; None makes one from `name`.
            name: what the id is made from; None takes the file's name.
            source: where it came from, for the record.

        Raises:
            ModelFileInvalid: a file is no usable GGUF, or a part is missing.
            UsageError: `model_id` cannot be an id, or is another model's.
        """
        if model_id is not None and not USABLE_ID.fullmatch(model_id):
            raise UsageError(
                f"{model_id!r} cannot be a model id.",
                hint="Use lower-case letters, digits, dots, dashes and underscores, at most 100.",
            )
        files = find_parts(path)
        wanted = model_id or default_id(name or path.name)
        with self._folders.reported(), self._folders.staging() as staging:
            method = staging.fill(files.parts, wanted, copy=copy)
            identity = identify(staging.parts)
            # Of the very bytes that were hashed: the source may have been replaced meanwhile.
            header = find_parts(staging.parts[0]).header
            with self._folders.lock():
                entries = self._folders.reconciled()
                present = _same_bytes(entries, identity)
                if present is not None:
                    return _already_there(present, model_id)
                final_id = self._free_id(wanted, entries, exact=model_id is not None)
                record = _record(final_id, staging.commit(final_id), header, identity, source)
                self._folders.write({**entries, final_id: Entry(record=record)})
        return ImportResult(record=record, method=method, warnings=_warnings(path, wanted, final_id, method))

    def remove(self, model_id: str) -> ModelRecord:
        """Take a model out: the store's own links and copies, never the file it was adopted from."""
        with self._folders.reported(), self._folders.lock():
            entries = dict(self._folders.reconciled())
            entry = entries.pop(model_id, None)
            if entry is None:
                raise self._not_found(model_id)
            self._folders.discard(model_id)
            self._folders.write(entries)
        self._folders.empty_trash()
        return entry.record

    def verify(self, model_id: str) -> FileIdentity:
        """Hash the files again and compare.

        Raises:
            ModelUnusable: the bytes are not the ones that were installed.
        """
        record = self.get(model_id)
        with self._folders.reported():
            found = identify(record.parts)
        if found.sha256 != record.identity.sha256:
            raise ModelUnusable(
                f"The files of {model_id!r} have changed since they were installed: "
                f"SHA-256 {found.sha256} instead of {record.identity.sha256}.",
                hint=f"Remove it with `roteiro model remove {model_id}` and install it again.",
                param="model",
                details={"expected": record.identity.sha256, "found": found.sha256},
            )
        return found

    def refresh_if_changed(self, record: ModelRecord) -> ModelRecord:
        """Notice that a file was changed since it was last read; costs one stat while it was not.

        Returns:
            `record` itself, or the record of the new bytes, whose probe is due unless the bytes are equal.

        Raises:
            ModelNotFound: a file has vanished.
            ModelUnusable: the new bytes are no usable model.
        """
        try:
            if stamp(record.parts) == (record.identity.size, record.identity.mtime_ns):
                return record
            files = find_parts(record.path)
            identity = identify(files.parts)
        except OSError as error:
            raise self._not_found(record.id) from error
        except ModelFileInvalid as error:
            if not _is_there(record):
                raise self._not_found(record.id) from error
            raise ModelUnusable(
                f"The file of {record.id!r} was changed and cannot be used any more: {error.message}",
                hint=f"Put the file back, or `roteiro model remove {record.id}`.",
                param="model",
            ) from error
        changed = dataclasses.replace(
            record,
            parts=files.parts,
            size=identity.size,
            kind=kind_of(files.header),
            header=files.header,
            identity=identity,
        )
        self._folders.update(changed)
        return changed

    # --- proving ---------------------------------------------------------------------------------

    def probe_verdict(self, record: ModelRecord) -> ProbeVerdict | None:
        """What is known of this model's bytes under this engine; None when a probe is due."""
        return self._verdicts.known(record)

    def ensure_probed(self, record: ModelRecord, *, again: bool = False) -> ProbeVerdict:
        """Make sure that a child process has loaded and decoded with the model; blocks meanwhile.

        Raises:
            ModelUnusable: it is refused, with the reason.
            MissingExtra: the engine is not installed.
        """
        return self._verdicts.ensure(record, again=again)

    async def ensure_probed_async(self, record: ModelRecord, *, again: bool = False) -> ProbeVerdict:
        """The same from the event loop; several callers for one model share one child."""
        return await self._verdicts.ensure_async(record, again=again)

    async def current(self, model_id: str) -> ModelRecord:
        """`get` and `refresh_if_changed` in one hop off the event loop: what a turn begins with."""
        return await asyncio.to_thread(lambda: self.refresh_if_changed(self.get(model_id)))

    async def records_async(self) -> tuple[ModelRecord, ...]:
        """`records` off the event loop."""
        return await asyncio.to_thread(self.records)

    async def refresh_if_changed_async(self, record: ModelRecord) -> ModelRecord:
        """`refresh_if_changed` off the event loop: a changed file is hashed."""
        return await asyncio.to_thread(self.refresh_if_changed, record)

    # ---------------------------------------------------------------------------------------------

    def _not_found(self, model_id: str) -> RoteiroError:
        return ModelNotFound(model_id, [record.id for record in self.records()])

    def _free_id(self, wanted: str, entries: Entries, *, exact: bool) -> str:
        if not self._folders.is_taken(wanted, entries):
            return wanted
        if exact:
            raise UsageError(
                f"The id {wanted!r} belongs to another installed model.",
                hint=f"Choose another --id, or `roteiro model remove {wanted}` first.",
            )
        number = 2
        while self._folders.is_taken(f"{wanted}-{number}", entries):
            number += 1
        return f"{wanted}-{number}"


def _record(
    model_id: str, parts: tuple[Path, ...], header: GgufHeader, identity: FileIdentity, source: str
) -> ModelRecord:
    return ModelRecord(
        id=model_id,
        path=parts[0],
        parts=parts,
        size=identity.size,
        kind=kind_of(header),
        header=header,
        identity=identity,
        source=source,
        created=int(time.time()),
    )


def _is_there(record: ModelRecord) -> bool:
    return all(part.exists() for part in record.parts)


def _same_bytes(entries: Entries, identity: FileIdentity) -> ModelRecord | None:
    for entry in entries.values():
        if entry.record.identity.sha256 == identity.sha256 and _is_there(entry.record):
            return entry.record
    return None


def _already_there(record: ModelRecord, model_id: str | None) -> ImportResult:
    warnings: tuple[str, ...] = ()
    if model_id is not None and model_id != record.id:
        warnings = (f"These bytes are installed already, as {record.id!r}; that id stays.",)
    return ImportResult(record=record, method="present", warnings=warnings)


def _warnings(path: Path, wanted: str, final_id: str, method: ImportMethod) -> tuple[str, ...]:
    found: list[str] = []
    if final_id != wanted:
        found.append(f"The id {wanted!r} belongs to another model; this one is {final_id!r}.")
    if method == "symlink":
        found.append(SYMLINK_WARNING.format(path=path))
    return tuple(found)

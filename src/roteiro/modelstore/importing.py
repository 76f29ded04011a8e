"""Puts a file's bytes into the store's folder without copying them where that can be avoided.

It links and copies; what the files are is not its business. Thread: any; a copy takes its time.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from roteiro.errors import UserError
from roteiro.modelstore.record import ModelRecord

ImportMethod = Literal["hardlink", "reflink", "symlink", "copy", "present"]

# ioctl request that makes one file share another's blocks (Btrfs, XFS, bcachefs).
FICLONE = 0x40049409
COPY_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What an import did.

    Attributes:
        record: the installed model; the one that was there already when `method` is `present`.
        method: how the bytes came in.
        warnings: sentences for the user.
    """

    record: ModelRecord
    method: ImportMethod
    warnings: tuple[str, ...] = ()


def place(source: Path, target: Path, *, copy: bool) -> ImportMethod:
    """Make `target` hold the bytes of `source`; returns how.

    Args:
        source: the file; a symbolic link is followed first, so that ours does not depend on it.
        target: a path that does not exist yet, in a folder of the store.
        copy: ask for bytes of our own: a later change of `source` must not reach them.

    Raises:
        UserError: the disk is full or the files cannot be reached.
    """
    source = source.resolve()
    try:
        if copy:
            return "reflink" if _reflink(source, target) else _copy(source, target)
        return _link(source, target)
    except OSError as error:
        raise UserError(
            f"{source} could not be brought into {target.parent}: {error.strerror or error}.",
            hint="Check free space and permissions; nothing was installed.",
        ) from error


# -------------------------------------------------------------------------------------------------


def _link(source: Path, target: Path) -> ImportMethod:
    try:
        os.link(source, target)
    except OSError:
        # Another file system, another owner's file, or a file system without hard links.
        pass
    else:
        return "hardlink"
    if _reflink(source, target):
        return "reflink"
    try:
        target.symlink_to(source)
    except OSError:
        return _copy(source, target)
    return "symlink"


def _reflink(source: Path, target: Path) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import fcntl

    with source.open("rb") as origin, target.open("xb") as clone:
        try:
            fcntl.ioctl(clone.fileno(), FICLONE, origin.fileno())
        except OSError:
            cloned = False
        else:
            cloned = True
    if cloned:
        shutil.copystat(source, target)
    else:
        target.unlink()
    return cloned


def _copy(source: Path, target: Path) -> ImportMethod:
    try:
        with source.open("rb") as origin, target.open("xb") as written:
            shutil.copyfileobj(origin, written, COPY_BYTES)
            written.flush()
            os.fsync(written.fileno())
        shutil.copystat(source, target)
    except OSError:
        target.unlink(missing_ok=True)
        raise
    return "copy"

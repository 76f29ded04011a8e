"""Which files a tree has: as git sees them, or by walking a plain folder with its ignore files.

Owns the listing with sizes and times, nothing of the contents. Symbolic links are never followed, so
nothing outside the root is seen and nothing is seen twice. Submodules and nested work trees are trees
of their own and not entered. Thread: any.
"""

from __future__ import annotations

import logging
import os
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from roteiro.graph.roots import Root
from roteiro.graph.walk import walk

log = logging.getLogger("roteiro.graph")

GIT_SECONDS: Final = 120


class FileStat(NamedTuple):
    """A regular file: its path from the root, bytes, and times of change in nanoseconds."""

    path: str
    size: int
    mtime: int
    ctime: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a scan found. `left_out` are (path, reason) of what cannot be indexed, whatever it holds."""

    files: tuple[FileStat, ...]
    left_out: tuple[tuple[str, str], ...]


def list_files(root: Root) -> Listing:
    """Every regular file of the tree, by path, without those that git ignores."""
    files: list[FileStat] = []
    left_out: list[tuple[str, str]] = []
    folder = str(root.path)
    for path in sorted(_paths(root, left_out)):
        reason = _unusable_name(path)
        if reason:
            left_out.append((printable(path), reason))
            continue
        found = _status(folder, path)
        if isinstance(found, str):
            left_out.append((path, found))
        elif found is not None:
            files.append(found)
    return Listing(files=tuple(files), left_out=tuple(sorted(left_out)))


def printable(path: str) -> str:
    """A path that any output can carry: bytes that are no text are shown by their numbers."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


# --------------------------------------------------------------------------------------------------


def _paths(root: Root, left_out: list[tuple[str, str]]) -> set[str]:
    if root.git_dir is not None:
        listed = _git_paths(root.path)
        if listed is not None:
            return set(_without_nested(listed, left_out))
    return set(walk(root.path, left_out))


def _git_paths(folder: Path) -> list[str] | None:
    """What `git ls-files` lists; None where git cannot be asked."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    # The caller's own git variables (a hook's GIT_DIR and GIT_INDEX_FILE) mean another tree.
    environment = {name: value for name, value in os.environ.items() if name not in _GIT_VARIABLES}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", b"") or str(error).encode()
        log.warning("git_listing_failed reason=%r fallback=walk", detail.decode(errors="replace"))
        return None
    return [os.fsdecode(path) for path in done.stdout.split(b"\0") if path]


_GIT_VARIABLES: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"}
)


def _without_nested(listed: Iterable[str], left_out: list[tuple[str, str]]) -> Iterator[str]:
    for path in listed:
        if path.endswith("/"):
            left_out.append((printable(path), "a git work tree of its own"))
        else:
            yield path


def _status(root: str, path: str) -> FileStat | str | None:
    """The file's numbers, a reason to leave it out, or None for what is silently no file."""
    try:
        status = os.lstat(f"{root}/{path}")
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISREG(status.st_mode):
        return FileStat(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if stat.S_ISDIR(status.st_mode):
        return "a submodule"
    return "a symbolic link" if stat.S_ISLNK(status.st_mode) else "not a regular file"


def _unusable_name(path: str) -> str | None:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    return None

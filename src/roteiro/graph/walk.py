"""Walks a plain folder as git would: nested `.gitignore` files count, ignored trees are not entered.

Symbolic links are listed by nobody here and never followed. Without git nothing says that installed
packages are not the project, so the folders that hold them are left out and reported. Thread: any.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Repositories' own data, and ours.
_HIDDEN_TREES: Final = frozenset({".git", ".hg", ".svn", ".jj", ".roteiro"})
_PACKAGE_TREES: Final = frozenset({"node_modules", "bower_components", "__pypackages__"})
_CACHE_TREES: Final = frozenset({"__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache"})
IGNORE_FILE_BYTES: Final = 1 << 20

# Ignore files from the outermost in: (path of their folder with a slash at its end, rules).
Rules: TypeAlias = "tuple[tuple[str, GitIgnoreSpec], ...]"


def walk(root: Path, left_out: list[tuple[str, str]]) -> Iterator[str]:
    """Paths of the folder's files, relative with `/`, in no stated order.

    Args:
        root: where to begin.
        left_out: gets (path, reason) of folders that cannot be entered or hold installed packages.
    """
    waiting: list[tuple[str, Rules]] = [("", ())]
    while waiting:
        prefix, rules = waiting.pop()
        try:
            with os.scandir(root / prefix) as found:
                entries = list(found)
        except OSError as error:
            left_out.append((_shown(prefix), f"cannot be entered: {error.strerror}"))
            continue
        names = {entry.name for entry in entries}
        if prefix and "pyvenv.cfg" in names:
            left_out.append((_shown(prefix), "a virtual environment"))
            continue
        if ".gitignore" in names:
            rules = (*rules, (prefix, _ignore_file(root / prefix / ".gitignore")))
        for entry in entries:
            path = prefix + entry.name
            if _is_folder(entry):
                if _enters(entry.name, path, rules, left_out):
                    waiting.append((path + "/", rules))
            elif not is_ignored(path, rules):
                yield path


def is_ignored(path: str, rules: Rules) -> bool:
    """Whether the innermost ignore file with a word on the path says that it is ignored."""
    for prefix, spec in reversed(rules):
        verdict = spec.check_file(path[len(prefix) :]).include
        if verdict is not None:
            return verdict
    return False


# --------------------------------------------------------------------------------------------------


def _enters(name: str, path: str, rules: Rules, left_out: list[tuple[str, str]]) -> bool:
    if name in _HIDDEN_TREES or name in _CACHE_TREES or is_ignored(path + "/", rules):
        return False
    if name in _PACKAGE_TREES:
        left_out.append((_shown(path + "/"), "installed packages"))
        return False
    return True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _ignore_file(path: Path) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # needed only outside of git

    try:
        if path.is_symlink():  # git does not follow these either
            return GitIgnoreSpec.from_lines([])
        with path.open("rb") as file:
            text = file.read(IGNORE_FILE_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return GitIgnoreSpec.from_lines([])
    kept: list[str] = []
    for line in text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"):
        # One bad pattern must not make the others void; git skips such a line too.
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        kept.append(line)
    return GitIgnoreSpec.from_lines(kept)


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace") or "./"

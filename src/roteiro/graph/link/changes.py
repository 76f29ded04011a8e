"""Which files must be linked again when some files' headers change.

Goes by names: a file is affected if it mentions a name whose definition changed, and a definition that
is explained by a changed name (its base, its type, what it returns) counts as changed too. Line numbers
do not count. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from posixpath import basename, dirname
from typing import Final

from roteiro.graph.extract.facts import FileHeader

_WORD: Final = re.compile(r"[^\W\d][\w$]*")
_MAX_ROUNDS: Final = 8
_PACKAGE_FILES: Final = frozenset({"__init__.py", "__init__.pyi"})

Lookup = Mapping[str, frozenset[str]] | Callable[[frozenset[str]], set[str]]
Facts = dict[str, set[object]]


def affected_files(
    old: Mapping[str, FileHeader | None],
    new: Mapping[str, FileHeader | None],
    mentions: Lookup,
    headers: Mapping[str, FileHeader],
) -> set[str]:
    """The changed files and every file whose edges may differ because of them."""
    found = {path for path in {*old, *new} if new.get(path) is not None}
    changed: set[str] = set()
    for path in {*old, *new}:
        changed |= _changed_names(path, old.get(path), new.get(path))
    fresh = frozenset(changed)
    for _ in range(_MAX_ROUNDS):
        if not fresh:
            break
        files = _mentioning(mentions, fresh)
        found |= files
        explained: set[str] = set()
        for path in files:
            header = headers.get(path)
            if header is not None:
                explained |= _explained_by(path, header, fresh)
        fresh = frozenset(explained - changed)
        changed |= fresh
    found |= _in_turned_folders(old, new, headers)
    return {path for path in found if path in headers or new.get(path) is not None}


def _in_turned_folders(
    old: Mapping[str, FileHeader | None],
    new: Mapping[str, FileHeader | None],
    headers: Mapping[str, FileHeader],
) -> set[str]:
    """Files in folders that became packages or ceased to be, or whose package brings other names along.

    Their plain imports and their `from . import` mean others now, without naming what changed.
    """
    folders = {
        dirname(path)
        for path in {*old, *new}
        if basename(path) in _PACKAGE_FILES and _stars(old.get(path)) != _stars(new.get(path))
    }
    return {path for path in headers for folder in folders if not folder or path.startswith(folder + "/")}


def _stars(header: FileHeader | None) -> list[str] | None:
    """The modules of which a file takes in everything; None for no file."""
    return None if header is None else sorted(e.module for e in header.imports if e.name == "*")


def _mentioning(mentions: Lookup, names: frozenset[str]) -> set[str]:
    if callable(mentions):
        return set(mentions(names))
    return {path for path, words in mentions.items() if not names.isdisjoint(words)}


def _changed_names(path: str, old: FileHeader | None, new: FileHeader | None) -> set[str]:
    before = _facts(old) if old is not None else {}
    after = _facts(new) if new is not None else {}
    names = {name for name in {*before, *after} if before.get(name, set()) != after.get(name, set())}
    if old is None or new is None or old.package != new.package or "*" in names:
        names |= module_names(path)
    return names | {word for name in names for word in _WORD.findall(name)}


def module_names(path: str) -> set[str]:
    """The names by which other files may ask for a file."""
    stem = basename(path).split(".", 1)[0]
    return {word for part in (stem, basename(dirname(path))) for word in _WORD.findall(part)}


def _facts(header: FileHeader) -> Facts:
    """For every name what the header says of it, line numbers left out."""
    found: Facts = {}
    for row in header.defs:
        holder, _, name = row.qualname.partition("~")[0].rpartition(".")
        said = (row.qualname, row.kind, row.flags, row.params, row.returns, row.bases)
        found.setdefault(name, set()).add(said)
        if row.bases:
            found.setdefault(holder.rpartition(".")[2], set()).add(said)
    for bind in header.binds:
        scope = header.defs[bind.scope].qualname if 0 <= bind.scope < len(header.defs) else ""
        name = bind.name.rpartition(".")[2]
        found.setdefault(name, set()).add((scope, bind.kind, bind.expr))
    for entry in header.imports:
        said_import = (entry.module, entry.name, entry.local, entry.flags)
        if entry.name != "*":
            found.setdefault(entry.local, set()).add(said_import)
    stars = tuple(sorted(entry.module for entry in header.imports if entry.name == "*"))
    exports = header.exports
    if stars or exports is not None:
        found.setdefault("*", set()).add((stars, exports))
    return found


def _explained_by(path: str, header: FileHeader, names: frozenset[str]) -> set[str]:
    found: set[str] = set()
    for name, texts in _texts(header):
        if any(not names.isdisjoint(_WORD.findall(text)) for text in texts if text):
            # What a star brings has no name here; whoever names this module may mean any of it.
            found |= module_names(path) if name == "*" else {name}
    return found


def _texts(header: FileHeader) -> Iterator[tuple[str, tuple[str, ...]]]:
    for row in header.defs:
        if row.returns or row.bases or any(kind for _, kind in row.params):
            name = row.qualname.partition("~")[0].rpartition(".")[2]
            yield name, (row.returns, *row.bases)
    for bind in header.binds:
        yield bind.name.rpartition(".")[2], (bind.expr,)
    for entry in header.imports:
        if entry.name == "*":
            yield "*", (entry.module,)
        elif entry.local != entry.name:
            yield entry.local, (entry.name,)

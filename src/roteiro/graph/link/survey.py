"""What linking must know of a whole tree: languages, documents, functions by name.

One pass over all headers on the first question, which are then let go again: a tree has more of them
than the memory should hold. Knows no language's rules but their families. Thread: one linker.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from roteiro.graph.extract.facts import Def, FileHeader, symbol_key
from roteiro.graph.link.rules import RULES
from roteiro.graph.link.values import CALLABLES

MAX_CANDIDATES: Final = 4
"""A name that more functions bear is too common to guess by."""

_Named = dict[str, list[tuple[str, int]]]


class _Seen(NamedTuple):
    """What one pass finds."""

    families: dict[str, list[str]]
    documents: dict[str, str]
    # By family and kind; no more rows of a name than show that it is too common.
    callables: dict[tuple[str, str], _Named]


class Survey:
    """The whole tree in short."""

    def __init__(self, headers: Mapping[str, FileHeader]) -> None:
        self._headers = headers

    def family(self, name: str) -> list[str]:
        """The paths of a language family."""
        return self._seen.families.get(name, [])

    @property
    def documents(self) -> Mapping[str, str]:
        """The file of each document's key."""
        return self._seen.documents

    def called(self, family: str, kind: str, name: str) -> list[tuple[str, int]]:
        """The functions (or methods) of a name, as (path, index); none where they are too many."""
        rows = self._seen.callables.get((family, kind), {}).get(name, [])
        return rows if len(rows) <= MAX_CANDIDATES else []

    def symbol(self, name: str) -> str | None:
        """The key of the only symbol that bears a qualified name or whose last part it is."""
        found: list[str] = []
        for path in self._names.files_with(name):
            header = self._headers[path]
            bearing = (row for row in header.defs if name in _names_of(row))
            found += (symbol_key(header.lang, path, row.qualname) for row in bearing)
            if len(found) > 1:
                return None
        return found[0] if found else None

    # ----------------------------------------------------------------------------------------------

    @cached_property
    def _seen(self) -> _Seen:
        seen = _Seen({}, {}, {})
        for path, header in self._headers.items():
            seen.documents.update(dict.fromkeys(header.keys, path))
            rules = RULES.get(header.lang)
            if rules is not None:
                seen.families.setdefault(rules.family, []).append(path)
                _add_callables(seen.callables, rules.family, path, header)
        return seen

    @cached_property
    def _names(self) -> NameIndex:
        return NameIndex(
            (path, {name for row in header.defs for name in _names_of(row)})
            for path, header in self._headers.items()
        )


class NameIndex:
    """Which files may bear a name, in eight bytes a name and file: a tree has half a million of these.

    Names are told by a part of their hash, so that a file may be given that does not bear the name.
    """

    __slots__ = ("_entries", "_paths")

    def __init__(self, names: Iterable[tuple[str, Iterable[str]]]) -> None:
        self._paths: list[str] = []
        entries: list[int] = []
        for number, (path, words) in enumerate(names):
            self._paths.append(path)
            entries += [_begin(word) | number for word in words]
        entries.sort()
        self._entries = array("Q", entries)

    def files_with(self, name: str) -> Iterator[str]:
        """The paths of the files that may bear a name, in the tree's order."""
        begin = _begin(name)
        for at in range(bisect_left(self._entries, begin), len(self._entries)):
            number = self._entries[at] - begin
            if number > _LAST_FILE:
                return
            yield self._paths[number]


_FILE_BITS: Final = 24
_LAST_FILE: Final = (1 << _FILE_BITS) - 1


def _begin(name: str) -> int:
    """Where the entries of a name begin: part of its hash, then as many zeros as a file's number has bits."""
    return (hash(name) & ((1 << 64 - _FILE_BITS) - 1)) << _FILE_BITS


def _names_of(row: Def) -> tuple[str, str]:
    return row.qualname, row.qualname.rpartition(".")[2]


def _add_callables(known: dict[tuple[str, str], _Named], family: str, path: str, header: FileHeader) -> None:
    for number, row in enumerate(header.defs):
        if row.kind in CALLABLES and "~" not in row.qualname:
            names = known.setdefault((family, row.kind), {})
            rows = names.setdefault(row.qualname.rpartition(".")[2], [])
            if len(rows) <= MAX_CANDIDATES:
                rows.append((path, number))

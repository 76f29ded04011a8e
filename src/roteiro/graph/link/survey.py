"""What linking must know of a whole tree: languages, documents, functions by name.

One pass over all headers on the first question, which are then let go again: a tree has more of them
than the memory should hold. Knows no language's rules but their families. Thread: one linker.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from roteiro.graph.extract.facts import FileHeader, symbol_key
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

    def symbols(self, name: str) -> list[str]:
        """The keys of the symbols that bear a qualified name or end in a name."""
        return self._names.get(name, [])

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
    def _names(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for path, header in self._headers.items():
            for row in header.defs:
                key = symbol_key(header.lang, path, row.qualname)
                for part in {row.qualname, row.qualname.rpartition(".")[2]}:
                    names.setdefault(part, []).append(key)
        return names


def _add_callables(known: dict[tuple[str, str], _Named], family: str, path: str, header: FileHeader) -> None:
    for number, row in enumerate(header.defs):
        if row.kind in CALLABLES and "~" not in row.qualname:
            names = known.setdefault((family, row.kind), {})
            rows = names.setdefault(row.qualname.rpartition(".")[2], [])
            if len(rows) <= MAX_CANDIDATES:
                rows.append((path, number))

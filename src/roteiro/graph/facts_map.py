"""Packed facts by path, each unpacked when it is first asked for: most links ask for few files.

Knows neither the store nor linking. Thread: one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


class Unpacked(Mapping[str, T]):
    """A read-only mapping. `packed` is what it was made of."""

    def __init__(self, packed: Iterable[tuple[str, bytes]], unpack: Callable[[bytes], T]) -> None:
        self.packed = dict(packed)
        self._unpack = unpack
        self._known: dict[str, T] = {}

    def __getitem__(self, path: str) -> T:
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._unpack(self.packed[path])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def __contains__(self, path: object) -> bool:
        return path in self.packed

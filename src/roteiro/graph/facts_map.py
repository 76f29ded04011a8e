"""Packed facts by path, each unpacked when it is first asked for: most links ask for few files.

Knows neither the store nor linking. Thread: one.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from typing import Final, TypeVar

T = TypeVar("T")

# Packed bytes of what is kept unpacked, which takes some 25 times as many: all of a small tree's, so that
# nothing is unpacked twice, and little of a large one's, whose indexes need the memory.
_SMALL_BYTES: Final = 3 << 20
_KEPT_BYTES: Final = 512 << 10


class _Passing(ItemsView[str, T]):
    """Every path with its value; what there is no room for is unpacked and let go again."""

    def __init__(self, mapping: Unpacked[T]) -> None:
        super().__init__(mapping)
        self._of = mapping

    def __iter__(self) -> Iterator[tuple[str, T]]:
        for path in self._of:
            yield path, self._of.passing(path)


class Unpacked(Mapping[str, T]):
    """A read-only mapping that keeps so much of what it unpacked. `packed` is what it was made of."""

    def __init__(self, packed: Iterable[tuple[str, bytes]], unpack: Callable[[bytes], T]) -> None:
        self.packed = dict(packed)
        self._unpack = unpack
        self._known: dict[str, T] = {}
        self._kept = 0
        total = sum(map(len, self.packed.values()))
        self._room = total if total <= _SMALL_BYTES else _KEPT_BYTES

    def __getitem__(self, path: str) -> T:
        found = self._known.get(path)
        if found is None:
            packed = self.packed[path]
            if self._kept > self._room:
                self._known.clear()
                self._kept = 0
            self._kept += len(packed)
            found = self._known[path] = self._unpack(packed)
        return found

    def items(self) -> ItemsView[str, T]:
        """Every value once; a pass over a large tree neither fills the memory nor empties it."""
        return _Passing(self)

    def passing(self, path: str) -> T:
        """One value, kept only as long as there is room: it never displaces another."""
        found = self._known.get(path)
        if found is None:
            packed = self.packed[path]
            found = self._unpack(packed)
            if self._kept + len(packed) <= self._room:
                self._kept += len(packed)
                self._known[path] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def __contains__(self, path: object) -> bool:
        return path in self.packed

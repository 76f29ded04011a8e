"""Packed facts by path, each unpacked when it is first asked for: most links ask for few files.

Knows neither the store nor linking. Thread: one.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from typing import Final, TypeVar

T = TypeVar("T")

# Packed bytes of what is kept unpacked, which takes some 25 times as many.
_KEPT_BYTES: Final = 512 << 10


class _Passing(ItemsView[str, T]):
    """Every path with its value; what was not asked for by itself is unpacked and let go again."""

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

    def __getitem__(self, path: str) -> T:
        found = self._known.get(path)
        if found is None:
            packed = self.packed[path]
            if self._kept > _KEPT_BYTES:
                self._known.clear()
                self._kept = 0
            self._kept += len(packed)
            found = self._known[path] = self._unpack(packed)
        return found

    def items(self) -> ItemsView[str, T]:
        """Every value once, none of them kept: a pass over a large tree must not fill the memory."""
        return _Passing(self)

    def passing(self, path: str) -> T:
        """One value, kept only if it was already."""
        found = self._known.get(path)
        return self._unpack(self.packed[path]) if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    def __contains__(self, path: object) -> bool:
        return path in self.packed

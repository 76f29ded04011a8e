"""A forward reader over a file that never trusts a length: every read is checked against the file's size.

It holds one window of the file in memory and knows primitive values only, not what they mean.
The file is read and not mapped: a mapped file that another program cuts short kills the process.
Thread: any, one reader each.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, NoReturn

from roteiro.errors import ModelFileInvalid
from roteiro.modelstore.gguf_tables import SCALAR_CODECS, TYPE_BOOL
from roteiro.modelstore.record import Scalar

# Large enough that a vocabulary of 150,000 strings takes a few refills, small enough for any machine.
WINDOW_BYTES = 1 << 20
# The longest key that llama.cpp's own tools write is far below this.
MAX_KEY_BYTES = 1 << 16
# A chat template has tens of kilobytes; this bounds what a hostile file can make us hold.
MAX_STRING_BYTES = 8 << 20

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class GgufStream:
    """Reads little-endian values one after the other and fails with the offset at fault."""

    def __init__(self, file: BinaryIO, *, size: int, name: str) -> None:
        self._file = file
        self._name = name
        self.size = size
        self._base = 0
        self._window = b""
        self._at = 0

    @property
    def offset(self) -> int:
        """Where the next value begins."""
        return self._base + self._at

    def fail(self, what: str, *, at: int | None = None) -> NoReturn:
        """Raise the one error of this format, naming the file, the offset and what is wrong there."""
        offset = self.offset if at is None else at
        raise ModelFileInvalid(
            f"{self._name} is not a usable GGUF: {what} (at byte {offset}).",
            hint="The file is damaged, incomplete or made for something else; get it again.",
            details={"offset": offset},
        )

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes."""
        self.require(count, what)
        if self._at + count > len(self._window):
            self._refill(self.offset, at_least=count)
            if len(self._window) < count:
                self.fail(f"the file became shorter while {what} was read")
        start = self._at
        self._at += count
        return self._window[start : self._at]

    def require(self, count: int, what: str) -> None:
        """Fail unless the file has `count` more bytes."""
        if count > self.size - self.offset:
            self.fail(f"{what} needs {count} bytes and the file has {max(self.size - self.offset, 0)} left")

    def skip(self, count: int, what: str) -> None:
        """Pass over `count` bytes without reading them."""
        self.require(count, what)
        self._move(self.offset + count)

    def u32(self, what: str) -> int:
        """The next unsigned 32-bit number."""
        return int(_U32.unpack(self.take(4, what))[0])

    def u64(self, what: str) -> int:
        """The next unsigned 64-bit number."""
        return int(_U64.unpack(self.take(8, what))[0])

    def scalar(self, kind: int, what: str) -> Scalar:
        """The next number or boolean of the given type."""
        codec = SCALAR_CODECS[kind]
        value: int | float = codec.unpack(self.take(codec.size, what))[0]
        return bool(value) if kind == TYPE_BOOL else value

    def text(self, what: str, *, limit: int = MAX_STRING_BYTES) -> str:
        """The next string. Bytes that are not UTF-8 become U+FFFD: descriptions need not be text."""
        length = self.u64(f"the length of {what}")
        if length > limit:
            self.fail(f"{what} claims {length} bytes, more than {limit} are not read")
        return self.take(length, what).decode("utf-8", "replace")

    def skip_strings(self, count: int, what: str) -> None:
        """Pass over `count` strings by their lengths alone, holding none of them."""
        self.require(count * 8, what)
        unpack = _U64.unpack_from
        while count:
            if len(self._window) - self._at < 8:
                self._refill(self.offset, at_least=8)
            window, at, last = self._window, self._at, len(self._window) - 8
            if at > last:
                self.fail(f"{what} ends in mid-string")
            # The hot loop of the whole reader: two operations a string.
            while count and at <= last:
                at += 8 + unpack(window, at)[0]
                count -= 1
            self._at = 0
            self._base, start = self._base + at, self._base
            if self._base > self.size:
                self.fail(f"a string in {what} reaches beyond the end of the file", at=start)
            self._resume(window, start)

    # ---------------------------------------------------------------------------------------------

    def _resume(self, window: bytes, start: int) -> None:
        """Keep the old window if the new position still lies in it."""
        position = self._base
        if position - start <= len(window):
            self._base, self._window, self._at = start, window, position - start
        else:
            self._window = b""

    def _move(self, position: int) -> None:
        if position - self._base <= len(self._window):
            self._at = position - self._base
        else:
            self._base, self._window, self._at = position, b"", 0

    def _refill(self, position: int, *, at_least: int) -> None:
        self._file.seek(position)
        self._window = self._file.read(max(WINDOW_BYTES, at_least))
        self._base, self._at = position, 0

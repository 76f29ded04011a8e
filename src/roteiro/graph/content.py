"""What a file holds: read without leaving the root, turned into UTF-8, or refused with a reason.

Source text is UTF-8 with LF line ends and without a byte order mark from here on, whatever the file
had; every offset and line in the graph is one of that text. Knows no language's syntax. Thread: any.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import time
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

MAX_FILE_BYTES: Final = 4 << 20  # honest hand-written files stay under 1 MiB
SAMPLE_BYTES: Final = 8000  # what git looks at to tell binary files
LONG_LINE_BYTES: Final = 1000
HEADER_LINES: Final = 10
VANISHED: Final = "vanished while it was read"
UNTRUSTED: Final = -1
# A file can change again within its last time's tick without its times showing it: the kernel's
# tick is up to 10 ms, and file systems that keep whole seconds need two of them.
_TICK_NS: Final = 50_000_000
_COARSE_TICK_NS: Final = 2_000_000_000
# Below this a long line is a licence or a data row, not a bundle.
_MINIFIED_BYTES: Final = 8 << 10
# Languages that are shipped minified; in others a long line is data among honest code.
_MINIFIED_LANGUAGES: Final = frozenset({"javascript", "typescript", "tsx"})

_GENERATED: Final = re.compile(
    rb"@generated\b"
    rb"|<auto-?generated\b"
    rb"|\bcode generated\b.{0,200}\bdo not edit\b"
    rb"|\b(?:auto(?:matically)?[- ]?)?generated\b.{0,200}\bdo not (?:edit|modify|change)\b"
    rb"|\bdo not (?:edit|modify|change)\b.{0,200}\bgenerated\b"
    rb"|\bthis (?:file|code|module) (?:is|was|has been) (?:auto(?:matically)?[- ]?)?generated\b",
    re.IGNORECASE | re.DOTALL,
)
_COOKIE: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """A file's bytes as they are, at most `MAX_FILE_BYTES` and one more, and their hash."""

    data: bytes
    size: int
    mtime: int
    ctime: int

    def digest(self) -> bytes:
        """What tells this content from any other; of a huge file, its size and beginning."""
        return blake2b(self.data, digest_size=16, salt=str(self.size).encode()[:16]).digest()


def read_raw(root: Path, path: str) -> Raw | str:
    """A file's content, or the reason why it cannot be had."""
    try:
        # NOFOLLOW and NONBLOCK: what was a file when it was listed may be a link or a pipe by now.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        number = os.open(root / path, flags | getattr(os, "O_BINARY", 0))
        with open(number, "rb") as file:  # noqa: PTH123 (a descriptor)
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                return "not a regular file"
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return VANISHED
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return Raw(data=data, size=status.st_size, mtime=status.st_mtime_ns, ctime=status.st_ctime_ns)


def trusted_mtime(mtime: int) -> int:
    """The time, or `UNTRUSTED` where the file is so young that the same time may come twice."""
    tick = _COARSE_TICK_NS if mtime % 1_000_000_000 == 0 else _TICK_NS
    return mtime if mtime < time.time_ns() - tick else UNTRUSTED


def refusal(raw: Raw, lang: str, path: str) -> str | None:
    """Why a source-like file is left out of the graph, or None."""
    if len(raw.data) > MAX_FILE_BYTES:
        return f"too large: {raw.size / 2**20:.1f} MiB, the limit is {MAX_FILE_BYTES >> 20} MiB"
    if is_binary(raw.data):
        return "binary"
    if _GENERATED.search(b"\n".join(raw.data[:SAMPLE_BYTES].split(b"\n", HEADER_LINES)[:HEADER_LINES])):
        return "generated: its header says so"
    if ".min." in path.rsplit("/", 1)[-1]:
        return "minified: its name says so"
    return _minified(raw.data, lang)


def to_utf8(data: bytes) -> bytes:
    """The text in UTF-8 with LF line ends and no byte order mark. Nothing raises."""
    data = data.removeprefix(codecs.BOM_UTF8)
    encoding = _wide_encoding(data)
    if encoding is None:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            encoding = _stated_encoding(data) or "latin-1"
    if encoding is not None:
        data = data.decode(encoding, "replace").encode("utf-8", "replace")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # A NUL ends a string in C; as a blank it changes neither lines nor offsets.
    return data.replace(b"\0", b" ")


def is_binary(data: bytes) -> bool:
    """Whether git would call it binary, wide encodings apart."""
    return b"\0" in data[:SAMPLE_BYTES] and _wide_encoding(data) is None


def read_text(root: Path, path: str) -> str | None:
    """A file of the tree as text; None where it is outside, gone, huge or no text.

    A path may come from anywhere, so that every part of it is checked and no link followed.
    """
    if not _is_inside(root, path):
        return None
    raw = read_raw(root, path)
    if isinstance(raw, str) or len(raw.data) > MAX_FILE_BYTES or is_binary(raw.data):
        return None
    return to_utf8(raw.data).decode("utf-8", "replace")


# --------------------------------------------------------------------------------------------------


def _is_inside(root: Path, path: str) -> bool:
    """Whether a path leads from the root to a place below it without passing through a link."""
    parts = path.split("/")
    if not path or not parts[0] or "\0" in path or ".." in parts:
        return False
    if os.name == "nt" and (":" in path or "\\" in path):
        return False  # a drive, a stream, or separators that were not looked at
    folder = str(root)
    try:
        for part in parts[:-1]:
            folder = f"{folder}/{part}"
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return False
    except (OSError, ValueError):
        return False
    return True


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 by their mark, or UTF-16 without one: every other byte of Latin text is 0."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    sample = data[: SAMPLE_BYTES & ~1]
    zeros = sample.count(0)
    if len(sample) < 4 or zeros < len(sample) * 0.3:
        return None
    if sample[1::2].count(0) == zeros:
        return "utf-16-le"
    return "utf-16-be" if sample[::2].count(0) == zeros else None


def _stated_encoding(data: bytes) -> str | None:
    """The encoding that a comment in the first two lines names, if it is a text encoding."""
    for line in data.split(b"\n", 2)[:2]:
        match = _COOKIE.match(line)
        if match:
            try:
                found = codecs.lookup(match[1].decode("ascii"))
                return found.name if isinstance(data.decode(found.name, "replace"), str) else None
            except (LookupError, UnicodeError, ValueError):
                return None
    return None


def _minified(data: bytes, lang: str) -> str | None:
    if len(data) < _MINIFIED_BYTES:
        return None
    long = sum(length for length in map(len, data.split(b"\n")) if length > LONG_LINE_BYTES)
    share = long / len(data)
    if share > (0.5 if lang in _MINIFIED_LANGUAGES else 0.9):
        return f"minified: {share:.0%} of it stands in lines over {LONG_LINE_BYTES} bytes"
    return None

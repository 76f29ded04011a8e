"""The prefix cache on disk: states that outlive the server, one file each, written whole or not at all.

A file's head names the model's file, the library's build and the tokens, and a digest covers all of it: what
another build wrote, or what is damaged, is removed and never restored. Files say what prompts said, so only
their owner may read them. The budget is in bytes; turns go before preambles, the longest unused first.
Thread: engine thread, but for the writing, which has a thread of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import tempfile
import threading
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any, Final, Literal

from roteiro.engine.backend import State
from roteiro.engine.session import kept_prefix

_LOG = logging.getLogger("roteiro.engine")
_MAGIC: Final = b"roteiro prefix 1\n"
_SUFFIX: Final = ".prefix"
_DIGEST_BYTES: Final = 16
# A head is short and its tokens are 4 bytes each: more than these are no file of ours.
_MOST_HEAD_BYTES: Final = 4096
_MOST_TOKENS: Final = 1 << 22
# A state is written when the machine was still at this many looks.
_LOOK_SECONDS: Final = 0.25
_CALM_LOOKS: Final = 2
_LONGEST_WAIT_SECONDS: Final = 60.0
# A file that is being written, or was when its server was killed, is left alone this long.
_STALE_SECONDS: Final = 3600

SnapshotKind = Literal["turn", "preamble"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelved:
    """Whose state a file holds, and the tokens it stands for."""

    path: Path
    model: str
    kind: SnapshotKind
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What a file begins with. `size` is its state's bytes."""

    entry: Shelved
    size: int
    digest: str


class _Unusable(Exception):
    """The file is not one of ours, not of this build, or not whole."""


class Shelf:
    """See the module's docstring. Nothing is read or made before the first use.

    Args:
        folder: where the files are; made when the first one is written.
        budget: the most bytes of all files together.
        build: names the library that made the states; those of another are of no use.
        still: whether nobody waits for the machine; asked from the writer's thread. A state is written when
            that holds for a while, after a minute at the latest, and at the stop.
    """

    def __init__(
        self, folder: Path, *, budget: int, build: str, still: Callable[[], bool] | None = None
    ) -> None:
        self._folder = folder
        self._budget = budget
        self._build = build
        self._still = still
        self._closing = threading.Event()
        # What is whole on disk, as far as this thread has heard; what is on its way there; what it will hear.
        self._entries: dict[Path, Shelved] | None = None
        self._pending: dict[Path, Shelved] = {}
        self._news: deque[tuple[Path, Shelved | None]] = deque()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="roteiro-shelf")

    def __repr__(self) -> str:
        known = "unread" if self._entries is None else f"{len(self._entries)} entries"
        return f"<Shelf {known}, at most {self._budget / 2**20:.0f} MiB>"

    def find(
        self, model: str, prompt: Sequence[int], *, longer_than: int, longest_cut: int = 0
    ) -> Shelved | None:
        """The entry of which the prompt can use most, and more than what there is; see `kept_prefix`."""
        best: Shelved | None = None
        for entry in self._known().values():
            if entry.model != model or len(entry.tokens) <= longer_than:
                continue
            keep = kept_prefix(entry.tokens, prompt, longest_cut=longest_cut)
            if keep > longer_than:
                best, longer_than = entry, keep
        return best

    def load(self, entry: Shelved) -> bytearray | None:
        """The state of an entry; None, and the file is gone, where it is not what it says it is."""
        try:
            data = self._read(entry)
            os.utime(entry.path)
        except (OSError, MemoryError, _Unusable) as error:
            _LOG.warning("kept prefix unusable path=%s: %r", entry.path.name, error)
            self._remove([entry])
            return None
        return data

    def keep(self, model: str, tokens: Sequence[int], data: State, kind: SnapshotKind) -> None:
        """Write a state that is not there yet, in the background; `data` must not change any more."""
        held, known = tuple(tokens), self._known()
        path = self._folder / f"{_name(model, self._build, held)}.{kind}{_SUFFIX}"
        if path in known:
            self._writer.submit(_touch, path)
        if path in known or path in self._pending:
            return
        if len(_MAGIC) + _MOST_HEAD_BYTES + 4 * len(held) + len(data) > self._budget:
            return
        new = Shelved(path=path, model=model, kind=kind, tokens=held)
        mine = [one for one in (*known.values(), *self._pending.values()) if one.model == model]
        older = [one.path for one in mine if superseded(one.kind, one.tokens, held)]
        self._pending[path] = new
        self._writer.submit(self._write, new, data, older)

    def touch(self, model: str, tokens: Sequence[int]) -> None:
        """Note that a state was of use, though it did not have to be read."""
        held = tuple(tokens)
        for entry in self._known().values():
            if entry.model == model and entry.tokens == held:
                self._writer.submit(_touch, entry.path)

    def discard(self, model: str, tokens: Sequence[int]) -> None:
        """Remove what stands for these tokens."""
        self._remove([one for one in self._known().values() if (one.model, one.tokens) == (model, tokens)])

    def forget(self, model: str) -> None:
        """Remove everything of a model's file."""
        self._remove([one for one in self._known().values() if one.model == model])

    def close(self) -> None:
        """Write what waits. Idempotent."""
        self._closing.set()
        self._writer.shutdown(wait=True)

    # ---------------------------------------------------------------------------------------------

    def _read(self, entry: Shelved) -> bytearray:
        with _opened(entry.path) as file:
            head = self._read_head(file, entry.path)
            data = bytearray(head.size)
            read = file.readinto(data)
        if head.entry != entry or read != head.size or _digest(entry, self._build, data) != head.digest:
            raise _Unusable("its content is not what its digest says")
        return data

    def _read_head(self, file: BufferedReader, path: Path) -> _Head:
        """Read a head; the file stands at its state then.

        Raises:
            _Unusable: it is not a head of this build, or the file's size is not what it says.
        """
        if file.read(len(_MAGIC)) != _MAGIC:
            raise _Unusable("it does not begin as one")
        try:
            facts: dict[str, Any] = json.loads(file.readline(_MOST_HEAD_BYTES))
            count, size, kind = int(facts["tokens"]), int(facts["size"]), facts["kind"]
            tokens = array("i", file.read(4 * min(count, _MOST_TOKENS)))
            entry = Shelved(path=path, model=str(facts["model"]), kind=kind, tokens=tuple(tokens))
            head = _Head(entry=entry, size=size, digest=str(facts["digest"]))
            usable = facts["build"] == self._build and kind in ("turn", "preamble")
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise _Unusable("its head cannot be read") from error
        if not usable:
            raise _Unusable("another build wrote it")
        if size > self._budget:
            raise _Unusable("it is larger than all may be")
        if len(tokens) != count or os.fstat(file.fileno()).st_size != file.tell() + size:
            raise _Unusable("it is not whole")
        return head

    def _remove(self, entries: Sequence[Shelved]) -> None:
        """Forget entries; their files go after what is being written, which may be one of them."""
        for entry in entries:
            self._known().pop(entry.path, None)
            self._writer.submit(_remove, entry.path)

    def _known(self) -> dict[Path, Shelved]:
        if self._entries is None:
            self._entries = {entry.path: entry for entry in self._scan()}
            self._writer.submit(self._make_room, 0)
        while self._news:
            path, entry = self._news.popleft()
            self._pending.pop(path, None)
            self._entries.pop(path, None)
            if entry is not None:
                self._entries[path] = entry
        return self._entries

    def _scan(self) -> Iterator[Shelved]:
        """Every usable file's head; the others are removed."""
        for path in sorted(_files(self._folder)):
            if path.suffix != _SUFFIX:
                if _age(path) > _STALE_SECONDS:
                    _remove(path)
                continue
            try:
                with _opened(path) as file:
                    yield self._read_head(file, path).entry
            except (OSError, _Unusable) as error:
                _LOG.info("kept prefix removed path=%s: %r", path.name, error)
                _remove(path)

    def _wait_until_still(self) -> None:
        """Writer's thread: digesting and writing 40 MB took a tenth of a second from a prompt's cores."""
        if self._still is None:
            return
        calm, latest = 0, time.monotonic() + _LONGEST_WAIT_SECONDS
        while calm < _CALM_LOOKS and time.monotonic() < latest and not self._closing.wait(_LOOK_SECONDS):
            calm = calm + 1 if self._still() else 0

    def _write(self, entry: Shelved, data: State, older: Sequence[Path]) -> None:
        """Writer's thread: make room, write beside, put in place, and remove what it stands for too."""
        self._wait_until_still()
        began = time.perf_counter()
        head = _head_bytes(entry, self._build, data)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(len(head) + len(data))
            # Made with mode 0600, whatever the mask.
            number, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(head)
                    file.write(data)
                Path(name).replace(entry.path)
            except BaseException:
                _remove(Path(name))
                raise
        except (OSError, MemoryError) as error:
            _LOG.warning("prefix not kept on disk: %r", error)
            self._news.append((entry.path, None))
            return
        self._news.append((entry.path, entry))
        for path in older:
            self._take_away(path)
        _LOG.info(
            "prefix kept on disk tokens=%d bytes=%d seconds=%.2f",
            len(entry.tokens),
            len(data),
            time.perf_counter() - began,
        )

    def _make_room(self, needed: int) -> None:
        """Remove files until `needed` bytes fit. The folder is read anew: another server may use it too."""
        kept: list[tuple[bool, float, int, Path]] = []
        for path in _files(self._folder):
            with contextlib.suppress(OSError):
                found = path.lstat()
                kept.append((".preamble" in path.suffixes, found.st_mtime, found.st_size, path))
        total = sum(size for _, _, size, _ in kept)
        for _, _, size, path in sorted(kept):
            if total + needed <= self._budget:
                break
            if path.suffix == _SUFFIX:  # not what another server is writing
                self._take_away(path)
                total -= size

    def _take_away(self, path: Path) -> None:
        """Writer's thread: remove a file and let it be known."""
        _remove(path)
        self._news.append((path, None))


def superseded(kind: SnapshotKind, old: tuple[int, ...], new: tuple[int, ...]) -> bool:
    """Whether a state is of no use beside a new one: the same, or a turn that the new one goes on from."""
    return old == new or (kind == "turn" and new[: len(old)] == old)


# -------------------------------------------------------------------------------------------------


def _name(model: str, build: str, tokens: Sequence[int]) -> str:
    seed = json.dumps([model, build]).encode() + array("i", tokens).tobytes()
    return hashlib.blake2b(seed, digest_size=_DIGEST_BYTES).hexdigest()


def _head_bytes(entry: Shelved, build: str, data: State) -> bytes:
    facts = {
        "build": build,
        "model": entry.model,
        "kind": entry.kind,
        "tokens": len(entry.tokens),
        "size": len(data),
        "digest": _digest(entry, build, data),
    }
    return _MAGIC + json.dumps(facts).encode() + b"\n" + array("i", entry.tokens).tobytes()


def _digest(entry: Shelved, build: str, data: State) -> str:
    said = json.dumps([build, entry.model, entry.kind, len(entry.tokens), len(data)]).encode()
    found = hashlib.blake2b(said, digest_size=_DIGEST_BYTES)
    found.update(array("i", entry.tokens).tobytes())
    found.update(data)
    return found.hexdigest()


def _opened(path: Path) -> BufferedReader:
    """Open a plain file for reading.

    Raises:
        OSError: it is a link, or cannot be read.
        _Unusable: it is something else, a pipe for example, which would keep its reader waiting.
    """
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise _Unusable("it is no plain file")
    return file


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(path)


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.suffix in (_SUFFIX, ".part")]
    except OSError:
        return []


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)

"""Brings one remote file to disk, whole and proved, or not at all.

It resumes where it stopped, survives servers that ignore the resume, refuses bodies that are longer than
announced, and gives the file its name only when its hash is right. Thread: any; it blocks.
"""

from __future__ import annotations

import errno
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import httpx

from roteiro.errors import DownloadFailed
from roteiro.modelstore.web import Interrupted, Web, show_url, translated

PART_SUFFIX = ".part"
CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file to fetch; `size` and `sha256` as announced by its source, None where it says nothing."""

    url: str
    name: str
    size: int | None
    sha256: str | None
    token: str | None = field(default=None, repr=False)


class Progress(Protocol):
    """Hears how far a transfer is."""

    def at(self, name: str, received: int, total: int) -> None:
        """`received` of `total` bytes of a file are on disk; may go back when a transfer restarts."""


class Corrupt(Interrupted):
    """Raised when a whole body has the wrong hash."""


def fetch(web: Web, file: RemoteFile, folder: Path, progress: Progress) -> Path:
    """Fetch a file into a folder; returns its path.

    Raises:
        DownloadFailed: it did not arrive whole. An interrupted part stays for the next time; what can
            never become right is deleted.
    """
    target = folder / file.name
    part = folder / (file.name + PART_SUFFIX)
    if target.exists() and file.sha256 and _sha256(target) == file.sha256:
        return target
    transfer = _Transfer(web, file, part, progress)
    web.with_tries(transfer.once, what=show_url(file.url))
    part.replace(target)
    return target


# -------------------------------------------------------------------------------------------------


class _Transfer:
    def __init__(self, web: Web, file: RemoteFile, part: Path, progress: Progress) -> None:
        self._web = web
        self._file = file
        self._part = part
        self._progress = progress
        self._was_corrupt = False

    def once(self) -> None:
        have = self._part.stat().st_size if self._part.exists() else 0
        if self._file.size is not None and have > self._file.size:
            self._part.unlink()
            have = 0
        if have == 0 or have != self._file.size:
            self._receive(have)
        self._prove()

    def _receive(self, have: int) -> None:
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._web.open("GET", self._file.url, headers=headers, token=self._file.token) as response:
            start = self._start(response, have)
            size = self._whole_size(response, start)
            try:
                with self._part.open("r+b" if start else "wb") as out:
                    out.seek(start)
                    self._write(response, out, start, size)
            except OSError as error:
                raise self._disk_failure(error) from error

    def _start(self, response: httpx.Response, have: int) -> int:
        """Where this body begins in the file."""
        status = response.status_code
        if status == 200:
            # Also the answer of a server that ignores Range: begin anew.
            return 0
        if status == 206 and have:
            match = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if match and int(match[1]) == have:
                return have
        self._part.unlink(missing_ok=True)
        if status in {206, 416}:
            raise Interrupted("the server resumed at the wrong place")
        raise DownloadFailed(*_explain(response), details={"status": status})

    def _whole_size(self, response: httpx.Response, start: int) -> int:
        """Bytes of the whole file, which the source or this answer must say and both must agree on."""
        length = response.headers.get("Content-Length", "")
        size = self._file.size
        if size is None and not length.isdigit():
            raise DownloadFailed(
                f"{show_url(self._file.url)} does not say how many bytes it has.",
                hint="Such a body has no end that could be checked; use another source.",
            )
        if size is None:
            return start + int(length)
        if length.isdigit() and start + int(length) != size:
            self._part.unlink(missing_ok=True)
            raise DownloadFailed(
                f"{show_url(self._file.url)} has {start + int(length)} bytes; {size} were announced.",
                hint="The file was changed under way; run the command again.",
            )
        return size

    def _write(self, response: httpx.Response, out: BinaryIO, start: int, size: int) -> None:
        received = start
        with translated(self._web.stall_s):
            # As it arrives: gathering larger blocks would lose what came before a break.
            for block in response.iter_raw():
                received += len(block)
                if received > size:
                    out.truncate(0)
                    raise DownloadFailed(
                        f"{show_url(self._file.url)} sends more than the {size} bytes announced.",
                        hint="Nothing was installed; the server or something on the way is broken.",
                    )
                out.write(block)
                self._progress.at(self._file.name, received, size)
        if received < size:
            raise Interrupted(f"the body ended after {received} of {size} bytes")

    def _prove(self) -> None:
        if self._file.sha256 is None:
            return
        found = _sha256(self._part)
        if found == self._file.sha256:
            return
        self._part.unlink()
        if not self._was_corrupt:
            # Once may be a damaged resume; twice is the server's own content.
            self._was_corrupt = True
            raise Corrupt("the bytes that arrived have the wrong SHA-256")
        raise DownloadFailed(
            f"{show_url(self._file.url)} arrived with SHA-256 {found}; {self._file.sha256} was announced.",
            hint="Nothing was installed. Do not use this source until the reason is known.",
        )

    def _disk_failure(self, error: OSError) -> DownloadFailed:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            self._part.unlink(missing_ok=True)
        return DownloadFailed(
            f"{self._part} cannot be written: {error.strerror or error}.",
            hint="Free some space or choose another [paths] model_store; nothing was installed.",
        )


def _explain(response: httpx.Response) -> tuple[str]:
    where, status = show_url(str(response.url)), response.status_code
    if status in {401, 403}:
        return (f"{where} refuses access ({status}): it may be gated or private and need HF_TOKEN.",)
    if status in {404, 410}:
        return (f"{where} does not exist ({status}).",)
    return (f"{where} answered {status}.",)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

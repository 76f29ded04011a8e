"""A model's files: which ones belong together, what their bytes hash to, whether they changed.

It reads files and never changes one. Thread: any; hashing reads every byte.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from roteiro.errors import ModelFileInvalid
from roteiro.modelstore.gguf import read_header
from roteiro.modelstore.record import FileIdentity, GgufHeader

# llama.cpp finds the parts of a split model by this name and by no other.
SPLIT_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
UNUSABLE_IN_ID = re.compile(r"[^a-z0-9._-]+")
USABLE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
MAX_ID_CHARACTERS = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFiles:
    """A whole model on disk: its files in order and the header of the first."""

    parts: tuple[Path, ...]
    header: GgufHeader

    @property
    def size(self) -> int:
        """Bytes of all parts together."""
        return sum(part.stat().st_size for part in self.parts)


def find_parts(path: Path) -> GgufFiles:
    """The whole model that a file belongs to, checked to be complete and consistent.

    Args:
        path: a GGUF, or any part of a split one.

    Raises:
        ModelFileInvalid: a file is no GGUF, or a part is missing or of another model.
    """
    header = read_header(path)
    if header.split_count == 1:
        return GgufFiles(parts=(path,), header=header)
    names = split_names(path.name)
    if len(names) != header.split_count:
        raise ModelFileInvalid(
            f"{path.name} is part {header.split_no + 1} of {header.split_count}, "
            "and its name does not say so.",
            hint="llama.cpp finds the parts by names like model-00001-of-00003.gguf; rename them.",
        )
    parts = tuple(path.with_name(name) for name in names)
    missing = [part.name for part in parts if not part.exists()]
    if missing:
        raise ModelFileInvalid(
            f"{path.name} is part of a split model and {', '.join(missing)} is not beside it.",
            hint="Put every part into one folder and try again.",
        )
    headers = [read_header(part) for part in parts]
    _check_parts(parts, headers)
    return GgufFiles(parts=parts, header=headers[0])


def split_names(name: str) -> list[str]:
    """The names of every part of the split model that `name` is a part of; itself if it is none."""
    match = SPLIT_NAME.fullmatch(name)
    if match is None or int(match["count"]) < 1:
        return [name]
    stem, count = match["stem"], int(match["count"])
    return [f"{stem}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]


def default_id(name: str) -> str:
    """The id for a file name: its lower-case stem without the split suffix."""
    match = SPLIT_NAME.fullmatch(name)
    stem = match["stem"] if match else re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)
    usable = UNUSABLE_IN_ID.sub("-", stem.lower()).strip("-._")
    return usable[:MAX_ID_CHARACTERS].rstrip("-._") or "model"


def identify(parts: tuple[Path, ...]) -> FileIdentity:
    """Hash every part. A split model's hash is the SHA-256 over its parts' hex digests, a line each.

    Raises:
        ModelFileInvalid: a file changed while it was read.
    """
    before = stamp(parts)
    digests = [_sha256(part) for part in parts]
    if stamp(parts) != before:
        raise ModelFileInvalid(
            f"{parts[0].name} changed while it was being read.",
            hint="Wait until whatever writes it has finished.",
        )
    whole = digests[0]
    if len(digests) > 1:
        whole = hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()
    return FileIdentity(size=before[0], mtime_ns=before[1], sha256=whole)


def stamp(parts: tuple[Path, ...]) -> tuple[int, int]:
    """Bytes of all parts and the newest change among them, by one stat each."""
    stats = [part.stat() for part in parts]
    return sum(stat.st_size for stat in stats), max(stat.st_mtime_ns for stat in stats)


# -------------------------------------------------------------------------------------------------


def _check_parts(parts: tuple[Path, ...], headers: list[GgufHeader]) -> None:
    for number, (part, header) in enumerate(zip(parts, headers, strict=True)):
        if (header.split_no, header.split_count) != (number, len(parts)):
            raise ModelFileInvalid(
                f"{part.name} says it is part {header.split_no + 1} of {header.split_count}, "
                f"not {number + 1} of {len(parts)}.",
                hint="The parts come from different models; get them again.",
            )
    promised = headers[0].scalars.get("split.tensors.count")
    found = sum(header.tensor_count for header in headers)
    if isinstance(promised, int) and promised != found:
        raise ModelFileInvalid(
            f"The {len(parts)} parts of {parts[0].name} hold {found} tensors instead of {promised}.",
            hint="A part comes from another version of the model; get them again.",
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Reads the header of a GGUF in milliseconds and refuses whatever could mislead llama.cpp.

It reads metadata and tensor descriptions; arrays are counted and passed over, tensors are never read.
Everything that is wrong is one `ModelFileInvalid` with the place. Thread: any; it blocks on the disk.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from roteiro.errors import ModelFileInvalid
from roteiro.modelstore.gguf_facts import header_from
from roteiro.modelstore.gguf_stream import MAX_KEY_BYTES, GgufStream
from roteiro.modelstore.gguf_tables import SCALAR_CODECS, TENSOR_TYPES, TYPE_ARRAY, TYPE_STRING
from roteiro.modelstore.record import GgufHeader, Scalar

HINT = "Check the path and its permissions."
MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
# Real files have under 100 keys and, with every expert a tensor of its own, some 40,000 tensors.
MAX_KEYS = 1 << 16
MAX_TENSORS = 1 << 17
# Strings cost time one by one: the largest vocabularies have 262,144 tokens and as many merges.
MAX_ARRAY_STRINGS = 1 << 22
# What ggml itself has room for.
MAX_DIMENSIONS = 4
MAX_TENSOR_NAME_BYTES = 63
MAX_TENSOR_BYTES = 1 << 62


@dataclass(slots=True, kw_only=True)
class Metadata:
    """What was read before it is judged: scalars by key, arrays as (element type, count)."""

    scalars: dict[str, Scalar] = field(default_factory=dict)
    arrays: dict[str, tuple[int, int]] = field(default_factory=dict)
    tensor_count: int = 0
    bytes_by_type: dict[int, int] = field(default_factory=dict)


def read_header(path: Path) -> GgufHeader:
    """Read and judge a GGUF's header.

    Args:
        path: the file; of a split model any part, although only the first carries the facts.

    Raises:
        ModelFileInvalid: the file cannot be read, or is no GGUF that llama.cpp may be given.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # A named pipe would be waited for without end.
            raise ModelFileInvalid(f"{path} cannot be read: it is no regular file.", hint=HINT)
        with path.open("rb") as file:
            return _read(file, path)
    except OSError as error:
        raise ModelFileInvalid(
            f"{path} cannot be read: {error.strerror or error}.",
            hint=HINT,
        ) from error


def _read(file: BinaryIO, path: Path) -> GgufHeader:
    size = file.seek(0, 2)
    stream = GgufStream(file, size=size, name=path.name)
    tensor_count, key_count = _read_preamble(stream)
    metadata = Metadata(tensor_count=tensor_count)
    strings = MAX_ARRAY_STRINGS
    for _ in range(key_count):
        strings = _read_pair(stream, metadata, strings)
    _read_tensors(stream, metadata)
    return header_from(metadata, stream)


def _read_preamble(stream: GgufStream) -> tuple[int, int]:
    magic = stream.take(4, "the magic number")
    if magic != MAGIC:
        stream.fail(f"it begins with {magic!r} and not with {MAGIC!r}", at=0)
    version = stream.u32("the version")
    if version not in VERSIONS:
        if int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS:
            stream.fail("it is big-endian, which this machine's llama.cpp cannot use", at=4)
        stream.fail(f"version {version} is not one of {VERSIONS}", at=4)
    tensor_count = stream.u64("the number of tensors")
    if tensor_count > MAX_TENSORS:
        stream.fail(f"it claims {tensor_count} tensors, more than {MAX_TENSORS}", at=8)
    key_count = stream.u64("the number of metadata keys")
    if key_count > MAX_KEYS:
        stream.fail(f"it claims {key_count} metadata keys, more than {MAX_KEYS}", at=16)
    return tensor_count, key_count


def _read_pair(stream: GgufStream, metadata: Metadata, strings_left: int) -> int:
    """Read one key and its value; returns how many more array strings the file may have."""
    at = stream.offset
    key = stream.text("a metadata key", limit=MAX_KEY_BYTES)
    if not key or not key.isprintable() or "\ufffd" in key:
        stream.fail(f"a metadata key is not text: {key[:40]!r}", at=at)
    if key in metadata.scalars or key in metadata.arrays:
        stream.fail(f"the key {key!r} occurs twice", at=at)
    kind = stream.u32(f"the type of {key!r}")
    if kind == TYPE_STRING:
        metadata.scalars[key] = stream.text(f"the value of {key!r}")
    elif kind == TYPE_ARRAY:
        return _skip_array(stream, metadata, key, strings_left)
    elif kind in SCALAR_CODECS:
        metadata.scalars[key] = stream.scalar(kind, f"the value of {key!r}")
    else:
        stream.fail(f"{key!r} has the unknown value type {kind}")
    return strings_left


def _skip_array(stream: GgufStream, metadata: Metadata, key: str, strings_left: int) -> int:
    element = stream.u32(f"the element type of {key!r}")
    count = stream.u64(f"the length of {key!r}")
    if element == TYPE_ARRAY:
        stream.fail(f"{key!r} is an array of arrays, which llama.cpp cannot read")
    if element == TYPE_STRING:
        if count > strings_left:
            stream.fail(f"{key!r} claims {count} strings, more than {strings_left} are not read")
        stream.skip_strings(count, f"the array {key!r}")
        strings_left -= count
    elif element in SCALAR_CODECS:
        stream.skip(count * SCALAR_CODECS[element].size, f"the array {key!r}")
    else:
        stream.fail(f"{key!r} has the unknown element type {element}")
    metadata.arrays[key] = (element, count)
    return strings_left


@dataclass(slots=True, kw_only=True)
class _Layout:
    """Where the next tensor's data must begin; None after a type whose size is not known to us."""

    alignment: int
    expected: int | None = 0
    end: int = 0


def _read_tensors(stream: GgufStream, metadata: Metadata) -> None:
    layout = _Layout(alignment=_alignment(stream, metadata))
    names: set[str] = set()
    for _ in range(metadata.tensor_count):
        at = stream.offset
        name = stream.text("a tensor's name", limit=MAX_TENSOR_NAME_BYTES)
        if name in names:
            stream.fail(f"the tensor {name!r} occurs twice", at=at)
        names.add(name)
        _read_tensor(stream, metadata, name, layout)
    data_start = -(-stream.offset // layout.alignment) * layout.alignment
    if metadata.tensor_count and data_start + layout.end > stream.size:
        missing = data_start + layout.end - stream.size
        stream.fail(f"the file is cut short: {missing} bytes of tensors are missing", at=stream.size)


def _alignment(stream: GgufStream, metadata: Metadata) -> int:
    alignment = metadata.scalars.get("general.alignment", DEFAULT_ALIGNMENT)
    usable = isinstance(alignment, int) and not isinstance(alignment, bool)
    if not usable or not 0 < int(alignment) <= 1 << 20 or int(alignment) & (int(alignment) - 1):
        stream.fail(f"general.alignment is {alignment!r} and not a power of two")
    return int(alignment)


def _read_tensor(stream: GgufStream, metadata: Metadata, name: str, layout: _Layout) -> None:
    at = stream.offset
    n_dims = stream.u32(f"the rank of {name!r}")
    if n_dims > MAX_DIMENSIONS:
        stream.fail(f"the tensor {name!r} has {n_dims} dimensions", at=at)
    dims = [stream.u64(f"a dimension of {name!r}") for _ in range(n_dims)]
    kind = stream.u32(f"the type of {name!r}")
    offset = stream.u64(f"the offset of {name!r}")
    if offset % layout.alignment:
        stream.fail(f"the tensor {name!r} is not aligned to {layout.alignment} bytes", at=at)
    if layout.expected is not None and offset != layout.expected:
        stream.fail(f"the tensor {name!r} is at {offset} and not at {layout.expected}", at=at)
    if kind not in TENSOR_TYPES:
        layout.expected, layout.end = None, max(layout.end, offset)
        return
    _, block, block_bytes = TENSOR_TYPES[kind]
    row = dims[0] if dims else 1
    if row % block:
        stream.fail(f"the rows of {name!r} ({row}) are no multiple of {block}", at=at)
    count = 1
    for dim in dims:
        count *= dim
        if count > MAX_TENSOR_BYTES:
            stream.fail(f"the tensor {name!r} has impossible dimensions {dims}", at=at)
    taken = count // block * block_bytes
    metadata.bytes_by_type[kind] = metadata.bytes_by_type.get(kind, 0) + taken
    layout.end = max(layout.end, offset + taken)
    if layout.expected is not None:
        layout.expected += -(-taken // layout.alignment) * layout.alignment

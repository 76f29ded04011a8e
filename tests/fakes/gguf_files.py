"""Writes small GGUFs, sound ones and ones that lie.

A `GgufFile` is a list of keys and tensors that a test may change before it asks for the bytes. Every count
and length can be overridden. The tensors hold zeros; nothing here can be loaded.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
ALIGNMENT = 32


def text(value: str | bytes, *, length: int | None = None) -> bytes:
    data = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(data) if length is None else length) + data


def scalar(kind: int, value: float) -> bytes:
    return struct.pack("<" + _CODES[kind], value)


def array(kind: int, items: list, *, count: int | None = None) -> bytes:
    head = struct.pack("<IQ", kind, len(items) if count is None else count)
    return head + b"".join(text(item) if kind == STRING else scalar(kind, item) for item in items)


@dataclass
class Tensor:
    """One tensor; F32 with a handful of elements unless told otherwise."""

    name: str = "token_embd.weight"
    dims: tuple[int, ...] = (8, 4)
    kind: int = 0
    offset: int | None = None
    data_bytes: int | None = None

    def size(self) -> int:
        if self.data_bytes is not None:
            return self.data_bytes
        count = 1
        for dim in self.dims:
            count *= dim
        return count * 4


@dataclass
class GgufFile:
    """A GGUF under construction: `keys` maps a key to (type, packed value)."""

    keys: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    tensors: list[Tensor] = field(default_factory=lambda: [Tensor()])
    magic: bytes = b"GGUF"
    version: int = 3
    key_count: int | None = None
    tensor_count: int | None = None
    repeated: list[str] = field(default_factory=list)
    trailing: bytes = b""

    def set(self, key: str, kind: int, value: float | str | bool) -> GgufFile:
        packed = text(value) if isinstance(value, str) else scalar(kind, value)
        self.keys[key] = (kind, packed)
        return self

    def drop(self, key: str) -> GgufFile:
        del self.keys[key]
        return self

    def data(self) -> bytes:
        names = [*self.keys, *self.repeated]
        out = self.magic + struct.pack("<I", self.version)
        out += struct.pack("<Q", len(self.tensors) if self.tensor_count is None else self.tensor_count)
        out += struct.pack("<Q", len(names) if self.key_count is None else self.key_count)
        for name in names:
            kind, packed = self.keys[name]
            out += text(name) + struct.pack("<I", kind) + packed
        body = b""
        for tensor in self.tensors:
            offset = len(body) if tensor.offset is None else tensor.offset
            out += text(tensor.name) + struct.pack("<I", len(tensor.dims))
            out += b"".join(struct.pack("<Q", dim) for dim in tensor.dims)
            out += struct.pack("<IQ", tensor.kind, offset)
            body += bytes(tensor.size())
            body += bytes(-len(body) % ALIGNMENT)
        return out + bytes(-len(out) % ALIGNMENT) + body + self.trailing

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


def model(architecture: str = "llama", *, name: str = "Tiny", tokens: int = 8) -> GgufFile:
    """A GGUF whose header is sound."""
    file = GgufFile()
    file.set("general.architecture", STRING, architecture)
    file.set("general.name", STRING, name)
    file.set("general.file_type", U32, 2)
    file.set(f"{architecture}.block_count", U32, 2)
    file.set(f"{architecture}.context_length", U32, 512)
    file.set(f"{architecture}.embedding_length", U32, 8)
    file.set("tokenizer.ggml.model", STRING, "gpt2")
    file.keys["tokenizer.ggml.tokens"] = (ARRAY, array(STRING, [f"t{i}" for i in range(tokens)]))
    file.keys["tokenizer.ggml.token_type"] = (ARRAY, array(I32, [1] * tokens))
    file.set("tokenizer.ggml.bos_token_id", U32, 1)
    file.set("tokenizer.ggml.eos_token_id", U32, 2)
    file.set("tokenizer.ggml.add_bos_token", BOOL, False)
    file.set("tokenizer.chat_template", STRING, "{{ messages }}")
    return file


def split_model(folder: Path, stem: str = "big", *, parts: int = 3) -> list[Path]:
    """A split model of several files, as llama.cpp's splitter writes them."""
    paths: list[Path] = []
    for number in range(parts):
        file = model() if number == 0 else GgufFile()
        file.set("split.no", 2, number).set("split.count", 2, parts)
        file.set("split.tensors.count", I32, parts)
        file.tensors = [Tensor(name=f"blk.{number}.weight")]
        paths.append(file.write(folder / f"{stem}-{number + 1:05}-of-{parts:05}.gguf"))
    return paths

"""Judges a GGUF's metadata and turns it into a `GgufHeader`.

The bounds are the ones that llama.cpp asserts (an assertion ends the process) or reads past. What only
shows when the model is loaded is left to the probe. Pure; thread: any.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roteiro.modelstore.gguf_tables import (
    ENCODERS,
    FILE_TYPE_GUESSED,
    FILE_TYPES,
    INT32_TYPES,
    SAMPLING_FIELDS,
    TENSOR_TYPES,
    TYPE_FLOAT32,
    TYPE_STRING,
)
from roteiro.modelstore.record import GgufHeader, ModelKind

if TYPE_CHECKING:
    from roteiro.modelstore.gguf import Metadata
    from roteiro.modelstore.gguf_stream import GgufStream

MAX_INT32 = (1 << 31) - 1
# llama.cpp's own limits on layers, experts and the parts of a split model.
MAX_BLOCKS = 512
MAX_EXPERTS = 512
MAX_PARTS = 1 << 15

CHAT_TEMPLATE = "tokenizer.chat_template"
# `general.type` or architecture of files that are GGUF and no language model of their own.
NOT_A_MODEL = {
    "clip": "an image or audio projector",
    "mmproj": "an image or audio projector",
    "adapter": "a LoRA adapter",
    "imatrix": "an importance matrix",
    "controlvector": "a control vector",
}


def header_from(metadata: Metadata, stream: GgufStream) -> GgufHeader:
    """The header, or the stream's error with the first fact that cannot be used."""
    facts = _Facts(metadata, stream)
    split_no, split_count = _split(facts)
    if split_no:
        return _later_part(facts, split_no, split_count)
    architecture = _architecture(facts)
    _check_shape(facts, architecture)
    vocabulary = _vocabulary(facts)
    return GgufHeader(
        architecture=architecture,
        name=facts.text("general.name"),
        quantization=_quantization(facts),
        context_length=facts.need(f"{architecture}.context_length", 1, MAX_INT32),
        embedding_length=facts.need(f"{architecture}.embedding_length", 1, MAX_INT32),
        vocabulary_size=vocabulary,
        tokenizer=facts.text("tokenizer.ggml.model") or "",
        bos_token_id=_token_id(facts, "bos", vocabulary),
        eos_token_id=_token_id(facts, "eos", vocabulary),
        add_bos=facts.flag("tokenizer.ggml.add_bos_token"),
        add_eos=facts.flag("tokenizer.ggml.add_eos_token"),
        pooling_type=facts.number(f"{architecture}.pooling_type", 0, MAX_INT32),
        split_no=0,
        split_count=split_count,
        tensor_count=metadata.tensor_count,
        chat_templates=_chat_templates(facts),
        sampling=_sampling(facts),
        scalars=dict(metadata.scalars),
    )


def kind_of(header: GgufHeader) -> ModelKind:
    """`embedding` for encoders and for files that name a pooling, else `generative`."""
    if header.architecture in ENCODERS or header.pooling_type:
        return "embedding"
    return "generative"


# -------------------------------------------------------------------------------------------------


class _Facts:
    """Typed access to the metadata; a wrong type or range is the stream's error."""

    def __init__(self, metadata: Metadata, stream: GgufStream) -> None:
        self.metadata = metadata
        self.fail = stream.fail

    def text(self, key: str) -> str | None:
        value = self.metadata.scalars.get(key)
        if value is not None and not isinstance(value, str):
            self.fail(f"{key} is {value!r} and not text")
        return value

    def flag(self, key: str) -> bool | None:
        value = self.metadata.scalars.get(key)
        if value is not None and not isinstance(value, bool):
            self.fail(f"{key} is {value!r} and not a boolean")
        return value

    def number(self, key: str, low: int, high: int) -> int | None:
        value = self.metadata.scalars.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(f"{key} is {value!r} and not a whole number from {low} to {high}")
        return value

    def need(self, key: str, low: int, high: int) -> int:
        value = self.number(key, low, high)
        if value is None:
            self.fail(f"{key} is missing")
        return value


def _split(facts: _Facts) -> tuple[int, int]:
    count = facts.number("split.count", 0, MAX_PARTS) or 1
    number = facts.number("split.no", 0, MAX_PARTS) or 0
    if number >= count:
        facts.fail(f"it claims to be part {number + 1} of {count}")
    return number, count


def _later_part(facts: _Facts, split_no: int, split_count: int) -> GgufHeader:
    """Parts after the first carry tensors and little else."""
    return GgufHeader(
        architecture=facts.text("general.architecture") or "",
        name=None,
        quantization=_quantization(facts),
        context_length=0,
        embedding_length=0,
        vocabulary_size=0,
        tokenizer="",
        split_no=split_no,
        split_count=split_count,
        tensor_count=facts.metadata.tensor_count,
        scalars=dict(facts.metadata.scalars),
    )


def _architecture(facts: _Facts) -> str:
    architecture = facts.text("general.architecture")
    if not architecture:
        facts.fail("general.architecture is missing")
    for label in (facts.text("general.type"), architecture):
        if label in NOT_A_MODEL:
            facts.fail(f"it is {NOT_A_MODEL[label]} and not a model")
    if not architecture.isprintable() or len(architecture) > 64:
        facts.fail(f"general.architecture is {architecture[:64]!r}")
    if not facts.metadata.tensor_count:
        facts.fail("it holds no tensors")
    return architecture


def _check_shape(facts: _Facts, architecture: str) -> None:
    facts.need(f"{architecture}.block_count", 1, MAX_BLOCKS)
    experts = facts.number(f"{architecture}.expert_count", 0, MAX_EXPERTS) or 0
    used = facts.number(f"{architecture}.expert_used_count", 0, MAX_EXPERTS) or 0
    if used > experts or (experts and not used):
        facts.fail(f"{used} of {experts} experts are to be used")


def _vocabulary(facts: _Facts) -> int:
    tokenizer = facts.text("tokenizer.ggml.model")
    if not tokenizer or tokenizer in {"none", "no_vocab"}:
        facts.fail("it has no tokenizer")
    element, count = facts.metadata.arrays.get("tokenizer.ggml.tokens", (TYPE_STRING, 0))
    if element != TYPE_STRING or not 0 < count <= MAX_INT32:
        facts.fail(f"tokenizer.ggml.tokens is no list of tokens ({count} of type {element})")
    # llama.cpp reads both by token id, without a look at their lengths.
    for key, wanted in (("scores", (TYPE_FLOAT32,)), ("token_type", INT32_TYPES)):
        found = facts.metadata.arrays.get(f"tokenizer.ggml.{key}")
        if found is not None and (found[0] not in wanted or found[1] != count):
            facts.fail(
                f"tokenizer.ggml.{key} has {found[1]} entries of type {found[0]} "
                f"for {count} tokens (type {wanted[-1]} is due)"
            )
    return count


def _token_id(facts: _Facts, which: str, vocabulary: int) -> int | None:
    """An id outside the vocabulary counts as absent: converters write -1 or 2^32-1 for none."""
    value = facts.metadata.scalars.get(f"tokenizer.ggml.{which}_token_id")
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < vocabulary:
        return None
    return value


def _quantization(facts: _Facts) -> str:
    file_type = facts.metadata.scalars.get("general.file_type")
    if isinstance(file_type, int) and not isinstance(file_type, bool):
        named = FILE_TYPES.get(file_type & ~FILE_TYPE_GUESSED)
        if named:
            return named
    # Unnamed: the type that most of the bytes have says the most.
    by_type = facts.metadata.bytes_by_type
    if not by_type:
        return "unknown"
    return TENSOR_TYPES[max(by_type, key=lambda kind: by_type[kind])][0]


def _chat_templates(facts: _Facts) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in facts.metadata.scalars.items():
        if key == CHAT_TEMPLATE and isinstance(value, str):
            found["default"] = value
        elif key.startswith(CHAT_TEMPLATE + ".") and isinstance(value, str):
            found[key.removeprefix(CHAT_TEMPLATE + ".")] = value
    return found


def _sampling(facts: _Facts) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, field in SAMPLING_FIELDS.items():
        value = facts.metadata.scalars.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            found[field] = value
    return found

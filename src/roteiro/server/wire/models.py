"""Installed models as `/v1/models` lists them. Pure; thread: any."""

from __future__ import annotations

from typing import Any

from roteiro.engine.sizing import window_of
from roteiro.engine.state import ModelState
from roteiro.errors import ModelUnusable
from roteiro.modelstore.record import ModelRecord

# llama.cpp's numbers of the tokenizer kinds.
VOCAB_TYPES = {"llama": 1, "gpt2": 2, "bert": 3, "t5": 4, "rwkv": 5, "plamo2": 6}


def model_json(record: ModelRecord, *, cap: int | None, state: ModelState | None) -> dict[str, Any]:
    """One entry; `meta` tells the window before anything is loaded, so that clients can size.

    `state` is the loaded model, or None: how many parameters it has is known only then.
    """
    header = record.header
    window = served_window(record, cap)
    return {
        "id": record.id,
        "object": "model",
        "created": record.created,
        "owned_by": "roteiro",
        "aliases": [],
        "tags": [],
        "kind": record.kind,
        "context_length": window,
        "max_model_len": window,
        "architecture": {
            "name": header.architecture,
            "input_modalities": ["text"],
            "output_modalities": ["text" if record.kind == "generative" else "embeddings"],
        },
        "status": {"value": "unloaded" if state is None else "loaded"},
        "meta": {
            "vocab_type": VOCAB_TYPES.get(header.tokenizer, 0),
            "n_vocab": header.vocabulary_size,
            "n_ctx": window,
            "n_ctx_train": header.context_length,
            "n_embd": header.embedding_length,
            "n_params": None if state is None else state.facts.n_params,
            "size": record.size,
            "ftype": header.quantization,
        },
    }


def served_window(record: ModelRecord, cap: int | None) -> int:
    """The window that applies to a model, or 0 where its file names none that can be used."""
    try:
        return window_of(record.header, cap)
    except ModelUnusable:
        return 0

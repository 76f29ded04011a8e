"""A model loaded by llama.cpp: its facts, and contexts and samplers over it. Thread: engine thread."""

from __future__ import annotations

import ctypes
from typing import Any, Final

from roteiro.engine.backend import (
    ContextOptions,
    MemoryKind,
    ModelFacts,
    PoolingKind,
    SamplerOptions,
)
from roteiro.engine.llama.binding import C
from roteiro.engine.llama.context import LlamaContext
from roteiro.engine.llama.sampler import LlamaSampler
from roteiro.engine.llama.vocabulary import LlamaVocabulary

_POOLINGS: Final[dict[str, PoolingKind]] = {"1": "mean", "2": "cls", "3": "last", "4": "rank"}
_TEXT_BYTES = 1024
# Longer values are templates and licences, which the header reader has already.
_LONGEST_SCALAR = 256


class LlamaModel:
    """Weights in memory. Close every context before it."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.vocabulary = LlamaVocabulary(model)
        self.facts = _read_facts(model)

    def open_context(self, options: ContextOptions) -> LlamaContext:
        """A context over this model."""
        parts = self.facts.in_parts and options.sequences == 1
        return LlamaContext(self._model, self.vocabulary.facts.n_vocab, options, saves_parts=parts)

    def open_sampler(self, options: SamplerOptions) -> LlamaSampler:
        """A sampler over this model's vocabulary."""
        banned = self.vocabulary.suppressed()
        return LlamaSampler(options, self.vocabulary.facts.n_vocab, banned)

    def close(self) -> None:
        """Free the weights. Idempotent."""
        model, self._model = self._model, None
        if model:
            C.llama_model_free(model)


def _read_facts(model: Any) -> ModelFacts:
    scalars = _scalars(model)
    arch = scalars.get("general.architecture", "")
    # Only encoders turn causal attention off, and an encoder-decoder needs two passes: neither generates.
    causal = scalars.get(f"{arch}.attention.causal", "true") != "false"
    generates = causal and not C.llama_model_has_encoder(model)
    pooling = scalars.get(f"{arch}.pooling_type", "")
    return ModelFacts(
        n_ctx_train=C.llama_model_n_ctx_train(model),
        n_embd=C.llama_model_n_embd_out(model),
        memory=_memory_kind(model, causal=causal),
        n_swa=C.llama_model_n_swa(model),
        pooling=_POOLINGS.get(pooling, "none"),
        size_bytes=C.llama_model_size(model),
        n_params=C.llama_model_n_params(model),
        description=_text(lambda buffer, size: C.llama_model_desc(model, buffer, size)),
        can_generate=generates,
        scalars=scalars,
    )


def _memory_kind(model: Any, *, causal: bool) -> MemoryKind:
    if C.llama_model_is_hybrid(model):
        return "hybrid"
    if C.llama_model_is_recurrent(model):
        return "recurrent"
    if not causal:
        return "none"
    return "swa" if C.llama_model_n_swa(model) > 0 else "attention"


def _scalars(model: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for index in range(C.llama_model_meta_count(model)):
        key = _text(lambda b, n, i=index: C.llama_model_meta_key_by_index(model, i, b, n))
        value = _text(lambda b, n, i=index: C.llama_model_meta_val_str_by_index(model, i, b, n))
        if len(value) <= _LONGEST_SCALAR:
            found[key] = value
    return found


def _text(read: Any) -> str:
    """Call a C function that fills a buffer; what does not fit is cut, which only long values do."""
    buffer = ctypes.create_string_buffer(_TEXT_BYTES)
    read(buffer, _TEXT_BYTES)
    return buffer.value.decode(errors="replace")

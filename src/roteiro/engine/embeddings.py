"""Embeddings: many inputs in one batch by sequences, normalised, in the order asked.

Owns the packing of inputs into batches. Over-long inputs are refused by the engine before. Thread: engine
thread (`pack`: any).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roteiro.engine.backend import ModelFacts
from roteiro.engine.pool import Pool, Resident
from roteiro.engine.steering import Steering
from roteiro.errors import ModelUnusable

if TYPE_CHECKING:
    from roteiro.engine.backend import FloatArray

# Tokens evaluated at once: attention without memory grows with the square of the batch.
BATCH_TOKENS = 2048
# llama.cpp allows 256 sequences in a context; fewer inputs than this are rarely left waiting.
BATCH_SEQUENCES = 32
_CONTEXT_MULTIPLE = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingResult:
    """One L2-normalised vector an input, in order, and the tokens they had together."""

    vectors: list[FloatArray]
    prompt_tokens: int


def pack(lengths: Sequence[int], *, tokens: int, sequences: int) -> list[list[int]]:
    """Indices of inputs grouped into batches, in order, none above the limits unless it is alone."""
    batches: list[list[int]] = []
    used = 0
    for index, length in enumerate(lengths):
        if not batches or used + length > tokens or len(batches[-1]) >= sequences:
            batches.append([])
            used = 0
        batches[-1].append(index)
        used += length
    return batches


def embed(
    pool: Pool, resident: Resident, inputs: Sequence[Sequence[int]], steering: Steering
) -> EmbeddingResult:
    """Evaluate the inputs.

    Raises:
        ModelUnusable: the model has no pooling that gives one vector a text.
        Cancelled, Interrupted: the caller left.
        DecodeFailed: the library failed.
    """
    check_pooling(resident.record.id, resident.model.facts)
    lengths = [len(tokens) for tokens in inputs]
    batches = pack(lengths, tokens=BATCH_TOKENS, sequences=BATCH_SEQUENCES)
    most = max((sum(lengths[i] for i in batch) for batch in batches), default=1)
    context = resident.embedding.context
    if context is None or context.n_batch < most:
        room = max(-(-most // _CONTEXT_MULTIPLE) * _CONTEXT_MULTIPLE, 512)
        context = pool.open_embedding_context(resident, n_tokens=room, sequences=BATCH_SEQUENCES)
    resident.embedding.busy = True
    vectors: list[FloatArray] = []
    try:
        steering.attach(context)
        for batch in batches:
            steering.between_steps()
            vectors += [_normalised(one) for one in context.embed([inputs[i] for i in batch])]
    except BaseException:
        context.rearm()
        resident.embedding.close()
        raise
    finally:
        steering.detach()
        resident.embedding.busy = False
    return EmbeddingResult(vectors=vectors, prompt_tokens=sum(lengths))


def check_pooling(model_id: str, facts: ModelFacts) -> None:
    """Refuse models without one vector a text.

    Raises:
        ModelUnusable: the pooling is none, or a ranking score.
    """
    if facts.pooling in ("none", "rank"):
        raise ModelUnusable(
            f"The model {model_id!r} has no pooling (its metadata says {facts.pooling!r}), "
            "so it gives no embedding of a text.",
            hint="Use an embedding model; `roteiro model list` shows the kinds.",
            param="model",
        )


def _normalised(vector: FloatArray) -> FloatArray:
    import numpy as np

    norm = float(np.linalg.norm(vector))
    result: FloatArray = (vector / norm if norm > 0 else vector).astype(np.float32)
    return result

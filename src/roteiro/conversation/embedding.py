"""Embeddings: text or token ids in, one vector an input out.

Text meets tokens here. An input that does not fit is refused and never cut. Thread: event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from roteiro.conversation.catalog import Catalog
from roteiro.engine.embeddings import EmbeddingResult
from roteiro.engine.engine import Engine

Input = str | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """The vectors, in the order of the inputs, and the id of the model that made them."""

    model: str
    result: EmbeddingResult


class Embedder:
    """Makes embeddings with a served model."""

    def __init__(self, engine: Engine, catalog: Catalog) -> None:
        self._engine = engine
        self._catalog = catalog

    async def embed(self, model: str | None, inputs: Sequence[Input], *, client: str = "") -> Embedded:
        """Embed every input.

        Args:
            model: a served model's id; None takes the configured or first embedding model.
            inputs: texts, or token ids of the model's vocabulary, at least one.
            client: whose request it is, for fair queueing.

        Raises:
            ModelNotFound, ModelUnusable: the model is not there or gives no embeddings.
            InvalidRequest: an input is empty, or an id is not in the vocabulary.
            ContextOverflow: an input is longer than the model's window.
        """
        record = await self._catalog.choose(model, "embedding")
        vocabulary = await self._engine.vocabulary(record)
        tokens: list[tuple[int, ...]] = []
        for item in inputs:
            if isinstance(item, str):
                tokens.append(await vocabulary.tokenize(item, parse_special=False, add_special=True))
            else:
                vocabulary.check(item)
                tokens.append(item)
        result = await self._engine.embed(record, tokens, client=client)
        return Embedded(model=record.id, result=result)

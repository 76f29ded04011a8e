"""Which models are served, and which one a request means.

An unknown id is an error and is never replaced. Before a model is used its file is looked at again; the
engine has it probed before it is loaded. Thread: event loop; the disk is touched in a worker thread.
"""

from __future__ import annotations

import asyncio
import time

from roteiro.config.schema import ModelsConfig
from roteiro.errors import ConfigError, ModelNotFound, ModelUnusable
from roteiro.modelstore.record import ModelKind, ModelRecord
from roteiro.modelstore.store import ModelStore

# Polls for models, slots and metrics come many times a second while the processors compute; a thread for
# each would wait for its turn there. A model is looked at on disk again before it is used.
SEEN_SECONDS = 0.5


class Catalog:
    """The served part of the model store.

    Args:
        store: what is installed.
        names: ids to serve; None serves all.
        defaults: the ids to use where a request names none.
    """

    def __init__(self, store: ModelStore, *, names: tuple[str, ...] | None, defaults: ModelsConfig) -> None:
        self._store = store
        self._seen: tuple[float, tuple[ModelRecord, ...]] = (-SEEN_SECONDS, ())
        self._names = names
        self._defaults: dict[ModelKind, str | None] = {
            "generative": defaults.generative,
            "embedding": defaults.embedding,
        }

    def check(self) -> None:
        """Compare the configuration with what is installed. Blocks on the disk; called at start.

        Raises:
            ConfigError: `[serve] models` or `[models]` names a model that is not installed or not served.
        """
        installed = [record.id for record in self._store.records()]
        unknown = [name for name in self._names or () if name not in installed]
        if unknown:
            raise ConfigError(
                [f"[serve] models names {name!r}, which is not installed" for name in unknown],
                hint=f"Installed: {', '.join(installed) or 'none'}.",
                param="serve.models",
            )
        for kind, name in self._defaults.items():
            if name is None:
                continue
            self._store.default(kind, name)
            if self._names is not None and name not in self._names:
                raise ConfigError(
                    [f"[models] {kind} names {name!r}, which [serve] models leaves out"],
                    param=f"models.{kind}",
                )

    def records(self) -> tuple[ModelRecord, ...]:
        """The served models. Blocks on the disk."""
        return tuple(r for r in self._store.records() if self._names is None or r.id in self._names)

    async def served(self) -> tuple[ModelRecord, ...]:
        """As `records`, without blocking the event loop, and at most `SEEN_SECONDS` old."""
        now = time.monotonic()
        if now - self._seen[0] >= SEEN_SECONDS:
            self._seen = (now, await asyncio.to_thread(self.records))
        return self._seen[1]

    async def find(self, model_id: str) -> ModelRecord:
        """The served model of that id.

        Raises:
            ModelNotFound: there is none; lists those that are served.
        """
        records = await self.served()
        for record in records:
            if record.id == model_id:
                return record
        raise ModelNotFound(model_id, [record.id for record in records])

    async def choose(self, model_id: str | None, kind: ModelKind) -> ModelRecord:
        """The model a request means, looked at on disk but not probed.

        Args:
            model_id: the request's `model`; None or "" takes the configured or first one of the kind.
            kind: what the request needs.

        Raises:
            ModelNotFound: no served model bears the id, or none of the kind is served.
            ModelUnusable: the model is of the other kind, or its file was changed into something unusable.
        """
        if model_id:
            record = await self.find(model_id)
        else:
            record = await self._default(kind)
        if kind == "generative" and record.kind != "generative":
            raise ModelUnusable(
                f"The model {record.id!r} makes embeddings and cannot chat.",
                hint="Name a generative model; GET /v1/models lists what is served.",
                param="model",
            )
        return await self._store.refresh_if_changed_async(record)

    async def _default(self, kind: ModelKind) -> ModelRecord:
        records = await self.served()
        wanted = self._defaults[kind]
        for record in records:
            if record.id == wanted or (wanted is None and record.kind == kind):
                return record
        raise ModelNotFound(wanted or f"(default {kind})", [record.id for record in records])

"""What routes take from the application: the runtime, its limits, and who asks. Thread: event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request

from roteiro.config.schema import ServeConfig
from roteiro.engine.vocabulary import VocabularyHandle
from roteiro.modelstore.record import ModelRecord
from roteiro.server.metrics import Metrics

if TYPE_CHECKING:
    from roteiro.runtime import Runtime


def runtime_of(request: Request) -> Runtime:
    """The one runtime of this process."""
    runtime: Runtime = request.app.state.runtime
    return runtime


def limits_of(request: Request) -> ServeConfig:
    """The `[serve]` section."""
    return runtime_of(request).config.serve


def metrics_of(request: Request) -> Metrics:
    """The metrics of this process."""
    metrics: Metrics = request.app.state.metrics
    return metrics


def client_of(request: Request, user: str | None) -> str:
    """Who asks, for fair queueing: the key's digest, else the address; and the `user` it speaks for."""
    key = request.scope.get("state", {}).get("client")
    address = request.client.host if request.client is not None else "local"
    return f"{key or address}/{user}" if user else str(key or address)


async def model_of(request: Request, model_id: str | None) -> ModelRecord:
    """The model that an introspecting request means: the named one, the one loaded, or the default.

    Raises:
        ModelNotFound: there is none.
    """
    runtime = runtime_of(request)
    if model_id:
        return await runtime.catalog.find(model_id)
    loaded = runtime.engine.state().models
    if len(loaded) == 1:
        return await runtime.catalog.find(loaded[0].id)
    return await runtime.catalog.choose(None, "generative")


async def vocabulary_of(request: Request, model_id: str | None) -> VocabularyHandle:
    """The vocabulary of that model; the model itself is not loaded for it."""
    record = await model_of(request, model_id)
    return await runtime_of(request).engine.vocabulary(record)

"""`GET /v1/models` and its aliases: what is installed and served. Thread: event loop."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from roteiro.modelstore.record import ModelRecord
from roteiro.server.deps import limits_of, runtime_of
from roteiro.server.wire.models import model_json

router = APIRouter(tags=["models"])


@router.get("/v1/models")
@router.get("/v1/models/", include_in_schema=False)
@router.get("/models", include_in_schema=False)
@router.get("/models/", include_in_schema=False)
async def list_models(request: Request) -> dict[str, Any]:
    """Every served model."""
    records = await runtime_of(request).catalog.served()
    data = [_json(request, record) for record in records]
    return {"object": "list", "data": data, "models": [_stub(record) for record in records]}


@router.get("/v1/models/{model_id:path}")
@router.get("/models/{model_id:path}", include_in_schema=False)
async def get_model(request: Request, model_id: str) -> dict[str, Any]:
    """One served model; ids may hold slashes and colons."""
    return _json(request, await runtime_of(request).catalog.find(model_id))


# ---------------------------------------------------------------------------------------------------


def _json(request: Request, record: ModelRecord) -> dict[str, Any]:
    loaded = {model.id: model for model in runtime_of(request).engine.state().models}
    cap = limits_of(request).max_context_tokens
    return model_json(record, cap=cap, state=loaded.get(record.id))


def _stub(record: ModelRecord) -> dict[str, Any]:
    # llama-server's second list, which some clients read for the capabilities.
    capability = "completion" if record.kind == "generative" else "embedding"
    return {"name": record.id, "model": record.id, "capabilities": [capability]}

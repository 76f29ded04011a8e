"""What steers work under way and what is loaded: ending a thought, loading and unloading models.

Safe while a model is in use: an unload waits for the turn it would disturb. Thread: event loop.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import Field
from starlette.responses import JSONResponse, Response

from roteiro.errors import InvalidRequest
from roteiro.server.deps import client_of, runtime_of
from roteiro.server.disconnect import unless_left
from roteiro.server.json_body import json_body
from roteiro.server.openapi import request_body
from roteiro.server.wire.fields import Text, WireModel

router = APIRouter(tags=["control"])

_REFUSALS = {
    "unknown": "No completion of that id is running.",
    "not_enabled": "The completion was started without reasoning_control, or its model has no "
    "thoughts that can be ended.",
}


class ControlBody(WireModel):
    """`POST /v1/chat/completions/control`."""

    id: Annotated[Text, Field(min_length=1)]
    action: Literal["reasoning_end"]
    model: Text | None = None


class ModelBody(WireModel):
    """`POST /models/load` and `/models/unload`."""

    model: Annotated[Text, Field(min_length=1)]


@router.post("/v1/chat/completions/control", openapi_extra=request_body(ControlBody))
async def control_completion(
    request: Request, body: Annotated[ControlBody, Depends(json_body(ControlBody))]
) -> dict[str, Any]:
    """End the thought of a completion that was started with `reasoning_control`."""
    outcome = runtime_of(request).conversation.end_reasoning(body.id)
    if outcome == "done":
        return {"success": True}
    return {"success": False, "message": _REFUSALS[outcome]}


@router.post("/models/load", openapi_extra=request_body(ModelBody))
@router.post("/v1/models/load", include_in_schema=False)
async def load_model(request: Request, body: Annotated[ModelBody, Depends(json_body(ModelBody))]) -> Response:
    """Load a model now and answer when it is there."""
    runtime = runtime_of(request)
    record = await runtime.catalog.find(body.model)
    work = runtime.engine.load(record, client=client_of(request, None))
    return await unless_left(request, work, lambda _none: JSONResponse({"success": True}))


@router.post("/models/unload", openapi_extra=request_body(ModelBody))
@router.post("/v1/models/unload", include_in_schema=False)
async def unload_model(
    request: Request, body: Annotated[ModelBody, Depends(json_body(ModelBody))]
) -> Response:
    """Unload a model once the turn that uses it has ended."""
    runtime = runtime_of(request)
    record = await runtime.catalog.find(body.model)
    if not await runtime.engine.unload(record.id):
        raise InvalidRequest(f"The model {record.id!r} is not loaded.", param="model")
    return JSONResponse({"success": True})

"""What the server is and does: `/props`, `/slots`, `/metrics`. Wakes nothing, waits for nothing.

Answered from the engine's picture while a prefill or a decode runs. Thread: event loop.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from roteiro.errors import Busy, ModelNotFound, RoteiroError
from roteiro.modelstore.record import ModelRecord
from roteiro.server.deps import limits_of, metrics_of, model_of, runtime_of
from roteiro.server.metrics import CONTENT_TYPE
from roteiro.server.wire.introspection import (
    no_model_props_json,
    plain_template_json,
    props_json,
    slots_json,
    template_json,
)
from roteiro.server.wire.models import served_window

router = APIRouter(tags=["introspection"])


@router.get("/props")
async def get_props(request: Request, model: str | None = None) -> dict[str, Any]:
    """A model's template, window and defaults."""
    runtime = runtime_of(request)
    state, limits = runtime.engine.state(), limits_of(request)
    try:
        record = await model_of(request, model)
    except ModelNotFound:
        if model:
            raise
        return no_model_props_json(state, limits.sessions)
    return props_json(
        record,
        state,
        window=served_window(record, limits.max_context_tokens),
        sessions=limits.sessions,
        template=await _template(request, record),
    )


@router.get("/slots")
async def get_slots(request: Request, model: str | None = None, fail_on_no_slot: int = 0) -> JSONResponse:
    """A model's slots: which are at work, and what each holds."""
    state, limits = runtime_of(request).engine.state(), limits_of(request)
    slots: list[dict[str, Any]] = []
    try:
        record = await model_of(request, model)
    except ModelNotFound:
        if model:
            raise
    else:
        window = served_window(record, limits.max_context_tokens)
        slots = slots_json(record, state, window=window, sessions=limits.sessions)
    if fail_on_no_slot and all(slot["is_processing"] for slot in slots):
        raise Busy("No slot is idle.")
    headers = {"X-Roteiro-Queued": str(state.queued)}
    return JSONResponse(slots, headers=headers)


@router.get("/metrics")
async def get_metrics(request: Request) -> Response:
    """Counters and gauges for Prometheus, under llama-server's names and a few of our own."""
    metrics = metrics_of(request)
    return Response(
        metrics.render(runtime_of(request).engine.state()),
        headers={
            "Content-Type": CONTENT_TYPE,
            "Process-Start-Time-Unix": str(int(metrics.started)),
        },
    )


# ---------------------------------------------------------------------------------------------------


async def _template(request: Request, record: ModelRecord) -> dict[str, Any]:
    # A profile that is kept is read at once; making one waits for the batch under way.
    try:
        profile = await runtime_of(request).profiles.get(record)
    except RoteiroError:
        return plain_template_json(record)
    return template_json(profile.template)

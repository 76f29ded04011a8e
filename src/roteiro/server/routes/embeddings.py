"""`POST /v1/embeddings`: one vector an input, in order. Thread: event loop."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from roteiro.server.access import note
from roteiro.server.deps import client_of, runtime_of
from roteiro.server.disconnect import unless_left
from roteiro.server.json_body import json_body
from roteiro.server.openapi import request_body
from roteiro.server.wire.embeddings import EmbeddingsBody, embeddings_reply, to_inputs

router = APIRouter(tags=["embeddings"])


@router.post("/v1/embeddings", openapi_extra=request_body(EmbeddingsBody))
@router.post("/embeddings", include_in_schema=False)
async def create_embeddings(
    request: Request, body: Annotated[EmbeddingsBody, Depends(json_body(EmbeddingsBody))]
) -> Response:
    """Embed texts or token ids; an input that does not fit the window is refused, never cut."""
    runtime = runtime_of(request)
    inputs = to_inputs(body)
    note(request, inputs=len(inputs))

    async def work() -> bytes:
        client = client_of(request, body.user)
        made = await runtime.embedder.embed(body.model or None, inputs, client=client)
        note(request, model=made.model, tokens=made.result.prompt_tokens)
        return await anyio.to_thread.run_sync(
            lambda: embeddings_reply(
                made.result.vectors,
                model=made.model,
                prompt_tokens=made.result.prompt_tokens,
                encoding=body.encoding_format or "float",
            )
        )

    media = "application/json; charset=utf-8"
    return await unless_left(request, work(), lambda reply: Response(reply, media_type=media))

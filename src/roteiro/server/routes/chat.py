"""`POST /v1/chat/completions`: read the body, ask the conversation, fold its events. Thread: event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from roteiro.conversation.events import AnswerEvent, AnswerFinished
from roteiro.engine.request import PromptProgress, Queued
from roteiro.server.access import note
from roteiro.server.answers import SIZED_SECONDS, Choices, Primed
from roteiro.server.chat_call import ChatCall, read_chat_call
from roteiro.server.deps import limits_of, runtime_of
from roteiro.server.disconnect import unless_left
from roteiro.server.errors import encode, problem, request_id
from roteiro.server.openapi import request_body
from roteiro.server.sse import ReplyStream
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.chat_reply import BodyFold, ChunkFold, ReplyHead

JSON = "application/json; charset=utf-8"

LEAST_PING_SECONDS = 0.1

router = APIRouter(tags=["chat"])


@router.post("/v1/chat/completions", openapi_extra=request_body(ChatCompletionBody))
@router.post("/chat/completions", include_in_schema=False)
async def create_chat_completion(request: Request) -> Response:
    """Answer a conversation, as one JSON object or as a stream."""
    call = await read_chat_call(request)
    record = await runtime_of(request).catalog.choose(call.request.model, "generative")
    call = call.with_model(record.id)
    note(request, model=record.id, finish="left")
    choices = Choices(
        runtime_of(request).conversation,
        call.request,
        count=call.body.n or 1,
        timeout_s=limits_of(request).request_timeout_s,
    )
    head = _head(call)
    if call.body.stream:
        fits = call.fits_surely(runtime_of(request).engine.window(record))
        return await _stream(request, call, choices, head, first_s=0.0 if fits else SIZED_SECONDS)
    return await _whole(request, call, choices, head)


# ---------------------------------------------------------------------------------------------------


def _head(call: ChatCall) -> ReplyHead:
    body = call.body
    options = body.stream_options
    return ReplyHead(
        id=call.request.id,
        model=call.request.model or "",
        choices=body.n or 1,
        include_usage=options is not None and options.include_usage is True,
        return_progress=body.return_progress is True,
        logprobs=body.logprobs is True,
        timings_per_token=body.timings_per_token is True,
    )


async def _whole(request: Request, call: ChatCall, choices: Choices, head: ReplyHead) -> Response:
    async def gather() -> bytes:
        fold = BodyFold(head)
        async with aclosing(choices):
            async for index, event in choices:
                _log(request, event)
                fold.add(index, event)
        return encode(fold.body())

    return await unless_left(
        request,
        gather(),
        lambda body: Response(body, media_type=JSON, headers=call.headers),
    )


async def _stream(
    request: Request, call: ChatCall, choices: Choices, head: ReplyHead, *, first_s: float
) -> Response:
    fold = ChunkFold(head)
    source = Primed(choices)

    def folding(index: int, event: AnswerEvent) -> Iterator[dict[str, Any]]:
        _log(request, event)
        return fold.chunks(index, event)

    try:
        await source.prime(first_s=first_s)
    except BaseException:
        await source.aclose()
        raise
    return ReplyStream(
        source,
        folding,
        describe=lambda error: problem(error, request_id=request_id(request)),
        ping_s=_ping_seconds(request, call),
        headers=call.headers,
    )


def _ping_seconds(request: Request, call: ChatCall) -> float:
    asked = call.body.sse_ping_interval
    if asked is None:
        return limits_of(request).keepalive_s
    return max(LEAST_PING_SECONDS, asked) if asked > 0 else 0.0


def _log(request: Request, event: AnswerEvent) -> None:
    """Put the numbers that authors of agents live by into the request's log line.

    Those of a request whose client leaves are the last that were known.
    """
    if isinstance(event, Queued):
        note(request, queued=event.position)
    elif isinstance(event, PromptProgress):
        note(request, cached=event.cache, evaluated=event.processed - event.cache)
    if not isinstance(event, AnswerFinished):
        return
    timings = event.timings
    note(
        request,
        finish=event.finish_reason,
        cached=timings.cache_n,
        evaluated=timings.prompt_n,
        generated=timings.predicted_n,
        queue_ms=timings.queue_ms,
        load_ms=timings.load_ms,
        prompt_ms=timings.prompt_ms,
        predicted_ms=timings.predicted_ms,
        reuse=event.reuse_note or None,
    )

"""The tokenizer's routes, the rendered prompt and its length. Nothing is generated. Thread: event loop."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from roteiro.engine.vocabulary import VocabularyHandle
from roteiro.server.chat_call import read_chat_call
from roteiro.server.deps import runtime_of, vocabulary_of
from roteiro.server.json_body import json_body
from roteiro.server.openapi import request_body
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.text import DetokenizeBody, TokenizeBody, piece_json

router = APIRouter(tags=["text"])


@router.post("/tokenize", openapi_extra=request_body(TokenizeBody))
async def tokenize(
    request: Request, body: Annotated[TokenizeBody, Depends(json_body(TokenizeBody))]
) -> dict[str, Any]:
    """Token ids of a text, or of a list of texts and ids."""
    vocabulary = await vocabulary_of(request, body.model)
    content = body.content if isinstance(body.content, list) else [body.content or ""]
    tokens: list[int] = []
    for i, part in enumerate(content):
        if isinstance(part, int):
            vocabulary.check([part])
            tokens.append(part)
        elif part or i == 0:
            tokens += await vocabulary.tokenize(
                part,
                parse_special=body.parse_special is not False,
                add_special=body.add_special is True and i == 0,
            )
    if not body.with_pieces:
        return {"tokens": tokens}
    return {"tokens": await _with_pieces(vocabulary, tokens)}


@router.post("/detokenize", openapi_extra=request_body(DetokenizeBody))
async def detokenize(
    request: Request, body: Annotated[DetokenizeBody, Depends(json_body(DetokenizeBody))]
) -> dict[str, str]:
    """The text of tokens, control tokens included."""
    vocabulary = await vocabulary_of(request, body.model)
    return {"content": await vocabulary.detokenize(body.tokens or [])}


@router.post("/apply-template", openapi_extra=request_body(ChatCompletionBody))
async def apply_template(request: Request) -> dict[str, str]:
    """The prompt that a chat request would be rendered to."""
    call = await read_chat_call(request)
    prompt = await runtime_of(request).conversation.prompt(call.request)
    return {"prompt": prompt.rendered.text}


@router.post("/v1/chat/completions/input_tokens", openapi_extra=request_body(ChatCompletionBody))
@router.post("/chat/completions/input_tokens", include_in_schema=False)
async def count_input_tokens(request: Request) -> dict[str, Any]:
    """How many tokens the prompt of a chat request has."""
    call = await read_chat_call(request)
    prompt = await runtime_of(request).conversation.prompt(call.request)
    return {"object": "response.input_tokens", "input_tokens": len(prompt.tokens)}


# ---------------------------------------------------------------------------------------------------


async def _with_pieces(vocabulary: VocabularyHandle, tokens: list[int]) -> list[dict[str, Any]]:
    pieces = await vocabulary.pieces(tokens)
    return [piece_json(token, data) for token, data in zip(tokens, pieces, strict=True)]

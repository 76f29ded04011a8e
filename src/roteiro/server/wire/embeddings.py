"""The embeddings body and its reply: four kinds of input, two encodings. Pure; thread: any."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from roteiro.errors import InvalidRequest, UnsupportedParameter
from roteiro.server.errors import encode
from roteiro.server.wire.fields import Int, Text, WireModel

MAX_INPUTS = 2048

EmbeddingInput = str | tuple[int, ...]


class EmbeddingsBody(WireModel):
    """`POST /v1/embeddings`."""

    model: Text | None = None
    input: Text | Annotated[list[Any], Field(min_length=1, max_length=MAX_INPUTS)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[Int, Field(ge=1)] | None = None
    user: Text | None = None


def to_inputs(body: EmbeddingsBody) -> tuple[EmbeddingInput, ...]:
    """The inputs as texts or token ids.

    Raises:
        InvalidRequest: empty, mixed or otherwise unusable input.
        UnsupportedParameter: shortened vectors were asked for.
    """
    if body.dimensions is not None:
        raise UnsupportedParameter(
            "'dimensions' is not supported: vectors keep the model's own width.", param="dimensions"
        )
    raw = body.input
    if isinstance(raw, str):
        return (_text(raw, "input"),)
    if all(type(item) is int for item in raw):
        return (_tokens(raw, "input"),)
    if all(isinstance(item, str) for item in raw):
        return tuple(_text(item, f"input[{i}]") for i, item in enumerate(raw))
    if all(isinstance(item, list) for item in raw):
        return tuple(_tokens(item, f"input[{i}]") for i, item in enumerate(raw))
    raise InvalidRequest(
        "input is mixed; send a string, strings, token ids, or lists of token ids.", param="input"
    )


def embeddings_reply(
    vectors: Sequence[Iterable[float]], *, model: str, prompt_tokens: int, encoding: str
) -> bytes:
    """The reply as JSON; base64 is the little-endian float32 bytes of the same numbers.

    Encoded vector by vector: one call over all of them would hold the interpreter for too long.
    """
    items = [
        encode({"object": "embedding", "index": i, "embedding": _encoded(vector, encoding)})
        for i, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens}
    head = encode({"object": "list", "model": model, "usage": usage})
    return head[:-1] + b',"data":[' + b",".join(items) + b"]}"


# ---------------------------------------------------------------------------------------------------


def _encoded(vector: Iterable[float], encoding: str) -> str | list[float]:
    numbers = [float(value) for value in vector]
    if encoding == "base64":
        return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
    return numbers


def _text(text: str, where: str) -> str:
    if not text:
        raise InvalidRequest(f"{where} is an empty string, which has no meaning.", param=where)
    return text


def _tokens(tokens: Sequence[Any], where: str) -> tuple[int, ...]:
    if not tokens:
        raise InvalidRequest(f"{where} has no tokens.", param=where)
    for token in tokens:
        if type(token) is not int or not 0 <= token < 2**31:
            raise InvalidRequest(f"{where} holds {token!r}, which is no token id.", param=where)
    return tuple(tokens)

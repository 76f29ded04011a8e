"""Bodies of the tokenizer's routes. Pure; thread: any."""

from __future__ import annotations

from typing import Any

from roteiro.server.wire.fields import Bool, Int, Text, WireModel


class TokenizeBody(WireModel):
    """`POST /tokenize`. `content` is text, or a list of texts and token ids."""

    content: Text | list[Text | Int] | None = None
    add_special: Bool | None = None
    parse_special: Bool | None = None
    with_pieces: Bool | None = None
    model: Text | None = None


class DetokenizeBody(WireModel):
    """`POST /detokenize`."""

    tokens: list[Int] | None = None
    model: Text | None = None


def piece_json(token: int, data: bytes) -> dict[str, Any]:
    """A token with its piece: text, or the bytes where they are no whole characters."""
    try:
        return {"id": token, "piece": data.decode()}
    except UnicodeDecodeError:
        return {"id": token, "piece": list(data)}

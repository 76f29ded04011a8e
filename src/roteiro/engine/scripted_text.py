"""The scripted backend's alphabet: tokens 0-255 are bytes, the special tokens follow in order of `SPECIALS`.

Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

CONTROL_TOKENS: Final = ("<s>", "</s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
USER_TOKENS: Final = ("<think>", "</think>", "<tool_call>", "</tool_call>")
SPECIALS: Final = (*CONTROL_TOKENS, *USER_TOKENS)
FIRST_SPECIAL = 256
IDS: Final = {text: FIRST_SPECIAL + index for index, text in enumerate(SPECIALS)}
END_TOKEN: Final = IDS["<|im_end|>"]
SPECIAL_PATTERN = re.compile("|".join(re.escape(text) for text in SPECIALS))
USER_PATTERN = re.compile("|".join(re.escape(text) for text in USER_TOKENS))


def encode(text: str, pattern: re.Pattern[str] = SPECIAL_PATTERN) -> tuple[int, ...]:
    """Token ids of a text in the scripted vocabulary."""
    tokens: list[int] = []
    at = 0
    for match in pattern.finditer(text):
        tokens += text[at : match.start()].encode()
        tokens.append(IDS[match.group()])
        at = match.end()
    tokens += text[at:].encode()
    return tuple(tokens)


def decode_text(tokens: Sequence[int]) -> str:
    """The text of token ids in the scripted vocabulary."""
    return b"".join(token_bytes(token) for token in tokens).decode(errors="replace")


def token_bytes(token: int) -> bytes:
    """One token's bytes in the scripted vocabulary."""
    if token < FIRST_SPECIAL:
        return bytes([token])
    return SPECIALS[token - FIRST_SPECIAL].encode()

"""GigaChat: one JSON call after a role of its own (3.0) or a marker (3.1, 3.5); it ends the turn."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect

GIGACHAT3 = json_dialect(
    "gigachat3",
    JsonBlock(opener="function call<|role_sep|>", body="object", padding="\n", spread=True),
    aliases=("<|message_sep|>\n\nfunction call<|role_sep|>",),
)

GIGACHAT31 = json_dialect("gigachat3.1", JsonBlock(opener="<|function_call|>", body="object", spread=True))

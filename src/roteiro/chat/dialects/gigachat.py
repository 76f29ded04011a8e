"""GigaChat: one JSON call after a role of its own (3.0) or a marker (3.1) that ends the turn; tags (3.5)."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect
from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

GIGACHAT3 = json_dialect(
    "gigachat3",
    JsonBlock(opener="function call<|role_sep|>", body="object", padding="\n", spread=True),
    aliases=("<|message_sep|>\n\nfunction call<|role_sep|>",),
)

GIGACHAT31 = json_dialect("gigachat3.1", JsonBlock(opener="<|function_call|>", body="object", spread=True))

_GCML = "\uff5cGCML\uff5c"

GIGACHAT35 = tag_dialect(
    "gigachat3.5",
    TagForm(
        section=(f"<{_GCML}tool_calls>", f"</{_GCML}tool_calls>"),
        call=(f'<{_GCML}invoke name="', '">', f"</{_GCML}invoke>"),
        parameter=(f'<{_GCML}parameter name="', '">', f"</{_GCML}parameter>"),
        typed_by="string",
        shared_section=True,
    ),
)

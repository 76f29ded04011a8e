"""MiniMax: M2's `<invoke>` tags, M1's lines of JSON in `<tool_calls>`, and the array others write there."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect
from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

MINIMAX_M2 = tag_dialect(
    "minimax_m2",
    TagForm(
        section=("<minimax:tool_call>", "</minimax:tool_call>"),
        call=('<invoke name="', '">', "</invoke>"),
        parameter=('<parameter name="', '">', "</parameter>"),
        shared_section=True,
    ),
)

MINIMAX_M1 = json_dialect(
    "minimax_m1",
    JsonBlock(opener="<tool_calls>", closer="</tool_calls>", body="lines", padding="\n"),
)

# Apriel, Jamba, Hunyuan A13B.
TOOL_CALLS_ARRAY = json_dialect(
    "tool_calls_array",
    JsonBlock(opener="<tool_calls>", closer="</tool_calls>", body="array"),
)

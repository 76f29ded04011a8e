"""Families that write JSON calls between markers of their own and nothing more: a row each."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect
from roteiro.chat.dialects.json_calls import NAME_PARAMETERS

# InternLM 2 and 2.5.
INTERNLM = json_dialect(
    "internlm",
    JsonBlock(
        opener="<|action_start|><|plugin|>",
        closer="<|action_end|>",
        padding="\n",
        shape=NAME_PARAMETERS,
        spread=True,
    ),
)

LONGCAT = json_dialect(
    "longcat",
    JsonBlock(opener="<longcat_tool_call>", closer="</longcat_tool_call>", padding="\n", spread=True),
)

# HyperCLOVA X SEED: the marker belongs to the line that names the turn's role.
HYPERCLOVA = json_dialect(
    "hyperclova",
    JsonBlock(opener=" -> tool/function_call\n", body="array"),
    aliases=("-> tool/function_call\n",),
)

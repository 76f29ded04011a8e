"""Nemotron: a JSON array between `<TOOLCALL>` tags. Nemotron 3 writes as Qwen3-Coder does."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect

NEMOTRON = json_dialect(
    "nemotron",
    JsonBlock(opener="<TOOLCALL>", closer="</TOOLCALL>", body="array"),
    instruction=(
        "To call functions, write one JSON array of calls between <TOOLCALL> and </TOOLCALL>:\n"
        '<TOOLCALL>[{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}]</TOOLCALL>'
    ),
)

"""Granite 3: `<|tool_call|>` and a JSON array that ends the turn. Granite 4 writes Hermes."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect

GRANITE = json_dialect(
    "granite",
    JsonBlock(opener="<|tool_call|>", body="array"),
    instruction=(
        "To call functions, write <|tool_call|> and one JSON array of calls:\n"
        '<|tool_call|>[{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}]'
    ),
)

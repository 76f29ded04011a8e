"""Phi-4: JSON between `<|tool_call|>` and `<|/tool_call|>`, and the older `functools[...]`."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect

PHI4 = json_dialect(
    "phi4",
    JsonBlock(opener="<|tool_call|>", closer="<|/tool_call|>"),
    instruction=(
        "To call functions, write one JSON array of calls between <|tool_call|> and <|/tool_call|>:\n"
        '<|tool_call|>[{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}]<|/tool_call|>'
    ),
)

# Firefunction v2 writes the same.
FUNCTOOLS = json_dialect("functools", JsonBlock(opener="functools", body="array"))

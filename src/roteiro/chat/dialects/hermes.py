"""Hermes: JSON in `<tool_call>` tags, as ChatML models write it (Qwen 2.5 and 3, Hermes, Granite 4, ...)."""

from __future__ import annotations

from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect

HERMES = json_dialect(
    "hermes",
    JsonBlock(opener="<tool_call>", closer="</tool_call>", padding="\n", spread=True),
    instruction=(
        "To call a function, write one JSON object with its name and its arguments between "
        "<tool_call> and </tool_call>, once per call:\n"
        '<tool_call>\n{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}\n</tool_call>'
    ),
)

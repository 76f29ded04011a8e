"""Seed-OSS: `<function=..>` and `<parameter=..>` inside `<seed:tool_call>`, values without padding."""

from __future__ import annotations

from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

SEED_OSS = tag_dialect(
    "seed_oss",
    TagForm(
        section=("<seed:tool_call>", "</seed:tool_call>"),
        call=("<function=", ">", "</function>"),
        parameter=("<parameter=", ">", "</parameter>"),
    ),
)

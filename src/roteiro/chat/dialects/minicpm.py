"""MiniCPM 5: `<function name="..">` and `<param name="..">` without a section, odd text in CDATA."""

from __future__ import annotations

from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

MINICPM5 = tag_dialect(
    "minicpm5",
    TagForm(
        call=('<function name="', '">', "</function>"),
        parameter=('<param name="', '">', "</param>"),
        cdata=True,
    ),
)

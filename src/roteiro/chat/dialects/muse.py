"""Muse Glimmer: `<atem:invoke>` and `<atem:parameter>` tags, one section per call."""

from __future__ import annotations

from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

MUSE = tag_dialect(
    "muse",
    TagForm(
        section=("<atem:function_calls>", "</atem:function_calls>"),
        call=('<atem:invoke name="', '">', "</atem:invoke>"),
        parameter=('<atem:parameter name="', '">', "</atem:parameter>"),
    ),
)

"""Qwen3-Coder: `<function=..>` with `<parameter=..>` tags; also Qwen 3.5, Nemotron 3, Step 3.5."""

from __future__ import annotations

from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

QWEN3_CODER = tag_dialect(
    "qwen3_coder",
    TagForm(
        section=("<tool_call>", "</tool_call>"),
        call=("<function=", ">", "</function>"),
        parameter=("<parameter=", ">", "</parameter>"),
        padded=True,
        bare_calls=True,
    ),
    instruction=(
        "To call a function, write it in this form, once per call:\n"
        "<tool_call>\n<function=FUNCTION>\n<parameter=PARAMETER>\nVALUE\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
)

"""Step 3: `<steptml:invoke>` tags inside markers like DeepSeek's. Later ones write Qwen3-Coder's form."""

from __future__ import annotations

from roteiro.chat.dialects.tag_calls import TagForm, tag_dialect

_BAR = "\uff5c"

STEP3 = tag_dialect(
    "step3",
    TagForm(
        section=(f"<{_BAR}tool_calls_begin{_BAR}>", f"<{_BAR}tool_calls_end{_BAR}>"),
        call=(
            f'<{_BAR}tool_call_begin{_BAR}>function<{_BAR}tool_sep{_BAR}><steptml:invoke name="',
            '">',
            f"</steptml:invoke><{_BAR}tool_call_end{_BAR}>",
        ),
        parameter=('<steptml:parameter name="', '">', "</steptml:parameter>"),
        shared_section=True,
    ),
)

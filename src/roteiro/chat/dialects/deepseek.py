"""DeepSeek: V3 and R1 (fenced JSON), V3.1 (plain JSON), V3.2 and V4 (DSML tags)."""

from __future__ import annotations

from dataclasses import replace

from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.dialects.sections import Section, section_dialect
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import TagForm, read_name, tag_dialect

_BAR, _UNDERSCORE = "\uff5c", "\u2581"


def _mark(*words: str) -> str:
    return f"<{_BAR}{_UNDERSCORE.join(words)}{_BAR}>"


_OPEN, _CLOSE = _mark("tool", "calls", "begin"), _mark("tool", "calls", "end")
_BEGIN, _END, _SEPARATOR = _mark("tool", "call", "begin"), _mark("tool", "call", "end"), _mark("tool", "sep")
# The small distilled models write the marker from other tokens than the one it is.
_ALIASES = (f"<{_BAR}tool_calls_begin{_BAR}>", f"<{_BAR}tool calls begin{_BAR}>")


def _read_typed_head(source: Source) -> Steps[tuple[str, str | None]]:
    yield from source.expect("function" + _SEPARATOR)
    name = yield from read_name(source)
    yield from source.skip_space()
    if (yield from source.choose(("```json", "```"))) is None:
        raise Malformed
    return name, None


def _read_plain_head(source: Source) -> Steps[tuple[str, str | None]]:
    name = yield from read_name(source)
    yield from source.expect(_SEPARATOR)
    return name, None


def _write_typed_head(call: ParsedCall, _position: int) -> str:
    return f"function{_SEPARATOR}{call.name}\n```json\n"


def _write_plain_head(call: ParsedCall, _position: int) -> str:
    return call.name + _SEPARATOR


_FENCED = Section(
    opener=_OPEN,
    closer=_CLOSE,
    begin=_BEGIN,
    end=_END,
    tail="\n```",
    gap="\n",
    read_head=_read_typed_head,
    write_head=_write_typed_head,
    aliases=_ALIASES,
)

DEEPSEEK_V3 = section_dialect("deepseek_v3", _FENCED)

# The first R1 template leaves the section's end out after a single call.
DEEPSEEK_R1 = section_dialect("deepseek_r1", replace(_FENCED, each_proved=True))

DEEPSEEK_V31 = section_dialect(
    "deepseek_v3.1",
    Section(
        opener=_OPEN,
        closer=_CLOSE,
        begin=_BEGIN,
        end=_END,
        read_head=_read_plain_head,
        write_head=_write_plain_head,
        aliases=_ALIASES,
    ),
)

_DSML = f"{_BAR}DSML{_BAR}"


def _dsml(section: str) -> TagForm:
    return TagForm(
        section=(f"<{_DSML}{section}>", f"</{_DSML}{section}>"),
        call=(f'<{_DSML}invoke name="', '">', f"</{_DSML}invoke>"),
        parameter=(f'<{_DSML}parameter name="', '">', f"</{_DSML}parameter>"),
        typed_by="string",
        shared_section=True,
    )


DEEPSEEK_V32 = tag_dialect("deepseek_v3.2", _dsml("function_calls"))
DEEPSEEK_V4 = tag_dialect("deepseek_v4", _dsml("tool_calls"))

"""MiroThinker: `<use_mcp_tool>` with a server, a tool and its arguments as JSON.

Its server is a label of the prompt's own; it is read over, and written as the prompt's default.
"""

from __future__ import annotations

from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.dialects.sections import Section, section_dialect
from roteiro.chat.dialects.source import Source, Steps, drop
from roteiro.chat.dialects.tag_calls import read_name

_SERVER, _SERVER_END, _DEFAULT_SERVER = "<server_name>", "</server_name>", "generic-extras"
_TOOL, _TOOL_END = "<tool_name>", "</tool_name>"
_ARGUMENTS, _ARGUMENTS_END = "<arguments>", "</arguments>"


def _read_head(source: Source) -> Steps[tuple[str, str | None]]:
    yield from source.until((_SERVER_END,), drop)
    yield from source.skip_space()
    yield from source.expect(_TOOL)
    name = yield from read_name(source)
    yield from source.expect(_TOOL_END)
    yield from source.skip_space()
    yield from source.expect(_ARGUMENTS)
    return name, None


def _write_head(call: ParsedCall, _position: int) -> str:
    return f"{_DEFAULT_SERVER}{_SERVER_END}\n{_TOOL}{call.name}{_TOOL_END}\n{_ARGUMENTS}\n"


MIROTHINKER = section_dialect(
    "mirothinker",
    Section(
        opener="<use_mcp_tool>",
        closer="</use_mcp_tool>",
        begin=_SERVER,
        end=_ARGUMENTS_END,
        tail="\n",
        gap="\n",
        padding="\n",
        read_head=_read_head,
        write_head=_write_head,
    ),
)

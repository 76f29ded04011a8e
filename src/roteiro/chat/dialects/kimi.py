"""Kimi K2: a section of calls whose head is their id, `functions.NAME:POSITION`.

The id is where the name stands, in what the model writes and in what its template renders: history
must carry ids of this form. Thread: any.
"""

from __future__ import annotations

import re

from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.dialects.sections import Section, section_dialect
from roteiro.chat.dialects.source import Source, Steps
from roteiro.chat.dialects.tag_calls import read_name

_ARGUMENTS = "<|tool_call_argument_begin|>"
_ID = re.compile(r"functions\.(?P<name>.+):\d+")


def kimi_id(name: str, position: int) -> str:
    """The id Kimi gives to the call at a position of the conversation."""
    return f"functions.{name}:{position}"


def _read_head(source: Source) -> Steps[tuple[str, str | None]]:
    head = yield from read_name(source)
    yield from source.skip_space()
    yield from source.expect(_ARGUMENTS)
    whole = _ID.fullmatch(head)
    if whole:
        return whole["name"], head
    return head.removeprefix("functions."), None


def _write_head(call: ParsedCall, position: int) -> str:
    return (call.id or kimi_id(call.name, position)) + _ARGUMENTS


KIMI_K2 = section_dialect(
    "kimi_k2",
    Section(
        opener="<|tool_calls_section_begin|>",
        closer="<|tool_calls_section_end|>",
        begin="<|tool_call_begin|>",
        end="<|tool_call_end|>",
        read_head=_read_head,
        write_head=_write_head,
    ),
)

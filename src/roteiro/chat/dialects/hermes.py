"""Hermes: JSON in `<tool_call>` tags, as ChatML models write it (Qwen 2.5 and 3, Hermes, Granite 4, ...)."""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_calls import NAME_ARGUMENTS, read_calls, write_call
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps

_OPEN = "<tool_call>"
_CLOSE = "</tool_call>"


def _read(source: Source, calls: Calls) -> Steps[None]:
    yield from source.skip_space()
    yield from source.expect(_OPEN)
    if (yield from source.token()) not in "{[":
        raise Malformed
    calls.recognise()
    yield from read_calls(source, calls, NAME_ARGUMENTS)
    yield from source.token()
    yield from source.expect(_CLOSE)
    calls.close()


def _render(calls: Sequence[ParsedCall]) -> str:
    return "\n".join(f"{_OPEN}\n{write_call(call, NAME_ARGUMENTS)}\n{_CLOSE}" for call in calls)


HERMES = Dialect(
    name="hermes",
    envelope=Envelope(openers=(_OPEN,), closing="delimited", closer=_CLOSE),
    reader=region_reader(one_after_another(_read, (_OPEN,)), closer=_CLOSE),
    render=_render,
    instruction=(
        "To call a function, write one JSON object with its name and its arguments between "
        "<tool_call> and </tool_call>, once per call:\n"
        '<tool_call>\n{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}\n</tool_call>'
    ),
)

"""JSON calls that nothing marks: alone on a line, in a fence, or in a tag the model made up.

Models write so that have learnt calls but no markers, or that forget theirs (Qwen2.5-Coder). Only an
object that names a declared tool and has its arguments counts, so JSON in an answer stays an answer.
Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_calls import CallShape, read_calls, write_call
from roteiro.chat.dialects.region import Calls, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps, drop

_SHAPE = CallShape(guarded=True, declared_only=True)
_FENCE = "```"
_FENCE_LABEL = re.compile(r"[A-Za-z_]*")
_FENCE_LABELS = frozenset({"", "json", "jsonc", "tool_call", "tool_calls", "function_call", "xml"})
_TAGS = ("<tools>", "<tool>", "<response>", "<function_call>", "<json>")


def _read(source: Source, calls: Calls) -> Steps[None]:
    calls.begin()
    if (yield from source.token()) in "{[":
        yield from _read_body(source, calls)
        return
    wrapper = yield from source.choose((_FENCE, *_TAGS))
    if wrapper is None:
        raise Malformed
    closer = wrapper.replace("<", "</")
    if wrapper == _FENCE:
        label: list[str] = []
        yield from source.run(_FENCE_LABEL, label.append, limit=20)
        if "".join(label).lower() not in _FENCE_LABELS:
            raise Malformed
    yield from _read_body(source, calls)
    if (yield from source.ahead((closer,))):
        yield from source.until((closer,), drop)
        source.mark()


def _read_body(source: Source, calls: Calls) -> Steps[None]:
    while True:
        if (yield from source.token()) not in "{[":
            raise Malformed
        yield from read_calls(source, calls, _SHAPE)
        calls.close()
        if not (yield from source.ahead(('{"name"', '{ "name"', "{\n"))):
            return
        calls.begin()


def _render(calls: Sequence[ParsedCall]) -> str:
    return "\n".join(write_call(call, _SHAPE) for call in calls)


BARE_JSON = Dialect(
    name="bare_json",
    envelope=Envelope(openers=("{", "[", _FENCE, *_TAGS), closing="self_closing", line_start=True),
    reader=region_reader(_read, unmarked=True),
    render=_render,
    instruction=(
        "To call a function, write one JSON object with its name and its arguments and nothing else:\n"
        '{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}'
    ),
)

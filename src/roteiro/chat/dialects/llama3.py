"""Llama 3.x: `{"name": ..., "parameters": {...}}` alone or after `<|python_tag|>`, `;` between several.

Only an end-of-turn token follows, so the object's own end is the proof. Thread: any.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_calls import CallShape, read_call, write_call
from roteiro.chat.dialects.python_scan import read_python_call
from roteiro.chat.dialects.region import Calls, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps

_TAG = "<|python_tag|>"
_SHAPE = CallShape(argument_keys=("parameters", "arguments"), guarded=True)
# After the tag nothing but a call is expected.
_TAGGED_SHAPE = CallShape(argument_keys=("parameters", "arguments"))
_BUILTIN = ".call"


def _read(source: Source, calls: Calls) -> Steps[None]:
    while True:
        calls.begin()
        yield from source.skip_space()
        yield from _read_one(source, calls)
        calls.close()
        if not (yield from source.ahead((";", _TAG, "{"))):
            return
        if (yield from source.token()) == ";":
            source.take(1)


def _read_one(source: Source, calls: Calls) -> Steps[None]:
    if (yield from source.token()) == "{":
        yield from read_call(source, calls, _SHAPE)
        return
    yield from source.expect(_TAG)
    if (yield from source.token()) == "{":
        calls.recognise()
        yield from read_call(source, calls, _TAGGED_SHAPE)
    elif source.head().isalpha():
        yield from read_python_call(source, calls, name_suffix=_BUILTIN)
    else:
        raise Malformed


def _render(calls: Sequence[ParsedCall]) -> str:
    return "; ".join(write_call(call, _SHAPE) for call in calls)


LLAMA3 = Dialect(
    name="llama3",
    envelope=Envelope(openers=("{",), closing="self_closing", line_start=True, anywhere=(_TAG,)),
    reader=region_reader(_read, unmarked=True),
    render=_render,
    instruction=(
        "To call a function, write one JSON object with its name and its parameters and nothing else:\n"
        '{"name": "FUNCTION", "parameters": {"PARAMETER": "VALUE"}}'
    ),
)

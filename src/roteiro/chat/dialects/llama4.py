"""Llama 4 as its own template writes calls: JSON objects after `<|python_start|><|python_end|>`, or between.

Lists of Python calls between the two markers are read too. Thread: any.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_calls import CallShape, read_call, write_call
from roteiro.chat.dialects.python_scan import read_python_list
from roteiro.chat.dialects.region import Calls, region_reader
from roteiro.chat.dialects.source import Source, Steps

_OPEN, _CLOSE = "<|python_start|>", "<|python_end|>"
_SHAPE = CallShape(argument_keys=("parameters", "arguments"), guarded=True)


def _read(source: Source, calls: Calls) -> Steps[None]:
    while True:
        calls.begin()
        yield from source.skip_space()
        marked = (yield from source.choose((_OPEN,))) is not None
        if marked:
            yield from source.skip_space()
            yield from source.choose((_CLOSE,))
        if marked and (yield from source.token()) == "[":
            calls.recognise()
            yield from read_python_list(source, calls)
        else:
            yield from source.token()
            yield from read_call(source, calls, _SHAPE)
        calls.close()
        if (yield from source.ahead((_CLOSE,))):
            yield from source.skip_space()
            yield from source.expect(_CLOSE)
            source.mark()
        if not (yield from source.ahead((_OPEN, "{", ";"))):
            return
        if (yield from source.token()) == ";":
            source.take(1)


def _render(calls: Sequence[ParsedCall]) -> str:
    return _OPEN + _CLOSE + "".join(write_call(call, _SHAPE) for call in calls)


LLAMA4 = Dialect(
    name="llama4",
    envelope=Envelope(openers=("{",), closing="self_closing", line_start=True, anywhere=(_OPEN,)),
    reader=region_reader(_read, unmarked=True),
    render=_render,
)

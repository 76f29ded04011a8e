"""Apertus: an array of `{"name": {arguments}}` objects between `<|tools_prefix|>` and `<|tools_suffix|>`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import read_string, scan_object
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps

_OPEN, _CLOSE = "<|tools_prefix|>", "<|tools_suffix|>"


def _read(source: Source, calls: Calls) -> Steps[None]:
    yield from source.skip_space()
    yield from source.expect(_OPEN)
    yield from source.token()
    yield from source.expect("[")
    calls.recognise()
    while True:
        yield from _read_call(source, calls)
        separator = yield from source.token()
        source.take(1)
        if separator == "]":
            break
        if separator != ",":
            raise Malformed
        calls.close()
        calls.begin()
        calls.recognise()
    yield from source.token()
    yield from source.expect(_CLOSE)
    calls.close()


def _read_call(source: Source, calls: Calls) -> Steps[None]:
    yield from source.token()
    yield from source.expect("{")
    yield from source.token()
    calls.open((yield from read_string(source)))
    yield from source.token()
    yield from source.expect(":")
    yield from scan_object(source, calls.write)
    yield from source.token()
    yield from source.expect("}")


def _render(calls: Sequence[ParsedCall]) -> str:
    written = ", ".join(f"{{{json.dumps(call.name)}: {call.arguments}}}" for call in calls)
    return f"{_OPEN}[{written}]{_CLOSE}"


APERTUS = Dialect(
    name="apertus",
    envelope=Envelope(openers=(_OPEN,), closing="delimited", closer=_CLOSE),
    reader=region_reader(one_after_another(_read, (_OPEN,)), closer=_CLOSE),
    render=_render,
)

"""Kimi K3: tags made of `<|open|>`, `<|close|>` and `<|sep|>`, with the type of each argument in its tag.

Thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape, unescape
from typing import Any

from roteiro.chat import numbers
from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps, drop
from roteiro.chat.dialects.tag_calls import read_text_value, text_value
from roteiro.chat.dialects.typed_values import STRING

_OPEN, _CLOSE = "<|open|>tools<|sep|>", "<|close|>tools<|sep|>"
_CALL, _CALL_END = '<|open|>call tool="', "<|close|>call<|sep|>"
_ARGUMENT, _ARGUMENT_END = '<|open|>argument key="', "<|close|>argument<|sep|>"
_TYPE, _TAG_END = '" type="', "<|sep|>"


def _read(source: Source, calls: Calls) -> Steps[None]:
    yield from source.skip_space()
    yield from source.expect(_OPEN)
    while True:
        yield from source.skip_space()
        yield from source.expect(_CALL)
        calls.recognise()
        yield from _read_call(source, calls)
        if not (yield from source.ahead((_CALL,))):
            break
        calls.close()
        calls.begin()
        calls.recognise()
    yield from source.skip_space()
    yield from source.expect(_CLOSE)
    calls.close()


def _read_call(source: Source, calls: Calls) -> Steps[None]:
    name = yield from _read_attribute(source, '"')
    yield from source.until((_TAG_END,), drop)
    calls.open(name)
    calls.write("{")
    separator = ""
    while True:
        yield from source.skip_space()
        tag = yield from source.choose((_ARGUMENT, _CALL_END))
        if tag is None:
            raise Malformed
        if tag == _CALL_END:
            calls.write("}")
            return
        key = yield from _read_attribute(source, _TYPE)
        kind = yield from _read_attribute(source, '"' + _TAG_END)
        calls.write(f"{separator}{json.dumps(key, ensure_ascii=False)}: ")
        separator = ", "
        kinds = STRING if kind == "string" else None
        yield from read_text_value(source, calls, kinds, (_ARGUMENT_END,), (_ARGUMENT, _CALL_END))


def _read_attribute(source: Source, closer: str) -> Steps[str]:
    parts: list[str] = []
    yield from source.until((closer,), parts.append)
    value = unescape("".join(parts))
    if not value:
        raise Malformed
    return value


def _render_argument(key: str, value: Any) -> str:
    kinds = {str: "string", bool: "boolean", type(None): "null", dict: "object", list: "array"}
    kind = kinds.get(type(value), "number")
    return f'{_ARGUMENT}{escape(key)}{_TYPE}{kind}"{_TAG_END}{text_value(value)}{_ARGUMENT_END}'


def _render(calls: Sequence[ParsedCall]) -> str:
    written = (
        f'{_CALL}{escape(call.name)}" index="{at}"{_TAG_END}'
        + "".join(_render_argument(key, value) for key, value in numbers.loads(call.arguments).items())
        + _CALL_END
        for at, call in enumerate(calls, 1)
    )
    return f"{_OPEN}{''.join(written)}{_CLOSE}"


KIMI_K3 = Dialect(
    name="kimi_k3",
    envelope=Envelope(openers=(_OPEN,), closing="delimited", closer=_CLOSE),
    reader=region_reader(one_after_another(_read, (_OPEN,)), closer=_CLOSE),
    render=_render,
)

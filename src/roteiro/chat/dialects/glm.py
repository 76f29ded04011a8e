"""GLM 4.5 and later: the name, then `<arg_key>` and `<arg_value>` pairs, inside `<tool_call>`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name, read_text_value, text_value
from roteiro.chat.dialects.typed_values import declared_kinds

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_KEY, _KEY_END = "<arg_key>", "</arg_key>"
_VALUE, _VALUE_END = "<arg_value>", "</arg_value>"


def _read(source: Source, calls: Calls) -> Steps[None]:
    yield from source.skip_space()
    yield from source.expect(_OPEN)
    yield from source.skip_space()
    name = yield from read_name(source)
    if not (yield from source.ahead((_KEY, _CLOSE))):
        raise Malformed
    calls.open(name)
    calls.write("{")
    separator = ""
    while (yield from source.ahead((_KEY,))):
        yield from source.skip_space()
        yield from source.expect(_KEY)
        key = yield from read_name(source)
        yield from source.expect(_KEY_END)
        yield from source.skip_space()
        yield from source.expect(_VALUE)
        calls.write(f"{separator}{json.dumps(key, ensure_ascii=False)}: ")
        separator = ", "
        kinds = declared_kinds(calls.tools.get(name), key)
        yield from read_text_value(source, calls, kinds, (_VALUE_END,), (_KEY, _CLOSE))
    yield from source.skip_space()
    yield from source.expect(_CLOSE)
    calls.write("}")
    calls.close()


def _render_call(call: ParsedCall) -> str:
    pairs = "".join(
        f"{_KEY}{key}{_KEY_END}\n{_VALUE}{text_value(value)}{_VALUE_END}\n"
        for key, value in json.loads(call.arguments).items()
    )
    return f"{_OPEN}{call.name}\n{pairs}{_CLOSE}"


def _render(calls: Sequence[ParsedCall]) -> str:
    return "\n".join(map(_render_call, calls))


GLM = Dialect(
    name="glm",
    envelope=Envelope(openers=(_OPEN,), closing="delimited", closer=_CLOSE),
    reader=region_reader(one_after_another(_read, (_OPEN,)), closer=_CLOSE),
    render=_render,
)

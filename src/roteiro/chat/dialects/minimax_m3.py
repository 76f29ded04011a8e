"""MiniMax M3: every tag stands behind a token of its own, and objects and arrays are tags within tags.

The tags carry no types: an element's own declaration decides, and an array's items are called `item`.
A member that is null is left out by the family's template. Thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from roteiro.chat import numbers
from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_value
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import KEY, read_name, text_value
from roteiro.chat.dialects.typed_values import STRING, Declared, ValueWriter, declared, json_text

_MARK = "]<]minimax[>["
_OPEN, _CLOSE = f"{_MARK}<tool_call>", f"{_MARK}</tool_call>"
_CALL, _CALL_END = f'{_MARK}<invoke name="', f"{_MARK}</invoke>"
_ITEM = "item"
_MAX_DEPTH = 32
_CONTAINERS = frozenset({"array", "object"})
_EMPTY = {"array": "[]", "object": "{}", "null": "null"}


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
    name = yield from read_name(source)
    yield from source.expect('">')
    calls.open(name)
    calls.write("{")
    separator = ""
    while True:
        yield from source.skip_space()
        tag = yield from source.choose((_CALL_END, f"{_MARK}<"))
        if tag is None:
            raise Malformed
        if tag == _CALL_END:
            calls.write("}")
            return
        key = yield from read_name(source, pattern=KEY)
        yield from source.expect(">")
        calls.write(f"{separator}{json.dumps(key, ensure_ascii=False)}: ")
        separator = ", "
        place = declared(calls.tools.get(name), key)
        if place.kinds == STRING:
            yield from _stream_string(source, calls, key)
        else:
            calls.write((yield from _read_element(source, key, place, 0)))


def _stream_string(source: Source, calls: Calls, key: str) -> Steps[None]:
    writer = ValueWriter(STRING, calls.write)
    yield from source.until((f"{_MARK}</{key}>",), writer.write)
    writer.finish()


def _read_element(source: Source, key: str, place: Declared, depth: int) -> Steps[str]:
    """An element from its content on, as JSON text."""
    if depth > _MAX_DEPTH:
        raise Malformed
    text: list[str] = []
    children: list[tuple[str, str]] = []
    if (yield from source.peek()) in "{[" and (place.kinds or STRING) & _CONTAINERS:
        yield from scan_value(source, text.append)
        yield from source.skip_space()
        yield from source.expect(f"{_MARK}</{key}>")
        return "".join(text)
    while True:
        yield from source.until((f"{_MARK}<",), text.append)
        if (yield from source.choose(("/",))):
            yield from source.expect(f"{key}>")
            break
        child = yield from read_name(source, pattern=KEY)
        yield from source.expect(">")
        is_item = child == _ITEM and place.member(child).schema is None
        inner = place.items() if is_item else place.member(child)
        children.append((child, (yield from _read_element(source, child, inner, depth + 1))))
    if children:
        return _joined(children, place)
    kinds = place.kinds
    if not any(text) and kinds and not kinds & STRING:
        return next((_EMPTY[kind] for kind in _EMPTY if kind in kinds), '""')
    return json_text("".join(text), kinds)


def _joined(children: Sequence[tuple[str, str]], place: Declared) -> str:
    kinds = place.kinds or frozenset()
    all_items = all(name == _ITEM for name, _ in children)
    if "array" in kinds or (all_items and "object" not in kinds):
        return "[" + ", ".join(value for _, value in children) + "]"
    return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in children) + "}"


def _render_call(call: ParsedCall) -> str:
    """Objects and arrays as JSON text: it says what tags cannot (types, nulls, empty lists)."""
    arguments = "".join(
        f"{_MARK}<{key}>{text_value(value)}{_MARK}</{key}>"
        for key, value in numbers.loads(call.arguments).items()
    )
    return f'{_CALL}{call.name}">{arguments}{_CALL_END}'


def _render(calls: Sequence[ParsedCall]) -> str:
    return "\n".join([_OPEN, *map(_render_call, calls), _CLOSE])


MINIMAX_M3 = Dialect(
    name="minimax_m3",
    envelope=Envelope(openers=(_OPEN,), closing="delimited", closer=_CLOSE),
    reader=region_reader(one_after_another(_read, (_OPEN,)), closer=_CLOSE),
    render=_render,
)

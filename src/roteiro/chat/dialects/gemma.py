"""Gemma's own notation: `call:name{key:value}` with marked strings (FunctionGemma and Gemma 4).

Strings are not escaped. A string's closing mark counts only where a value may end, so a string may
quote the mark; one that quotes it with a comma or bracket after it cannot be told from its end.
Thread: any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roteiro.chat import numbers
from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_string
from roteiro.chat.dialects.region import MAX_NAME_LENGTH, Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Out, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name
from roteiro.chat.dialects.typed_values import STRING, Declared, ValueWriter, json_text

_MAX_DEPTH = 64
_BARE_KEY = re.compile(r"[^:,{}\[\]\r\n]*")
_BARE_VALUE = re.compile(r"[^,{}\[\]\r\n]*")
_SCALARS = frozenset({"integer", "number", "boolean", "null"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmaMarks:
    """The markers of a generation of Gemma."""

    opener: str
    closer: str
    quote: str


def gemma_dialect(name: str, marks: GemmaMarks, instruction: str = "") -> Dialect:
    """A dialect in Gemma's notation."""

    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        yield from source.expect(marks.opener)
        yield from source.skip_space()
        yield from source.expect("call:")
        calls.recognise()
        name = yield from read_name(source)
        if (yield from source.token()) != "{":
            raise Malformed
        calls.open(name)
        schema = calls.tools[name].parameters if name in calls.tools else {}
        yield from _scan_object(source, calls.write, marks.quote, 0, Declared(schema, schema))
        yield from source.token()
        yield from source.expect(marks.closer)
        calls.close()

    def render(calls: Sequence[ParsedCall]) -> str:
        return "".join(
            f"{marks.opener}call:{call.name}{_text(numbers.loads(call.arguments), marks.quote)}{marks.closer}"
            for call in calls
        )

    return Dialect(
        name=name,
        envelope=Envelope(openers=(marks.opener,), closing="delimited", closer=marks.closer),
        reader=region_reader(one_after_another(read, (marks.opener,)), closer=marks.closer),
        render=render,
        instruction=instruction,
    )


# ---------------------------------------------------------------------------


def _scan_value(source: Source, out: Out, quote: str, depth: int, place: Declared) -> Steps[None]:
    begin = yield from source.token()
    if depth > _MAX_DEPTH:
        raise Malformed
    if begin == "{":
        yield from _scan_object(source, out, quote, depth, place)
    elif begin == "[":
        yield from _scan_array(source, out, quote, depth, place)
    elif begin == '"':
        yield from scan_string(source, out)
    elif (yield from source.choose((quote,))):
        # Some templates mark every value as a string; the declaration says what it is.
        kinds = place.kinds
        writer = ValueWriter(STRING if kinds is None or "string" in kinds else kinds, out)
        yield from _scan_marked_string(source, writer, quote, (",", "}", "]"))
    else:
        parts: list[str] = []
        yield from source.run(_BARE_VALUE, parts.append)
        out(json_text("".join(parts).strip(), _SCALARS))


def _scan_marked_string(
    source: Source, writer: ValueWriter, quote: str, follow: tuple[str, ...]
) -> Steps[None]:
    while True:
        yield from source.until((quote,), writer.write)
        if (yield from source.ahead(follow)):
            writer.finish()
            return
        writer.write(quote)


def _scan_object(source: Source, out: Out, quote: str, depth: int, place: Declared) -> Steps[None]:
    source.take(1)
    out("{")
    first = True
    while (yield from source.token()) != "}":
        if not first:
            yield from source.expect(",")
            yield from source.token()
            out(", ")
        first = False
        key = yield from _scan_key(source, quote)
        out(key)
        yield from source.token()
        yield from source.expect(":")
        out(": ")
        yield from _scan_value(source, out, quote, depth + 1, place.member(json.loads(key)))
    source.take(1)
    out("}")


def _scan_key(source: Source, quote: str) -> Steps[str]:
    """A key as a JSON string."""
    parts: list[str] = []
    if source.head() == '"':
        yield from scan_string(source, parts.append)
    elif (yield from source.choose((quote,))):
        yield from _scan_marked_string(source, ValueWriter(STRING, parts.append), quote, (":",))
    else:
        yield from source.run(_BARE_KEY, parts.append, limit=MAX_NAME_LENGTH)
        return json.dumps("".join(parts).strip(), ensure_ascii=False)
    return "".join(parts)


def _scan_array(source: Source, out: Out, quote: str, depth: int, place: Declared) -> Steps[None]:
    source.take(1)
    out("[")
    first = True
    while (yield from source.token()) != "]":
        if not first:
            yield from source.expect(",")
            out(", ")
        first = False
        yield from _scan_value(source, out, quote, depth + 1, place.items())
    source.take(1)
    out("]")


def _text(value: Any, quote: str) -> str:
    match value:
        case str():
            return f"{quote}{value}{quote}"
        case dict():
            return "{" + ",".join(f"{_key(k, quote)}:{_text(v, quote)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(_text(item, quote) for item in value) + "]"
        case _:
            return numbers.dumps(value)


def _key(key: str, quote: str) -> str:
    return key if re.fullmatch(r"[\w.$-]+", key) else f"{quote}{key}{quote}"


FUNCTION_GEMMA = gemma_dialect(
    "function_gemma",
    GemmaMarks(opener="<start_function_call>", closer="<end_function_call>", quote="<escape>"),
)

GEMMA4 = gemma_dialect(
    "gemma4",
    GemmaMarks(opener="<|tool_call>", closer="<tool_call|>", quote='<|"|>'),
)

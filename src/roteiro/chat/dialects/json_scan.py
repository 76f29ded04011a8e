"""JSON read as it arrives: checked token by token and passed on as text, never read twice.

Strict, but for one thing: a raw control character inside a string (small models write newlines so) is
passed on escaped, because its meaning is beyond doubt. What comes out is always JSON that
`json.loads` takes; depth and number length are bounded to keep that so. Thread: any.
"""

from __future__ import annotations

import json
import re
from typing import Any

from roteiro.chat.dialects.source import Malformed, Out, Source, Steps

# json.loads recurses per level; Python's integers refuse more than 4,300 digits of text.
MAX_DEPTH = 128
MAX_NUMBER_LENGTH = 400

_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER_RUN = re.compile(r"[-+0-9.eE]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_WORDS = {"t": "true", "f": "false", "n": "null"}


def scan_value(source: Source, out: Out) -> Steps[None]:
    """Pass one JSON value on to `out`, whitespace included.

    Raises:
        Malformed: it is not JSON.
        Truncated: the text ended inside it.
    """
    closers: list[str] = []
    while True:
        begin = yield from source.token(out)
        if begin in "{[":
            if len(closers) == MAX_DEPTH:
                raise Malformed
            out(source.take(1))
            closers.append("}" if begin == "{" else "]")
            if (yield from source.token(out)) != closers[-1]:
                if begin == "{":
                    yield from _scan_key(source, out)
                continue
        else:
            yield from _scan_scalar(source, out, begin)
        if not (yield from _scan_after_value(source, out, closers)):
            return


def scan_string(source: Source, out: Out) -> Steps[None]:
    """Pass one JSON string on, quotes included.

    Raises:
        Malformed: it does not begin with a quote or has an unknown escape.
        Truncated: the text ended inside it.
    """
    if (yield from source.peek()) != '"':
        raise Malformed
    out(source.take(1))
    while True:
        yield from source.need(1)
        plain = source.take_run(_PLAIN)
        if plain:
            out(plain)
        match source.head():
            case "":
                continue
            case '"':
                out(source.take(1))
                return
            case "\\":
                yield from _scan_escape(source, out)
            case control:
                source.take(1)
                out(json.dumps(control)[1:-1])


def read_string(source: Source) -> Steps[str]:
    """One JSON string, decoded.

    Raises:
        Malformed: what stands here is not one.
        Truncated: the text ended inside it.
    """
    parts: list[str] = []
    yield from scan_string(source, parts.append)
    return str(json.loads("".join(parts)))


def read_value(source: Source) -> Steps[Any]:
    """One JSON value, decoded.

    Raises:
        Malformed: what stands here is not one.
        Truncated: the text ended inside it.
    """
    parts: list[str] = []
    yield from scan_value(source, parts.append)
    return json.loads("".join(parts))


def scan_object(source: Source, out: Out) -> Steps[None]:
    """Pass one JSON object on; any other value is malformed.

    Raises:
        Malformed: it is not a JSON object.
        Truncated: the text ended inside it.
    """
    if (yield from source.token()) != "{":
        raise Malformed
    yield from scan_value(source, out)


def is_object_text(text: str) -> bool:
    """Whether the text is one JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _scan_after_value(source: Source, out: Out, closers: list[str]) -> Steps[bool]:
    """Read on after a value; True where another one is due, False where the outermost is whole."""
    while closers:
        separator = yield from source.token(out)
        if separator == ",":
            out(source.take(1))
            if closers[-1] == "}":
                yield from _scan_key(source, out)
            return True
        if separator != closers[-1]:
            raise Malformed
        out(source.take(1))
        closers.pop()
    return False


def _scan_key(source: Source, out: Out) -> Steps[None]:
    yield from source.token(out)
    yield from scan_string(source, out)
    if (yield from source.token(out)) != ":":
        raise Malformed
    out(source.take(1))


def _scan_scalar(source: Source, out: Out, begin: str) -> Steps[None]:
    if begin == '"':
        yield from scan_string(source, out)
    elif begin in _WORDS:
        yield from source.expect(_WORDS[begin])
        out(_WORDS[begin])
    else:
        digits: list[str] = []
        yield from source.run(_NUMBER_RUN, digits.append, limit=MAX_NUMBER_LENGTH)
        number = "".join(digits)
        if not _NUMBER.fullmatch(number):
            raise Malformed
        out(number)


def _scan_escape(source: Source, out: Out) -> Steps[None]:
    yield from source.need(2)
    escape = source.take(2)
    if escape[1] == "u":
        yield from source.need(4)
        digits = source.take(4)
        if not _HEX.fullmatch(digits):
            raise Malformed
        escape += digits
    elif escape[1] not in '"\\/bfnrt':
        raise Malformed
    out(escape)

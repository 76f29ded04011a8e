"""Python literals read as they arrive and passed on as JSON, and function calls made of them.

Takes what models write for arguments: strings in any quotes, numbers, True/False/None and their JSON
spellings, lists, tuples, dicts. No expressions: they are malformed. Thread: any.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from roteiro.chat import numbers
from roteiro.chat.dialects.json_scan import MAX_NUMBER_LENGTH
from roteiro.chat.dialects.region import Calls
from roteiro.chat.dialects.source import Malformed, Out, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name
from roteiro.chat.dialects.typed_values import string_inside

MAX_DEPTH = 64  # each level is a frame of this interpreter

_CONSTANTS = {
    "True": "true",
    "False": "false",
    "None": "null",
    "true": "true",
    "false": "false",
    "null": "null",
}
_WORD = re.compile(r"[A-Za-z]*")
_NUMBER_RUN = re.compile(r"[-+0-9.eE_]*")
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"[^\"'\\\x00-\x1f\x7f-\x9f]*")
_ESCAPES = {"a": "\a", "v": "\v", "0": "\0", "'": "'", '"': '"', "\\": "\\", "\n": ""}
_JSON_ESCAPES = frozenset("nrtbf")
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}
_AFTER_STRING = re.compile(r"\s*(?:,\s*[^\s,()=\[\]{}'\"]+\s*=|\)\s*(?:\]|,\s*[^\s,()=\[\]{}'\"]+\())")
_MAYBE_AFTER_STRING = re.compile(r"\s*(?:,\s*(?:[^\s,()=\[\]{}'\"]+\s*)?|\)\s*(?:,\s*[^\s,()=\[\]{}'\"]*)?)?")


def read_python_call(
    source: Source,
    calls: Calls,
    *,
    declared_only: bool = False,
    raw_strings: bool = False,
    name_suffix: str = "",
) -> Steps[None]:
    """Read `name(key=value, ...)`. It is left open: only what follows can prove it whole.

    Args:
        source: where it stands.
        calls: what is told of it.
        declared_only: refuse names of no declared tool.
        raw_strings: a string argument has no escapes and may hold its own quote: it ends where the
            next argument or the call's end follows.
        name_suffix: what must stand after the name (`.call` of Llama's built-in tools).

    Raises:
        Malformed: it is no such call.
    """
    name = yield from read_name(source)
    if not name.endswith(name_suffix):
        raise Malformed
    name = name.removesuffix(name_suffix)
    if (yield from source.token()) != "(" or (declared_only and name not in calls.tools):
        raise Malformed
    source.take(1)
    calls.open(name)
    calls.write("{")
    position = 0
    while (yield from source.token()) != ")":
        if position:
            yield from source.expect(",")
            calls.write(", ")
            if (yield from source.token()) == ")":
                raise Malformed
        yield from _read_argument(source, calls, name, position, raw_strings=raw_strings)
        position += 1
    source.take(1)
    calls.write("}")


def read_python_list(
    source: Source,
    calls: Calls,
    *,
    opened: bool = False,
    declared_only: bool = False,
    raw_strings: bool = False,
) -> Steps[None]:
    """Read `[call, call, ...]`. All but the last are closed; the last is left open.

    Args:
        source: where it stands.
        calls: what is told of it.
        opened: the bracket was read already.
        declared_only: as for `read_python_call`.
        raw_strings: as for `read_python_call`.

    Raises:
        Malformed: it is no such list, or empty.
    """
    if not opened:
        yield from source.expect("[")
    while True:
        yield from source.token()
        yield from read_python_call(source, calls, declared_only=declared_only, raw_strings=raw_strings)
        separator = yield from source.token()
        source.take(1)
        if separator == "]":
            return
        if separator != ",":
            raise Malformed
        calls.close()
        calls.begin()
        calls.recognise()


def scan_literal(source: Source, out: Out, depth: int = 0) -> Steps[None]:
    """Pass one Python literal on as JSON.

    Raises:
        Malformed: it is none, or too deep.
        Truncated: the text ended inside it.
    """
    begin = yield from source.token()
    if depth > MAX_DEPTH:
        raise Malformed
    if begin in "\"'":
        yield from scan_string(source, out)
    elif begin in "[(":
        yield from _scan_sequence(source, out, "]" if begin == "[" else ")", depth)
    elif begin == "{":
        yield from _scan_dict(source, out, depth)
    elif begin.isalpha():
        yield from _scan_constant(source, out)
    else:
        yield from _scan_number(source, out)


def scan_string(source: Source, out: Out) -> Steps[None]:
    """Pass one Python string on as a JSON string, in single, double or triple quotes.

    Raises:
        Malformed: an escape is broken.
        Truncated: the text ended inside it.
    """
    mark = source.head()
    quote = yield from source.choose((mark * 3, mark * 2, mark))
    if quote is None:
        raise Malformed
    if len(quote) == 2:
        out('""')
        return
    out('"')
    while True:
        yield from source.need(1)
        plain = source.take_run(_PLAIN)
        if plain:
            out(string_inside(plain))
        if not source.head():
            continue
        if source.head() == "\\":
            yield from _scan_escape(source, out)
        elif source.head() == mark and (yield from source.choose((quote,))):
            out('"')
            return
        else:
            out(string_inside(source.take(1)))


def python_text(value: Any) -> str:
    """A JSON value as a Python literal."""
    match value:
        case None | True | False:
            return str(value)
        case list():
            return "[" + ", ".join(map(python_text, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{python_text(k)}: {python_text(v)}" for k, v in value.items()) + "}"
        case _:
            return numbers.dumps(value)


def write_python_call(name: str, arguments: str) -> str:
    """One call as Python; `arguments` is the text of a JSON object."""
    pairs = numbers.loads(arguments).items()
    return f"{name}({', '.join(f'{key}={python_text(value)}' for key, value in pairs)})"


# ---------------------------------------------------------------------------


def _read_argument(
    source: Source, calls: Calls, name: str, position: int, *, raw_strings: bool
) -> Steps[None]:
    begin = yield from source.token()
    constant = None
    key = ""
    if begin.isalpha() or begin == "_":
        key = yield from read_name(source)
        if (yield from source.token()) == "=":
            source.take(1)
        elif key in _CONSTANTS:
            constant, key = _CONSTANTS[key], ""
        else:
            raise Malformed
    calls.write(json.dumps(key or _positional(calls, name, position), ensure_ascii=False) + ": ")
    if constant is not None:
        calls.write(constant)
    elif raw_strings and (yield from source.token()) in "\"'":
        yield from _scan_raw_string(source, calls.write)
    else:
        yield from scan_literal(source, calls.write)


def _positional(calls: Calls, name: str, position: int) -> str:
    """The parameter that an argument without a name means: the declared one at its place."""
    tool = calls.tools.get(name)
    names = list(tool.parameters.get("properties", ())) if tool else []
    if position >= len(names):
        raise Malformed
    return str(names[position])


def _scan_raw_string(source: Source, out: Out) -> Steps[None]:
    quote = source.take(1)
    out('"')
    while True:
        yield from source.until((quote,), lambda text: out(string_inside(text)))
        if (yield from source.looks_like(_AFTER_STRING, _MAYBE_AFTER_STRING)):
            out('"')
            return
        out(string_inside(quote))


def _scan_sequence(source: Source, out: Out, closer: str, depth: int) -> Steps[None]:
    source.take(1)
    out("[")
    first = True
    while (yield from source.token()) != closer:
        if not first:
            yield from source.expect(",")
            if (yield from source.token()) == closer:
                break
            out(", ")
        first = False
        yield from scan_literal(source, out, depth + 1)
    source.take(1)
    out("]")


def _scan_dict(source: Source, out: Out, depth: int) -> Steps[None]:
    source.take(1)
    out("{")
    first = True
    while (yield from source.token()) != "}":
        if not first:
            yield from source.expect(",")
            if (yield from source.token()) == "}":
                break
            out(", ")
        first = False
        if source.head() not in "\"'":
            raise Malformed
        yield from scan_string(source, out)
        yield from source.token()
        yield from source.expect(":")
        out(": ")
        yield from scan_literal(source, out, depth + 1)
    source.take(1)
    out("}")


def _scan_constant(source: Source, out: Out) -> Steps[None]:
    word: list[str] = []
    yield from source.run(_WORD, word.append, limit=8)
    text = _CONSTANTS.get("".join(word))
    if text is None:
        raise Malformed
    out(text)


def _scan_number(source: Source, out: Out) -> Steps[None]:
    digits: list[str] = []
    yield from source.run(_NUMBER_RUN, digits.append, limit=MAX_NUMBER_LENGTH)
    text = "".join(digits)
    try:
        number: int | float = int(text) if text.lstrip("+-").replace("_", "").isdigit() else float(text)
    except ValueError:
        raise Malformed from None
    if not math.isfinite(number):
        raise Malformed
    out(text if _JSON_NUMBER.fullmatch(text) else json.dumps(number))


def _scan_escape(source: Source, out: Out) -> Steps[None]:
    yield from source.need(2)
    escape = source.take(2)
    letter = escape[1]
    if letter in _JSON_ESCAPES:
        out(escape)
    elif letter in _ESCAPES:
        out(string_inside(_ESCAPES[letter]))
    elif letter in _HEX_LENGTHS:
        yield from source.need(_HEX_LENGTHS[letter])
        digits = source.take(_HEX_LENGTHS[letter])
        try:
            code = int(digits, 16)
            # A surrogate stays an escape: its other half follows, and JSON joins the two.
            out(f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else string_inside(chr(code)))
        except (ValueError, OverflowError):
            raise Malformed from None
    else:
        out(string_inside(escape))

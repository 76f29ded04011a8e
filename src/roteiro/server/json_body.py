"""Reads a request's JSON strictly: what a lenient parser would guess at is refused with a 400.

Refused: bytes that are not UTF-8, depth over a bound, duplicate keys (one of the two would be ignored in
silence), NaN and infinity however they are written, and lone surrogates, which no tokenizer can take.
Thread: event loop; big bodies are parsed in a worker thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio.to_thread
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from roteiro.errors import InvalidRequest

MAX_JSON_DEPTH = 96
"""Deep enough for any tool schema; far below the interpreter's own recursion limit."""

MAX_JSON_VALUES = 400_000
"""More than any conversation or batch of token ids has; parsing ten times as many holds the interpreter, and
with it every other request, for seconds."""

INLINE_PARSE_BYTES = 128 * 1024
"""Parsing this much takes about a millisecond; more would be felt by other requests on the loop."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SHOWN_ITEMS = 20

Body = TypeVar("Body", bound=BaseModel)


def json_body(model: type[Body]) -> Callable[[Request], Awaitable[Body]]:
    """A FastAPI dependency that reads, checks and validates the body against `model`."""

    async def read(request: Request) -> Body:
        value = await read_json(request)
        if not isinstance(value, dict):
            raise InvalidRequest(f"The request body is a JSON {_kind(value)}, and an object is needed.")
        return validate(model, value)

    return read


async def read_json(request: Request) -> Any:
    """The request's body as a checked JSON value."""
    raw = await request.body()
    if len(raw) <= INLINE_PARSE_BYTES:
        return parse_json(raw)
    return await anyio.to_thread.run_sync(parse_json, raw)


def parse_json(raw: bytes) -> Any:
    """Parse bytes strictly.

    Raises:
        InvalidRequest: with the place or the key at fault.
    """
    if not raw.strip():
        raise InvalidRequest("The request body is empty, and a JSON object is needed.")
    if _values_at_least(raw) > MAX_JSON_VALUES:
        raise InvalidRequest(
            f"The body holds more than {MAX_JSON_VALUES} JSON values.", hint="Send several smaller requests."
        )
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"The body is not UTF-8 at byte {error.start}.") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise InvalidRequest(f"The body is not valid JSON: {error.msg} at {place}.") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:  # an integer of more digits than the interpreter converts
        raise InvalidRequest("The body holds a number that is too long to be used.") from error
    _check_values(value)
    return value


def validate(model: type[Body], value: dict[str, Any]) -> Body:
    """Validate against a pydantic model; the first mistake becomes an `InvalidRequest`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise invalid_request(error) from error


def invalid_request(error: ValidationError) -> InvalidRequest:
    """Our error for pydantic's: the place as the client would write it, and what is wrong there."""
    first, *others = error.errors(include_url=False, include_context=False)
    where = _place(first["loc"])
    for other in others:  # of a union's members, the one that fits or got furthest says most
        place = _place(other["loc"])
        fits = place == where and first["type"].endswith("_type") and not other["type"].endswith("_type")
        if fits or (place.startswith(where) and len(place) > len(where)):
            first, where = other, place
    if first["type"] == "missing":
        return InvalidRequest(f"The required field {where!r} is missing.", param=where)
    text = first["msg"].removeprefix("Value error, ")
    shown = _shown(first["input"])
    return InvalidRequest(f"{where or 'body'}: {text} (got {shown}).", param=where or None)


# ---------------------------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidRequest(f"The key {_shown(twice)} stands twice in one JSON object.")
    return value


def _refuse_constant(name: str) -> Any:
    raise InvalidRequest(f"{name} is not a JSON number.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidRequest(f"The number {text[:40]} is too large to be used.")
    return value


def _check_values(root: Any) -> None:
    """Depth and lone surrogates, without recursion."""
    stack: list[tuple[Any, int]] = [(root, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > MAX_JSON_DEPTH:
            raise _too_deep()
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                _check_text(key)
                stack.append((item, depth + 1))
        elif isinstance(value, list):
            stack.extend((item, depth + 1) for item in value)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise InvalidRequest(
            f"A string holds half of a surrogate pair (\\u{code:04x}), which is no character.",
            hint="Send the character itself or both halves of its escape.",
        ) from error


def _too_deep() -> InvalidRequest:
    return InvalidRequest(f"The body is nested more than {MAX_JSON_DEPTH} levels deep.")


# pydantic puts the member of a union it tried into the place; a client has no use for it.
_UNION_MEMBER = re.compile(r"(str|bool|int|float|dict|list|(literal|dict|list|constrained|function)[-\[].*)")


def _place(loc: tuple[int | str, ...]) -> str:
    text = ""
    for part in loc:
        if isinstance(part, str) and _UNION_MEMBER.fullmatch(part):
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _values_at_least(raw: bytes) -> int:
    """About how many values a body holds, counted without parsing; what stands in strings does not count."""
    count = _separators(raw)
    return count if count <= MAX_JSON_VALUES else _separators(_STRING.sub(b"", raw))


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _shown(value: Any) -> str:
    if isinstance(value, list | dict) and len(value) > _SHOWN_ITEMS:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _kind(value: Any) -> str:
    names = {list: "array", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")

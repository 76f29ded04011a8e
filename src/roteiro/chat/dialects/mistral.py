"""Mistral: `[TOOL_CALLS]name[ARGS]{...}` (v11 and later tokenizers) and the JSON array of older ones."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_blocks import JsonBlock, json_dialect
from roteiro.chat.dialects.json_calls import CallShape
from roteiro.chat.dialects.json_scan import scan_object
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name

_OPEN, _ID, _ARGS = "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"
_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 9  # the templates refuse any other
_CALL_ID = re.compile(r"[A-Za-z0-9]*")


def nine_alphanumerics() -> str:
    """A call id as Mistral's templates demand it."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))


def _read(source: Source, calls: Calls) -> Steps[None]:
    yield from source.skip_space()
    yield from source.expect(_OPEN)
    name = yield from read_name(source)
    call_id = None
    marker = yield from source.choose((_ID, _ARGS))
    if marker == _ID:
        call_id = yield from read_name(source, pattern=_CALL_ID)
        marker = yield from source.choose((_ARGS,))
    if marker is None:
        raise Malformed
    calls.open(name, call_id)
    yield from scan_object(source, calls.write)
    calls.close()


def _render(calls: Sequence[ParsedCall]) -> str:
    return "".join(
        f"{_OPEN}{call.name}{_ID + call.id if call.id else ''}{_ARGS}{call.arguments}" for call in calls
    )


MISTRAL = Dialect(
    name="mistral",
    envelope=Envelope(openers=(_OPEN,), closing="self_closing"),
    reader=region_reader(one_after_another(_read, (_OPEN,))),
    render=_render,
    instruction=(
        "To call a function, write [TOOL_CALLS], its name, [ARGS] and its arguments as a JSON object:\n"
        '[TOOL_CALLS]FUNCTION[ARGS]{"PARAMETER": "VALUE"}'
    ),
    call_id=nine_alphanumerics,
)

MISTRAL_ARRAY = json_dialect(
    "mistral_array",
    JsonBlock(opener=_OPEN, body="array", shape=CallShape(id_keys=("id",)), padding=" "),
    instruction=(
        "To call functions, write [TOOL_CALLS] and one JSON array of calls:\n"
        '[TOOL_CALLS] [{"name": "FUNCTION", "arguments": {"PARAMETER": "VALUE"}}]'
    ),
    call_id=nine_alphanumerics,
)

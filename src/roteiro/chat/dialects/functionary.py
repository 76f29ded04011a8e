"""`<function=name>{...}</function>`: Functionary 3.1 and Llama's custom calls; Functionary 3.2's `>>>`."""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_object
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name

_OPEN, _CLOSE = "<function=", "</function>"
_RECIPIENT = ">>>"


def _read_tagged(source: Source, calls: Calls) -> Steps[None]:
    yield from source.skip_space()
    yield from source.expect(_OPEN)
    name = yield from read_name(source)
    yield from source.expect(">")
    if (yield from source.token()) != "{":
        raise Malformed
    calls.open(name)
    yield from scan_object(source, calls.write)
    yield from source.token()
    yield from source.expect(_CLOSE)
    calls.close()


def _read_recipient(source: Source, calls: Calls) -> Steps[None]:
    """`>>>all` addresses the user and is not ours to read."""
    yield from source.skip_space()
    yield from source.expect(_RECIPIENT)
    name = yield from read_name(source)
    if name not in calls.tools:
        raise Malformed
    calls.open(name)
    yield from scan_object(source, calls.write)
    calls.close()


def _render_tagged(calls: Sequence[ParsedCall]) -> str:
    return "\n".join(f"{_OPEN}{call.name}>{call.arguments}{_CLOSE}" for call in calls)


def _render_recipient(calls: Sequence[ParsedCall]) -> str:
    return "".join(f"{_RECIPIENT}{call.name}\n{call.arguments}" for call in calls)


FUNCTION_TAG = Dialect(
    name="function_tag",
    envelope=Envelope(openers=(_OPEN,), closing="delimited", closer=_CLOSE),
    reader=region_reader(one_after_another(_read_tagged, (_OPEN,)), closer=_CLOSE),
    render=_render_tagged,
    instruction=(
        "To call a function, write its arguments as one JSON object in a tag that names it:\n"
        '<function=FUNCTION>{"PARAMETER": "VALUE"}</function>'
    ),
)

FUNCTIONARY = Dialect(
    name="functionary_v3.2",
    envelope=Envelope(openers=(_RECIPIENT,), closing="self_closing"),
    reader=region_reader(one_after_another(_read_recipient, (_RECIPIENT,)), unmarked=True),
    render=_render_recipient,
    silent=(f"{_RECIPIENT}all\n",),
)

"""Harmony (gpt-oss): a message to `functions.NAME` on the commentary channel, its arguments as JSON.

`<|call|>` ends the model's turn, so an engine stops at it and it may never be seen: the JSON's own end
is the proof. The recipient may stand before the channel or after it, and the analysis channel is used
for calls at times. Thread: any.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_object
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name

_START, _CHANNEL, _MESSAGE = "<|start|>assistant", "<|channel|>", "<|message|>"
_TO, _NAMESPACE = "to=", "functions."
_ENDS = ("<|call|>", "<|end|>")
_CHANNELS = ("commentary", "analysis")
_FORMATS = ("<|constrain|>", "json", "code")

_OPENERS = (
    *(f"{start}{_CHANNEL}{channel} {_TO}" for start in ("", _START) for channel in _CHANNELS),
    f"{_START} {_TO}",
    f" {_TO}{_NAMESPACE}",  # the generation prompt ends with the role, and the recipient comes next
)


def _read(source: Source, calls: Calls) -> Steps[None]:
    name = ""
    while not name or not (yield from source.ahead((_MESSAGE,))):
        yield from source.skip_space()
        part = yield from source.choose((_START, _CHANNEL, _TO, *_FORMATS))
        if part == _CHANNEL:
            yield from source.choose(_CHANNELS)
        elif part == _TO and not name:
            name = yield from _read_recipient(source, calls)
        elif part is None or part == _TO:
            raise Malformed
    yield from source.skip_space()
    yield from source.expect(_MESSAGE)
    calls.open(name)
    yield from scan_object(source, calls.write)
    calls.close()
    if (yield from source.ahead(_ENDS)):
        yield from source.skip_space()
        yield from source.choose(_ENDS)
        source.mark()


def _read_recipient(source: Source, calls: Calls) -> Steps[str]:
    """The function's name; models leave the namespace out at times, built-in tools have another one."""
    recipient = yield from read_name(source)
    if not recipient.startswith(_NAMESPACE) and recipient not in calls.tools:
        raise Malformed
    return recipient.removeprefix(_NAMESPACE)


def _render(calls: Sequence[ParsedCall]) -> str:
    return f"<|call|>{_START}".join(
        f"{_CHANNEL}commentary {_TO}{_NAMESPACE}{call.name} <|constrain|>json{_MESSAGE}{call.arguments}"
        for call in calls
    )


HARMONY = Dialect(
    name="harmony",
    envelope=Envelope(openers=_OPENERS, closing="self_closing"),
    reader=region_reader(one_after_another(_read, _OPENERS)),
    render=_render,
)

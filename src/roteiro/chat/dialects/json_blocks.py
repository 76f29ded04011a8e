"""Dialects that are nothing but JSON calls between two markers, or after one: built from data.

Thread: any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_calls import (
    NAME_ARGUMENTS,
    CallShape,
    read_call,
    read_call_array,
    read_calls,
    write_call,
    write_call_array,
)
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonBlock:
    """Where the JSON stands.

    Attributes:
        opener: the marker before it.
        closer: the marker after it; None where the JSON's own end is the end.
        body: one call object, an array of them, either, or objects one after another ("lines").
        shape: how a call's keys are spelled.
        padding: what the family writes between the markers and the JSON.
        spread: True where the family writes one block per call, False where one holds them all.
    """

    opener: str
    closer: str | None = None
    body: Literal["object", "array", "either", "lines"] = "either"
    shape: CallShape = NAME_ARGUMENTS
    padding: str = ""
    spread: bool = False


def json_dialect(
    name: str,
    block: JsonBlock,
    *,
    instruction: str = "",
    call_id: Callable[[], str] | None = None,
    aliases: tuple[str, ...] = (),
) -> Dialect:
    """A dialect of JSON blocks; `aliases` are other openers that are understood and not written."""
    openers = (block.opener, *aliases)
    return Dialect(
        name=name,
        envelope=Envelope(
            openers=openers,
            closing="delimited" if block.closer else "self_closing",
            closer=block.closer,
        ),
        reader=region_reader(one_after_another(_grammar(block, openers), openers), closer=block.closer),
        render=_renderer(block),
        instruction=instruction,
        call_id=call_id,
    )


# ---------------------------------------------------------------------------


def _grammar(block: JsonBlock, openers: tuple[str, ...]) -> Callable[[Source, Calls], Steps[None]]:
    allowed = {"object": "{", "array": "[", "either": "{[", "lines": "{"}[block.body]

    def read_block(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        if (yield from source.choose(openers)) is None:
            raise Malformed
        if (yield from source.token()) not in allowed:
            raise Malformed
        calls.recognise()
        yield from _read_body(source, calls, block)
        if block.closer is not None:
            yield from source.token()
            yield from source.expect(block.closer)
        calls.close()

    return read_block


def _read_body(source: Source, calls: Calls, block: JsonBlock) -> Steps[None]:
    if block.body == "array":
        yield from read_call_array(source, calls, block.shape)
    elif block.body == "either":
        yield from read_calls(source, calls, block.shape)
    else:
        yield from read_call(source, calls, block.shape)
        while block.body == "lines" and (yield from source.token()) == "{":
            calls.close()
            calls.begin()
            calls.recognise()
            yield from read_call(source, calls, block.shape)


def _renderer(block: JsonBlock) -> Callable[[Sequence[ParsedCall]], str]:
    def render_block(calls: Sequence[ParsedCall]) -> str:
        if block.body in {"object", "lines"} or (block.spread and block.body == "either"):
            body = "\n".join(write_call(call, block.shape) for call in calls)
        else:
            body = write_call_array(calls, block.shape)
        return (
            f"{block.opener}{block.padding}{body}{block.padding if block.closer else ''}{block.closer or ''}"
        )

    def render(calls: Sequence[ParsedCall]) -> str:
        if block.spread:
            return "\n".join(render_block((call,)) for call in calls)
        return render_block(calls)

    return render

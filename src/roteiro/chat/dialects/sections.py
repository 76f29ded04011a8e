"""Calls that each have a head and a JSON object between markers, all in one section.

Thread: any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_object
from roteiro.chat.dialects.region import Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The markers of a family.

    Attributes:
        opener, closer: around all calls; a call is proved by the next one's beginning or by `closer`.
        begin, end: around each call.
        tail: what stands between the JSON and `end` (a closing fence).
        gap: what the family writes between calls.
        read_head: reads up to the JSON: the name, and the id if the head has one.
        write_head: the inverse; it is given the call's position in the turn.
        aliases: other spellings of `opener` that are understood.
    """

    opener: str
    closer: str
    begin: str
    end: str
    tail: str = ""
    gap: str = ""
    read_head: Callable[[Source], Steps[tuple[str, str | None]]]
    write_head: Callable[[ParsedCall, int], str]
    aliases: tuple[str, ...] = ()


def section_dialect(name: str, section: Section) -> Dialect:
    """A dialect of sections."""
    openers = (section.opener, *section.aliases)

    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        if (yield from source.choose(openers)) is None:
            raise Malformed
        while True:
            yield from source.skip_space()
            yield from source.expect(section.begin)
            calls.recognise()
            yield from _read_call(source, calls, section)
            if not (yield from source.ahead((section.begin,))):
                break
            calls.close()
            calls.begin()
            calls.recognise()
        yield from source.skip_space()
        yield from source.expect(section.closer)
        calls.close()

    def render(calls: Sequence[ParsedCall]) -> str:
        written = section.gap.join(
            f"{section.begin}{section.write_head(call, at)}{call.arguments}{section.tail}{section.end}"
            for at, call in enumerate(calls)
        )
        return f"{section.opener}{written}{section.closer}"

    return Dialect(
        name=name,
        envelope=Envelope(openers=openers, closing="delimited", closer=section.closer),
        reader=region_reader(one_after_another(read, openers), closer=section.closer),
        render=render,
    )


def _read_call(source: Source, calls: Calls, section: Section) -> Steps[None]:
    name, call_id = yield from section.read_head(source)
    calls.open(name, call_id)
    yield from scan_object(source, calls.write)
    tail = section.tail.strip()
    if tail and (yield from source.token()) == tail[0]:
        yield from source.expect(tail)
    yield from source.token()
    yield from source.expect(section.end)

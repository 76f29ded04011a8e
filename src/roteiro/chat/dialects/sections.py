"""Calls that each have a head and a JSON object between markers, all in one section.

Thread: any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_object
from roteiro.chat.dialects.region import Calls, Grammar, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The markers of a family.

    Attributes:
        opener, closer: around all calls; a call is proved by the next one's beginning or by `closer`.
        each_proved: a call's own `end` proves it, because `closer` may be missing after it; the family
            writes it after several calls only, or never where `closer` is "".
        begin, end: around each call.
        tail: what stands between the JSON and `end` (a closing fence).
        gap: what the family writes between calls.
        padding: what it writes inside `opener` and `closer`.
        read_head: reads up to the JSON: the name, and the id if the head has one.
        write_head: the inverse; it is given the call's position in the turn.
        aliases: other spellings of `opener` that are understood.
    """

    opener: str
    closer: str
    begin: str
    end: str
    each_proved: bool = False
    tail: str = ""
    gap: str = ""
    padding: str = ""
    read_head: Callable[[Source], Steps[tuple[str, str | None]]]
    write_head: Callable[[ParsedCall, int], str]
    aliases: tuple[str, ...] = ()


def section_dialect(name: str, section: Section, *, call_id: Callable[[], str] | None = None) -> Dialect:
    """A dialect of sections."""
    openers = (section.opener, *section.aliases)
    proof = section.end if section.each_proved else section.closer
    return Dialect(
        name=name,
        envelope=Envelope(openers=openers, closing="delimited", closer=proof),
        reader=region_reader(one_after_another(_grammar(section, openers), openers), closer=proof),
        render=_renderer(section),
        call_id=call_id,
    )


# ---------------------------------------------------------------------------


def _grammar(section: Section, openers: tuple[str, ...]) -> Grammar:
    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        if (yield from source.choose(openers)) is None:
            raise Malformed
        while True:
            yield from source.skip_space()
            yield from source.expect(section.begin)
            calls.recognise()
            yield from _read_call(source, calls, section)
            if section.each_proved:
                calls.close()
            if not (yield from source.ahead((section.begin,))):
                break
            if not section.each_proved:
                calls.close()
            calls.begin()
            calls.recognise()
        yield from _read_end(source, calls, section)

    return read


def _read_end(source: Source, calls: Calls, section: Section) -> Steps[None]:
    if not section.each_proved:
        yield from source.skip_space()
        yield from source.expect(section.closer)
        calls.close()
    elif section.closer and (yield from source.ahead((section.closer,))):
        yield from source.skip_space()
        yield from source.expect(section.closer)
        source.mark()


def _renderer(section: Section) -> Callable[[Sequence[ParsedCall]], str]:
    def render(calls: Sequence[ParsedCall]) -> str:
        written = section.gap.join(
            f"{section.begin}{section.write_head(call, at)}{call.arguments}{section.tail}{section.end}"
            for at, call in enumerate(calls)
        )
        closed = section.closer and not (section.each_proved and len(calls) == 1)
        end = section.padding + section.closer if closed else ""
        return f"{section.opener}{section.padding}{written}{end}"

    return render


def _read_call(source: Source, calls: Calls, section: Section) -> Steps[None]:
    name, call_id = yield from section.read_head(source)
    calls.open(name, call_id)
    yield from scan_object(source, calls.write)
    tail = section.tail.strip()
    if tail and (yield from source.token()) == tail[0]:
        yield from source.expect(tail)
    yield from source.token()
    yield from source.expect(section.end)

"""The reader that every dialect shares: it drives a grammar over arriving text and collects the events.

A grammar is a step function over a `Source` that tells a `Calls` what it has found. This module decides
what becomes of a region that goes wrong: given back at once where nothing of a call had been written,
else read to the closing marker, so that markup does not leak into an answer. Thread: any.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from roteiro.chat.dialects.dialect import (
    ArgumentsText,
    CallClosed,
    CallOpened,
    CallReader,
    NotACall,
    ParsedCall,
    ReaderEvent,
    RegionEnded,
)
from roteiro.chat.dialects.source import Malformed, Source, Steps, Truncated, drop
from roteiro.chat.messages import Tool

MAX_NAME_LENGTH = 256


class Calls:
    """What a grammar has found in its region so far, as events not yet handed over."""

    def __init__(self, source: Source, tools: Sequence[Tool]) -> None:
        self._source = source
        self._events: list[ReaderEvent] = []
        self._fragments: list[str] = []
        self._arguments: list[str] = []
        self._name: str | None = None
        self._id: str | None = None
        self.between = False
        self.recognised = False
        self.tools = {tool.name: tool for tool in tools}

    def begin(self) -> None:
        """A call may begin here; what was consumed before belongs to the one before."""
        self.between = False
        self.recognised = False

    def recognise(self) -> None:
        """The text has gone past the marker into a call's own syntax: it is no mention in prose."""
        self.recognised = True

    def open(self, name: str, call_id: str | None = None) -> None:
        """The call's name is certain.

        Raises:
            Malformed: it is empty, endless, or of characters no name has (half a surrogate pair).
        """
        if not name.isprintable() or not 0 < len(name) <= MAX_NAME_LENGTH:
            raise Malformed
        self.recognised = True
        self._name, self._id = name, call_id
        self._arguments.clear()
        self._events.append(CallOpened(name=name, id=call_id))

    def write(self, fragment: str) -> None:
        """More of the open call's arguments, as JSON text."""
        self._fragments.append(fragment)

    def identify(self, call_id: str) -> None:
        """The open call's id became known after its name."""
        self._id = call_id

    def close(self) -> None:
        """The open call is proved whole."""
        self._flush()
        if self._name is None:
            raise Malformed
        call = ParsedCall(name=self._name, arguments="".join(self._arguments), id=self._id)
        self._events.append(CallClosed(call=call))
        self._name = self._id = None
        self._source.mark()
        self.between = True

    def refuse(self) -> None:
        """What stands since the last whole call is none."""
        self._flush()
        self._events.append(NotACall(raw=self._source.consumed()))
        self._source.mark()
        self.between = True

    def end(self) -> None:
        """The region is over; what was not consumed is given back."""
        self._events.append(RegionEnded(rest=self._source.rest()))

    def collect(self) -> list[ReaderEvent]:
        """Hand over the events since the last time."""
        self._flush()
        events, self._events = self._events, []
        return events

    def _flush(self) -> None:
        if not self._fragments:
            return
        fragment = "".join(self._fragments)
        self._fragments.clear()
        self._arguments.append(fragment)
        if fragment:
            self._events.append(ArgumentsText(fragment=fragment))


Grammar: TypeAlias = Callable[[Source, Calls], Steps[None]]


class RegionReader:
    """A `CallReader` over a grammar.

    Args:
        grammar: reads the region from its opening marker on and returns where it is over.
        tools: the declarations that the grammar may consult.
        closer: the marker up to which a malformed call is skipped; None gives its text back at once.
        unmarked: True where the opener is ordinary text (bare JSON): a turn that ends before a call was
            recognised gives it back as text instead of leaving it pending.
    """

    def __init__(
        self,
        grammar: Grammar,
        tools: Sequence[Tool],
        *,
        closer: str | None = None,
        unmarked: bool = False,
    ) -> None:
        self._source = Source()
        self._calls = Calls(self._source, tools)
        self._closer = closer
        self._unmarked = unmarked
        self._spent = False
        self._steps = self._read(grammar)

    def receive(self, text: str) -> list[ReaderEvent]:
        """Take more text."""
        self._source.feed(text)
        return self._advance()

    def finish(self) -> list[ReaderEvent]:
        """The turn is over."""
        self._source.end()
        return self._advance()

    def pending(self) -> str:
        """The text of a call that has begun and is not whole."""
        if self._calls.between:
            return ""
        return self._source.consumed() + self._source.rest()

    def _advance(self) -> list[ReaderEvent]:
        if not self._spent:
            try:
                next(self._steps)
            except (StopIteration, Truncated):
                self._spent = True
        return self._calls.collect()

    def _read(self, grammar: Grammar) -> Steps[None]:
        try:
            yield from grammar(self._source, self._calls)
        except Malformed:
            if self._closer is not None and self._calls.recognised:
                with contextlib.suppress(Truncated):
                    yield from self._source.until((self._closer,), drop)
            self._calls.refuse()
        except Truncated:
            if not self._unmarked or self._calls.recognised:
                raise
            self._source.take(len(self._source.rest()))
            self._calls.refuse()
        self._calls.end()


def one_after_another(read_call: Grammar, openers: tuple[str, ...]) -> Grammar:
    """A grammar for several calls with nothing but whitespace between them."""

    def grammar(source: Source, calls: Calls) -> Steps[None]:
        while True:
            calls.begin()
            yield from read_call(source, calls)
            if not (yield from source.ahead(openers)):
                return

    return grammar


def region_reader(
    grammar: Grammar, *, closer: str | None = None, unmarked: bool = False
) -> Callable[[Sequence[Tool]], CallReader]:
    """What a `Dialect` wants as its `reader`."""

    def reader(tools: Sequence[Tool]) -> CallReader:
        return RegionReader(grammar, tools, closer=closer, unmarked=unmarked)

    return reader

"""The smallest turn reader there can be: finds openers, hands regions to a dialect's reader, keeps the rest.

It knows no reasoning, stop strings or ids; `roteiro.chat.parser` does. Whole text only: it looks for
openers in what it has, so pieces are given to the reader alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from roteiro.chat.dialects.dialect import (
    ArgumentsText,
    CallClosed,
    CallOpened,
    Dialect,
    NotACall,
    ParsedCall,
    ReaderEvent,
    RegionEnded,
)
from roteiro.chat.dialects.source import Source, Steps
from roteiro.chat.messages import Tool

T = TypeVar("T")


@dataclass
class Reading:
    """What a turn said. `fragments` are the argument fragments of each opened call, joined."""

    text: str = ""
    calls: list[ParsedCall] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    fragments: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    pending: str = ""

    def take(self, events: Iterable[ReaderEvent]) -> str | None:
        """Book events; the rest of the text once the region is over."""
        for event in events:
            match event:
                case CallOpened():
                    self.opened.append(event.name)
                    self.fragments.append("")
                case ArgumentsText():
                    assert event.fragment
                    self.fragments[-1] += event.fragment
                case CallClosed():
                    assert event.call.name == self.opened[-1]
                    assert event.call.arguments == self.fragments[-1]
                    self.calls.append(event.call)
                case NotACall():
                    self.refused.append(event.raw)
                    self.text += event.raw
                case RegionEnded():
                    return event.rest
        return None


def read_region(dialect: Dialect, tools: Sequence[Tool], pieces: Iterable[str]) -> Reading:
    """Give a region to a fresh reader in pieces; what follows the region is the reading's text."""
    reading = Reading()
    reader = dialect.reader(tools)
    rest: str | None = None
    for piece in pieces:
        if rest is None:
            rest = reading.take(reader.receive(piece))
        else:
            rest += piece
    if rest is None:
        rest = reading.take(reader.finish())
        reading.pending = reader.pending()
    reading.text += rest or ""
    return reading


def read_turn(dialect: Dialect, tools: Sequence[Tool], text: str) -> Reading:
    """Read a whole turn: text, calls, text, calls, ..."""
    reading = Reading()
    at = 0
    while text:
        at = _next_opener(dialect, tools, text, at)
        reading.text += text[:at]
        if at == len(text):
            break
        reader = dialect.reader(tools)
        rest = reading.take(reader.receive(text[at:]))
        if rest is None:
            rest = reading.take(reader.finish())
        if rest is None:
            reading.pending = reader.pending()
            break
        text, at = rest, 0
    return reading


def run_steps(make: Callable[[Source, list[str]], Steps[T]], pieces: Iterable[str]) -> tuple[T, str, str]:
    """Run a step function over pieces: its result, what it put out, and what it did not consume."""
    source, written = Source(), list[str]()
    steps = make(source, written)
    arriving = iter(pieces)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value, "".join(written), source.rest() + "".join(arriving)
        piece = next(arriving, None)
        if piece is None:
            source.end()
        else:
            source.feed(piece)


def _next_opener(dialect: Dialect, tools: Sequence[Tool], text: str, at: int) -> int:
    envelope = dialect.envelope
    for place in range(at, len(text)):
        line_start = place == 0 or text[place - 1] == "\n"
        openers = (*envelope.openers, *envelope.tool_openers(tools))
        openers = openers if line_start or not envelope.line_start else ()
        if text.startswith((*openers, *envelope.anywhere), place):
            return place
    return len(text)

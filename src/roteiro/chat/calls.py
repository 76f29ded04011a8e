"""One call region of a turn: turns what a dialect's reader says into events that a client can rely on.

Every call has a start before its arguments, fragments that join to its arguments, and exactly one end: whole
or broken. Sans-IO; thread: event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roteiro.chat.dialects.dialect import (
    ArgumentsText,
    CallClosed,
    CallOpened,
    Dialect,
    NotACall,
    ReaderEvent,
    RegionEnded,
)
from roteiro.chat.events import (
    ChatEvent,
    ToolCallArguments,
    ToolCallBroken,
    ToolCallEnd,
    ToolCallStart,
)
from roteiro.chat.messages import Tool


class CallRegion:
    """Reads from an opening marker to the region's end.

    Attributes:
        next_index: index of the next call of the turn.
        rest: text after the region once it is over, else None.
        rejected: text before `rest` that is no call after all; "" where there is none.
        garbled: a call without a closing marker went wrong, so nobody knows where it ends.
    """

    def __init__(
        self,
        dialect: Dialect,
        tools: Sequence[Tool],
        *,
        first_index: int,
        new_id: Callable[[], str],
    ) -> None:
        self._reader = dialect.reader(tools)
        self._closer = dialect.envelope.closer
        self._new_id = dialect.call_id or new_id
        self.next_index = first_index
        self.rest: str | None = None
        self.rejected = ""
        self.garbled = False
        self._open = False
        self._sent = ""
        self._raw = ""

    def receive_text(self, text: str) -> list[ChatEvent]:
        """Take more text."""
        self._raw += text
        return self._translate(self._reader.receive(text))

    def finish(self) -> list[ChatEvent]:
        """The turn is over: what the reader can still prove."""
        return self._translate(self._reader.finish())

    def close_broken(self) -> list[ChatEvent]:
        """Report the call that is not whole, if one has begun."""
        raw = self._reader.pending()
        if not raw and not self._open:
            return []
        return self._break(raw or self._raw)

    def _translate(self, said: list[ReaderEvent]) -> list[ChatEvent]:
        events: list[ChatEvent] = []
        for event in said:
            match event:
                case CallOpened(name=name, id=call_id):
                    events.append(self._start(name, call_id))
                case ArgumentsText(fragment=fragment):
                    events.extend(self._argue(fragment))
                case CallClosed(call=call):
                    if not self._open:
                        events.append(self._start(call.name, call.id))
                    if call.arguments.startswith(self._sent):
                        events.extend(self._argue(call.arguments[len(self._sent) :]))
                    events.append(ToolCallEnd(index=self.next_index, arguments=call.arguments))
                    self._next()
                case NotACall(raw=raw):
                    events.extend(self._reject(raw))
                case RegionEnded(rest=rest):
                    self.rest = rest
        return events

    def _start(self, name: str, call_id: str | None) -> ToolCallStart:
        self._open, self._sent = True, ""
        return ToolCallStart(index=self.next_index, id=call_id or self._new_id(), name=name)

    def _argue(self, fragment: str) -> list[ChatEvent]:
        if not fragment:
            return []
        self._sent += fragment
        return [ToolCallArguments(index=self.next_index, fragment=fragment)]

    def _reject(self, raw: str) -> list[ChatEvent]:
        if self._open or (self._closer is not None and raw.rstrip().endswith(self._closer)):
            # A name was announced, or it stands between a call's own markers: a broken call, no answer.
            self.garbled = self._closer is None
            return self._break(raw)
        self.rejected += raw
        return []

    def _break(self, raw: str) -> list[ChatEvent]:
        index = self.next_index
        self._next()
        return [ToolCallBroken(index=index, raw=raw)]

    def _next(self) -> None:
        self.next_index += 1
        self._open, self._sent = False, ""

"""Reads a turn's text: `ChatParser.receive_text(piece) -> list[ChatEvent]`, `finish(kind)`.

Sans-IO. The same text gives the same events (deltas joined) however it is cut. Thread: event loop.

What is decided here, and documented for clients:

* Thoughts open before the answer only (channels of Harmony: anywhere), end at the first end marker, even a
  quoted one, and are trimmed; a blank thought is no thought. A thought that is cut is all reasoning. Thought
  markers in the answer's own text are text.
* Markers of calls count only where tools were advertised, and never inside a thought.
* Stop strings apply to the answer's text: not to thoughts, markers or calls.
* White space that follows a thought, or only separates calls, is not an answer.
* A call that was begun and not proved whole is `ToolCallBroken`, never text. A call marker of which at least
  two characters had arrived when the turn ended counts as begun.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Literal

from roteiro.chat.calls import CallRegion
from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.events import (
    ChatEvent,
    ReasoningDelta,
    StopReached,
    TextDelta,
    ToolCallBroken,
)
from roteiro.chat.markers import first_of, held_back, may_grow
from roteiro.chat.messages import Tool
from roteiro.chat.reasoning import Reasoning
from roteiro.chat.stops import StopMatcher

FinishKind = Literal["end", "length", "stopped"]
_State = Literal["text", "reasoning", "call", "done"]

# A lone "<" or "[" at the end of a turn is prose; two characters of a marker are markup.
_MARKUP_CHARACTERS = 2


def new_call_id() -> str:
    """An id for a call whose model gave none."""
    return "call_" + secrets.token_hex(12)


class ChatParser:
    """Reads one turn.

    Args:
        reasoning: the model's thought markers; None leaves them in the text.
        dialects: call forms to look for; without `tools` none is looked for.
        tools: what was advertised.
        stops: stop strings.
        generation_prompt_opened_reasoning: the prompt ends inside a thought.
        already_written: what the prompt's end has of the turn's text (`RenderedPrompt.opener`).
        new_id: makes an id for a call that has none; a dialect's own maker goes first.
    """

    def __init__(
        self,
        *,
        reasoning: Reasoning | None = None,
        dialects: Sequence[Dialect] = (),
        tools: Sequence[Tool] = (),
        stops: Sequence[str] = (),
        generation_prompt_opened_reasoning: bool = False,
        already_written: str = "",
        new_id: Callable[[], str] = new_call_id,
    ) -> None:
        self._reasoning = reasoning
        self._tools = tuple(tools)
        self._openers = _openers(dialects, self._tools) if tools else {}
        self._new_id = new_id
        self._stops = StopMatcher(stops)
        self._state: _State = "text"
        self._buffer = already_written
        self._silent = tuple(marker for dialect in dialects for marker in dialect.silent)
        if reasoning is not None:
            self._silent += reasoning.silent
        self._events: list[ChatEvent] = []
        self._region: CallRegion | None = None
        self._calls = 0
        self._answered = False  # text that is not white space has come
        self._skip_space = False  # white space after a thought or call belongs to nobody
        self._space = ""  # white space held until text follows it
        self._line_begins = True  # the next character is a line's first
        self._thought = False  # the thought has text already
        self._garbled = False  # what comes is the rest of a broken call
        self._in_block = False  # inside the family's answer block
        self._broken_end = ""  # a call's marker that the turn ended in
        self._start_may_repeat = False
        if reasoning is not None and generation_prompt_opened_reasoning:
            self._state = "reasoning"
            self._start_may_repeat = True

    @property
    def in_reasoning(self) -> bool:
        """True while the model thinks (a budget or a forced end applies now)."""
        return self._state == "reasoning"

    @property
    def stopped(self) -> bool:
        """True once a stop string was reached: the generation can be ended."""
        return self._state == "done"

    def receive_text(self, piece: str) -> list[ChatEvent]:
        """Take more of the turn's text and give what became certain."""
        if self._state == "done":
            return []
        self._buffer += piece
        self._run(final=False)
        return self._take_events()

    def finish(self, kind: FinishKind) -> list[ChatEvent]:
        """The turn is over; give the rest. Whatever ended it, the same rules hold."""
        if self._state != "done":
            self._finish_open()
        self._state = "done"
        return self._take_events()

    # ---------------------------------------------------------------------------------------------

    def _take_events(self) -> list[ChatEvent]:
        events, self._events = self._events, []
        return _joined(events)

    def _run(self, *, final: bool) -> None:
        steps = {"text": self._read_text, "reasoning": self._read_thought, "call": self._read_call}
        while self._buffer and self._state != "done" and steps[self._state](final=final):
            continue

    def _read_text(self, *, final: bool) -> bool:
        """Emit text up to the next marker; True when there may be more to do."""
        markers = self._text_markers()
        found = self._first_marker(markers)
        if found is None:
            keep = held_back(self._buffer, markers)
            if final:
                keep = self._cut_marker(keep)
            self._emit_buffer(len(self._buffer) - keep)
            return False
        at, marker = found
        if not final:
            # One that began earlier, or a longer one at the same place, may yet complete.
            earlier = len(self._buffer) - held_back(self._buffer, markers)
            if earlier < at or may_grow(self._buffer, at, marker, markers):
                self._emit_buffer(min(at, earlier))
                return False
        self._emit_buffer(at)
        if self._state != "done":
            self._pass_marker(marker)
        return True

    def _cut_marker(self, keep: int) -> int:
        """The turn ended on `keep` characters of a marker: how many of them are markup, not answer."""
        if keep < _MARKUP_CHARACTERS:
            return 0
        end = self._buffer[len(self._buffer) - keep :]
        for opener, dialect in self._openers.items():
            if opener.startswith(end):
                if self._at_line_start(opener, dialect):
                    return 0
                self._broken_end = end
                return keep
        return keep

    def _text_markers(self) -> list[str]:
        markers = [*self._openers, *self._silent]
        if self._reasoning is not None:
            if self._may_think():
                markers.append(self._reasoning.start)
            if self._reasoning.answer_block is not None and (self._in_block or not self._answered):
                # Only around the whole answer: the same tags inside it are text.
                markers.append(self._reasoning.answer_block[int(self._in_block)])
        return markers

    def _may_think(self) -> bool:
        return self._reasoning is not None and (self._reasoning.anywhere or not self._answered)

    def _first_marker(self, markers: list[str]) -> tuple[int, str] | None:
        """The first marker that counts; thought markers stop counting once an answer has begun."""
        offset = 0
        while True:
            found = first_of(self._buffer[offset:], markers)
            if found is None:
                return None
            at, marker = found[0] + offset, found[1]
            if self._counts(at, marker):
                return at, marker
            offset = at + 1

    def _counts(self, at: int, marker: str) -> bool:
        before = self._buffer[:at]
        dialect = self._openers.get(marker)
        if dialect is not None:
            return not self._at_line_start(marker, dialect) or self._starts_line(before)
        reasoning = self._reasoning
        if reasoning is None or marker in self._silent or (reasoning.anywhere and marker == reasoning.start):
            return True
        closes = reasoning.answer_block is not None and marker == reasoning.answer_block[1]
        return closes or not (self._answered or before.strip())

    @staticmethod
    def _at_line_start(opener: str, dialect: Dialect) -> bool:
        return dialect.envelope.line_start and opener not in dialect.envelope.anywhere

    def _starts_line(self, before: str) -> bool:
        """At the beginning of a line; before any answer, also after white space."""
        begins = before.endswith("\n") if before else self._line_begins
        return begins or not (self._answered or before.strip())

    def _pass_marker(self, marker: str) -> None:
        if marker in self._openers:
            self._open_call(marker)
            return
        self._buffer = self._buffer[len(marker) :]
        self._release_stops()
        if self._reasoning is not None and marker == self._reasoning.start:
            self._state, self._thought = "reasoning", False
            self._space = ""
            return
        if self._reasoning is not None and marker in (self._reasoning.answer_block or ()):
            self._in_block = not self._in_block
        if not self._answered:
            self._skip_space = True

    def _open_call(self, opener: str) -> None:
        self._release_stops()
        dialect = self._openers[opener]
        self._region = CallRegion(dialect, self._tools, first_index=self._calls, new_id=self._new_id)
        self._state = "call"

    def _read_call(self, *, final: bool) -> bool:
        assert self._region is not None
        text, self._buffer = self._buffer, ""
        self._events.extend(self._region.receive_text(text))
        self._leave_call()
        return self._state == "text"

    def _leave_call(self) -> None:
        region = self._region
        assert region is not None
        announced = region.next_index > self._calls
        self._calls = region.next_index
        if region.rest is None:
            self._garbled = self._garbled and not announced
            return
        self._garbled = region.garbled or (self._garbled and not announced)
        self._state, self._region = "text", None
        if region.rejected:
            # Not a call: its first character is text, and the rest is read again.
            self._buffer = region.rejected[1:] + region.rest
            self._emit_text(region.rejected[:1])
        else:
            self._buffer = region.rest
            self._skip_space = not self._answered
            self._line_begins = not self._garbled
            self._answered = self._answered or self._garbled

    def _read_thought(self, *, final: bool) -> bool:
        assert self._reasoning is not None
        if self._start_may_repeat and not self._pass_repeated_start(final=final):
            return False
        end = self._reasoning.end
        at = self._buffer.find(end)
        if at < 0:
            keep = 0 if final else held_back(self._buffer, (end,))
            self._emit_thought(self._buffer[: len(self._buffer) - keep])
            self._buffer = self._buffer[len(self._buffer) - keep :]
            return False
        self._emit_thought(self._buffer[:at])
        self._buffer = self._buffer[at + len(end) :]
        self._space = ""
        self._state, self._skip_space = "text", not self._answered
        self._line_begins = True
        return True

    def _pass_repeated_start(self, *, final: bool) -> bool:
        """Some models write the start marker that the prompt ends with once more. False: wait for more."""
        assert self._reasoning is not None
        text, start = self._buffer.lstrip(), self._reasoning.start
        if not final and start != text and start.startswith(text):
            return False
        self._start_may_repeat = False
        if text.startswith(start):
            self._buffer = text[len(start) :]
        return bool(self._buffer)

    def _emit_thought(self, text: str) -> None:
        if not self._thought:
            text = text.lstrip()
        if not text:
            return
        self._thought = True
        whole = self._space + text
        shown = whole.rstrip()
        self._space = whole[len(shown) :]
        if shown:
            self._events.append(ReasoningDelta(text=shown))

    # -- the answer's text: buffer -> stop strings -> white space -> event ----------------------------

    def _emit_buffer(self, size: int) -> None:
        text, self._buffer = self._buffer[:size], self._buffer[size:]
        self._emit_text(text)

    def _emit_text(self, text: str) -> None:
        if self._garbled:
            # The rest of a broken call that has no end marker is no answer either.
            self._line_begins = text.endswith("\n")
            return
        if self._skip_space:
            text = text.lstrip()
        if not text:
            return
        self._skip_space = False
        self._line_begins = text.endswith("\n")
        self._answered = self._answered or bool(text.strip())
        released, stop = self._stops.receive_text(text)
        self._emit_released(released)
        if stop is not None:
            self._drop_space_or_emit()
            self._events.append(StopReached(stop=stop))
            self._state, self._buffer = "done", ""

    def _release_stops(self) -> None:
        self._emit_released(self._stops.flush())

    def _emit_released(self, text: str) -> None:
        whole = self._space + text
        shown = whole.rstrip()
        self._space = whole[len(shown) :]
        if shown:
            self._events.append(TextDelta(text=shown))

    def _drop_space_or_emit(self) -> None:
        """White space at the end is the answer's when it is a plain one; beside calls it is nobody's."""
        space, self._space = self._space, ""
        if space and not self._calls:
            self._events.append(TextDelta(text=space))

    def _finish_open(self) -> None:
        """Read what is held, then end the state it leaves us in; a rejected call may open another."""
        while True:
            self._run(final=True)
            if self._state != "call" or self._region is None:
                break
            self._events.extend(self._region.finish())
            broken = self._region.close_broken() if self._region.rest is None else []
            self._events.extend(broken)
            self._leave_call()
            if self._state == "call":
                break
        if self._state == "text":
            self._release_stops()
            if self._state == "text" and self._broken_end:
                self._events.append(ToolCallBroken(index=self._calls, raw=self._broken_end))
                self._calls += 1
            self._drop_space_or_emit()


def _openers(dialects: Sequence[Dialect], tools: Sequence[Tool]) -> dict[str, Dialect]:
    """Each opener with the first dialect that has it."""
    found: dict[str, Dialect] = {}
    for dialect in dialects:
        envelope = dialect.envelope
        for opener in (*envelope.openers, *envelope.anywhere, *envelope.tool_openers(tools)):
            found.setdefault(opener, dialect)
    return found


def _joined(events: list[ChatEvent]) -> list[ChatEvent]:
    """Neighbouring deltas of one kind as one."""
    joined: list[ChatEvent] = []
    for event in events:
        last = joined[-1] if joined else None
        if isinstance(event, TextDelta) and isinstance(last, TextDelta):
            joined[-1] = TextDelta(text=last.text + event.text)
        elif isinstance(event, ReasoningDelta) and isinstance(last, ReasoningDelta):
            joined[-1] = ReasoningDelta(text=last.text + event.text)
        else:
            joined.append(event)
    return joined

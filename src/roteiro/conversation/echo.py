"""Remembers how a model itself wrote its turns, so that an echoed message becomes the same tokens again.

A template writes an echoed message its own way: other white space, arguments spelt anew, tokens cut
differently. The model's own tokens stand in memory and the template's do not, so the prefix would end there.
Where a prompt's text continues one that was answered, and what follows reads as the very message that the
model wrote, the model's tokens take the place of the template's. A message that the client changed, or that
the template shortens (thoughts of earlier turns), is left as it was rendered. Thread: event loop.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from roteiro.chat.events import ReasoningDelta, TextDelta, ToolCallBroken, ToolCallEnd, ToolCallStart
from roteiro.chat.inert import Parts
from roteiro.chat.messages import Message
from roteiro.chat.parser import ChatParser

KEPT_TURNS = 64
KEPT_TOKENS = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a turn's text says; white space at its ends says nothing. Equal turns compare equal.

    Ids of calls are no part of it: most are made here, anew for each reading. `cut` is True where the text
    ends inside a call, which is not among `calls`.
    """

    content: str
    reasoning: str
    calls: tuple[tuple[str, str], ...]
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Written:
    """One turn as it was written.

    Attributes:
        parts: its prompt as rendered.
        tokens: its prompt as evaluated.
        answer, text: what the model wrote, as tokens and as text, without the token that ended the turn.
        read: what they say.
        parser: makes a reader of the same turn.
        number: how many turns of the assistant stand before it.
        message: the turn as the client received it, with the beginning of a call that the limit cut.
    """

    parts: Parts
    tokens: tuple[int, ...]
    answer: tuple[int, ...]
    text: str
    read: Read
    parser: Callable[[], ChatParser]
    number: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The beginning of a prompt whose tokens are known, and the parts that are still to be tokenised."""

    tokens: tuple[int, ...]
    rest: Parts


class Echoes:
    """The last turns of one model; see the module's docstring."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Written] = OrderedDict()
        self._tokens = 0
        self._next = 0

    def __len__(self) -> int:
        return len(self._kept)

    def remember(self, written: Written) -> None:
        """Keep a turn; the ones unused for longest go."""
        self._kept[self._next] = written
        self._next += 1
        self._tokens += _size(written)
        while len(self._kept) > KEPT_TURNS or self._tokens > KEPT_TOKENS:
            _, oldest = self._kept.popitem(last=False)
            self._tokens -= _size(oldest)

    def find(self, parts: Parts, messages: Sequence[Message], ends: Collection[str]) -> Known | None:
        """The longest known beginning of a prompt, or None. `ends` are the texts that end a turn."""
        said = [_said(message) for message in messages if message.role == "assistant"]
        for key, written in sorted(self._kept.items(), key=lambda item: -len(item[1].tokens)):
            rest = _after(written.parts, parts)
            known = None if rest is None else _match(written, rest, said, ends)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        return None


def read_turn(parser: ChatParser, text: str) -> Read:
    """What a turn's text says."""
    content, reasoning, cut = "", "", False
    names: dict[int, str] = {}
    calls: list[tuple[str, str]] = []
    for event in (*parser.receive_text(text), *parser.finish("end")):
        match event:
            case TextDelta():
                content += event.text
            case ReasoningDelta():
                reasoning += event.text
            case ToolCallStart():
                names[event.index] = event.name
            case ToolCallEnd():
                calls.append((names[event.index], _plain(event.arguments)))
            case ToolCallBroken():
                cut = True
    return Read(content=content.strip(), reasoning=reasoning.strip(), calls=tuple(calls), cut=cut)


# -------------------------------------------------------------------------------------------------


def _match(written: Written, rest: Parts, said: list[Any], ends: Collection[str]) -> Known | None:
    """The prompt is the same, or goes on with the turn's message."""
    if not rest:
        return Known(tokens=written.tokens, rest=())
    if written.number >= len(said) or said[written.number] != _said(written.message):
        return None
    cut = _cut_at_end(rest, ends)
    if cut is None:
        return None
    rendered, more = cut
    # Where the template writes ids that the model did not, results refer to them.
    same_ids = all((call.id in rendered) == (call.id in written.text) for call in written.message.tool_calls)
    if not same_ids or not _same(written.read, read_turn(written.parser(), rendered)):
        return None
    return Known(tokens=(*written.tokens, *written.answer), rest=more)


def _same(written: Read, rendered: Read) -> bool:
    """Whether a rendering says what the model wrote.

    Of a call that the limit cut there is no right rendering: its arguments are no JSON. That the client has
    it from here its id has shown; the rest of the turn must agree.
    """
    if not written.cut:
        return rendered == written
    calls = rendered.calls[: len(written.calls)]
    more = len(rendered.calls) - len(written.calls)
    said = (rendered.content, rendered.reasoning, calls)
    return said == (written.content, written.reasoning, written.calls) and more + rendered.cut == 1


def _after(head: Parts, parts: Parts) -> Parts | None:
    """What follows `head` in `parts`, or None where they differ."""
    if not head or len(parts) < len(head) or parts[: len(head) - 1] != head[:-1]:
        return None
    (start, special), (text, same) = head[-1], parts[len(head) - 1]
    if special != same or not text.startswith(start):
        return None
    more = parts[len(head) :]
    return more if len(text) == len(start) else ((text[len(start) :], special), *more)


def _cut_at_end(parts: Parts, ends: Collection[str]) -> tuple[str, Parts] | None:
    """The text up to the first end of a turn, and the parts from there on."""
    before = ""
    for number, (text, special) in enumerate(parts):
        found = [at for end in ends if special and (at := text.find(end)) >= 0]
        if found:
            at = min(found)
            return before + text[:at], ((text[at:], special), *parts[number + 1 :])
        before += text
    return None


def _said(message: Message) -> tuple[str, str, tuple[tuple[str, str, str], ...]]:
    calls = tuple((call.id, call.name, _plain(call.arguments)) for call in message.tool_calls)
    return (message.content or "", message.reasoning_content or "", calls)


def _plain(arguments: str) -> str:
    """Arguments in one spelling."""
    try:
        return json.dumps(json.loads(arguments, object_pairs_hook=_object), sort_keys=True)
    except ValueError:
        return arguments


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """An object whose names are told apart; one that repeats a name says something else without it."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else [*pairs]


def _size(written: Written) -> int:
    return len(written.tokens) + len(written.answer)

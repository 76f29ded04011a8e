"""A dialect: how a model family writes a tool call. Data (the envelope) plus one parser and one renderer.

An envelope says where a call begins and ends and what proves it whole: a delimited one by its closing
marker and by nothing else, a self-closing one by a grammar that rejects every proper prefix (ADR-0008).
Thread: any; dialects are stateless, a `CallReader` serves one call region of one turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from roteiro.chat.messages import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCall:
    """A call proved whole. `arguments` is the text of a JSON object; `id` is the model's own, if any."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOpened:
    """A call's name is certain."""

    name: str
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentsText:
    """A piece of the arguments' JSON text (already JSON, whatever the dialect's own form is)."""

    fragment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallClosed:
    """The call is whole."""

    call: ParsedCall


@dataclass(frozen=True, slots=True, kw_only=True)
class NotACall:
    """What was read since the opening marker cannot be a call; `raw` is given back as plain text."""

    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionEnded:
    """The call region is over; `rest` is text after it, read as ordinary text (may open another region)."""

    rest: str


ReaderEvent = CallOpened | ArgumentsText | CallClosed | NotACall | RegionEnded


class CallReader(Protocol):
    """Reads one call region incrementally, from its opening marker on."""

    def receive(self, text: str) -> list[ReaderEvent]:
        """Take more text. `RegionEnded` comes last, after `NotACall` too; then the reader is spent."""

    def finish(self) -> list[ReaderEvent]:
        """The turn is over. A call that is not whole yields no `CallClosed`."""

    def pending(self) -> str:
        """The raw text of a call that has begun and is not whole; "" between calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Where calls begin and end.

    `openers`: literal markers, any of which begins a region, opening marker included in what the reader
    gets. `closing`: `delimited` is proved by `closer`, `self_closing` by the body's grammar.
    `line_start`: True where an opener only counts at the beginning of the text or of a line (bare JSON).
    `anywhere`: further openers that count in any place, whatever `line_start` says (`<|python_tag|>`).
    `names_open`: a declared tool's name alone on a line is an opener too (GLM-4).
    """

    openers: tuple[str, ...]
    closing: Literal["delimited", "self_closing"]
    closer: str | None = None
    line_start: bool = False
    anywhere: tuple[str, ...] = ()
    names_open: bool = False

    def tool_openers(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        """The openers that the declared tools' names are."""
        if not self.names_open:
            return ()
        return tuple(f"{tool.name}{end}" for tool in tools for end in ("\n", " \n"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One family's call form.

    Attributes:
        name: stable id, shown by `roteiro model check`.
        envelope: where calls begin and end.
        reader: makes a fresh reader; it is given the tools' declarations so that a form without types
            (XML parameters) can turn text into the declared JSON types.
        render: one turn's calls as the model would write them; the inverse of the reader.
        instruction: how to write a call in this form, for the generic preamble; "" where the family's
            own template always says it.
        silent: markers of the family that are neither answer nor call (`>>>all`); they vanish.
        call_id: makes an id this family's templates accept (Mistral: nine alphanumerics).
    """

    name: str
    envelope: Envelope
    reader: Callable[[Sequence[Tool]], CallReader]
    render: Callable[[Sequence[ParsedCall]], str]
    instruction: str = ""
    silent: tuple[str, ...] = ()
    call_id: Callable[[], str] | None = None

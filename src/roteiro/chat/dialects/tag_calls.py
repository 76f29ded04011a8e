"""Calls written as tags, one per parameter, with values as plain text: described by a `TagForm`.

A value cannot be escaped in these forms. Its closing tag counts only where something of the call
follows it (the next parameter or the end), so a value may quote the tag; one that quotes the tag
*and* what follows cannot be told from its end. Thread: any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from roteiro.chat import numbers
from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.region import MAX_NAME_LENGTH, Calls, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps, drop
from roteiro.chat.dialects.typed_values import STRING, Kinds, ValueWriter, declared_kinds

# U+FF5C is the bar in DeepSeek's markers.
NAME = re.compile(r"""[^\s<>{}\[\]()"'`,=|\uff5c]*""")
# A parameter may be called almost anything (`tags[]`, `first name`); its tag says where the name ends.
KEY = re.compile(r"[^<>\"\r\n]*")
_SPACES = re.compile(r"[ \t]*")
_CDATA = ("<![CDATA[", "]]>")


@dataclass(frozen=True, slots=True, kw_only=True)
class TagForm:
    """The tags of a family.

    Attributes:
        section: tags around all calls of a turn, or around each, or around none ("").
        call: what stands before a call's name, after it, and at the call's end.
        parameter: the same for a parameter.
        padded: True where a value stands on lines of its own.
        cdata: True where odd text is written as a CDATA block.
        typed_by: an attribute after the parameter's name that says whether the value is a string
            (`string="true"`), or "" where only the declaration does.
        shared_section: True where one section holds all calls of a turn.
        bare_calls: True where models of the family leave the section's tags out at times.
    """

    call: tuple[str, str, str]
    parameter: tuple[str, str, str]
    section: tuple[str, str] = ("", "")
    padded: bool = False
    cdata: bool = False
    typed_by: str = ""
    shared_section: bool = False
    bare_calls: bool = False

    @property
    def openers(self) -> tuple[str, ...]:
        """What a region may begin with."""
        if not self.section[0]:
            return (self.call[0],)
        return (self.section[0], self.call[0]) if self.bare_calls else (self.section[0],)

    @property
    def closer(self) -> str:
        """What proves the last call whole."""
        return self.section[1] or self.call[2]


def tag_dialect(name: str, form: TagForm, *, instruction: str = "") -> Dialect:
    """A dialect of tags."""
    grammar = one_after_another(_section_grammar(form), form.openers)
    return Dialect(
        name=name,
        envelope=Envelope(openers=form.openers, closing="delimited", closer=form.closer),
        reader=region_reader(grammar, closer=form.closer),
        render=_renderer(form),
        instruction=instruction,
    )


def read_name(source: Source, *, pattern: re.Pattern[str] = NAME) -> Steps[str]:
    """The name of a function or parameter, without the blanks around it.

    Raises:
        Malformed: there is none, or none of a sensible length.
    """
    yield from source.run(_SPACES, drop)
    parts: list[str] = []
    yield from source.run(pattern, parts.append, limit=MAX_NAME_LENGTH)
    name = "".join(parts).strip()
    if not name:
        raise Malformed
    return name


def read_text_value(
    source: Source, calls: Calls, kinds: Kinds | None, closers: tuple[str, ...], follow: tuple[str, ...]
) -> Steps[None]:
    """A value up to the closing tag after which one of `follow` comes, written as JSON.

    Raises:
        Truncated: the text ended before.
    """
    writer = ValueWriter(kinds, calls.write)
    while True:
        closing = yield from source.until(closers, writer.write)
        if (yield from source.ahead(follow)):
            writer.finish()
            return
        writer.write(closing)


def text_value(value: Any) -> str:
    """A value as these forms write it: a string bare, anything else as JSON."""
    return value if isinstance(value, str) else numbers.dumps(value)


# ---------------------------------------------------------------------------


def _section_grammar(form: TagForm) -> Callable[[Source, Calls], Steps[None]]:
    def read_section(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        opener = yield from source.choose(form.openers)
        if opener is None:
            raise Malformed
        if opener == form.section[0]:
            yield from source.skip_space()
            yield from source.expect(form.call[0])
        calls.recognise()
        yield from _read_calls(source, calls, form, inside=opener == form.section[0])

    return read_section


def _read_calls(source: Source, calls: Calls, form: TagForm, *, inside: bool) -> Steps[None]:
    """The calls of a section, from the first one's name on."""
    while True:
        whole = yield from _read_call(source, calls, form)
        if whole:
            calls.close()
            return
        if not inside:
            calls.close()
            if form.section[1] and (yield from source.ahead((form.section[1],))):
                yield from source.skip_space()
                yield from source.expect(form.section[1])
                source.mark()
            return
        if not (yield from source.ahead((form.call[0],))):
            yield from source.skip_space()
            yield from source.expect(form.section[1])
            calls.close()
            return
        calls.close()
        calls.begin()
        calls.recognise()
        yield from source.skip_space()
        yield from source.expect(form.call[0])


def _read_call(source: Source, calls: Calls, form: TagForm) -> Steps[bool]:
    """One call; True where the section's end stood in for the call's own."""
    name = yield from read_name(source)
    yield from source.run(_SPACES, drop)
    yield from source.expect(form.call[1])
    calls.open(name)
    calls.write("{")
    separator = ""
    follow = tuple(filter(None, (form.parameter[0], form.call[2], form.section[1])))
    while True:
        yield from source.skip_space()
        tag = yield from source.choose(follow)
        if tag is None:
            raise Malformed
        if tag != form.parameter[0]:
            calls.write("}")
            return tag == form.section[1]
        parameter = yield from read_name(source, pattern=KEY)
        calls.write(f"{separator}{json.dumps(parameter, ensure_ascii=False)}: ")
        separator = ", "
        kinds = declared_kinds(calls.tools.get(name), parameter)
        kinds = yield from _read_parameter_tag(source, form, kinds)
        closers = yield from _read_value_begin(source, form)
        yield from read_text_value(source, calls, kinds, closers, follow)


def _read_parameter_tag(source: Source, form: TagForm, kinds: Kinds | None) -> Steps[Kinds | None]:
    """The rest of a parameter's opening tag; the kinds as its own attribute says them, if it has one."""
    if form.typed_by:
        true, false = (f'" {form.typed_by}="{value}"' for value in ("true", "false"))
        said = yield from source.choose((true, false, form.parameter[1]))
        if said in {true, false}:
            yield from source.expect(form.parameter[1].removeprefix('"'))
            return STRING if said == true else None
        if said == form.parameter[1]:
            return kinds
        raise Malformed
    yield from source.expect(form.parameter[1])
    return kinds


def _read_value_begin(source: Source, form: TagForm) -> Steps[tuple[str, ...]]:
    """What a family writes before a value; what then ends the value."""
    closer = form.parameter[2]
    if form.padded:
        yield from source.choose(("\n", "\r\n"))
        return ("\n" + closer, closer)
    if form.cdata and (yield from source.choose((_CDATA[0],))):
        return (_CDATA[1] + closer,)
    return (closer,)


def _renderer(form: TagForm) -> Callable[[Sequence[ParsedCall]], str]:
    pad = "\n" if form.padded else ""

    def render_parameter(key: str, value: Any) -> str:
        said = f'" {form.typed_by}="{str(isinstance(value, str)).lower()}' if form.typed_by else ""
        begin, after, end = form.parameter
        text = text_value(value)
        if form.cdata and isinstance(value, str) and set(text) & set("<&\n"):
            text = text.join(_CDATA)
        return f"{begin}{key}{said}{after}{pad}{text}{pad}{end}\n"

    def render_call(call: ParsedCall) -> str:
        begin, after, end = form.call
        parameters = "".join(render_parameter(k, v) for k, v in numbers.loads(call.arguments).items())
        return f"{begin}{call.name}{after}\n{parameters}{end}"

    def render(calls: Sequence[ParsedCall]) -> str:
        begin, end = form.section
        if not begin:
            return "\n".join(map(render_call, calls))
        groups = [calls] if form.shared_section else [(call,) for call in calls]
        return "\n".join(f"{begin}\n" + "\n".join(map(render_call, group)) + f"\n{end}" for group in groups)

    return render

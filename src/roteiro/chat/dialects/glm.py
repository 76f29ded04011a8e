"""GLM 4.5 and later: a name, then key and value pairs in tags of their own; also Hunyuan 3, in a section.

A value's closing tag counts only where another pair or the call's end follows it. Thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from roteiro.chat import numbers
from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.region import Calls, Grammar, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import KEY, read_name, read_text_value, text_value
from roteiro.chat.dialects.typed_values import declared_kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class PairForm:
    """The tags: around a call, a key and a value, after the name, and around all calls, if any."""

    call: tuple[str, str]
    key: tuple[str, str]
    value: tuple[str, str]
    after_name: str = ""
    section: tuple[str, str] = ("", "")


def pair_dialect(name: str, form: PairForm) -> Dialect:
    """A dialect of key and value pairs."""
    opener = form.section[0] or form.call[0]
    closer = form.section[1] or form.call[1]
    return Dialect(
        name=name,
        envelope=Envelope(openers=(opener,), closing="delimited", closer=closer),
        reader=region_reader(one_after_another(_grammar(form), (opener,)), closer=closer),
        render=lambda calls: _render(form, calls),
    )


# ---------------------------------------------------------------------------


def _grammar(form: PairForm) -> Grammar:
    opener, closer = form.section

    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        if opener:
            yield from source.expect(opener)
            yield from source.skip_space()
        yield from _read_call(source, calls, form)
        while opener and (yield from source.ahead((form.call[0],))):
            calls.close()
            calls.begin()
            calls.recognise()
            yield from source.skip_space()
            yield from _read_call(source, calls, form)
        if closer:
            yield from source.skip_space()
            yield from source.expect(closer)
        calls.close()

    return read


def _read_call(source: Source, calls: Calls, form: PairForm) -> Steps[None]:
    yield from source.expect(form.call[0])
    yield from source.skip_space()
    name = yield from read_name(source)
    if form.after_name:
        yield from source.skip_space()
        yield from source.expect(form.after_name)
    if not (yield from source.ahead((form.key[0], form.call[1]))):
        raise Malformed
    calls.open(name)
    calls.write("{")
    separator = ""
    while (yield from source.ahead((form.key[0],))):
        yield from source.skip_space()
        yield from source.expect(form.key[0])
        key = yield from read_name(source, pattern=KEY)
        yield from source.expect(form.key[1])
        yield from source.skip_space()
        yield from source.expect(form.value[0])
        calls.write(f"{separator}{json.dumps(key, ensure_ascii=False)}: ")
        separator = ", "
        kinds = declared_kinds(calls.tools.get(name), key)
        yield from read_text_value(source, calls, kinds, (form.value[1],), (form.key[0], form.call[1]))
    yield from source.skip_space()
    yield from source.expect(form.call[1])
    calls.write("}")


def _render_call(form: PairForm, call: ParsedCall) -> str:
    pairs = "".join(
        f"{form.key[0]}{key}{form.key[1]}\n{form.value[0]}{text_value(value)}{form.value[1]}\n"
        for key, value in numbers.loads(call.arguments).items()
    )
    return f"{form.call[0]}{call.name}{form.after_name}\n{pairs}{form.call[1]}"


def _render(form: PairForm, calls: Sequence[ParsedCall]) -> str:
    written = "\n".join(_render_call(form, call) for call in calls)
    opener, closer = form.section
    return f"{opener}\n{written}\n{closer}" if opener else written


GLM = pair_dialect(
    "glm",
    PairForm(
        call=("<tool_call>", "</tool_call>"),
        key=("<arg_key>", "</arg_key>"),
        value=("<arg_value>", "</arg_value>"),
    ),
)

HUNYUAN3 = pair_dialect(
    "hunyuan3",
    PairForm(
        section=("<tool_calls:opensource>", "</tool_calls:opensource>"),
        call=("<tool_call:opensource>", "</tool_call:opensource>"),
        key=("<arg_key:opensource>", "</arg_key:opensource>"),
        value=("<arg_value:opensource>", "</arg_value:opensource>"),
        after_name="<tool_sep:opensource>",
    ),
)

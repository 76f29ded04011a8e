"""GLM-4 (9B, 32B of April 2025): the tool's name alone on a line and its arguments' JSON under it.

Nothing marks a call but a declared tool's name, so the arguments must be an object. Between two calls
the family writes its marker of an assistant's turn. Thread: any.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_scan import scan_value
from roteiro.chat.dialects.region import Calls, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps
from roteiro.chat.dialects.tag_calls import read_name

_TURN = "<|assistant|>"


def _read(source: Source, calls: Calls) -> Steps[None]:
    names = tuple(f"{name}{end}" for name in calls.tools for end in ("\n", " \n"))
    while True:
        calls.begin()
        yield from source.skip_space()
        if (yield from source.choose((_TURN,))):
            yield from source.skip_space()
        name = yield from read_name(source)
        if name not in calls.tools or (yield from source.token()) != "{":
            raise Malformed
        calls.open(name)
        yield from scan_value(source, calls.write)
        calls.close()
        if not (yield from source.ahead((_TURN, *names))):
            return


def _render(calls: Sequence[ParsedCall]) -> str:
    return "\n".join(f"{call.name}\n{call.arguments}" for call in calls)


GLM4 = Dialect(
    name="glm4",
    envelope=Envelope(openers=(), closing="self_closing", line_start=True, names_open=True),
    reader=region_reader(_read, unmarked=True),
    render=_render,
    instruction=(
        "To call a function, write its name on a line, its parameters as a JSON object on the next and "
        'nothing else:\nFUNCTION\n{"PARAMETER": "VALUE"}'
    ),
)

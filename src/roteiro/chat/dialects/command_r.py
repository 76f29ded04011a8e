"""Command: `<|START_ACTION|>` with a JSON array (R7B, A), and R's fenced JSON after `Action:`."""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.json_calls import CallShape, read_call_array, write_call
from roteiro.chat.dialects.region import Calls, Grammar, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps

_SHAPE = CallShape(name_keys=("tool_name", "name"), argument_keys=("parameters", "arguments"))


def _grammar(openers: tuple[str, ...], closer: str) -> Grammar:
    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        if (yield from source.choose(openers)) is None:
            raise Malformed
        yield from source.skip_space()
        calls.recognise()
        yield from read_call_array(source, calls, _SHAPE)
        yield from source.token()
        yield from source.expect(closer)
        calls.close()

    return one_after_another(read, openers)


_ACTION, _ACTION_END = "<|START_ACTION|>", "<|END_ACTION|>"
_FENCED, _FENCED_END = ("Action:\n```json", "Action: ```json", "Action:```json"), "```"


def _render_action(calls: Sequence[ParsedCall]) -> str:
    body = ",\n".join("    " + write_call(c, _SHAPE, tool_call_id=str(i)) for i, c in enumerate(calls))
    return f"{_ACTION}[\n{body}\n]{_ACTION_END}"


def _render_fenced(calls: Sequence[ParsedCall]) -> str:
    body = ",\n".join("    " + write_call(call, _SHAPE) for call in calls)
    return f"{_FENCED[0]}\n[\n{body}\n]{_FENCED_END}"


# The ids it writes are positions ("0", "1") that its template counts again for itself, so they are
# not taken: a client needs ids that stay unique over turns.
COMMAND_R7B = Dialect(
    name="command_r7b",
    envelope=Envelope(openers=(_ACTION,), closing="delimited", closer=_ACTION_END),
    reader=region_reader(_grammar((_ACTION,), _ACTION_END), closer=_ACTION_END),
    render=_render_action,
)

COMMAND_R = Dialect(
    name="command_r",
    envelope=Envelope(openers=_FENCED, closing="delimited", closer=_FENCED_END, line_start=True),
    reader=region_reader(_grammar(_FENCED, _FENCED_END), closer=_FENCED_END),
    render=_render_fenced,
)

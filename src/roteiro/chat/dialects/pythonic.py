"""Calls as Python: LFM2's marked lists, Llama 4's bare ones, OLMo 3's lines, Gemma 3's `tool_code`."""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.python_scan import read_python_call, read_python_list, write_python_call
from roteiro.chat.dialects.region import Calls, Grammar, one_after_another, region_reader
from roteiro.chat.dialects.source import Malformed, Source, Steps

LFM_OPEN, LFM_CLOSE = "<|tool_call_start|>", "<|tool_call_end|>"
_OLMO_OPEN, _OLMO_CLOSE = "<function_calls>", "</function_calls>"
_CODE_OPEN, _CODE_CLOSE = "```tool_code", "```"
_LLAMA4_OPEN, _LLAMA4_CLOSE = "<|python_start|>", "<|python_end|>"


def marked_list(opener: str, closer: str, *, raw_strings: bool) -> Grammar:
    """Lists of calls between two markers."""

    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        yield from source.expect(opener)
        if (yield from source.token()) != "[":
            raise Malformed
        calls.recognise()
        yield from read_python_list(source, calls, raw_strings=raw_strings)
        yield from source.token()
        yield from source.expect(closer)
        calls.close()

    return one_after_another(read, (opener,))


def _marked_lines(opener: str, closer: str, *, own_line: bool = False) -> Grammar:
    """One call per line between two markers; `own_line`: nothing else stands on the opener's line."""

    def read(source: Source, calls: Calls) -> Steps[None]:
        yield from source.skip_space()
        yield from source.expect(opener)
        if own_line:
            if (yield from source.peek()) not in "\r\n":
                raise Malformed
            calls.recognise()
        yield from source.skip_space()
        yield from read_python_call(source, calls)
        while (yield from source.token()) != closer[0]:
            calls.close()
            calls.begin()
            calls.recognise()
            yield from read_python_call(source, calls)
        yield from source.expect(closer)
        calls.close()

    return one_after_another(read, (opener,))


def _read_bare_list(source: Source, calls: Calls) -> Steps[None]:
    calls.begin()
    yield from source.skip_space()
    marked = (yield from source.choose((_LLAMA4_OPEN, "["))) == _LLAMA4_OPEN
    yield from read_python_list(source, calls, declared_only=not marked, opened=not marked)
    calls.close()
    if (yield from source.ahead((_LLAMA4_CLOSE,))):
        yield from source.skip_space()
        yield from source.expect(_LLAMA4_CLOSE)
        source.mark()


def _render_list(opener: str, closer: str, calls: Sequence[ParsedCall]) -> str:
    return f"{opener}[{', '.join(write_python_call(c.name, c.arguments) for c in calls)}]{closer}"


def _render_lines(opener: str, closer: str, calls: Sequence[ParsedCall]) -> str:
    lines = "\n".join(write_python_call(call.name, call.arguments) for call in calls)
    return f"{opener}\n{lines}\n{closer}"


LFM2 = Dialect(
    name="lfm2",
    envelope=Envelope(openers=(LFM_OPEN,), closing="delimited", closer=LFM_CLOSE),
    reader=region_reader(marked_list(LFM_OPEN, LFM_CLOSE, raw_strings=False), closer=LFM_CLOSE),
    render=lambda calls: _render_list(LFM_OPEN, LFM_CLOSE, calls),
    instruction=(
        "To call functions, write a list of calls between <|tool_call_start|> and <|tool_call_end|>:\n"
        '<|tool_call_start|>[FUNCTION(PARAMETER="VALUE")]<|tool_call_end|>'
    ),
)

PYTHONIC = Dialect(
    name="pythonic",
    envelope=Envelope(openers=("[",), closing="self_closing", line_start=True, anywhere=(_LLAMA4_OPEN,)),
    reader=region_reader(_read_bare_list, unmarked=True),
    render=lambda calls: _render_list("", "", calls),
    instruction=(
        "To call functions, write a list of calls and nothing else:\n"
        '[FUNCTION(PARAMETER="VALUE"), FUNCTION(PARAMETER=3)]'
    ),
)

OLMO3 = Dialect(
    name="olmo3",
    envelope=Envelope(openers=(_OLMO_OPEN,), closing="delimited", closer=_OLMO_CLOSE),
    reader=region_reader(_marked_lines(_OLMO_OPEN, _OLMO_CLOSE), closer=_OLMO_CLOSE),
    render=lambda calls: _render_lines(_OLMO_OPEN, _OLMO_CLOSE, calls),
)

GEMMA_TOOL_CODE = Dialect(
    name="gemma_tool_code",
    envelope=Envelope(openers=(_CODE_OPEN,), closing="delimited", closer=_CODE_CLOSE, line_start=True),
    reader=region_reader(_marked_lines(_CODE_OPEN, _CODE_CLOSE, own_line=True), closer=_CODE_CLOSE),
    render=lambda calls: _render_lines(_CODE_OPEN, _CODE_CLOSE, calls),
    instruction=(
        "To call functions, write one call per line in a tool_code block:\n"
        '```tool_code\nFUNCTION(PARAMETER="VALUE")\n```'
    ),
)

"""What becomes of regions that go wrong, whatever the dialect."""

from __future__ import annotations

from roteiro.chat.dialects import by_name
from roteiro.chat.dialects.dialect import CallClosed, CallOpened, CallReader, NotACall, RegionEnded
from roteiro.chat.messages import Tool

TOOLS = [Tool(name="search", parameters={"properties": {"text": {"type": "string"}}})]
CALL = '<tool_call>{"name": "search", "arguments": {}}</tool_call>'


def reader(name: str) -> CallReader:
    dialect = by_name(name)
    assert dialect is not None
    return dialect.reader(TOOLS)


def test_a_marker_that_begins_no_call_is_given_back_at_once() -> None:
    events = reader("hermes").receive("<tool_call> is a marker")
    assert events == [NotACall(raw="<tool_call> "), RegionEnded(rest="is a marker")]


def test_a_malformed_call_is_given_back_up_to_its_closing_marker() -> None:
    events = reader("hermes").receive('<tool_call>{"name": bad}</tool_call>, and on')
    assert events == [NotACall(raw='<tool_call>{"name": bad}</tool_call>'), RegionEnded(rest=", and on")]


def test_a_malformed_call_that_is_never_closed_is_given_back_at_the_end() -> None:
    unclosed = reader("hermes")
    assert unclosed.receive('<tool_call>{"name": bad}') == []
    assert unclosed.pending() == '<tool_call>{"name": bad}'
    assert unclosed.finish() == [NotACall(raw='<tool_call>{"name": bad}'), RegionEnded(rest="")]
    assert unclosed.pending() == ""


def test_a_call_that_is_cut_off_stays_pending() -> None:
    cut = reader("hermes")
    assert cut.receive('<tool_call>{"name": "search"') == [CallOpened(name="search")]
    assert (cut.finish(), cut.pending()) == ([], '<tool_call>{"name": "search"')


def test_bare_text_that_is_cut_off_before_it_was_a_call_is_given_back() -> None:
    cut = reader("bare_json")
    assert cut.receive('{"name": "sea') == []
    assert cut.finish() == [NotACall(raw='{"name": "sea'), RegionEnded(rest="")]


def test_nothing_is_pending_between_calls() -> None:
    between = reader("hermes")
    events = between.receive(CALL + "\n ")
    assert isinstance(events[-1], CallClosed)
    assert between.pending() == ""
    assert between.finish() == [RegionEnded(rest="\n ")]


def test_a_broken_second_call_does_not_take_the_first_with_it() -> None:
    events = reader("hermes").receive(CALL + "\n<tool_call>oops")
    assert isinstance(events[-3], CallClosed)
    assert events[-2:] == [NotACall(raw="\n<tool_call>"), RegionEnded(rest="oops")]


def test_a_reader_is_spent_after_its_region() -> None:
    spent = reader("mistral")
    assert spent.receive("[TOOL_CALLS]search[ARGS]{} text")[-1] == RegionEnded(rest=" text")
    assert (spent.receive("more"), spent.finish()) == ([], [])


def test_a_name_and_arguments_must_each_come_once() -> None:
    for body in (
        '{"name": "a", "name": "b", "arguments": {}}',
        '{"name": "a", "arguments": {}, "parameters": {}}',
        '{"arguments": {}}',
        '{"name": "", "arguments": {}}',
        '{"name": "half a pair: \\ud800", "arguments": {}}',
        '{"name": "' + "x" * 257 + '", "arguments": {}}',
        '{"name": "a", "arguments": [1]}',
        '{"name": "a", "arguments": "not an object"}',
        "{}",
        "[]",
    ):
        events = reader("hermes").receive(f"<tool_call>{body}</tool_call>")
        assert not any(isinstance(event, CallClosed) for event in events), body
        assert any(isinstance(event, NotACall) for event in events), body


def test_an_id_that_is_none_is_not_taken() -> None:
    for written, expected in (('"abc"', "abc"), ("null", None), ("7", None), ('""', None)):
        body = f'[TOOL_CALLS][{{"name": "search", "arguments": {{}}, "id": {written}}}]'
        closed = [e for e in reader("mistral_array").receive(body) if isinstance(e, CallClosed)]
        assert [event.call.id for event in closed] == [expected]

"""The parser gives the same events however the text is cut, and never shows a call as an answer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roteiro.chat.dialects import ALL, by_name
from roteiro.chat.events import (
    ChatEvent,
    ReasoningDelta,
    StopReached,
    TextDelta,
    ToolCallArguments,
    ToolCallBroken,
    ToolCallEnd,
    ToolCallStart,
)
from roteiro.chat.messages import Tool
from roteiro.chat.parser import ChatParser
from roteiro.chat.reasoning import Reasoning

TOOLS = (Tool(name="search", parameters={"type": "object", "properties": {"q": {"type": "string"}}}),)
THINK = Reasoning(start="<think>", end="</think>", end_text="\n</think>\n\n")
HARMONY = Reasoning(
    start="<|channel|>analysis<|message|>",
    end="<|end|>",
    end_text="<|end|>",
    anywhere=True,
    silent=(
        "<|start|>assistant",
        "<|channel|>final<|message|>",
        "<|channel|>commentary<|message|>",
        "<|end|>",
    ),
)
BLOCK = Reasoning(
    start="<think>", end="</think>", end_text="</think>", answer_block=("<response>", "</response>")
)
CALL = '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>'
HERMES = (by_name("hermes"), by_name("bare_json"))


def read(text: str, cuts: list[int] | None = None, *, kind: str = "end", **options) -> list[ChatEvent]:
    """Events of a text cut at the given places, neighbouring deltas joined."""
    numbers = itertools.count()
    parser = ChatParser(new_id=lambda: f"id{next(numbers)}", **options)
    places = [0, *sorted(cuts or []), len(text)]
    events: list[ChatEvent] = []
    for begin, end in itertools.pairwise(places):
        events += parser.receive_text(text[begin:end])
    events += parser.finish(kind)
    return join(events)


def join(events: list[ChatEvent]) -> list[ChatEvent]:
    joined: list[ChatEvent] = []
    for event in events:
        last = joined[-1] if joined else None
        if type(event) is type(last) and isinstance(event, TextDelta | ReasoningDelta):
            joined[-1] = type(event)(text=last.text + event.text)
        elif isinstance(event, ToolCallArguments) and isinstance(last, ToolCallArguments):
            joined[-1] = ToolCallArguments(index=event.index, fragment=last.fragment + event.fragment)
        else:
            joined.append(event)
    return joined


def call(index: int = 0, arguments: str = '{"q": "x"}') -> list[ChatEvent]:
    return [
        ToolCallStart(index=index, id=f"id{index}", name="search"),
        ToolCallArguments(index=index, fragment=arguments),
        ToolCallEnd(index=index, arguments=arguments),
    ]


TOOLED = {"dialects": HERMES, "tools": TOOLS}
CASES = [
    ("plain text is an answer", " hello \n", {}, [TextDelta(text=" hello \n")]),
    (
        "a thought goes to reasoning and its white space to nobody",
        "<think>\nwhy\n\nso\n</think>\n\n4",
        {"reasoning": THINK},
        [ReasoningDelta(text="why\n\nso"), TextDelta(text="4")],
    ),
    (
        "a thought that the template opened",
        "why</think>4",
        {"reasoning": THINK, "generation_prompt_opened_reasoning": True},
        [ReasoningDelta(text="why"), TextDelta(text="4")],
    ),
    (
        "a start marker that the model repeats",
        "<think>\nwhy</think>4",
        {"reasoning": THINK, "generation_prompt_opened_reasoning": True},
        [ReasoningDelta(text="why"), TextDelta(text="4")],
    ),
    (
        "a blank thought is none",
        " \n</think>\n\n4",
        {"reasoning": THINK, "generation_prompt_opened_reasoning": True},
        [TextDelta(text="4")],
    ),
    (
        "a thought that is cut is all reasoning",
        "why",
        {"reasoning": THINK, "generation_prompt_opened_reasoning": True},
        [ReasoningDelta(text="why")],
    ),
    (
        "a quoted end marker ends the thought",
        "use `</think>` here</think>4",
        {"reasoning": THINK, "generation_prompt_opened_reasoning": True},
        [ReasoningDelta(text="use `"), TextDelta(text="` here</think>4")],
    ),
    (
        "markers in the answer are text",
        "4: <think>x</think>",
        {"reasoning": THINK},
        [TextDelta(text="4: <think>x</think>")],
    ),
    (
        "a stop string",
        "alpha beta gamma delta",
        {"stops": ["beta gamma"]},
        [TextDelta(text="alpha "), StopReached(stop="beta gamma")],
    ),
    ("a near miss is released", "beta gamut", {"stops": ["beta gamma"]}, [TextDelta(text="beta gamut")]),
    ("overlapping stops", "xabcd", {"stops": ["abc", "ab"]}, [TextDelta(text="x"), StopReached(stop="ab")]),
    (
        "a stop string in a thought is no stop",
        "<think>END</think>a END b",
        {"reasoning": THINK, "stops": ["END"]},
        [ReasoningDelta(text="END"), TextDelta(text="a "), StopReached(stop="END")],
    ),
    (
        "text around and between calls",
        f"A\n{CALL}\nB\n{CALL}\nC",
        TOOLED,
        [TextDelta(text="A"), *call(0), TextDelta(text="\n\nB"), *call(1), TextDelta(text="\n\nC")],
    ),
    ("two adjacent calls", f"{CALL}\n{CALL}\n", TOOLED, [*call(0), *call(1)]),
    ("without tools a marker is text", CALL, {"dialects": HERMES}, [TextDelta(text=CALL)]),
    (
        "a call inside a thought is none",
        f"<think>{CALL}</think>{CALL}",
        {**TOOLED, "reasoning": THINK},
        [ReasoningDelta(text=CALL), *call(0)],
    ),
    (
        "a marker in prose",
        "write <tool_call> first",
        TOOLED,
        [TextDelta(text="write <tool_call> first")],
    ),
    (
        "a malformed call is broken, not an answer",
        '<tool_call>\n{"name": oops}\n</tool_call> after',
        TOOLED,
        [
            ToolCallBroken(index=0, raw='<tool_call>\n{"name": oops}\n</tool_call>'),
            TextDelta(text="after"),
        ],
    ),
    ("a lone angle bracket", "a <", TOOLED, [TextDelta(text="a <")]),
    (
        "a marker that was cut",
        "a <tool_",
        TOOLED,
        [TextDelta(text="a"), ToolCallBroken(index=0, raw="<tool_")],
    ),
    (
        "bare JSON",
        '{"name": "search", "arguments": {"q": "x"}}',
        TOOLED,
        call(0),
    ),
    ("JSON that is no call", '{"q": "x"}', TOOLED, [TextDelta(text='{"q": "x"}')]),
    (
        "channels",
        "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>4",
        {"reasoning": HARMONY},
        [ReasoningDelta(text="why"), TextDelta(text="4")],
    ),
    (
        "an answer's own block",
        "<think>why</think>\n<response>\nsay <response>x</answer>\n</response>\n",
        {"reasoning": BLOCK},
        [ReasoningDelta(text="why"), TextDelta(text="say <response>x</answer>\n\n")],
    ),
    (
        "the same tag in an answer",
        "say <response>x</response>",
        {"reasoning": BLOCK},
        [TextDelta(text="say <response>x</response>")],
    ),
    (
        "a channel's preamble, thought again",
        "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>analysis<|message|>why<|end|>",
        {"reasoning": HARMONY},
        [TextDelta(text="I look."), ReasoningDelta(text="why")],
    ),
]


@pytest.mark.parametrize(
    ("text", "options", "expected"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_whole_and_char_by_char(text: str, options: dict, expected: list[ChatEvent]):
    assert read(text, **options) == expected
    assert read(text, list(range(1, len(text))), **options) == expected


@given(data=st.data(), case=st.sampled_from(CASES))
@settings(max_examples=200, deadline=None)
def test_random_splits(data: st.DataObject, case: tuple):
    _, text, options, expected = case
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert read(text, cuts, **options) == expected


@given(
    pieces=st.lists(
        st.sampled_from(
            [
                CALL,
                CALL[:20],
                "<think>",
                "</think>",
                "text",
                " ",
                "\n",
                "{",
                '{"name"',
                "<tool_call>",
                "END",
                "<",
            ]
        ),
        max_size=8,
    ),
    data=st.data(),
    opened=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_any_text_gives_the_same_events_however_it_is_cut(
    pieces: list[str], data: st.DataObject, opened: bool
):
    text = "".join(pieces)
    options = {
        **TOOLED,
        "reasoning": THINK,
        "stops": ["END"],
        "generation_prompt_opened_reasoning": opened,
    }
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6))
    whole = read(text, **options)
    assert comparable(read(text, cuts, **options)) == comparable(whole)
    assert comparable(read(text, list(range(1, len(text))), **options)) == comparable(whole)


def comparable(events: list[ChatEvent]) -> list[ChatEvent]:
    """How much of a broken call's raw text is reported may depend on the pieces."""
    return [ToolCallBroken(index=e.index, raw="") if isinstance(e, ToolCallBroken) else e for e in events]


@pytest.mark.parametrize("end", range(2, len(CALL)))
def test_no_prefix_of_a_call_is_a_call_or_an_answer(end: int):
    events = read(CALL[:end], kind="length", **TOOLED)
    assert not any(isinstance(event, ToolCallEnd | TextDelta) for event in events)
    assert sum(isinstance(event, ToolCallBroken) for event in events) == 1


@pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.name)
def test_every_dialect_shares_an_answer_with_text(dialect):
    from roteiro.chat.dialects.dialect import ParsedCall

    written = dialect.render([ParsedCall(name="search", arguments='{"q": "x"}')])
    text = f"Looking.\n{written}"
    whole = read(text, dialects=(dialect,), tools=TOOLS)
    assert whole[0] == TextDelta(text="Looking.")
    assert isinstance(whole[-1], ToolCallEnd)
    assert read(text, list(range(1, len(text))), dialects=(dialect,), tools=TOOLS)[-1] == whole[-1]


def test_nothing_is_said_after_a_stop_string():
    parser = ChatParser(stops=["END"])
    assert parser.receive_text("a END b") == [TextDelta(text="a "), StopReached(stop="END")]
    assert parser.stopped
    assert parser.receive_text("more") == []
    assert parser.finish("stopped") == []


def test_the_parser_knows_when_the_model_thinks():
    parser = ChatParser(reasoning=THINK)
    assert not parser.in_reasoning
    parser.receive_text("<think>")
    assert parser.in_reasoning
    parser.receive_text("x</think>")
    assert not parser.in_reasoning


def test_a_marker_that_the_prompt_ends_in_belongs_to_the_turn():
    def say(text: str) -> list[ChatEvent]:
        parser = ChatParser(
            dialects=(by_name("functionary_v3.2"),), tools=TOOLS, already_written=">>>", new_id=lambda: "id0"
        )
        return join([event for piece in text for event in parser.receive_text(piece)] + parser.finish("end"))

    assert say('search\n{"q": "x"}') == call()
    assert say("all\nhello") == [TextDelta(text="hello")]
    assert say('all\nhello>>>search\n{"q": "x"}') == [TextDelta(text="hello"), *call()]


def test_the_rest_of_a_garbled_call_is_no_answer():
    text = 'So: [TOOL_CALLS] [{"name": "search", oops", "arguments": {"q": "x"}}]'
    events = read(text, dialects=(by_name("mistral_array"),), tools=TOOLS)
    assert [type(event) for event in events] == [TextDelta, ToolCallStart, ToolCallBroken]
    assert events[0] == TextDelta(text="So:")


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_every_dialect_reads_any_text_alike_however_it_is_cut(data: st.DataObject):
    from roteiro.chat.dialects.dialect import ParsedCall

    dialect = data.draw(st.sampled_from(ALL))
    written = dialect.render([ParsedCall(name="search", arguments='{"q": "a\\nb<c>"}')] * 2)
    at = data.draw(st.integers(0, len(written)))
    pieces = [written, written[:at], written[at:], "text", "\n", " ", "<think>", "</think>", "END", "{", "["]
    text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=5)))
    options = {"dialects": (dialect,), "tools": TOOLS, "reasoning": THINK, "stops": ["END"]}
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=4))
    whole = anonymous(read(text, **options))
    assert anonymous(read(text, cuts, **options)) == whole
    assert anonymous(read(text, list(range(1, len(text))), **options)) == whole


def anonymous(events: list[ChatEvent]) -> list[ChatEvent]:
    """Ids that a dialect draws at random are not compared."""
    return [
        ToolCallStart(index=e.index, id="", name=e.name) if isinstance(e, ToolCallStart) else e
        for e in comparable(events)
    ]

"""What every dialect must do, asked of every row of `ALL`: a new dialect is tested by being listed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.readings import Reading, read_region, read_turn
from roteiro.chat.dialects import ALL, by_name
from roteiro.chat.dialects.dialect import CallClosed, Dialect, ParsedCall
from roteiro.chat.messages import Tool

TRANSCRIPTS = Path(__file__).parents[3] / "assets" / "transcripts"

_ANYTHING = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "nothing": {"type": "null"},
    "nested": {"type": "object"},
    "items": {"type": "array"},
    "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
}
SEARCH = Tool(name="search", parameters={"type": "object", "properties": _ANYTHING})
READ_FILE = Tool(name="read_file", parameters={"type": "object", "properties": _ANYTHING})
PING = Tool(name="ns_ping-2", parameters={})
TOOLS = (SEARCH, READ_FILE, PING)

ARGUMENTS: dict[str, dict[str, object]] = {
    "no arguments": {},
    "plain string": {"text": "main"},
    "empty string": {"text": ""},
    "quotes": {"text": "say \"hi\" and 'bye' \\ back\\slash \\n"},
    "newlines": {"text": "first\nsecond\n\n  third\ttab"},
    "outer newlines": {"text": "\n\nin the middle\n\n"},
    "outer spaces": {"text": "  padded  "},
    "markup": {"text": "a < b && c > d </b> <i>&amp;</i>"},
    "not ascii": {"text": "ação 漢字 😀 \u2028 ｜"},
    "a string that is JSON": {"text": '{"a": [1, "]}"], "b": null}'},
    "a string that is a number": {"text": "42"},
    "a string that says null": {"text": "null"},
    "brackets": {"text": ")]} [({ ,; f(x=1)]"},
    "control characters": {"text": "bell\x07 and unit\x1f"},
    "integer": {"count": -7},
    "big integer": {"count": 12345678901234567890},
    "float": {"ratio": 2.5},
    "exponent": {"ratio": 1e-07},
    "true": {"flag": True},
    "false": {"flag": False},
    "null": {"nothing": None},
    "nullable": {"maybe": None},
    "nested": {"nested": {"a": {"b": [1, {"c": None}], "d": 'x "y" <z>'}, "e": True, "f": {}}},
    "array": {"items": [1, 2.5, "three", None, [True, []], {"k": "v"}]},
    "several": {"text": "x", "count": 3, "ratio": 0.5, "flag": False, "items": ["a"], "nested": {"k": "v"}},
}

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)

every_dialect = pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.name)


def call(name: str, arguments: dict[str, object]) -> ParsedCall:
    return ParsedCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False))


def meaning(reading: Reading) -> list[tuple[str, object]]:
    return [(c.name, json.loads(c.arguments)) for c in reading.calls]


def assert_reads_back(dialect: Dialect, *calls: ParsedCall) -> None:
    written = dialect.render(calls)
    reading = read_turn(dialect, TOOLS, written)
    assert [(c.name, json.loads(c.arguments)) for c in calls] == meaning(reading), written
    assert (reading.text.strip(), reading.pending, reading.refused) == ("", "", []), written


def openers(dialect: Dialect) -> tuple[str, ...]:
    envelope = dialect.envelope
    return (*envelope.openers, *envelope.tool_openers(TOOLS), *envelope.anywhere)


def all_markers() -> str:
    """Every marker of every dialect, its own included."""
    markers = {marker for d in ALL for marker in (*d.envelope.openers, d.envelope.closer or "")}
    return " ".join(sorted(markers))


@every_dialect
def test_what_is_written_is_read_back(dialect: Dialect) -> None:
    for arguments in ARGUMENTS.values():
        assert_reads_back(dialect, call("search", arguments))


@every_dialect
def test_two_calls_are_read_back_in_order(dialect: Dialect) -> None:
    assert_reads_back(dialect, call("search", {"text": "a"}), call("read_file", {"count": 2}))
    assert_reads_back(dialect, call("search", {"text": "a"}), call("search", {"text": "a"}))
    assert_reads_back(dialect, call("ns_ping-2", {}), call("ns_ping-2", {}), call("search", {"flag": True}))


@every_dialect
def test_a_string_may_hold_any_marker(dialect: Dialect) -> None:
    assert_reads_back(dialect, call("search", {"text": all_markers()}))


@every_dialect
def test_a_nested_string_may_hold_any_marker(dialect: Dialect) -> None:
    assert_reads_back(dialect, call("search", {"nested": {"deep": [all_markers()]}}))


@every_dialect
def test_no_proper_prefix_is_a_call(dialect: Dialect) -> None:
    for arguments in ARGUMENTS.values():
        written = dialect.render([call("search", arguments)])
        reader = dialect.reader(TOOLS)
        for at, character in enumerate(written[:-1]):
            assert not any(isinstance(e, CallClosed) for e in reader.receive(character)), written[: at + 1]
            assert reader.pending() == written[: at + 1]
        whole = [e for e in reader.receive(written[-1]) + reader.finish() if isinstance(e, CallClosed)]
        assert [arguments] == [json.loads(e.call.arguments) for e in whole]
        assert reader.pending() == ""


@every_dialect
def test_a_turn_that_ends_inside_a_call_has_no_call(dialect: Dialect) -> None:
    written = dialect.render([call("search", ARGUMENTS["several"])])
    for end in range(1, len(written)):
        reading = read_region(dialect, TOOLS, [written[:end]])
        assert reading.calls == [], written[:end]
        assert written[:end] == reading.pending + reading.text


@every_dialect
def test_whole_and_character_by_character_are_the_same(dialect: Dialect) -> None:
    for arguments in ARGUMENTS.values():
        calls = [call("search", arguments), call("ns_ping-2", {})]
        written = dialect.render(calls) + "\n\nThat was it. <b>"
        assert read_region(dialect, TOOLS, [written]) == read_region(dialect, TOOLS, written)


@every_dialect
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_split_and_any_arguments(dialect: Dialect, data: st.DataObject) -> None:
    nested = data.draw(st.dictionaries(TEXT, VALUES, max_size=3))
    text = data.draw(TEXT)
    calls = [call("search", {"nested": nested, "text": text}), call("read_file", {"items": [nested]})]
    written = dialect.render(calls) + data.draw(st.sampled_from(["", "\n", "\n\nDone.", " ok <"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=6)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    whole = read_region(dialect, TOOLS, [written])
    assert [(c.name, json.loads(c.arguments)) for c in calls] == meaning(whole)
    assert whole == read_region(dialect, TOOLS, pieces)


@every_dialect
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_rubbish_is_never_lost_and_never_a_crash(dialect: Dialect, data: st.DataObject) -> None:
    written = dialect.render([call("search", {"text": "a b", "count": 1})])
    at = data.draw(st.integers(len(openers(dialect)[0]), len(written)))
    drop = data.draw(st.integers(0, 6))
    damaged = (
        written[:at]
        + data.draw(st.text(st.sampled_from(list("{}[]<>|\"',:=ab1 \n")), max_size=6))
        + written[at + drop :]
    )
    whole, single = read_region(dialect, TOOLS, [damaged]), read_region(dialect, TOOLS, damaged)
    assert whole == single
    if not whole.calls:
        assert damaged == whole.text + whole.pending
    for read in whole.calls:
        assert isinstance(json.loads(read.arguments), dict)


@every_dialect
def test_text_around_and_between_calls_survives(dialect: Dialect) -> None:
    first, second = dialect.render([call("search", {"text": "a"})]), dialect.render([call("ns_ping-2", {})])
    reading = read_turn(dialect, TOOLS, f"Let me look.\n{first}\nAnd now\n{second}\nThat is all.")
    assert meaning(reading) == [("search", {"text": "a"}), ("ns_ping-2", {})]
    assert [line for line in reading.text.split("\n") if line] == ["Let me look.", "And now", "That is all."]


@every_dialect
def test_a_marker_in_prose_is_given_back(dialect: Dialect) -> None:
    for opener in (*dialect.envelope.openers, *dialect.envelope.anywhere):
        prose = f"{opener} is what a call begins with."
        reading = read_region(dialect, TOOLS, [prose])
        assert (prose, []) == (reading.text + reading.pending, reading.calls)
        assert reading.pending == "", prose


@every_dialect
def test_the_name_is_told_before_the_arguments_are_whole(dialect: Dialect) -> None:
    written = dialect.render([call("search", {"text": "x" * 200})])
    reading = read_region(dialect, TOOLS, [written[: written.index("x" * 100) + 150]])
    assert reading.opened == ["search"]
    assert "x" * 100 in reading.fragments[0]


@every_dialect
def test_time_grows_with_length_and_no_faster(dialect: Dialect) -> None:
    def seconds(length: int) -> float:
        written = dialect.render([call("search", {"text": 'word "q" <x>\n' * length})])
        best = 9.0
        for _ in range(2):
            begin = time.perf_counter()
            read_region(dialect, TOOLS, written)
            best = min(best, time.perf_counter() - begin)
        return best

    # Eight times the text in less than thirty times the time: quadratic would be sixty-four.
    assert seconds(400) < 30 * seconds(50) + 0.05


def test_dialects_are_found_by_name() -> None:
    assert len(ALL) == len({dialect.name for dialect in ALL})
    assert [by_name(dialect.name) for dialect in ALL] == list(ALL)
    assert by_name("none") is None


@every_dialect
def test_the_envelope_says_what_the_rendered_call_shows(dialect: Dialect) -> None:
    written = dialect.render([call("search", {"text": "a"})])
    envelope = dialect.envelope
    assert written.startswith(openers(dialect))
    assert (envelope.closing == "delimited") == (envelope.closer is not None)
    if envelope.closer is not None:
        assert written.endswith(envelope.closer)


@every_dialect
def test_it_has_transcripts(dialect: Dialect) -> None:
    assert list((TRANSCRIPTS / dialect.name).glob("*.txt"))


every_transcript = pytest.mark.parametrize(
    "path", sorted(TRANSCRIPTS.glob("*/*.txt")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)


def transcript(path: Path) -> tuple[Dialect, list[Tool], str, dict[str, object]]:
    dialect = by_name(path.parent.name)
    assert dialect is not None, f"no dialect is called {path.parent.name}"
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    tools = [Tool(name=t["name"], parameters=t.get("parameters", {})) for t in expected["tools"]]
    return dialect, tools, path.read_text("utf-8").removesuffix("\n"), expected


@every_transcript
def test_a_transcript_is_read_as_expected(path: Path) -> None:
    dialect, tools, text, expected = transcript(path)
    reading = read_turn(dialect, tools, text)
    assert expected["calls"] == [
        {"name": c.name, "arguments": json.loads(c.arguments)} | ({"id": c.id} if c.id else {})
        for c in reading.calls
    ]
    assert expected["text"] == reading.text
    assert expected.get("pending", "") == reading.pending


@every_transcript
def test_a_transcript_is_read_the_same_in_pieces(path: Path) -> None:
    dialect, tools, text, _ = transcript(path)
    named = dialect.envelope.tool_openers(tools)
    markers = (*dialect.envelope.openers, *dialect.envelope.anywhere, *named)
    region = text[min(text.find(marker) for marker in markers if marker in text) :]
    whole = read_region(dialect, tools, [region])
    for size in (1, 2, 3, 7):
        assert whole == read_region(
            dialect, tools, [region[i : i + size] for i in range(0, len(region), size)]
        )

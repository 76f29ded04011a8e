"""Grammars take exactly the calls and JSON they stand for."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("llguidance")

from hypothesis import given, settings
from hypothesis import strategies as st

from roteiro.chat.call_frame import call_frame
from roteiro.chat.dialects import ALL, by_name
from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.messages import Tool
from roteiro.conversation import grammar
from roteiro.engine.guidance import Guide
from roteiro.engine.scripted import ScriptedBackend, ScriptedVocabulary

VOCABULARY = ScriptedVocabulary(ScriptedBackend())
GUIDE = Guide.for_vocabulary(VOCABULARY)
SPECIALS = {
    text: VOCABULARY.tokenize(text, add_special=False, parse_special=True)[0]
    for text in VOCABULARY.facts.special_texts
}
SEARCH = Tool(
    name="search",
    parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
)
NOW = Tool(name="now")
FRAMED = [dialect for dialect in ALL if call_frame(dialect, "search") is not None]


def takes(text: str, source: str, specials=SPECIALS) -> bool:
    """Whether the grammar takes the whole text and could end after it."""
    constraint = GUIDE.constraint(source)
    tokens = VOCABULARY.tokenize(text, add_special=False, parse_special=bool(specials))
    for token in tokens:
        if not constraint.allows(token):
            return False
        constraint.accept(token)
    end = VOCABULARY.facts.eos
    return constraint.finished() or constraint.allows(end)


def calls_grammar(dialect, *, several=True, written="", specials=SPECIALS) -> str:
    framed = [grammar.FramedTool(tool=tool, frame=call_frame(dialect, tool.name)) for tool in (SEARCH, NOW)]
    schemas = {tool.name: grammar.tool_schema(tool, 0) for tool in (SEARCH, NOW)}
    texts = [t for f in framed for t in (f.frame.before, f.frame.between or "", f.frame.after)]
    used = {text: specials[text] for text in grammar.special_texts_in(texts, tuple(specials))}
    return grammar.calls_grammar(framed, schemas, used, several=several, written=written)


def test_most_dialects_have_a_frame():
    assert {"hermes", "bare_json"} <= {dialect.name for dialect in FRAMED}
    assert len(FRAMED) >= 10


@pytest.mark.parametrize("dialect", FRAMED, ids=lambda d: d.name)
def test_a_grammar_takes_what_its_dialect_renders_and_no_prefix(dialect):
    call = ParsedCall(name="search", arguments='{"q": "a"}')
    text = dialect.render([call])
    source = calls_grammar(dialect)
    assert takes(text, source)
    assert not takes(text[: len(text) // 2], source)
    assert not takes(text.replace("search", "other"), source), "no undeclared tool"
    assert not takes(text.replace('{"q": "a"}', '{"q": 1}'), source), "no undeclared type"
    assert not takes(text.replace('{"q": "a"}', '{"q": "a", "x": 1}'), source), "no undeclared argument"


def test_several_calls_are_taken_only_where_asked_for():
    hermes = by_name("hermes")
    two = hermes.render(
        [ParsedCall(name="search", arguments='{"q": "a"}'), ParsedCall(name="now", arguments="{}")]
    )
    assert takes(two, calls_grammar(hermes))
    assert not takes(two, calls_grammar(hermes, several=False))


def test_what_the_model_has_written_of_a_marker_is_left_out():
    hermes = by_name("hermes")
    text = hermes.render([ParsedCall(name="now", arguments="{}")]).removeprefix("<tool_call>")
    assert takes(text, calls_grammar(hermes, written="<tool_call>"))


def test_a_marker_that_is_one_token_must_be_written_as_it():
    source = calls_grammar(by_name("hermes"))
    constraint = GUIDE.constraint(source)
    assert constraint.allows(SPECIALS["<tool_call>"])
    assert not constraint.allows(ord("<"))


def test_white_space_may_come_first_only_after_a_thought():
    schema = {"type": "integer"}
    assert takes("7", grammar.schema_grammar(schema))
    assert not takes("\n7", grammar.schema_grammar(schema))
    assert takes("\n\n7", grammar.schema_grammar(schema, after_thought=True))


def test_either_takes_calls_or_the_schema():
    hermes = by_name("hermes")
    source = grammar.either_grammar(calls_grammar(hermes), {"type": "integer"})
    assert takes("42", source)
    assert takes(hermes.render([ParsedCall(name="now", arguments="{}")]), source)
    assert not takes("forty", source)


@settings(max_examples=60, deadline=None)
# DEL is written as an escape, as every other control character is.
@given(st.text(alphabet=st.characters(exclude_characters="\x7f", exclude_categories=["Cs"]), max_size=12))
def test_any_string_can_be_an_argument(text):
    hermes = by_name("hermes")
    call = ParsedCall(name="search", arguments=json.dumps({"q": text}, ensure_ascii=False))
    rendered = hermes.render([call])
    if any(special in text for special in SPECIALS):
        return
    assert takes(rendered, calls_grammar(hermes))

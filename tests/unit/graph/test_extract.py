"""Extraction as such: odd input, spans, signatures, docs, and facts as JSON and back."""

from __future__ import annotations

from importlib.metadata import version
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roteiro.graph.extract import EXTRACTOR_VERSION, extract
from roteiro.graph.extract.facts import (
    FileFacts,
    body_from_json,
    body_to_json,
    header_from_json,
    header_to_json,
)
from roteiro.graph.extract.imports import use_paths
from roteiro.graph.extract.languages import LANGUAGES

CODES = sorted(LANGUAGES)
SCRAPS = st.sampled_from(
    [
        b"def ", b"class ", b"fn ", b"(", b")", b"{", b"}", b"[", b"]", b"=", b":", b"::", b".", b"\n",
        b"    ", b"import ", b"from ", b" as ", b"use ", b"self", b"this", b"x", b"Foo", b"\"", b"'",
        b"<", b">", b";", b",", b"#include \"a\"", b"\\", b"|", b"@", b"~", b"$", b"\xff", b"\x00",
        b"lambda", b"=>", b"->", b"new ", b"impl ", b"namespace ", b"function ", b"/*", b"//", b"#",
        "é漢😀".encode(), b"[[a#b]]", b"ADR-7", b"export ", b"module.exports", b"type ", b"struct ",
    ]
)  # fmt: skip


def python(text: str) -> FileFacts:
    return extract("m.py", dedent(text).encode(), "python")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lang=st.sampled_from(CODES), data=st.binary(max_size=300))
def test_random_bytes_never_raise(lang: str, data: bytes) -> None:
    assert extract("x", data, lang).nodes[0].key == "file:x"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lang=st.sampled_from(CODES), parts=st.lists(SCRAPS, max_size=60))
def test_scraps_of_code_never_raise_and_survive_json(lang: str, parts: list[bytes]) -> None:
    facts = extract("x", b"".join(parts), lang)
    assert header_from_json(header_to_json(facts.header)) == facts.header
    assert body_from_json(body_to_json(facts.body)) == facts.body
    keys = [node.key for node in facts.nodes]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("lang", CODES)
@pytest.mark.parametrize("bracket", [b"(", b"[", b"{", b"f(", b"a.b(", b"if x:\n ", b"- ", b"!"])
def test_deep_nesting_ends(lang: str, bracket: bytes) -> None:
    assert extract("x", bracket * 2_000, lang).nodes


def test_a_deep_chain_of_calls_ends() -> None:
    facts = extract("x.py", b"x" + b".f()" * 3_000, "python")
    assert facts.lines == 1


def test_one_huge_line_ends() -> None:
    assert extract("x.js", b"a(b.c,d);" * 20_000, "javascript").lines == 1


def test_spans_take_decorators_in_and_signatures_are_one_line() -> None:
    facts = python(
        '''
        @first
        @second(
            1
        )
        def f(
            a: int,
            b: str = "x",
        ) -> int:
            """Does it.

            More.
            """
            return 1
        '''
    )
    node = facts.nodes[1]
    assert (node.line, node.end_line) == (2, 14)
    assert node.signature == 'def f( a: int, b: str = "x", ) -> int'
    assert node.doc == "Does it."


def test_duplicates_are_numbered() -> None:
    facts = python("def f(): ...\ndef f(): ...\nclass A:\n    def g(self): ...\n    def g(self): ...\n")
    assert [node.key.rpartition("#")[2] for node in facts.nodes[1:]] == ["f", "f~2", "A", "A.g", "A.g~2"]
    assert [node.name for node in facts.nodes[1:]] == ["f", "f", "A", "g", "g"]


def test_a_name_bound_again_is_one_constant() -> None:
    assert [node.name for node in python("X = 1\nX = 2\nX += 3\ny: int\n").nodes[1:]] == ["X", "y"]


def test_locals_are_no_nodes() -> None:
    assert len(python("def f():\n    x = 1\n    y: int = 2\n").nodes) == 2


def test_lines_are_counted_with_and_without_a_last_newline() -> None:
    assert [extract("x.py", data, "python").lines for data in (b"", b"a", b"a\n", b"a\nb")] == [0, 1, 1, 2]


def test_columns_are_bytes_and_text_is_text() -> None:
    node = python('é = "漢😀"; ç = 1\ndef naïve(): "Größe."\n').nodes
    assert [n.name for n in node[1:]] == ["é", "ç", "naïve"]
    assert node[3].doc == "Größe."


def test_mentions_name_what_references_use() -> None:
    facts = python("import a.b\nfrom c import d as e\nclass K(Base): x: Kind = make(1).go\n")
    assert {"a", "b", "c", "d", "Base", "Kind", "make"} <= facts.mentions


def test_links_in_comments_hang_on_their_symbol() -> None:
    facts = python("def f():\n    # see ADR-12 and [[a/b.py#C.d]]\n    x = '[[not.py#a]] ADR-9'\n")
    assert [(link.source, link.kind, link.target, link.line) for link in facts.body.links] == [
        ("sym:python:m.py#f", "adr", "0012", 2),
        ("sym:python:m.py#f", "link", "a/b.py#C.d", 2),
    ]


def test_stubs_are_found_but_abstract_ones_are_not() -> None:
    facts = python(
        """
        import abc
        class A(abc.ABC):
            def one(self):
                raise NotImplementedError
            @abc.abstractmethod
            def two(self):
                raise NotImplementedError("two")
            def three(self): ...
        """
    )
    assert [(m.category, m.line) for m in facts.markers] == [("stub", 5), ("stub", 9)]


def test_use_trees_are_opened() -> None:
    assert use_paths("a::{self, b::{C, D as E}, f::*}") == [
        ("a.self", ""), ("a.b.C", ""), ("a.b.D", "E"), ("a.f.*", ""),
    ]  # fmt: skip


def test_the_version_names_every_grammar() -> None:
    assert EXTRACTOR_VERSION.count("tree-sitter-") == len({r.grammar for r in LANGUAGES.values()})


def test_a_methods_decorators_and_their_calls_are_the_methods() -> None:
    source = b"class A {\n  @Log(name())\n  @Plain\n  run() { go(); }\n  @Field() size = 1;\n}\n"
    facts = extract("a.ts", source, "typescript")
    run = next(index for index, row in enumerate(facts.header.defs) if row.qualname == "A.run")
    assert {ref.expr for ref in facts.body.refs if ref.scope == run} == {"Log", "name", "Plain", "go"}
    assert [(node.line, node.end_line) for node in facts.nodes if node.name == "run"] == [(2, 4)]


def test_a_form_feed_ends_no_line() -> None:
    facts = python('"""One.\x0cTwo."""\n\x0c\ndef f():\n    pass  # TODO: here\n')
    assert [(node.name, node.line) for node in facts.nodes[1:]] == [("f", 3)]
    assert [marker.line for marker in facts.markers] == [4]


def test_versions_are_those_of_the_installed_packages() -> None:
    said = dict(part.split("=") for part in EXTRACTOR_VERSION.split()[1:])
    assert said == {name: version(name) for name in said}

"""The one door to tree-sitter: parses bytes and runs a language's capture query over the tree.

Owns grammars, parsers and compiled queries, one of each per language and process, made on first use.
Knows nothing of symbols: it returns matches in source order and leaves their meaning to others.
Thread: one at a time per process (extraction runs in worker processes).
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from tree_sitter import Language as Grammar
from tree_sitter import Node as SyntaxNode
from tree_sitter import Parser, Query, QueryCursor, Tree

from roteiro.graph.extract.languages import LANGUAGES, Language

__all__ = ["Found", "Match", "Parsed", "SyntaxNode", "events_of", "parse"]

_MATCH_LIMIT = 4096


Captures: TypeAlias = dict[str, list[SyntaxNode]]
Found: TypeAlias = tuple[int, int, int, int, SyntaxNode, Captures]
"""Start, minus the end, pattern, a number of its own, node, captures.

A plain tuple, because those sort fastest: in source order, an outer node before what it holds.
"""


class Match(NamedTuple):
    """One match of a pattern, as handlers take it."""

    start: int
    minus_end: int
    event: str
    node: SyntaxNode
    captures: Captures


class Parsed(NamedTuple):
    """A parsed file: its matches in source order, what each pattern stands for, root, tree."""

    matches: list[Found]
    events: tuple[str, ...]
    root: SyntaxNode
    tree: Tree


def parse(language: Language, data: bytes) -> Parsed:
    """Parse `data`; a capture whose name is not in `DETAILS` names the event a pattern stands for."""
    parser, query, events = _machinery(language.name)
    tree = parser.parse(data)
    root = tree.root_node
    found = [
        (node.start_byte, -node.end_byte, pattern, number, node, captures)
        for number, (pattern, captures) in enumerate(
            QueryCursor(query, match_limit=_MATCH_LIMIT).matches(root)
        )
        for node in captures.get(events[pattern], ())[:1]
    ]
    found.sort()
    return Parsed(found, events, root, tree)


def events_of(language: Language) -> frozenset[str]:
    """Every event that a language's capture files name."""
    return frozenset(_machinery(language.name)[2])


@cache
def _machinery(name: str) -> tuple[Parser, Query, tuple[str, ...]]:
    language = LANGUAGES[name]
    module = importlib.import_module(language.grammar)
    grammar = Grammar(getattr(module, language.function)())
    source = "\n".join(
        files("roteiro.graph.extract.queries").joinpath(part).read_text(encoding="utf-8")
        for part in language.captures
    )
    query = Query(grammar, source)
    return Parser(grammar), query, _events(query, source)


def _events(query: Query, source: str) -> tuple[str, ...]:
    """For every pattern the capture that stands outside `DETAILS`: what the match is."""
    encoded = source.encode()
    names = [query.capture_name(i) for i in range(query.capture_count)]
    events = []
    for pattern in range(query.pattern_count):
        begin = query.start_byte_for_pattern(pattern)
        end = query.end_byte_for_pattern(pattern)
        text = encoded[begin:end].decode()
        own = [n for n in names if n not in DETAILS and n[0] != "_" and _mentions_capture(text, n)]
        if len(own) != 1:
            raise ValueError(f"a capture pattern must name exactly one event, not {own}: {text}")
        events.append(own[0])
    return tuple(events)


def _mentions_capture(text: str, name: str) -> bool:
    words = text.replace(")", " ").replace("]", " ").replace("?", " ").replace("*", " ").split()
    return f"@{name}" in words


DETAILS = frozenset(("name", "type", "value", "module", "alias", "star", "returns", "receiver", "scope"))
"""Captures that describe an event; every other capture name is an event."""

"""Extraction of code: parse, build, assemble, in this order.

Owns the order of the parts (symbols, comments, markers, links). Knows no other file and no store.
Thread: one at a time per process.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from roteiro.graph.extract.assemble import Assembly, mentions, nodes_of
from roteiro.graph.extract.facts import FileFacts, Link
from roteiro.graph.extract.languages import LANGUAGES
from roteiro.graph.extract.links import links_in
from roteiro.graph.extract.markers import StubSite, find_markers
from roteiro.graph.extract.parsing import parse
from roteiro.graph.extract.symbols import Builder
from roteiro.graph.model import Node


def extract_code(path: str, data: bytes, lang: str) -> FileFacts:
    """What a file of code says."""
    with _collector_paused():
        return _extracted(path, data, lang)


# --------------------------------------------------------------------------------------------------


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without the cycle collector: a file makes 10^5 small tuples, and none of them is in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _extracted(path: str, data: bytes, lang: str) -> FileFacts:
    language = LANGUAGES[lang]
    builder = Builder(language, data, parse(language, data))
    builder.run()
    assembly = Assembly(builder)
    nodes = nodes_of(path, builder)
    header, body = assembly.header(), assembly.body(_links(builder, nodes))
    return FileFacts(
        path=path,
        lang=language.name,
        header=header,
        body=body,
        nodes=nodes,
        markers=find_markers(nodes, builder.comments.found, *_stubs(builder)),
        mentions=mentions(header, body),
        lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)),
    )


def _stubs(builder: Builder) -> tuple[list[StubSite], list[str]]:
    """Places that may be stubs, and the source's lines where there are any."""
    if not builder.stubs:
        return [], []
    lines = builder.data.decode("utf-8", "replace").split("\n")
    return [StubSite(*row) for row in builder.stubs], lines


def _links(builder: Builder, nodes: tuple[Node, ...]) -> tuple[Link, ...]:
    """Links that people wrote in comments and docstrings, from the symbol that holds them."""
    if b"[[" not in builder.data and b"ADR" not in builder.data:
        return ()
    return tuple(
        link
        for comment in builder.comments.found
        for link in links_in(comment.text, source=nodes[comment.symbol + 1].key, line=comment.line)
    )

"""Reads a folder of sample sources into facts and tells its nodes and edges as short lines."""

from __future__ import annotations

from pathlib import Path

from roteiro.graph.extract import extract, language_of
from roteiro.graph.extract.facts import FileFacts
from roteiro.graph.link import Linker


def read_tree(root: Path) -> dict[str, FileFacts]:
    """The facts of every source file below `root`; `.h` files are C++ where there are C++ files."""
    files = [file for file in sorted(root.rglob("*")) if file.is_file()]
    found: dict[str, FileFacts] = {}
    for file in files:
        path = file.relative_to(root).as_posix()
        data = file.read_bytes()
        lang = language_of(path, data[:256])
        if lang is not None:
            found[path] = extract(path, data, lang)
    return found


def read_sources(sources: dict[str, str]) -> dict[str, FileFacts]:
    """The facts of sources given by path."""
    found = {}
    for path, text in sources.items():
        data = text.encode()
        lang = language_of(path, data)
        assert lang is not None, path
        found[path] = extract(path, data, lang)
    return found


def edges_of(facts: dict[str, FileFacts]) -> set[str]:
    """`source kind target`, with `?` where an edge is inferred; keys without their `sym:<lang>:`."""
    linker = Linker({path: row.header for path, row in facts.items()})
    return {
        f"{_short(edge.source)} {edge.kind}{'?' * (edge.provenance == 'inferred')} {_short(edge.target)}"
        for path, row in facts.items()
        for edge in linker.resolve(path, row.header, row.body)
    }


def described(facts: dict[str, FileFacts]) -> dict[str, list[str]]:
    """Every node and edge of a tree, one line each, in order."""
    linker = Linker({path: row.header for path, row in facts.items()})
    nodes = [
        f"{_short(node.key)} {node.kind} {node.line}-{node.end_line} | {node.signature} | {node.doc}"
        for row in facts.values()
        for node in row.nodes
        if node.kind != "file"
    ]
    edges = [
        f"{_short(edge.source)} {edge.kind} {_short(edge.target)} :{edge.line}"
        + (f" x{edge.sites}" if edge.sites > 1 else "")
        + (f" ?{edge.confidence}" if edge.confidence is not None else "")
        for path, row in facts.items()
        for edge in linker.resolve(path, row.header, row.body)
    ]
    return {"nodes": nodes, "edges": edges}


def _short(key: str) -> str:
    return key.split(":", 2)[2] if key.startswith("sym:") else key

"""One file on its way from the disk to the store: read, refused or extracted, made into rows.

Everything in a parcel is plain tuples, text, bytes and numbers, so that it crosses processes by
`marshal` (four times as fast as pickled objects) and goes into SQL as it is. Pure but for reading the
file. Thread: any; runs in worker processes too.
"""

from __future__ import annotations

import logging
import re
import zlib
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from roteiro.graph.content import SAMPLE_BYTES, Raw, read_raw, refusal, to_utf8, trusted_mtime
from roteiro.graph.extract import extract, language_of
from roteiro.graph.extract.facts import (
    FileBody,
    FileFacts,
    FileHeader,
    Link,
    body_from_json,
    body_to_json,
    header_from_json,
    header_to_json,
)
from roteiro.graph.model import Marker, Node
from roteiro.graph.words import index_text

log = logging.getLogger("roteiro.graph")

Row: TypeAlias = tuple[Any, ...]

_WORD: Final = re.compile(r"[^\W\d]\w*")
_FASTEST: Final = 1  # of zlib's levels; the higher ones cost more time than the bytes are worth


class Task(NamedTuple):
    """A file to extract. `lang` "" leaves it to the content (a script without an extension)."""

    path: str
    lang: str


class Parcel(NamedTuple):
    """What the store keeps of a file. `state`: indexed, skipped, asset, or gone."""

    path: str
    state: str
    reason: str | None
    lang: str | None
    lines: int
    hash: bytes
    size: int
    mtime: int
    ctime: int
    nodes: tuple[Row, ...] = ()
    search: tuple[Row, ...] = ()
    markers: tuple[Row, ...] = ()
    header: bytes = b""
    body: bytes = b""
    mentions: bytes = b""


def make_parcel(root: Path, task: Task) -> Parcel:
    """Read and extract one file. What goes wrong with the file is a reason, never an exception."""
    raw = read_raw(root, task.path)
    if isinstance(raw, str):
        return Parcel(task.path, "gone", raw, None, 0, b"", 0, 0, 0)
    lang = task.lang or language_of(task.path, raw.data[:SAMPLE_BYTES])
    if lang is None:
        return _left_out(task.path, raw, None, state="asset")
    reason = refusal(raw, lang, task.path)
    if reason is not None:
        return _left_out(task.path, raw, lang, reason=reason)
    text = to_utf8(raw.data)
    try:
        facts = extract(task.path, text, lang)
    except RecursionError:
        return _left_out(task.path, raw, lang, reason="nested too deeply to be read")
    except Exception as error:
        # One odd file must not keep the other thousands out of the graph; it is named instead.
        log.exception("extraction_failed path=%r lang=%s", task.path, lang)
        reason = f"could not be read as {lang}: {type(error).__name__}"
        return _left_out(task.path, raw, lang, reason=reason)
    return _packed(facts, text.decode("utf-8", "replace"), raw)


def unpack_header(blob: bytes) -> FileHeader:
    """The header in a parcel."""
    return header_from_json(zlib.decompress(blob))


def unpack_body(blob: bytes) -> FileBody:
    """The body in a parcel."""
    return body_from_json(zlib.decompress(blob))


def unpack_mentions(blob: bytes) -> frozenset[str]:
    """The mentioned names in a parcel."""
    return frozenset(zlib.decompress(blob).decode().split("\n"))


# --------------------------------------------------------------------------------------------------


def _left_out(
    path: str, raw: Raw, lang: str | None, *, state: str = "skipped", reason: str | None = None
) -> Parcel:
    digest = raw.digest()
    return Parcel(path, state, reason, lang, 0, digest, raw.size, trusted_mtime(raw.mtime), raw.ctime)


def _packed(facts: FileFacts, text: str, raw: Raw) -> Parcel:
    return Parcel(
        path=facts.path,
        state="indexed",
        reason=None,
        lang=facts.lang,
        lines=facts.lines,
        hash=raw.digest(),
        size=raw.size,
        mtime=trusted_mtime(raw.mtime),
        ctime=raw.ctime,
        nodes=tuple(map(_node_row, facts.nodes)),
        search=_search_rows(facts.nodes, text),
        markers=tuple(map(_marker_row, facts.markers)),
        header=_packed_text(header_to_json(facts.header)),
        body=_packed_text(body_to_json(facts.body)),
        mentions=_packed_text("\n".join(sorted(facts.mentions | _linked(facts.body.links)))),
    )


def _linked(links: tuple[Link, ...]) -> set[str]:
    """What must change elsewhere for a link to mean something else: names in it, an ADR's or doc's key."""
    found: set[str] = set()
    for link in links:
        if link.kind == "contains":
            continue
        if link.kind == "link":
            found.update(_WORD.findall(link.target), [f"doc:{link.target}"])
        else:
            found.update((f"adr:{link.target}", link.source))
    return found


def _packed_text(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "replace"), _FASTEST)


def _search_rows(nodes: tuple[Node, ...], text: str) -> tuple[Row, ...]:
    lines = text.split("\n")
    rows: list[Row] = []
    for node, inner in zip(nodes, _inner_spans(nodes, len(lines)), strict=True):
        rows.append(tuple(index_text(node, lines, inner=inner)))
    return tuple(rows)


def _inner_spans(nodes: tuple[Node, ...], last: int) -> list[list[tuple[int, int]]]:
    """For each node the spans of the nodes right inside it."""
    spans = [(node.line or 1, node.end_line or last) for node in nodes]
    inner: list[list[tuple[int, int]]] = [[] for _ in nodes]
    # Whole files come before what begins on their first line.
    order = sorted(
        range(len(nodes)), key=lambda at: (spans[at][0], nodes[at].line is not None, -spans[at][1])
    )
    open_nodes: list[int] = []
    for at in order:
        while open_nodes and spans[open_nodes[-1]][1] < spans[at][0]:
            open_nodes.pop()
        if open_nodes:
            inner[open_nodes[-1]].append(spans[at])
        open_nodes.append(at)
    return inner


def _node_row(node: Node) -> Row:
    return (
        node.key,
        node.kind,
        node.name,
        node.line,
        node.end_line,
        node.lang,
        node.signature,
        node.doc,
        node.number,
        node.title,
        node.status,
    )


def _marker_row(marker: Marker) -> Row:
    return (marker.line, marker.key, marker.category, marker.text, marker.symbol)

"""The tables of `graph.db` and the small numbers that stand for kinds in them.

Edges are kept by node number. A node keeps its number as long as its key exists, so that a file's
nodes can be replaced while other files' edges go on pointing at them. Knows no queries. Thread: any.
"""

from __future__ import annotations

from typing import Final

from roteiro.graph.model import EDGE_KINDS, EdgeKind, Provenance

SCHEMA_VERSION: Final = 1
APPLICATION_ID: Final = 0x526F7465  # "Rote": tells our file from any other SQLite file

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,      -- indexed | skipped | asset
    reason TEXT,              -- why it was skipped
    lang TEXT,
    lines INTEGER NOT NULL,
    hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime INTEGER NOT NULL,   -- -1 where the file was too young to trust its time
    ctime INTEGER NOT NULL,
    extractor TEXT NOT NULL
);
CREATE TABLE facts (
    file INTEGER PRIMARY KEY,
    header BLOB NOT NULL,
    body BLOB NOT NULL,
    mentions BLOB NOT NULL
);
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    file INTEGER NOT NULL,
    line INTEGER,
    end_line INTEGER,
    lang TEXT,
    signature TEXT,
    doc TEXT,
    number INTEGER,
    title TEXT,
    status TEXT
);
CREATE TABLE edges (
    source INTEGER NOT NULL,
    target INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    owner INTEGER NOT NULL,   -- the file whose text says so
    line INTEGER NOT NULL,
    sites INTEGER NOT NULL,
    provenance INTEGER NOT NULL,
    confidence REAL
);
CREATE TABLE markers (
    file INTEGER NOT NULL,
    line INTEGER NOT NULL,
    key TEXT NOT NULL,
    category TEXT NOT NULL,
    text TEXT NOT NULL,
    symbol TEXT
);
CREATE VIRTUAL TABLE search USING fts5(
    name, parts, path, signature, doc, body,
    tokenize = "unicode61 remove_diacritics 0",
    detail = column
);
"""
# `detail = column`: no phrases are asked for, and lists without positions are read in half the time.

# Made after the rows of a first sync are in, which is faster than keeping them up to date.
INDEXES: Final = """
CREATE UNIQUE INDEX IF NOT EXISTS nodes_key ON nodes (key);
CREATE INDEX IF NOT EXISTS nodes_name ON nodes (name COLLATE NOCASE);
CREATE INDEX IF NOT EXISTS nodes_kind ON nodes (kind);
CREATE INDEX IF NOT EXISTS nodes_file ON nodes (file);
CREATE INDEX IF NOT EXISTS edges_source ON edges (source, kind);
CREATE INDEX IF NOT EXISTS edges_target ON edges (target, kind);
CREATE INDEX IF NOT EXISTS edges_owner ON edges (owner);
CREATE INDEX IF NOT EXISTS edges_authored ON edges (source, target, kind) WHERE provenance = 1;
CREATE INDEX IF NOT EXISTS markers_file ON markers (file);
CREATE INDEX IF NOT EXISTS markers_symbol ON markers (symbol);
"""

SEARCH_COLUMNS: Final = ("name", "parts", "path", "signature", "doc", "body")

PROVENANCES: Final[tuple[Provenance, ...]] = ("derived", "authored", "inferred")
KIND_NUMBER: Final[dict[EdgeKind, int]] = {kind: number for number, kind in enumerate(EDGE_KINDS)}
PROVENANCE_NUMBER: Final[dict[Provenance, int]] = {name: number for number, name in enumerate(PROVENANCES)}

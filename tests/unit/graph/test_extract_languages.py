"""Each language's sample: every node and every edge, as checked by hand against the sources."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakes.language_tree import described, read_tree
from roteiro.graph.extract.languages import LANGUAGES, language_of
from roteiro.graph.extract.parsing import events_of, parse
from roteiro.graph.extract.symbols import Builder

SAMPLES = Path(__file__).parents[2] / "assets" / "languages"


def test_every_language_has_a_sample() -> None:
    assert {folder.name for folder in SAMPLES.iterdir() if folder.is_dir()} == set(LANGUAGES)


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_nodes_and_edges_of_the_sample(name: str) -> None:
    expected = json.loads((SAMPLES / name / "expected.json").read_text())
    found = described(read_tree(SAMPLES / name))
    assert found["nodes"] == expected["nodes"]
    assert sorted(found["edges"]) == sorted(expected["edges"])


@pytest.mark.parametrize(
    ("path", "sample", "lang"),
    [
        ("a/b.py", b"", "python"),
        ("a/B.PY", b"", "python"),
        ("x.h", b"", "c"),
        ("x.H", b"", "cpp"),
        ("x.d.ts", b"", "typescript"),
        ("x.tsx", b"", "tsx"),
        ("bin/tool", b"#!/usr/bin/env python3\n", "python"),
        ("bin/tool", b"#!/usr/bin/env -S bash -e\n", "bash"),
        ("bin/tool", b"#! /bin/sh\n", "bash"),
        ("bin/tool", b"\x7fELF", None),
        ("README.md", b"", "markdown"),
        ("docs/index.rst", b"", "rst"),
        ("picture.png", b"#!/bin/sh\n", None),
    ],
)
def test_the_language_of_a_file(path: str, sample: bytes, lang: str | None) -> None:
    assert language_of(path, sample) == lang


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_every_event_of_a_capture_file_is_known(name: str) -> None:
    language = LANGUAGES[name]
    handled = Builder(language, b"", parse(language, b"")).events
    events = {event for event in events_of(language) if not event.startswith("def.")}
    assert events <= handled

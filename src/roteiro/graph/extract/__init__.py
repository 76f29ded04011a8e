"""Extraction: one file's bytes in, one file's facts out. Pure; runs in worker processes.

Parsers and grammars are imported with the first file: a look at an unchanged tree needs none of them.
Odd input (syntax errors, nesting, huge lines, bad encodings) gives fewer facts, never an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roteiro.graph.extract.languages import PROSE_LANGUAGES, language_of
from roteiro.graph.extract.versions import grammar_versions

if TYPE_CHECKING:
    from roteiro.graph.extract.facts import FileFacts

__all__ = ["EXTRACTOR_VERSION", "extract", "language_of"]

EXTRACTOR_VERSION = f"1 {grammar_versions()}"
"""What decides whether kept facts can be used again: our own number and the grammars' versions."""


def extract(path: str, data: bytes, lang: str) -> FileFacts:
    """What the file at `path` says, read as `lang` (see `language_of`)."""
    if lang in PROSE_LANGUAGES:
        from roteiro.graph.extract.prose import extract_prose

        return extract_prose(path, data, lang)
    from roteiro.graph.extract.code import extract_code

    return extract_code(path, data, lang)

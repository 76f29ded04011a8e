"""The installed versions of tree-sitter and its grammars, read from the names of their metadata folders.

Opening the metadata of 14 packages costs as much as a whole look at an unchanged tree; one look at the
folders that hold them does not. Knows no grammar's insides. Thread: any.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

from roteiro.graph.extract.languages import LANGUAGES

_FOLDER = re.compile(r"(tree[-_.]sitter[\w.-]*?)-([^-]+)\.dist-info", re.IGNORECASE)


def grammar_versions() -> str:
    """Name and version of tree-sitter and of every grammar, as one line."""
    wheels = sorted({row.grammar.replace("_", "-") for row in LANGUAGES.values() if row.grammar})
    found: dict[str, str] = {}
    for name, version in _installed():
        found.setdefault(name, version)  # the first on the path is the one that is imported
    return " ".join(f"{name}={found.get(name) or _asked(name)}" for name in ("tree-sitter", *wheels))


# --------------------------------------------------------------------------------------------------


def _installed() -> Iterator[tuple[str, str]]:
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 (names alone are wanted)
        except OSError:
            continue  # an archive, or a folder that is not there
        for name in names:
            match = _FOLDER.fullmatch(name) if name[:4].lower() == "tree" else None
            if match is not None:
                yield re.sub(r"[-_.]+", "-", match[1]).lower(), match[2]


def _asked(name: str) -> str:
    """The version of a package that is installed in another way."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "none"

"""The languages: one row each, and how a file's language is told from its name or first line.

Adding a language is a row here, a capture file in `queries/` and a test folder. Knows no tree-sitter
object: a row names the grammar's module and the node types its expressions are made of. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

Step = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One language.

    `steps` say how an expression node is read: node type to (step, field of the inner expression,
    field of the member's name); the step is `.`, `()`, `[]`, `|` or "" for a node to look through.
    `literals` maps node types to the built-in type a literal has, `leaves` are names. `public` tells
    what a file exports: `underscore`, `marked` (the capture file marks it), `capital` or `all`.
    """

    name: str
    grammar: str
    extensions: tuple[str, ...]
    captures: tuple[str, ...]
    function: str = "language"
    interpreters: tuple[str, ...] = ()
    self_names: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset({"identifier"})
    steps: Mapping[str, Step] = field(default_factory=dict)
    literals: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    public: str = "all"
    doc_comments: bool = True


_PYTHON: Final = Language(
    name="python",
    grammar="tree_sitter_python",
    extensions=("py", "pyi", "pyw"),
    captures=("python.scm",),
    interpreters=("python", "pypy"),
    self_names=frozenset({"self", "cls"}),
    steps={
        "attribute": (".", "object", "attribute"),
        "call": ("()", "function", ""),
        "subscript": ("[]", "value", ""),
        "await": ("", "", ""),
        "parenthesized_expression": ("", "", ""),
        "named_expression": ("", "value", ""),
        "boolean_operator": ("|", "left", "right"),
        "conditional_expression": ("|", "", ""),
    },
    literals={
        "string": "str",
        "concatenated_string": "str",
        "integer": "int",
        "float": "float",
        "list": "list",
        "dictionary": "dict",
        "set": "set",
        "tuple": "tuple",
        "list_comprehension": "list",
        "dictionary_comprehension": "dict",
        "set_comprehension": "set",
        "generator_expression": "generator",
        "none": "None",
        "true": "bool",
        "false": "bool",
        "not_operator": "bool",
        "comparison_operator": "bool",
    },
    words={"None": "None", "True": "bool", "False": "bool"},
    public="underscore",
    doc_comments=False,
)

LANGUAGES: Final[Mapping[str, Language]] = {row.name: row for row in (_PYTHON,)}

_BY_EXTENSION: Final = {ext: row.name for row in LANGUAGES.values() for ext in row.extensions}
_DOCUMENTS: Final = {"md": "markdown", "markdown": "markdown", "mdx": "markdown", "rst": "rst"}
_SHEBANG: Final = re.compile(rb"#!\s*\S*?([A-Za-z]+)[\d.]*(?:\s+(?:-\S+\s+)*([A-Za-z]+))?")


def language_of(path: str, sample: bytes) -> str | None:
    """The language of a file, from its name, else from a `#!` in the first bytes; None if unknown.

    A header `.h` is `c` here: the caller, who sees the whole tree, makes it `cpp` where that holds C++.
    """
    suffix = PurePosixPath(path).suffix[1:]
    if suffix == "H":
        return "cpp" if "cpp" in LANGUAGES else None
    found = _BY_EXTENSION.get(suffix.lower()) or _DOCUMENTS.get(suffix.lower())
    if found is not None or suffix:
        return found
    match = _SHEBANG.match(sample)
    if match is None:
        return None
    name = (match[2] if match[1] == b"env" and match[2] else match[1]).decode()
    return next((row.name for row in LANGUAGES.values() if name in row.interpreters), None)

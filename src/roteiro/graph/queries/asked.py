"""What a search text asks for: its telling words, names spelled out in it, and kinds it hints at.

Pure text; knows no store. Thread: any.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from roteiro.graph.model import NodeKind
from roteiro.graph.words import compact, query_words, split_identifier, stem, words

# More words than this are a pasted text; the first ones say what it is about.
MAX_TERMS = 16
QUERY_CHARS = 2_000
# `client.py` spells out a file and no symbol `py`.
LONGEST_EXTENSION = 2

# What prose has that looks like a qualified name.
_PROSE = {"e.g", "i.e", "a.k.a", "etc"}
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*")
_HINTS: dict[str, tuple[NodeKind, ...]] = {
    "class": ("class", "interface", "struct", "enum", "trait"),
    "exception": ("class",),
    "function": ("fn", "method"),
    "functions": ("fn", "method"),
    "method": ("method", "fn"),
    "methods": ("method", "fn"),
    "helper": ("fn", "method"),
    "constant": ("const",),
    "file": ("file",),
    "module": ("file", "module"),
    "why": ("adr", "adr_section"),
    "rationale": ("adr", "adr_section"),
    "decided": ("adr", "adr_section"),
    "decision": ("adr", "adr_section"),
    "adr": ("adr", "adr_section"),
    "changelog": ("doc",),
    "docs": ("doc",),
    "documentation": ("doc",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A search text, taken apart.

    `terms` are stems, each once; `spellings` the word each came from. `names` are identifiers that
    the text spells out (`_load_env`, `Client.send`) and `identifiers` their terms. `whole` is the
    text if it may itself be a name, and `is_name` tells that it is one word, no question.
    """

    text: str
    terms: tuple[str, ...]
    spellings: dict[str, str]
    names: tuple[str, ...]
    identifiers: frozenset[str]
    whole: str
    kinds: frozenset[NodeKind]
    about_tests: bool
    is_name: bool


def take_apart(text: str) -> Asked:
    """The parts of a search text."""
    text = text.strip()[:QUERY_CHARS]
    spellings: dict[str, str] = {}
    for word in query_words(_last_of_path(text)):
        spellings.setdefault(stem(word), word)
    names = tuple(dict.fromkeys(filter(_is_code, _NAME.findall(text))))
    # A name of several words stands in the index as one word too.
    spelled = (compact(re.split(r"[.:#>]", name)[-1]) for name in names)
    identifiers = frozenset(last for last in spelled if len(last) > LONGEST_EXTENSION)
    spellings |= {last: last for last in sorted(identifiers - spellings.keys())}
    terms = tuple(spellings)[-MAX_TERMS:]
    said = words(text)
    return Asked(
        text=text,
        terms=terms,
        spellings=spellings,
        names=names,
        identifiers=identifiers,
        whole=compact(text) if len(said) <= 6 else "",
        kinds=frozenset(kind for word in said for kind in _HINTS.get(word, ())),
        is_name=not re.search(r"\s", text),
        about_tests=any(word.startswith("test") for word in said),
    )


# --------------------------------------------------------------------------------------------------


def _last_of_path(text: str) -> str:
    """What a path is about; its folders are borne by thousands and it is looked up as a whole too."""
    if re.search(r"\s", text) or "/" not in text:
        return text
    return text.rstrip("/").rpartition("/")[2] or text


def _is_code(token: str) -> bool:
    """A word that no prose has: an underscore, a hump, or a qualified name."""
    if token.lower() in _PROSE:
        return False
    return (
        "_" in token
        or re.search(r"\w(?:\.|::|#|->)\w", token) is not None
        or (len(split_identifier(token)) > 1 and not token.isupper())
    )

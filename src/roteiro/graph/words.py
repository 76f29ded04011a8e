"""Words of code: how identifiers and prose become the index's terms, and questions its queries.

Index and query go through the same functions, so the full-text tables need no tokenizer of their
own: every column of `IndexText` is lower-case stems with spaces between. Pure text; knows no SQL
and no ranking. Thread: any.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from roteiro.graph.model import Node

# A body is read only so far: what tells symbols apart comes early, and one generated table must not
# own the index.
BODY_CHARS = 40_000
WORD_CHARS = 64

_IDENTIFIER = re.compile(r"_*[^\W_]\w*")
_ONLY_NAMES = "".join(c if c.isalnum() or c == "_" else " " for c in map(chr, range(128)))
# An acronym before a word (`HTTPServer`), a word with its digits, an upper-case run, digits.
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")

_STOP = """
    a an and are as at be been being but by can could did do does done each for from had has have
    how i if in into is it its just let me my no not of on one or our out please should show so such
    tell than that the their them then there these they this those to up us used uses using want was
    we were what when where whether which while who whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP.split())
_PROSE = frozenset({"doc", "adr", "adr_section"})
_KIND = """
    class classes code codebase constant constants declared defined definition file files find function
    functions implementation implemented implements lives located method methods module modules name
    named names project repository source symbol symbols tree variable
"""
# Words that say what kind of thing is asked for; they carry nothing when other words are there.
KIND_WORDS = frozenset(_KIND.split())
# Nouns in -ion whose verb is another word (`except` is a keyword).
_KEPT_ION = frozenset({"exception", "session", "version", "section", "question", "station"})
_VOWEL = re.compile(r"[aeiouy]")
_BETWEEN = re.compile(r"[\W_]+")
_MEMO_SIZE: Final = 100_000
T = TypeVar("T")


class IndexText(NamedTuple):
    """One node's row in the search index; each field is stems with spaces between.

    `name` is the name as one word (`_load_env` and `loadEnv` are `loadenv`), `parts` its words.
    """

    name: str
    parts: str
    path: str
    signature: str
    doc: str
    body: str


def index_text(
    node: Node, source: str | Sequence[str], *, inner: Iterable[tuple[int, int]] = ()
) -> IndexText:
    """The search row of a node.

    Args:
        node: the node; its lines say which part of the source is its own.
        source: the whole text of its file, or its lines. Empty when there is none.
        inner: (first, last) lines of definitions inside the node that have rows of their own; they
            are left out of its body.

    Returns:
        The terms. A body holds each term once (how often a name occurs in it says little), and
        names of several words also as one word, so that uses of `NotImplementedError` are found.
    """
    lines = source.split("\n") if isinstance(source, str) else source
    own = _own_lines(node, lines, inner)
    prose = node.kind in _PROSE
    doc = node.doc or ""
    if node.title or node.status:
        doc = " ".join(filter(None, (node.doc, node.title, node.status)))
    return IndexText(
        name=compact(_base(node)),
        parts=" ".join(terms(f"{_scope(node)} {_base(node)} {_headline(node)}")),
        path=_path_terms(node.path),
        signature=" ".join(dict.fromkeys(terms(node.signature or ""))),
        doc=" ".join(terms(f"{doc} {own}" if prose else doc)) if doc or prose else "",
        body="" if prose else _distinct(own),
    )


def terms(text: str) -> list[str]:
    """Every word of a text as its stem, in order, repeats kept."""
    return list(chain.from_iterable(map(_STEMS.__getitem__, _identifiers(text)))) if text else []


def words(text: str) -> list[str]:
    """Every word of a text, identifiers split, lower-case and not stemmed."""
    return [part for found in _IDENTIFIER.findall(text) for part in split_identifier(found)]


def query_words(text: str) -> list[str]:
    """The words of a query that carry meaning, each once; all of its words where none does."""
    found = list(dict.fromkeys(words(text)))
    useful = [word for word in found if word not in STOP_WORDS]
    telling = [word for word in useful if word not in KIND_WORDS]
    return telling or useful or found


def split_identifier(identifier: str) -> tuple[str, ...]:
    """The words of one identifier: `_parseHTTPHeader2` is `parse`, `http`, `header2`."""
    if identifier.isascii():
        if identifier.islower():  # most names, without the pattern
            if identifier.isalpha():
                return (identifier[:WORD_CHARS],)
            if identifier.replace("_", "").isalpha():
                return tuple([part[:WORD_CHARS] for part in identifier.split("_") if part])
        return tuple([part.lower()[:WORD_CHARS] for part in _PART.findall(identifier)])
    return tuple(_split_any(_folded(identifier)))


def compact(name: str) -> str:
    """A name as one word, whatever its spelling: `load_env` and `LoadEnv` are both `loadenv`."""
    if name.isascii() and name.isidentifier():
        return name.replace("_", "").lower()
    return _BETWEEN.sub("", _folded(name)).lower()


def stem(word: str) -> str:
    """A lower-case English word without plural, -ing, -ed, -ion and final e."""
    return _STEM[word]


# --------------------------------------------------------------------------------------------------


class _Memo(dict[str, T]):
    """What a function gave for each text, as a plain look-up: millions are asked for.

    It is emptied when it is full. A thread that fills it beside another loses an entry at worst.
    """

    def __init__(self, work: Callable[[str], T]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, text: str) -> T:
        found = self._work(text)
        if len(self) >= _MEMO_SIZE:
            self.clear()
        self[text] = found
        return found


def _stem(word: str) -> str:
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWEL.search(rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    if word.endswith(("tion", "sion")) and len(word) >= 7 and word not in _KEPT_ION:
        word = word[:-3]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _stems(identifier: str) -> tuple[str, ...]:
    return tuple([_STEM[part] for part in split_identifier(identifier)])


def _split_any(text: str) -> Iterable[str]:
    """The humps of a name with letters outside ASCII, where `[a-z]` does not tell the cases."""
    for run in re.findall(r"[^\W_]+", text):
        start = 0
        for at in range(1, len(run)):
            if run[at].isupper() and not run[at - 1].isupper():
                yield run[start:at].lower()[:WORD_CHARS]
                start = at
        yield run[start:].lower()[:WORD_CHARS]


def _body_terms(identifier: str) -> tuple[str, ...]:
    stems = _STEMS[identifier]
    return (*stems, compact(identifier)[:WORD_CHARS]) if len(stems) > 1 else stems


def _folded(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _base(node: Node) -> str:
    """A file is named by its last part without the extension, everything else by its name."""
    if node.kind != "file":
        return node.name
    return node.path.rsplit("/", 1)[-1].rsplit(".", 1)[0] or node.path


def _headline(node: Node) -> str:
    """A decision is called `ADR-0007`, yet asked for by what its title says."""
    return node.title or "" if node.kind == "adr" else ""


def _scope(node: Node) -> str:
    """What a qualified name has before the name itself: a method is found by its class too."""
    return node.key.partition("#")[2].rpartition(".")[0]


def _own_lines(node: Node, lines: Sequence[str], inner: Iterable[tuple[int, int]]) -> str:
    first, last = node.line or 1, node.end_line or len(lines)
    kept: list[str] = []
    at = first
    if not inner:
        return "\n".join(lines[first - 1 : last])[:BODY_CHARS]
    for start, end in sorted(inner):
        kept.extend(lines[at - 1 : max(at, start) - 1])
        at = max(at, end + 1)
    kept.extend(lines[at - 1 : last])
    return "\n".join(kept)[:BODY_CHARS]


def _identifiers(text: str) -> list[str]:
    """Every identifier; of ASCII text five times as fast as by the pattern, lone underscores included."""
    return text.translate(_ONLY_NAMES).split() if text.isascii() else _IDENTIFIER.findall(text)


@lru_cache(maxsize=16)
def _path_terms(path: str) -> str:
    return " ".join(terms(path))


def _distinct(text: str) -> str:
    if not text:
        return ""
    found = map(_BODY_TERMS.__getitem__, _identifiers(text))
    return " ".join(dict.fromkeys(chain.from_iterable(found)))


_STEM: Final = _Memo(_stem)
_STEMS: Final = _Memo(_stems)
_BODY_TERMS: Final = _Memo(_body_terms)

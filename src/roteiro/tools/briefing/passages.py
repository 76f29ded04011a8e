"""Finds lines of text that answer: in changelogs and docs under their headings, and where a name occurs.

Thread: any; blocks on the store and on the files it reads.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roteiro.graph.model import Node, NodeKind
from roteiro.graph.queries.asked import take_apart
from roteiro.graph.queries.search import search
from roteiro.graph.queries.thesaurus import synonyms
from roteiro.graph.store import GraphStore
from roteiro.graph.words import stem, terms
from roteiro.tools import wording
from roteiro.tools.briefing.mentions import LINE_CHARACTERS, lines_with
from roteiro.tools.scope import is_aside, is_test

# Sections looked into, and lines handed over.
SECTIONS = 40
LINES = 3
_OCCURRENCES = 12
# Lines that fit less than the best by this are not shown beside it.
_NEAR_BEST = 0.6
RAREST = 3
# Words that say where to look or how it is asked, not what is looked for.
_ABOUT_ASKING = """
    according changelog change release released version note history document documentation docs readme
    decision decide adr record say state mention explain introduce
"""
_BOILERPLATE = frozenset(map(stem, _ABOUT_ASKING.split()))
_IMPORT = re.compile(r"(import|from|use|using|require|#include|export|const|let|var)\b")
_SENTENCE = re.compile(r"(?!.*[<>|])[\w*_`]+( \S+){4}")
_LANGUAGES = 6
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*)(?![\w])")
_PROSE: tuple[NodeKind, ...] = ("doc", "adr_section", "adr")
# A synonym of a word says it less surely than the word.
_SYNONYM_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A line of text, the heading it stands under, its place, how well it fits and by which words."""

    heading: str
    path: str
    line: int
    text: str
    score: float
    rarest: str
    words: frozenset[str]


def passages(store: GraphStore, question: str) -> list[str]:
    """The lines of docs, decisions and changelogs that fit a question best, each with its heading."""
    if told := _of_versions(store, question):
        return told
    found = sorted(_passages(store, question), key=lambda p: (-p.score, p.path, p.line))
    if not found:
        return []
    best = found[0]
    kept = [
        passage
        for passage in found
        if passage.score >= best.score * 0.6
        and best.rarest in set(terms(f"{passage.text} {passage.heading}"))
    ][:LINES]
    kept = [passage for passage in kept if not is_test(passage.path)] or kept
    return [_worded(passage) for passage in kept]


def occurrences(
    store: GraphStore, name: str, *, tests: bool, files: Sequence[str] = (), imports: bool = False
) -> list[str]:
    """Where a name that is no symbol here is written: files, enclosing symbols and lines.

    Args:
        store: the graph.
        name: the name.
        tests: those of tests count too.
        files: only in these, if any is given.
        imports: only where it is imported.
    """
    lines = lines_with(store, name)
    if imports:
        lines = [item for item in lines if _IMPORT.match(item[2])]
    if files:
        lines = [item for item in lines if item[0].path in files]
    own = [item for item in lines if tests or not is_test(item[0].path)] or lines
    own = [item for item in own if not is_aside(item[0].path)] or own
    if not own:
        return []
    paths = list(dict.fromkeys(node.path for node, _, _ in own))
    times, where = wording.counted(len(own), "time"), wording.counted(len(paths), "file")
    does = f"is imported in {where}" if imports else f"occurs {times} in {where}"
    facts = [f"`{name}` {does}: {', '.join(paths[:_OCCURRENCES])}."]
    if len(own) <= _OCCURRENCES and not imports:
        facts += [
            f"`{wording.name_of(node)}` ({node.path}:{number}) has: {text}" for node, number, text in own
        ]
    return facts


def overview(store: GraphStore) -> list[str]:
    """What the readme says first, and what the repository holds."""
    files = store.files()
    told = []
    for file in files:
        if re.fullmatch(r"readme(\.\w+)?", file.path, re.IGNORECASE):
            lines = (store.read_source(file.path) or "").split("\n")
            said = [line for line in map(str.strip, lines) if _SENTENCE.match(line)]
            told += [f"{file.path} says: {line.strip('#* ')[:LINE_CHARACTERS]}" for line in said[:LINES]]
    languages: dict[str, int] = {}
    for file in files:
        languages[file.lang or "other"] = languages.get(file.lang or "other", 0) + 1
    counted = ", ".join(
        f"{count} {lang}" for lang, count in sorted(languages.items(), key=lambda x: -x[1])[:6]
    )
    return [*told, f"The repository has {wording.counted(len(files), 'indexed file')}: {counted}."]


# ------------------------------------------------------------------------------------------------


def _worded(passage: Passage) -> str:
    """The line with what it stands under; a heading that names a release is told as one."""
    under = "Release" if _VERSION.search(passage.heading) else "Under the heading"
    return f"{under} `{passage.heading}` ({passage.path}:{passage.line}): {passage.text}"


def _of_versions(store: GraphStore, question: str) -> list[str]:
    """What stands under the heading of a release that the question names."""
    told = []
    for version in _VERSION.findall(question)[:2]:
        keys = [key for _, key in store.named(f"%{version}%", limit=20)]
        nodes = [node for node in map(store.node, keys) if node is not None and node.kind == "doc"]
        exact = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d]|\.\d)")
        for node in [node for node in nodes if exact.search(node.title or node.name)][:1]:
            lines = (store.read_source(node.path) or "").split("\n")[node.line or 1 : node.end_line]
            said = [text for line in lines if (text := line.strip(" \t*-")) and not text.startswith("#")]
            heading = node.title or node.name
            told.append(f"Under the heading `{heading}` ({node.path}:{node.line}) stands:")
            told += [text[:LINE_CHARACTERS] for text in said[: 2 * LINES]]
    return told


def _passages(store: GraphStore, question: str) -> Iterable[Passage]:
    wanted = weights_of(store, question)
    if not wanted:
        return
    sources: dict[str, list[str]] = {}
    seen: set[tuple[str, int]] = set()
    for node in _sections(store, question, wanted):
        if node.path not in sources:
            sources[node.path] = (store.read_source(node.path) or "").split("\n")
        lines = sources[node.path]
        heading = node.title or node.name
        shared = set(terms(heading)) & wanted.keys()
        first, last = node.line or 1, node.end_line or len(lines)
        for number in range(first, min(last, len(lines)) + 1):
            text = lines[number - 1].strip(" \t#*-")
            said = set(terms(text))
            hits = said & wanted.keys()
            score = sum(wanted[word] for word in hits) + 0.3 * sum(wanted[word] for word in shared - hits)
            if hits and text and (node.path, number) not in seen:
                seen.add((node.path, number))
                yield Passage(
                    heading=heading,
                    path=node.path,
                    line=number,
                    text=text[:LINE_CHARACTERS],
                    score=score,
                    words=frozenset(said | shared),
                    rarest=max(hits | shared, key=lambda word: (wanted[word], word)),
                )


def _sections(store: GraphStore, question: str, wanted: dict[str, float]) -> list[Node]:
    """Sections that fit as a whole, and those that hold one of the rarest words."""
    found = {hit.node.key: hit.node for hit in search(store, question, kinds=_PROSE, limit=SECTIONS).hits}
    for word in sorted(wanted, key=lambda w: (-wanted[w], w))[:RAREST]:
        rows = store.search_rows(f'"{word}"', kinds=_PROSE, limit=SECTIONS)
        found |= {row.node.key: row.node for row in rows}
    sections = list(found.values())
    # The innermost section of a line names it: a whole document's heading would hide the release.
    return sorted(sections, key=lambda node: (node.path, (node.end_line or 1 << 30) - (node.line or 0)))


def weights_of(store: GraphStore, question: str) -> dict[str, float]:
    """The telling words of a question by how rare they are; synonyms count half."""
    asked = take_apart(question)
    total = max(1, store.node_count())
    weights: dict[str, float] = {}
    for word in asked.terms:
        if word in _BOILERPLATE:
            continue
        rarity = math.log(1 + total / (1 + store.match_count(f'"{word}"')))
        weights[word] = max(weights.get(word, 0.0), rarity)
        for other in synonyms([word]).get(word, ()):
            weights[other] = max(weights.get(other, 0.0), _SYNONYM_SHARE * rarity)
    return weights

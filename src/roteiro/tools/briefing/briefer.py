"""Puts a briefing together: which facts, in which order, how many, and when to say "there is none".

Thread: any; blocks on the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from roteiro.graph.model import Node
from roteiro.graph.queries.asked import take_apart
from roteiro.graph.queries.debt import debt
from roteiro.graph.queries.search import search
from roteiro.graph.queries.thesaurus import synonyms
from roteiro.graph.store import GraphStore
from roteiro.tools import wording
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import facts
from roteiro.tools.briefing.passages import occurrences, passages, weights_of
from roteiro.tools.briefing.question import Question, read_question
from roteiro.tools.briefing.subjects import Subject, find_subject, find_symbol, is_test
from roteiro.tools.graph_tools import PLACE, tokens_of

# Measured: the right fact among fifteen others is missed half of the time, among a handful seldom.
MAX_FACTS = 8
MAX_TOKENS = 420
_HITS = 5
# Share of a question's telling words that a hit must hold; below it the hit is about something else.
ENOUGH = 0.25

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What the graph says to a question.

    `facts` are sentences, the best first; empty when nothing was found. `refusal` is the whole answer
    when the question asks about something the repository does not have. `places` are the `path:line`
    that the facts cite.
    """

    facts: tuple[str, ...] = ()
    refusal: str | None = None
    places: tuple[str, ...] = ()


class Briefer:
    """Briefs from one tree's graph.

    Args:
        access: the graph.
        ignore: globs whose debt is left out.
    """

    def __init__(self, access: GraphAccess, *, ignore: Sequence[str] = ()) -> None:
        self._access = access
        self._ignore = ignore

    def brief(self, text: str) -> Briefing:
        """The facts for a user's message."""
        question = read_question(text)
        store = self._access.store()
        with store.snapshot():
            subjects = [find_subject(store, name) for name in question.names]
            subjects += [
                subject
                for name in question.maybe_names
                if (subject := find_symbol(store, name)).nodes and name not in question.names
            ]
            absent = [subject for subject in subjects if subject.absent]
            if absent and question.asks:
                return Briefing(refusal=_refusal(absent))
            concerns = _concerns(question, subjects)
            chosen = _chosen(self._facts(store, question, subjects)) if concerns else []
            if not chosen and question.asks and question.about_code:
                return Briefing(refusal=_NOTHING)
        return Briefing(facts=tuple(chosen), places=tuple(dict.fromkeys(_places(chosen))))

    # ---------------------------------------------------------------------------------------------

    def _facts(self, store: GraphStore, question: Question, subjects: Sequence[Subject]) -> Iterator[str]:
        nodes = _focus(question, subjects)
        yield from self._asked(store, question, subjects, nodes)
        for node in nodes:
            yield from facts.about(node)
        foreign = [subject for subject in subjects if not subject.nodes and subject.mentioned]
        for subject in foreign:
            yield from occurrences(store, subject.name, tests=question.about_tests)
        if "history" in question.intents:
            yield from passages(store, question.text)
        if not nodes and "history" not in question.intents:
            yield from self._hits(store, question)
        for subject in subjects:
            if subject.absent:
                yield f"Nothing in this repository is called `{subject.name}`."

    def _asked(
        self, store: GraphStore, question: Question, subjects: Sequence[Subject], nodes: Sequence[Node]
    ) -> Iterator[str]:
        """The facts of the kinds that the question names, in the order in which they decide it."""
        symbols = [node for node in nodes if node.key.startswith("sym:")]
        types = [node for node in symbols if node.kind not in ("fn", "method", "const")]
        wants = question.intents
        if "path" in wants and len(symbols) > 1:
            yield from facts.connection(store, symbols[0], symbols[1])
        if "debt" in wants:
            yield from self._debt(store, question)
        if "inherits" in wants:
            foreign = [subject.name for subject in subjects if not subject.nodes]
            yield from _each(foreign, lambda name: facts.subclasses_of_foreign(store, name))
            yield from _each(types, lambda node: facts.bases(store, node))
        if "signature" in wants:
            yield from _each(symbols, lambda node: facts.parameters(store, node, question.parameter))
        if "callers" in wants:
            yield from _each(
                symbols,
                lambda node: facts.callers(
                    store, node, outgoing=question.outgoing, tests=question.about_tests
                ),
            )

    def _debt(self, store: GraphStore, question: Question) -> Iterator[str]:
        found = debt(store, ignore=self._ignore)
        wanted = [c for c in found.by_category if c in question.text.lower()]
        items = [
            item
            for item in found.items
            if (not wanted or item.category in wanted) and (question.about_tests or not is_test(item.path))
        ]
        what = " and ".join(word.upper() for word in wanted) or "debt"
        if not items:
            yield f"There are 0 {what} markers in this repository."
            return
        files = list(dict.fromkeys(item.path for item in items))
        yield (
            f"There {'is' if len(items) == 1 else 'are'} {len(items)} {what} "
            f"marker{'s' * (len(items) != 1)}, in {', '.join(f'`{path}`' for path in files[:12])}."
        )
        for item in items[:6]:
            yield wording.marker(item)

    def _hits(self, store: GraphStore, question: Question) -> Iterator[str]:
        """What the words of the question find, where they find enough of it to be about it."""
        found = search(store, question.text, kinds=question.kinds, limit=3 * _HITS).hits
        own = [hit for hit in found if question.about_tests or not is_test(hit.node.path)][:_HITS]
        covered = _coverage(store, question, [hit.node for hit in own])
        if not covered or max(covered.values()) < ENOUGH:
            return
        for hit in own:
            if covered[hit.node.key] >= ENOUGH / 2:
                said = hit.node.doc or hit.snippet or ""
                yield f"{wording.defined(hit.node)} {' '.join(said.split())[:160]}".strip()


def _coverage(store: GraphStore, question: Question, nodes: Sequence[Node]) -> dict[str, float]:
    """How much of what a question says each node's row in the index holds, from 0 to 1."""
    weights = weights_of(store, question.text)
    asked = {word: weights[word] for word in take_apart(question.text).terms if word in weights}
    total = sum(asked.values()) or 1.0
    numbers = store.node_ids([node.key for node in nodes])
    rows = store.index_rows(list(numbers.values()))
    covered = {}
    for node in nodes:
        said = set(" ".join(rows.get(numbers[node.key], ())).split())
        covered[node.key] = sum(weight * _said(word, said) for word, weight in asked.items()) / total
    return covered


def _said(word: str, said: set[str]) -> float:
    """1 where the word itself is said, half where another word for it is."""
    if word in said:
        return 1.0
    return 0.5 if said.intersection(_near(word)) else 0.0


def _near(word: str) -> tuple[str, ...]:
    return synonyms([word]).get(word, ())


def _each(items: Iterable[T], facts_of: Callable[[T], Iterable[str]]) -> Iterator[str]:
    for item in items:
        yield from facts_of(item)


def _focus(question: Question, subjects: Sequence[Subject]) -> list[Node]:
    """The nodes the question is about, each once; a parameter's own name is not one of them."""
    nodes = [
        node
        for subject in subjects
        if subject.name != question.parameter
        for node in subject.nodes[: 1 if len(subjects) > 1 else 2]
    ]
    return list({node.key: node for node in nodes}.values())


def _concerns(question: Question, subjects: Sequence[Subject]) -> bool:
    """Whether a message may be about this repository at all; a poem is not."""
    return bool(subjects or question.asks or question.about_code or "?" in question.text)


_NOTHING = "Nothing in this repository matches the question: no symbol, decision or document was found."


def _refusal(absent: Sequence[Subject]) -> str:
    names = " or ".join(f"`{subject.name}`" for subject in absent)
    text = f"There is no {names} in this repository: neither a symbol nor any text by that name was found."
    near = list(dict.fromkeys(name for subject in absent for name in subject.near))[:3]
    return f"{text} Similar names that exist: {', '.join(f'`{name}`' for name in near)}." if near else text


def _chosen(found: Iterator[str]) -> list[str]:
    """The first facts, each once, within the bounds."""
    kept: dict[str, None] = {}
    spent = 0
    for fact in found:
        if fact in kept or not fact:
            continue
        spent += tokens_of(fact)
        if kept and (len(kept) >= MAX_FACTS or spent > MAX_TOKENS):
            break
        kept[fact] = None
    return list(kept)


def _places(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from PLACE.findall(sentence)

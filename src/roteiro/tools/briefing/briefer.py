"""Puts a briefing together: which facts, in which order, how many, and when to say "there is none".

Thread: any; blocks on the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from roteiro.graph.model import Node
from roteiro.graph.store import GraphStore
from roteiro.tools import wording
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import facts
from roteiro.tools.briefing.debts import debts
from roteiro.tools.briefing.follow_up import carried_over, points_back
from roteiro.tools.briefing.hits import described
from roteiro.tools.briefing.mentions import lines_with
from roteiro.tools.briefing.parameters import lacks, ordinal, parameters
from roteiro.tools.briefing.passages import occurrences, passages
from roteiro.tools.briefing.question import Question, read_question
from roteiro.tools.briefing.subjects import Subject, find_subject, find_symbol, narrowed
from roteiro.tools.graph_tools import PLACE, tokens_of

# Measured: the right fact among fifteen others is missed half of the time, among a handful seldom.
MAX_FACTS = 6
MAX_TOKENS = 420
_DECIDING = frozenset(("path", "callers", "inherits", "signature", "debt", "history"))

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

    def brief(
        self, text: str, *, asked: str = "", answered: str = "", max_tokens: int = MAX_TOKENS
    ) -> Briefing:
        """The facts for a user's message.

        Args:
            text: the message.
            asked: the user's message before, for a question that says "it".
            answered: the answer to that.
            max_tokens: the most tokens of facts, estimated.

        Raises:
            NoGraph, StoreTooNew, ...: the graph cannot be read.
        """
        question = read_question(text)
        if asked and points_back(question):
            question = read_question(carried_over(text, asked, answered))
        store = self._access.store()
        with store.snapshot():
            subjects = _subjects(store, question)
            absent = [subject for subject in subjects if subject.absent]
            if absent and _refusable(question, absent):
                return Briefing(refusal=_refusal(absent))
            if not _concerns(question, subjects):
                return Briefing()
            refusal = _undefined(store, question, subjects) or _without_parameter(store, question, subjects)
            if refusal is not None:
                return Briefing(refusal=refusal, places=tuple(_places([refusal])))
            chosen = _chosen(self._facts(store, question, subjects), max_tokens)
            if not chosen and question.asks and question.here:
                return Briefing(refusal=_NOTHING)
        return Briefing(facts=tuple(chosen), places=tuple(dict.fromkeys(_places(chosen))))

    # ---------------------------------------------------------------------------------------------

    def _facts(self, store: GraphStore, question: Question, subjects: Sequence[Subject]) -> Iterator[str]:
        nodes = _focus(question, subjects)
        answered = False
        for fact in self._asked(store, question, subjects, nodes):
            answered = True
            yield fact
        for subject in subjects:
            if not subject.nodes and subject.mentioned and not (answered and "inherits" in question.intents):
                yield from occurrences(store, subject.name, tests=question.about_tests)
        yield from _each(
            [node for node in nodes if node.kind == "adr"], lambda node: facts.about(store, node)
        )
        if "history" in question.intents and question.kinds:
            yield from described(store, question)
        if "history" in question.intents:
            yield from passages(store, question.text)
        for node in nodes:
            yield from facts.about(store, node)
            if not question.intents and len(nodes) == 1:
                yield from facts.neighbours(store, node)
        if not nodes and not answered and "history" not in question.intents:
            yield from described(store, question)
        if not question.intents & _DECIDING:
            weak = [node for subject in subjects if subject.weak for node in subject.nodes[:1]]
            yield from _each(weak, lambda node: facts.about(store, node))

    def _asked(
        self, store: GraphStore, question: Question, subjects: Sequence[Subject], nodes: Sequence[Node]
    ) -> Iterator[str]:
        """The facts of the kinds that the question names, in the order in which they decide it."""
        symbols = [node for node in nodes if node.key.startswith("sym:")]
        types = [node for node in symbols if node.kind not in ("fn", "method", "const")]
        wants = question.intents
        tests = question.about_tests
        if "path" in wants and len(symbols) > 1:
            yield from facts.connection(store, *_ends(subjects, symbols))
        if "debt" in wants:
            files = [node.path for node in nodes if node.kind == "file"]
            yield from debts(store, question, files, self._ignore)
        if "inherits" in wants:
            foreign = [subject.name for subject in subjects if not subject.nodes]
            yield from _each(foreign, lambda name: facts.subclasses_of_foreign(store, name))
            yield from _each(types, lambda node: facts.bases(store, node, below=question.below, tests=tests))
        if "callers" in wants and question.wants_symbol:
            yield from self._callers(store, question, symbols)
        if "signature" in wants:
            words = re.findall(r"\w+", question.text)
            yield from _each(symbols, lambda node: ordinal(store, node, question.text))
            yield from _each(symbols, lambda node: parameters(store, node, question.parameter, words))
        if "callers" in wants:
            yield from self._callers(store, question, symbols)
        if "members" in wants and not wants & (_DECIDING - {"history"}):
            holders = [*types, *(node for node in nodes if node.kind == "file")]
            yield from _each(holders, lambda node: facts.members(store, node))

    def _callers(self, store: GraphStore, question: Question, symbols: Sequence[Node]) -> Iterator[str]:
        """Of "which methods of C call f" it is f whose callers are asked for."""
        callables = [node for node in symbols if node.kind in ("fn", "method")]
        for node in callables or symbols:
            yield from facts.callers(
                store,
                node,
                outgoing=question.outgoing,
                tests=question.about_tests,
                imports=question.imports,
            )


# ------------------------------------------------------------------------------------------------


def _subjects(store: GraphStore, question: Question) -> list[Subject]:
    subjects = [find_subject(store, name) for name in question.names if name != question.parameter]
    for name, likely in question.maybe_names.items():
        if name in question.names or name == question.parameter:
            continue
        found = find_symbol(store, name, weak=not likely)
        if found.nodes:
            subjects.append(found)
    return narrowed(subjects)


def _focus(question: Question, subjects: Sequence[Subject]) -> list[Node]:
    """The nodes the question is about, each once; weak ones only where it says what it wants of them."""
    sure = [subject for subject in subjects if not subject.weak and subject.nodes]
    if not sure and question.intents & _DECIDING:
        sure = [subject for subject in subjects if subject.nodes]
    nodes = [node for subject in sure for node in subject.nodes[: 1 if len(sure) > 1 else 2]]
    return list({node.key: node for node in nodes}.values())


def _ends(subjects: Sequence[Subject], symbols: Sequence[Node]) -> tuple[Node, Node]:
    """The two ends of a path: functions before classes that merely stand in the sentence."""
    callables = [node for node in symbols if node.kind in ("fn", "method")]
    first, second = (callables if len(callables) > 1 else list(symbols))[:2]
    return first, second


def _each(items: Iterable[T], facts_of: Callable[[T], Iterable[str]]) -> Iterator[str]:
    for item in items:
        yield from facts_of(item)


def _concerns(question: Question, subjects: Sequence[Subject]) -> bool:
    """Whether a message may be about this repository at all; a poem is not."""
    if any(subject.nodes and not subject.weak for subject in subjects):
        return True
    if subjects and all(subject.foreign for subject in subjects):
        return question.here
    asks = question.asks or question.advises
    return asks and bool(subjects or question.about_code or question.intents or "?" in question.text)


def _refusable(question: Question, absent: Sequence[Subject]) -> bool:
    """Whether a question that names what is not here must be answered with that.

    A question about another library's function is none about this repository.
    """
    if not question.asks:
        return False
    return question.here or not all(subject.foreign for subject in absent)


def _undefined(store: GraphStore, question: Question, subjects: Sequence[Subject]) -> str | None:
    """The answer where the only thing asked for is named in prose alone, and its code is wanted."""
    wants_code = question.asks and (question.here or question.about_code)
    if not wants_code or "history" in question.intents or len(subjects) != 1:
        return None
    subject = subjects[0]
    if subject.nodes:
        nodes = list(subject.nodes)
        places = [(node.path, node.line or 1) for node in nodes]
    else:
        mentions = lines_with(store, subject.name)
        nodes = [node for node, _, _ in mentions]
        places = [(node.path, line) for node, line, _ in mentions]
    if not nodes or any(node.kind != "doc" for node in nodes):
        return None
    return (
        f"`{subject.name}` is not defined in this repository's code: there is no such symbol. "
        f"It is only mentioned, in {places[0][0]}:{places[0][1]}."
    )


def _without_parameter(store: GraphStore, question: Question, subjects: Sequence[Subject]) -> str | None:
    """The answer where a parameter is asked for by name that nothing named in the question takes."""
    nodes = [node for node in _focus(question, subjects) if node.key.startswith("sym:")]
    if question.parameter is None or not question.asks or not nodes:
        return None
    told = [lacks(store, node, question.parameter) for node in nodes]
    return told[0] if all(told) else None


_NOTHING = "Nothing in this repository matches the question: no symbol, decision or document was found."


def _refusal(absent: Sequence[Subject]) -> str:
    owned = [subject for subject in absent if subject.owner is not None]
    if owned and len(owned) == len(absent):
        text = " ".join(_without_member(subject) for subject in owned)
    else:
        names = " or ".join(f"`{subject.name}`" for subject in absent)
        text = (
            f"There is no {names} in this repository: neither a symbol nor any text by that name was found."
        )
    near = list(dict.fromkeys(name for subject in absent for name in subject.near))[:3]
    return f"{text} Similar names that exist: {', '.join(f'`{name}`' for name in near)}." if near else text


def _without_member(subject: Subject) -> str:
    assert subject.owner is not None
    member = re.split(r"[.#]|::|->", subject.name)[-1]
    where = wording.defined(subject.owner)
    return f"There is no `{subject.name}`. {where} It has no member `{member}`."


def _chosen(found: Iterator[str], max_tokens: int) -> list[str]:
    """The first facts, each once, within the bounds."""
    kept: dict[str, None] = {}
    spent = 0
    for fact in found:
        if fact in kept or not fact:
            continue
        spent += tokens_of(fact)
        if spent > max_tokens or len(kept) >= MAX_FACTS:
            break
        kept[fact] = None
    return list(kept)


def _places(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences:
        yield from PLACE.findall(sentence)

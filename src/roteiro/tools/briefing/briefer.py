"""Puts a briefing together: what the names mean, whether anything is to be refused, and which facts fit.

Thread: any; blocks on the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roteiro.graph.model import Node
from roteiro.graph.store import GraphStore
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing.follow_up import carried_over, points_back
from roteiro.tools.briefing.gathering import DECIDING, Gathering
from roteiro.tools.briefing.question import Question, read_question
from roteiro.tools.briefing.refusals import NOTHING, refusal_of
from roteiro.tools.briefing.subjects import Subject, find_subject, find_symbol, narrowed
from roteiro.tools.graph_tools import PLACE, tokens_of

# Measured: the right fact among fifteen others is missed half of the time, among a handful seldom.
MAX_FACTS = 6
MAX_TOKENS = 420


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
            focus = _focus(question, subjects)
            refusal = refusal_of(store, question, subjects, focus)
            if refusal is not None:
                return Briefing(refusal=refusal, places=_places([refusal]))
            if not _concerns(question, subjects):
                return Briefing()
            gathering = Gathering(
                store=store, question=question, subjects=subjects, focus=focus, ignore=self._ignore
            )
            chosen = _chosen(gathering.facts(), max_tokens)
            if not chosen and question.asks and question.here:
                return Briefing(refusal=NOTHING)
        return Briefing(facts=tuple(chosen), places=_places(chosen))


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
    if not sure and question.intents & DECIDING:
        sure = [subject for subject in subjects if subject.nodes]
    nodes = [node for subject in sure for node in subject.nodes[: 1 if len(sure) > 1 else 2]]
    return list({node.key: node for node in nodes}.values())


def _concerns(question: Question, subjects: Sequence[Subject]) -> bool:
    """Whether a message may be about this repository at all; a poem is not."""
    if any(subject.nodes and not subject.weak for subject in subjects):
        return True
    if subjects and all(subject.foreign for subject in subjects):
        return question.here
    asks = question.asks or question.advises
    speaks = question.about_code or question.here or bool(question.intents)
    speaks = speaks or question.explains or "?" in question.text
    return asks and (bool(subjects) or speaks)


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


def _places(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place for sentence in sentences for place in PLACE.findall(sentence)))

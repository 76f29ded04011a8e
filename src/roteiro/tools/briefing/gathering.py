"""Gathers the facts for a question, those that decide it first. Thread: any; blocks on the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from roteiro.graph.model import Node
from roteiro.graph.store import GraphStore
from roteiro.tools.briefing import facts
from roteiro.tools.briefing.debts import debts
from roteiro.tools.briefing.hits import described
from roteiro.tools.briefing.parameters import ordinal, parameters
from roteiro.tools.briefing.passages import occurrences, overview, passages
from roteiro.tools.briefing.question import Question
from roteiro.tools.briefing.subjects import Subject

# Wishes whose facts answer by themselves; the others are answered by what and where a thing is.
DECIDING = frozenset(("path", "callers", "inherits", "signature", "debt", "history"))
_CALLABLE = ("fn", "method")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """One question's facts.

    Attributes:
        store: the graph, held in one snapshot.
        question: the question.
        subjects: what its names mean.
        focus: the nodes it is about.
        ignore: globs whose debt is left out.
    """

    store: GraphStore
    question: Question
    subjects: Sequence[Subject]
    focus: Sequence[Node]
    ignore: Sequence[str]

    def facts(self) -> Iterator[str]:
        """Sentences, the best first; more than will be used."""
        wants = self.question.intents
        if self.question.whole:
            yield from overview(self.store)
        if "history" in wants:
            yield from self._history()
        answered = False
        for fact in self._asked():
            answered = True
            yield fact
        for fact in self._mentions(answered=answered):
            answered = True
            yield fact
        if "path" not in wants or not answered:
            yield from self._about()
        if not self.focus and not answered and "history" not in wants:
            yield from described(self.store, self.question)
        if not wants & DECIDING:
            weak = [node for subject in self.subjects if subject.weak for node in subject.nodes[:1]]
            yield from _each(weak, lambda node: facts.about(self.store, node))

    # ---------------------------------------------------------------------------------------------

    def _history(self) -> Iterator[str]:
        """What records and changelogs say; first the record that is named, or the symbol that is wanted."""
        for node in self.focus:
            if node.kind == "adr":
                yield from facts.about(self.store, node)
        if self.question.kinds:
            yield from described(self.store, self.question)
        yield from passages(self.store, self.question.text)

    def _asked(self) -> Iterator[str]:
        """The facts of the kinds that the question names, in the order in which they decide it."""
        wants, tests = self.question.intents, self.question.about_tests
        symbols = [node for node in self.focus if node.key.startswith("sym:")]
        types = [node for node in symbols if node.kind not in (*_CALLABLE, "const")]
        if "path" in wants and len(symbols) > 1:
            yield from facts.connection(self.store, *_ends(symbols))
            wants -= {"callers"}  # the way tells who calls whom
        if "debt" in wants:
            yield from debts(self.store, self.question, self._files(), self.ignore)
        if "inherits" in wants:
            foreign = [subject.name for subject in self.subjects if not subject.nodes]
            foreign += [name for name, likely in self.question.maybe_names.items() if likely]
            named = {subject.name for subject in self.subjects if subject.nodes}
            foreign = [name for name in dict.fromkeys(foreign) if name not in named]
            yield from _each(foreign, lambda name: facts.subclasses_of_foreign(self.store, name))
            below = self.question.below
            yield from _each(types, lambda node: facts.bases(self.store, node, below=below, tests=tests))
        if "callers" in wants and self.question.wants_symbol:
            yield from self._callers(symbols)
        if "signature" in wants:
            yield from self._signatures(symbols)
        if "callers" in wants:
            yield from self._callers(symbols)
        if "members" in wants and not wants & (DECIDING - {"history"}):
            holders = [*types, *(node for node in self.focus if node.kind == "file")]
            yield from _each(holders, lambda node: facts.members(self.store, node))
        if not wants & DECIDING and len(types) == 1 and self.question.kinds:
            yield from described(self.store, self.question, within=types[0])

    def _callers(self, symbols: Sequence[Node]) -> Iterator[str]:
        """Of "which methods of C call f" it is f whose callers are asked for."""
        asked = self.question
        callables = [node for node in symbols if node.kind in _CALLABLE]
        if len(callables) > 1 and "both" in asked.text.lower():
            yield from facts.common_callers(self.store, callables)
        for node in callables or symbols:
            yield from facts.callers(
                self.store,
                node,
                outgoing=asked.outgoing,
                tests=asked.about_tests,
                imports=asked.imports,
            )

    def _signatures(self, symbols: Sequence[Node]) -> Iterator[str]:
        text, asked = self.question.text, self.question.parameter
        words = re.findall(r"\w+", text)
        yield from _each(symbols, lambda node: ordinal(self.store, node, text))
        yield from _each(symbols, lambda node: parameters(self.store, node, asked, words))

    def _mentions(self, *, answered: bool) -> Iterator[str]:
        """Where a name is written that is no symbol here."""
        if answered and "inherits" in self.question.intents:
            return
        tests, files = self.question.about_tests, self._files()
        for subject in self.subjects:
            if not subject.nodes and subject.mentioned:
                yield from occurrences(self.store, subject.name, tests=tests, files=files)
        if self.question.imported and not self.focus:
            name = self.question.imported
            yield from occurrences(self.store, name, tests=tests, files=files, imports=True)

    def _about(self) -> Iterator[str]:
        """What and where the nodes are; of a lone one that nothing else is asked of, its neighbours too."""
        if not self.question.intents & DECIDING:
            sure = [subject for subject in self.subjects if not subject.weak]
            yield from _each(sure, lambda subject: facts.several(subject.name, subject.nodes))
        for node in self.focus:
            yield from facts.about(self.store, node)
            if not self.question.intents and len(self.focus) == 1:
                yield from facts.neighbours(self.store, node)

    def _files(self) -> list[str]:
        return [node.path for node in self.focus if node.kind == "file"]


# ------------------------------------------------------------------------------------------------


def _ends(symbols: Sequence[Node]) -> tuple[Node, Node]:
    """The two ends of a path: functions before classes that merely stand in the sentence."""
    callables = [node for node in symbols if node.kind in _CALLABLE]
    first, second = (callables if len(callables) > 1 else list(symbols))[:2]
    return first, second


def _each(items: Iterable[T], facts_of: Callable[[T], Iterable[str]]) -> Iterator[str]:
    for item in items:
        yield from facts_of(item)

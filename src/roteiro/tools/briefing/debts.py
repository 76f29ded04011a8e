"""Words what people left for later, as a question asks for it. Thread: any; blocks on the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from roteiro.graph.model import Marker
from roteiro.graph.queries.asked import take_apart
from roteiro.graph.queries.debt import debt
from roteiro.graph.store import GraphStore
from roteiro.graph.words import terms
from roteiro.tools import wording
from roteiro.tools.briefing.question import Question
from roteiro.tools.scope import is_handwritten

_FILES = 12
_ITEMS, _TOLD = 6, 2
_OF_DEBT = frozenset(terms("not implemented raise error todo fixme hack"))
_COUNTS = re.compile(r"\b(how (many|much)|number of|count|total|list|all|files|any)\b", re.IGNORECASE)


def debts(
    store: GraphStore, question: Question, paths: Sequence[str], ignore: Sequence[str]
) -> Iterator[str]:
    """How many markers there are of the kind asked for, in which files, and what they say.

    Args:
        store: the graph.
        question: the question.
        paths: files that it names; only their markers count then.
        ignore: globs whose debt is left out.
    """
    found = debt(store, ignore=ignore)
    wanted = [category for category in found.by_category if category in question.text.lower()]
    named = [word for word in ("todo", "fixme", "hack") if word in question.text.lower()]
    items = [item for item in found.items if not wanted or item.category in wanted]
    if named and not wanted:
        items = []
    if paths:
        items = [item for item in items if item.path in paths]
    elif not question.about_tests:
        items = [item for item in items if is_handwritten(item.path)] or items
    what = " and ".join(word.upper() for word in (wanted or named)) or "debt"
    if not items:
        where = f"in `{paths[0]}`" if paths else "in this repository"
        yield f"There are 0 {what} comments {where}: no such marker was found."
        return
    telling = _most_telling(items, question)
    if not _COUNTS.search(question.text):
        # Which one is asked for: others beside it mislead.
        yield from (wording.marker(item) for item in telling[:_TOLD])
        return
    files = list(dict.fromkeys(item.path for item in items))
    listed = ", ".join(f"`{path}`" for path in files[:_FILES])
    yield (
        f"There {'is' if len(items) == 1 else 'are'} {wording.counted(len(items), f'{what} comment')}, "
        f"in {wording.counted(len(files), 'file')}: {listed}."
    )
    for item in telling[:_ITEMS]:
        yield wording.marker(item)


def _most_telling(items: Sequence[Marker], question: Question) -> list[Marker]:
    """The markers that share most words with the question first; those in code before those in prose."""
    asked = set(take_apart(question.text).terms) - _OF_DEBT

    def shared(item: Marker) -> int:
        return len(asked & set(terms(f"{item.text} {item.path} {item.symbol or ''}")))

    return sorted(items, key=lambda item: (not (item.symbol or "").startswith("sym:"), -shared(item)))

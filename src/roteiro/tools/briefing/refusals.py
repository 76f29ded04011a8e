"""Says what the repository does not have, where a question asks for it.

Models do not abstain by good will, so Roteiro answers these itself; but a question about another library, or
about nothing in particular, is none of its business. Thread: any; blocks on the store.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from roteiro.graph.model import Node
from roteiro.graph.store import GraphStore
from roteiro.tools import wording
from roteiro.tools.briefing.mentions import lines_with
from roteiro.tools.briefing.parameters import lacks
from roteiro.tools.briefing.question import Question
from roteiro.tools.briefing.subjects import Subject

NOTHING = "Nothing in this repository matches the question: no symbol, decision or document was found."


def refusal_of(
    store: GraphStore, question: Question, subjects: Sequence[Subject], focus: Sequence[Node]
) -> str | None:
    """The whole answer where what is asked for is not here; None where it is, or may be.

    Args:
        store: the graph.
        question: the question.
        subjects: what its names mean.
        focus: the nodes it is about.
    """
    if not question.asks:
        return None
    absent = [subject for subject in subjects if subject.absent]
    # A question about another library's function is none about this repository.
    if absent and (question.here or not all(subject.foreign for subject in absent)):
        return _absent(absent)
    return _undefined(store, question, subjects) or _without_parameter(store, question, focus)


# ------------------------------------------------------------------------------------------------


def _absent(absent: Sequence[Subject]) -> str:
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


def _undefined(store: GraphStore, question: Question, subjects: Sequence[Subject]) -> str | None:
    """The answer where the only thing asked for is named in prose alone, and its code is wanted."""
    wants_code = question.here or question.about_code
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


def _without_parameter(store: GraphStore, question: Question, focus: Sequence[Node]) -> str | None:
    """The answer where a parameter is asked for by name that nothing named in the question takes."""
    nodes = [node for node in focus if node.key.startswith("sym:")]
    if question.parameter is None or "history" in question.intents or not nodes:
        return None
    told = [lacks(store, node, question.parameter) for node in nodes]
    return told[0] if all(told) else None

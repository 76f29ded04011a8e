"""Finds what "it" and "that" mean in a question that goes on from the turn before. Pure text; thread: any."""

from __future__ import annotations

import re

from roteiro.tools.briefing.question import Question, read_question

# A longer message says itself what it is about.
_MOST_WORDS = 14
_POINTS = re.compile(
    r"\b(it|its|that|this|they|them|their|these|those|the same|"
    r"(?:the|this|that) (?:class|function|method|file|module|one|constant|exception))\b",
    re.IGNORECASE,
)
_AT_THE_ANSWER = re.compile(r"\b(that|those|they|them)\b", re.IGNORECASE)


def points_back(question: Question) -> bool:
    """Whether the question names nothing and leans on what was said before."""
    short = len(question.text.split()) <= _MOST_WORDS
    likely = any(question.maybe_names.values())
    return short and not question.names and not likely and bool(_POINTS.search(question.text))


def carried_over(text: str, asked: str, answered: str) -> str:
    """The question with the name that it points at, or as it is.

    "that" is what the answer named and the question before did not; "it" is what was asked about.

    Args:
        text: the question.
        asked: the user's message before.
        answered: the answer to that.
    """
    before, after = _names(asked), _names(answered)
    new = [name for name in after if name not in before]
    chosen = (new or before) if _AT_THE_ANSWER.search(text) else (before or new)
    return f"{text} (`{chosen[0]}`)" if chosen else text


def _names(text: str) -> list[str]:
    """The names in a message, paths and places left out."""
    question = read_question(text)
    likely = [name for name, sure in question.maybe_names.items() if sure]
    found = [*question.names, *likely]
    return [name for name in dict.fromkeys(found) if "/" not in name and not _is_file(name)]


def _is_file(name: str) -> bool:
    return re.search(r"\.(py|ts|tsx|js|go|rs|java|c|h|cpp|rb|php|cs|sh|md|rst)$", name) is not None

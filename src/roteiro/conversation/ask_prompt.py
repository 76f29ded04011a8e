"""What Ask mode adds to a conversation: one fixed instruction, and the facts beside the question.

The instruction never changes and stands first, and the facts stand in the last message only, so that the
prefix of a conversation stays the same from turn to turn. Pure; thread: any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from roteiro.chat.messages import Message

INSTRUCTION = (
    "You answer questions about one code repository. Facts that were looked up in the repository are "
    "right; answer from them and from nothing else. Answer in one or two sentences, write names and "
    "files exactly as they stand in the facts, and do not repeat the facts. If they do not answer the "
    "question, say that it was not found in the repository."
)
WITH_TOOLS = (
    "You answer questions about one code repository. Look up what you need with the functions; do not "
    "answer from memory. Then answer in one or two sentences, write names and files exactly as they were "
    "found, and say that it was not found when it was not."
)
LAST_ROUND = "Answer now, in one or two sentences, with what has been found."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The message to be answered, and the exchange before it ("" where there is none)."""

    index: int
    text: str
    before: str
    answered: str


def last_question(messages: Sequence[Message]) -> Asked | None:
    """The last user message, if it is what is to be answered: nothing but a prefill may follow it."""
    at = len(messages) - 1
    if at >= 0 and messages[at].role == "assistant":
        at -= 1
    if at < 0 or messages[at].role != "user":
        return None
    return Asked(
        index=at,
        text=messages[at].content or "",
        before=_last_text(messages[:at], "user"),
        answered=_last_text(messages[:at], "assistant"),
    )


def with_instruction(messages: Sequence[Message], instruction: str) -> tuple[Message, ...]:
    """The conversation with the instruction after the client's own system text."""
    if messages and messages[0].role == "system":
        first = messages[0]
        text = f"{first.content}\n\n{instruction}" if first.content else instruction
        return (replace(first, content=text), *messages[1:])
    return (Message(role="system", content=instruction), *messages)


def with_facts(messages: Sequence[Message], facts: Sequence[str]) -> tuple[Message, ...]:
    """The conversation with facts before the last user message's own text."""
    asked = last_question(messages)
    if asked is None or not facts:
        return tuple(messages)
    listed = "\n".join(f"- {fact}" for fact in facts)
    text = f"Facts from the repository:\n{listed}\n\nQuestion: {asked.text}"
    message = replace(messages[asked.index], content=text)
    return (*messages[: asked.index], message, *messages[asked.index + 1 :])


def told_to_answer(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation with the last round's instruction behind its last message.

    It is no message of its own: many templates take no user's turn after a tool's or another user's.
    """
    *before, last = messages
    text = f"{last.content or ''}\n\n{LAST_ROUND}"
    return (*before, replace(last, content=text))


# ------------------------------------------------------------------------------------------------


def _last_text(messages: Sequence[Message], role: str) -> str:
    return next((m.content or "" for m in reversed(messages) if m.role == role), "")

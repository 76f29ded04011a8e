"""What Ask mode adds to a conversation: one fixed instruction, and the facts beside the question.

The instruction never changes and stands first, and the facts stand in the last message only, so that the
prefix of a conversation stays the same from turn to turn. Pure; thread: any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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


def with_instruction(messages: Sequence[Message], instruction: str) -> tuple[Message, ...]:
    """The conversation with the instruction after the client's own system text."""
    if messages and messages[0].role == "system":
        first = messages[0]
        text = f"{first.content}\n\n{instruction}" if first.content else instruction
        return (replace(first, content=text), *messages[1:])
    return (Message(role="system", content=instruction), *messages)


def with_facts(messages: Sequence[Message], facts: Sequence[str]) -> tuple[Message, ...]:
    """The conversation with facts before the last user message's own text."""
    at = last_question(messages)
    if at is None or not facts:
        return tuple(messages)
    listed = "\n".join(f"- {fact}" for fact in facts)
    asked = messages[at]
    text = f"Facts from the repository:\n{listed}\n\nQuestion: {asked.content or ''}"
    return (*messages[:at], replace(asked, content=text), *messages[at + 1 :])


def last_question(messages: Sequence[Message]) -> int | None:
    """The index of the last user message, if it is what is to be answered."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user":
            return index
    return None

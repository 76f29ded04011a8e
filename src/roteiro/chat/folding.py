"""Legal orders: what to do with a conversation that a template rejects, without losing text.

Each fold is a function from messages to messages; `ways(...)` gives them from the least to the most
invasive. Pure; thread: any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.messages import Message
from roteiro.chat.preamble import calls_as_text
from roteiro.chat.template import Capabilities

_JOIN = "\n\n"


def ways(
    messages: Sequence[Message],
    capabilities: Capabilities,
    dialect: Dialect | None,
    *,
    text_calls: bool,
    keep_results: bool = False,
) -> Iterator[list[Message]]:
    """Forms of a conversation to try in turn.

    Args:
        messages: the conversation.
        capabilities: what the template takes; a form it is known to reject is not tried.
        dialect: the call form for calls that must be written as text.
        text_calls: write calls and results as text from the start.
        keep_results: but leave the results to the template, if it takes them so.
    """
    form = systems_first(messages, keep_late=capabilities.late_system)
    if text_calls and keep_results and capabilities.plain_results:
        form = calls_as_text(form, dialect, keep_results=True)
    elif text_calls:
        form = merge_neighbours(calls_as_text(form, dialect))
    elif not capabilities.parallel_tool_calls:
        form = one_call_a_turn(form)
    if not capabilities.system_role:
        form = system_into_user(form)
    seen: list[list[Message]] = []
    for fold in (
        list,
        _all_systems_first,
        merge_neighbours,
        user_first,
        lambda given: user_first(merge_neighbours(calls_as_text(given, dialect))),
        lambda given: user_first(merge_neighbours(system_into_user(given))),
    ):
        form = fold(form)
        if form not in seen:
            seen.append(form)
            yield form


def systems_first(messages: Sequence[Message], *, keep_late: bool) -> list[Message]:
    """One system message at the front; later ones stay where they are if the template takes them there."""
    leading = 0
    while leading < len(messages) and messages[leading].role == "system":
        leading += 1
    late = [] if keep_late else [m for m in messages[leading:] if m.role == "system"]
    rest = [m for m in messages[leading:] if keep_late or m.role != "system"]
    texts = [m.content for m in (*messages[:leading], *late) if m.content]
    if not texts:
        return rest
    return [Message(role="system", content=_JOIN.join(texts)), *rest]


def _all_systems_first(messages: Sequence[Message]) -> list[Message]:
    return systems_first(messages, keep_late=False)


def system_into_user(messages: Sequence[Message]) -> list[Message]:
    """The system text before the first user message's own."""
    texts = [m.content for m in messages if m.role == "system" and m.content]
    rest = [m for m in messages if m.role != "system"]
    if not texts:
        return rest
    for index, message in enumerate(rest):
        if message.role == "user":
            content = _JOIN.join([*texts, message.content] if message.content else texts)
            return [*rest[:index], replace(message, content=content), *rest[index + 1 :]]
    return [Message(role="user", content=_JOIN.join(texts)), *rest]


def one_call_a_turn(messages: Sequence[Message]) -> list[Message]:
    """Calls of one turn as turns of their own, each with its result behind it."""
    apart: list[Message] = []
    waiting: list[Message] = []
    for message in messages:
        if message.role == "tool" and waiting:
            at = next((n for n, w in enumerate(waiting) if w.tool_calls[0].id == message.tool_call_id), 0)
            apart.extend((waiting.pop(at), message))
            continue
        apart.extend(waiting)
        waiting = []
        if len(message.tool_calls) > 1:
            first, *others = message.tool_calls
            waiting = [replace(message, tool_calls=(first,))]
            waiting += [Message(role="assistant", tool_calls=(call,)) for call in others]
        else:
            apart.append(message)
    return [*apart, *waiting]


def merge_neighbours(messages: Sequence[Message]) -> list[Message]:
    """Messages of one role in a row as one; results of tools stay apart."""
    groups: list[list[Message]] = []
    for message in messages:
        if groups and groups[-1][0].role == message.role != "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    return [group[0] if len(group) == 1 else _merge(group) for group in groups]


def _merge(group: Sequence[Message]) -> Message:
    # All at once: text by text, thousands of messages would be copied thousands of times.
    return replace(
        group[0],
        content=_JOIN.join(message.content for message in group if message.content),
        reasoning_content=_JOIN.join(m.reasoning_content for m in group if m.reasoning_content) or None,
        tool_calls=tuple(call for message in group for call in message.tool_calls),
    )


def user_first(messages: Sequence[Message]) -> list[Message]:
    """A conversation that begins with a user message, an empty one if need be."""
    at = 1 if messages and messages[0].role == "system" else 0
    if at < len(messages) and messages[at].role == "user":
        return list(messages)
    return [*messages[:at], Message(role="user", content=""), *messages[at:]]

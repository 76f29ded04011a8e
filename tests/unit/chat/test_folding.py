from __future__ import annotations

import time

from roteiro.chat.folding import (
    merge_neighbours,
    one_call_a_turn,
    system_into_user,
    systems_first,
    user_first,
    ways,
)
from roteiro.chat.messages import Message, ToolCall
from roteiro.chat.template import Capabilities


def message(role: str, content: str | None = None, **more) -> Message:
    return Message(role=role, content=content, **more)


def spoken(messages: list[Message]) -> list[tuple[str, str | None]]:
    return [(m.role, m.content) for m in messages]


def test_systems_come_first_unless_they_may_stay():
    history = [message("system", "a"), message("user", "u"), message("system", "b")]
    assert spoken(systems_first(history, keep_late=True)) == [("system", "a"), ("user", "u"), ("system", "b")]
    assert spoken(systems_first(history, keep_late=False)) == [("system", "a\n\nb"), ("user", "u")]
    assert spoken(systems_first([message("system", ""), message("user", "u")], keep_late=True)) == [
        ("user", "u")
    ]


def test_a_system_text_goes_before_the_first_users():
    history = [message("system", "s"), message("assistant", "a"), message("user", "u")]
    assert spoken(system_into_user(history)) == [("assistant", "a"), ("user", "s\n\nu")]
    assert spoken(system_into_user([message("system", "s")])) == [("user", "s")]


def test_neighbours_are_merged_and_results_are_not():
    call = ToolCall(id="1", name="f", arguments="{}")
    history = [
        message("assistant", "a", reasoning_content="x"),
        message("assistant", None, tool_calls=(call,), reasoning_content="y"),
        message("tool", "r", tool_call_id="1"),
        message("tool", "r", tool_call_id="1"),
    ]
    merged = merge_neighbours(history)
    assert spoken(merged) == [("assistant", "a"), ("tool", "r"), ("tool", "r")]
    assert (merged[0].tool_calls, merged[0].reasoning_content) == ((call,), "x\n\ny")


def test_a_great_many_neighbours_are_merged_at_once():
    count = 30_000
    began = time.perf_counter()
    (merged,) = merge_neighbours([message("user", "some words of a message")] * count)
    assert len(merged.content.split("\n\n")) == count
    assert time.perf_counter() - began < 1, "copied message by message, this takes a time in their square"


def test_a_conversation_begins_with_a_user():
    assert spoken(user_first([message("system", "s"), message("assistant", "a")])) == [
        ("system", "s"),
        ("user", ""),
        ("assistant", "a"),
    ]
    assert spoken(user_first([])) == [("user", "")]


def test_calls_apart_keep_their_results():
    calls = tuple(ToolCall(id=f"c{n}", name="f", arguments="{}") for n in range(3))
    history = [
        message("assistant", "so", tool_calls=calls, reasoning_content="why"),
        message("tool", "2", tool_call_id="c2"),
        message("tool", "0", tool_call_id="c0"),
        message("user", "u"),
    ]
    apart = one_call_a_turn(history)
    assert [(m.role, m.content, [c.id for c in m.tool_calls]) for m in apart] == [
        ("assistant", None, ["c2"]),
        ("tool", "2", []),
        ("assistant", "so", ["c0"]),
        ("tool", "0", []),
        ("assistant", None, ["c1"]),
        ("user", "u", []),
    ]


def test_a_legal_conversation_is_tried_as_it_is_first_and_no_form_twice():
    history = [message("user", "u"), message("assistant", "a"), message("user", "v")]
    forms = list(ways(history, Capabilities(system_role=True), None, text_calls=False))
    assert forms[0] == history
    assert all(one not in forms[:number] for number, one in enumerate(forms))

"""Messages in every legal shape, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from roteiro.chat.messages import Message, ToolCall
from roteiro.errors import RoteiroError
from roteiro.server.json_body import validate
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.messages import to_messages


def converted(*messages: Any) -> tuple[Message, ...]:
    return to_messages(validate(ChatCompletionBody, {"messages": list(messages)}).messages)


@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
def test_parts_are_joined_in_order(role: str) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    (whole,) = converted({"role": role, "content": "ab"})
    (cut,) = converted({"role": role, "content": parts})
    assert whole == cut


def test_developer_is_system_and_function_is_tool() -> None:
    (developer,) = converted({"role": "developer", "content": "x"})
    (function,) = converted({"role": "function", "name": "f", "content": "x"})
    assert developer.role == "system"
    assert (function.role, function.name) == ("tool", "f")


CALL = {"id": "a1b2c3d4e", "type": "function", "function": {"name": "search", "arguments": '{"q":"x"}'}}


@pytest.mark.parametrize("content", [{"content": None}, {"content": ""}, {}])
def test_calls_may_stand_without_content(content: dict[str, Any]) -> None:
    (message,) = converted({"role": "assistant", "tool_calls": [CALL], **content})
    assert not message.content
    assert message.tool_calls == (ToolCall(id="a1b2c3d4e", name="search", arguments='{"q":"x"}'),)


def test_arguments_are_kept_as_they_were_written() -> None:
    text = '{ "q" :"x"'  # not even JSON: the template's business, never a crash here
    call = {**CALL, "function": {"name": "search", "arguments": text}}
    (message,) = converted({"role": "assistant", "tool_calls": [call]})
    assert message.tool_calls[0].arguments == text
    call = {"function": {"name": "search", "arguments": {"q": "é"}}}
    (message,) = converted({"role": "assistant", "tool_calls": [call]})
    assert message.tool_calls[0] == ToolCall(id="call_0_0", name="search", arguments='{"q": "é"}')


def test_reasoning_comes_back_unchanged_under_either_name() -> None:
    text = " why?\n\n"
    (one,) = converted({"role": "assistant", "content": "4", "reasoning_content": text})
    (other,) = converted({"role": "assistant", "content": "4", "reasoning": text})
    assert one.reasoning_content == other.reasoning_content == text


def test_an_empty_answer_can_be_replayed() -> None:
    (message,) = converted({"role": "assistant", "content": ""})
    assert message.content == ""
    (message,) = converted({"role": "assistant", "content": None})
    assert message.content is None


def test_a_refusal_is_what_was_said() -> None:
    (message,) = converted({"role": "assistant", "content": None, "refusal": "no"})
    assert message.content == "no"


def test_tool_results_keep_their_call() -> None:
    (message,) = converted({"role": "tool", "tool_call_id": "c1", "content": ""})
    assert (message.tool_call_id, message.content) == ("c1", "")


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        (None, "messages"),
        ("hello", "messages"),
        ([123], "messages[0]"),
        ([{}], "messages[0].role"),
        ([{"role": "user"}], "messages[0].content"),
        ([{"role": "user", "content": None}], "messages[0].content"),
        ([{"role": "user", "content": 123}], "messages[0].content"),
        ([{"role": 123, "content": "x"}], "messages[0].role"),
        ([{"role": "banana", "content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": "x"}, {}], "messages[1].role"),
        ([{"role": "assistant"}], "messages[0].content"),
        ([{"role": "user", "content": "x", "tool_calls": [CALL]}], "messages[0].tool_calls"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content[0].type"),
        ([{"role": "user", "content": [{"type": ["text"]}]}], "messages[0].content[0].type"),
        ([{"role": "user", "content": [{"type": "text"}]}], "messages[0].content[0].text"),
        ([{"role": "user", "content": ["x"]}], "messages[0].content[0]"),
        ([{"role": "assistant", "content": "", "function_call": {}}], "messages[0].function_call"),
        ([{"role": "assistant", "content": "", "audio": {"id": "x"}}], "messages[0].audio"),
        ([{"role": "assistant", "tool_calls": [{}]}], "messages[0].tool_calls[0].function"),
        (
            [{"role": "assistant", "tool_calls": [{**CALL, "type": "custom"}]}],
            "messages[0].tool_calls[0].type",
        ),
    ],
)
def test_what_is_no_conversation_is_refused_by_its_place(messages: Any, param: str) -> None:
    with pytest.raises(RoteiroError) as caught:
        to_messages(validate(ChatCompletionBody, {"messages": messages}).messages)
    assert caught.value.param == param

"""Echoed messages become the tokens that the model wrote, whatever the template makes of them."""

from __future__ import annotations

import pytest

from fakes.conversations import HERMES_TEMPLATE, deltas, end_of, events_of, make_conversation, user
from roteiro.chat.events import ReasoningDelta, TextDelta, ToolCallArguments, ToolCallStart
from roteiro.chat.messages import Message, Tool, ToolCall
from roteiro.conversation.echo import KEPT_TOKENS, KEPT_TURNS, Echoes, Read, Written
from roteiro.conversation.request import ChatRequest
from roteiro.engine.scripted import Reply

pytestmark = pytest.mark.anyio

SEARCH = Tool(name="search", description="Search.", parameters={"type": "object"})
PLAIN_CALL = '<tool_call>\n{"name": "search", "arguments": {"q": "a"}}\n</tool_call>'
ODD_CALL = '<tool_call>\n{"name": "search", "arguments": {"q":"a","n":[1,2]}}\n</tool_call>'
# Thoughts of the last turns stand in the history, as most templates since 2025 have it.
THINKING = HERMES_TEMPLATE.replace(
    "+ (m.content or '')",
    "+ ('<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' if m.reasoning_content else '') "
    "+ (m.content or '')",
)


def message_of(events) -> Message:
    """The message as a client folds it, the beginning of a call that was cut included."""
    said = deltas(events)
    starts = [event for event in said if isinstance(event, ToolCallStart)]
    pieces = [event for event in said if isinstance(event, ToolCallArguments)]
    return Message(
        role="assistant",
        content="".join(event.text for event in said if isinstance(event, TextDelta)) or None,
        reasoning_content="".join(event.text for event in said if isinstance(event, ReasoningDelta)) or None,
        tool_calls=tuple(
            ToolCall(
                id=start.id,
                name=start.name,
                arguments="".join(piece.fragment for piece in pieces if piece.index == start.index),
            )
            for start in starts
        ),
    )


class Life:
    """A client that keeps its history."""

    def __init__(self, folder, replies, *, template=HERMES_TEMPLATE, tools=(SEARCH,)) -> None:
        self.conversation, self.engine, self.backend = make_conversation(folder, replies, template=template)
        self.history: list[Message] = []
        self.tools = tools

    async def say(self, *messages: Message, **fields):
        self.history += messages
        request = ChatRequest(
            id="chatcmpl-1", model=None, messages=tuple(self.history), tools=self.tools, **fields
        )
        events = await events_of(self.conversation, request)
        self.history.append(message_of(events))
        return end_of(events)


def asks(text: str) -> Message:
    return Message(role="user", content=text)


def held_after(end) -> int:
    """Tokens in memory after a turn: all but the last, which ended it and was not evaluated."""
    return end.usage.prompt_tokens + end.usage.completion_tokens - 1


def result(message: Message) -> Message:
    return Message(role="tool", tool_call_id=message.tool_calls[0].id, content="found")


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("Let me look.\n" + PLAIN_CALL, id="as the template"),
        pytest.param("Let me look.\n\n\n" + PLAIN_CALL, id="more white space before the call"),
        pytest.param(ODD_CALL, id="arguments spelt otherwise"),
        pytest.param(ODD_CALL + "\n" + ODD_CALL, id="two calls"),
        pytest.param("  plain text with space at both ends \n\n", id="white space at the ends"),
    ],
)
async def test_an_echoed_turn_is_held_whole(tmp_path, written):
    life = Life(tmp_path, [written, "Done."])
    first = await life.say(asks("hello"))
    said = life.history[-1]
    held = held_after(first)
    second = await life.say(result(said) if said.tool_calls else asks("more"))
    assert second.timings.cache_n == held, "everything up to the token that ended the turn"
    assert life.backend.prompts[-1].startswith(life.backend.prompts[0]), "the model sees its own words"
    await life.engine.aclose()


@pytest.mark.parametrize("before", ["", "Let me look.\n", ODD_CALL + "\n"])
async def test_a_turn_cut_anywhere_is_held_as_it_was_written(tmp_path, before):
    """What a streaming client has of a cut call is no JSON; a template makes a text of it, or what it likes."""
    cut_calls = 0
    for limit in range(1, len(before) + len(ODD_CALL)):
        folder = tmp_path / str(limit)
        folder.mkdir()
        life = Life(folder, [before + ODD_CALL, "Done."])
        first = await life.say(asks("hello"), max_tokens=limit)
        said = life.history[-1]
        cut_calls += bool(said.tool_calls) and first.finish_reason == "length"
        second = await life.say(result(said) if said.tool_calls else asks("more"))
        # Of a call whose name had not come the client has nothing to send back.
        if said.tool_calls:
            assert second.reuse_note == "extends slot 0", (limit, said)
        await life.engine.aclose()
    assert cut_calls > 20


@pytest.mark.parametrize("edited", ["", '{"q": "zzz'])
async def test_a_cut_call_that_the_client_changed_stays_changed(tmp_path, edited):
    before = "Let me look.\n"
    life = Life(tmp_path, [before + ODD_CALL, "Done."])
    await life.say(asks("hello"), max_tokens=len(before) + 45)
    cut = life.history[-1]
    assert cut.tool_calls
    calls = (ToolCall(id="call_other", name="search", arguments=edited),) if edited else ()
    life.history[-1] = Message(role="assistant", content=cut.content, tool_calls=calls)
    # The message itself stands further on, which is not where it was written.
    await life.say(asks("again"), cut, result(cut))
    first, _, later = life.backend.prompts[-1].partition("again")
    assert first.count('"search"') == 1 + bool(edited), "where the tools are stated, and what was sent"
    assert ("zzz" in first) is bool(edited)
    assert '"search"' in later
    await life.engine.aclose()


@pytest.mark.parametrize("changed", ['{"q":"b","q":"a","n":[1,2]}', '{"q":"a"}', '{"n":[1,2],"q":"A"}'])
async def test_arguments_that_say_something_else_are_rendered_as_sent(tmp_path, changed):
    life = Life(tmp_path, [ODD_CALL, "Done."])
    await life.say(asks("hello"))
    said = life.history[-1]
    call = ToolCall(id=said.tool_calls[0].id, name="search", arguments=changed)
    life.history[-1] = Message(role="assistant", content=None, tool_calls=(call,))
    second = await life.say(result(said))
    assert second.reuse_note != "extends slot 0"
    await life.engine.aclose()


async def test_a_thought_that_the_template_keeps_is_held(tmp_path):
    written = "<think>\n\nwhy not \n</think>\nYes."
    life = Life(tmp_path, [written, "Done."], template=THINKING)
    first = await life.say(asks("hello"))
    assert life.history[-1].reasoning_content == "why not"
    second = await life.say(asks("more"))
    assert second.timings.cache_n == held_after(first)
    await life.engine.aclose()


async def test_a_thought_that_the_template_drops_stays_dropped(tmp_path):
    written = "<think>\nwhy not\n</think>\n\nYes."
    life = Life(tmp_path, [Reply(text=written, match="hello"), Reply(text="Done.", match="more")])
    await life.say(asks("hello"))
    await life.say(asks("more"))
    assert "why not" not in life.backend.prompts[-1]
    await life.engine.aclose()


@pytest.mark.parametrize("edit", ["content", "arguments", "id"])
async def test_a_message_that_the_client_changed_is_rendered_as_sent(tmp_path, edit):
    life = Life(tmp_path, ["Let me look.\n\n\n" + ODD_CALL, "Done."])
    await life.say(asks("hello"))
    said = life.history[-1]
    call = said.tool_calls[0]
    changed = {
        "content": ("Let me see.", call),
        "arguments": ("Let me look.", ToolCall(id=call.id, name=call.name, arguments='{"q": "b"}')),
        "id": ("Let me look.", ToolCall(id="call_x", name=call.name, arguments=call.arguments)),
    }[edit]
    life.history[-1] = Message(role="assistant", content=changed[0], tool_calls=(changed[1],))
    await life.say(result(life.history[-1]))
    assert ODD_CALL not in life.backend.prompts[-1]
    assert changed[0] in life.backend.prompts[-1]
    await life.engine.aclose()


async def test_ten_turns_evaluate_only_what_is_new(tmp_path):
    replies = [f"  answer {turn} \n" if turn % 2 else ODD_CALL for turn in range(10)]
    life = Life(tmp_path, replies)
    held = 0
    for turn in range(10):
        last = life.history[-1] if life.history else None
        end = await life.say(result(last) if last and last.tool_calls else asks(f"turn {turn}"))
        assert end.timings.cache_n == held, turn
        assert end.timings.cache_n + end.timings.prompt_n == end.usage.prompt_tokens
        held = held_after(end)
    await life.engine.aclose()


async def test_the_same_request_again_is_the_same_prompt(tmp_path):
    life = Life(tmp_path, [ODD_CALL, "Done.", "Done again."])
    await life.say(asks("hello"))
    second = await life.say(result(life.history[-1]))
    life.history.pop()
    again = await life.say()
    assert again.usage.prompt_tokens == second.usage.prompt_tokens
    assert again.timings.prompt_n == 1
    await life.engine.aclose()


async def test_a_turn_ended_by_a_stop_string_is_not_continued_with_what_nobody_saw(tmp_path):
    life = Life(tmp_path, ["alpha beta gamma", "Done."], tools=())
    await life.say(asks("hello"), stop=("beta",))
    await life.say(asks("more"))
    assert "beta" not in life.backend.prompts[-1]
    await life.engine.aclose()


async def test_other_requests_are_counted_as_they_would_be_evaluated(tmp_path):
    life = Life(tmp_path, [ODD_CALL, "Done."])
    await life.say(asks("hello"))
    messages = (*life.history, result(life.history[-1]))
    prompt = await life.conversation.prompt(user(messages=messages, tools=(SEARCH,)))
    second = await life.say(messages[-1])
    assert len(prompt.tokens) == second.usage.prompt_tokens
    await life.engine.aclose()


def written_turn(text: str, size: int) -> Written:
    return Written(
        parts=((text, True),),
        tokens=(1,) * size,
        answer=(2,),
        text="x",
        read=Read(content="x", reasoning="", calls=()),
        parser=lambda: pytest.fail("not asked"),
        number=0,
        message=Message(role="assistant", content="x"),
    )


def test_what_is_kept_is_bounded():
    echoes = Echoes()
    for number in range(KEPT_TURNS + 5):
        echoes.remember(written_turn(f"prompt {number}", 10))
    assert len(echoes) == KEPT_TURNS
    assert echoes.find((("prompt 4", True),), (), ()) is None, "the oldest went"
    known = echoes.find((("prompt 5", True),), (), ())
    assert known is not None
    assert (known.tokens, known.rest) == ((1,) * 10, ())
    echoes.remember(written_turn("long", KEPT_TOKENS - 95))
    assert len(echoes) < 10
    assert echoes.find((("long", True),), (), ()) is not None
    assert echoes.find((("prompt 5", True),), (), ()) is not None, "it was used after the others"


def test_a_prompt_that_only_looks_alike_is_not_taken():
    echoes = Echoes()
    echoes.remember(written_turn("one", 3))
    assert echoes.find((("one", False),), (), ()) is None, "text of people is not the template's"
    assert echoes.find((("on", True),), (), ()) is None
    assert echoes.find((("one more", True),), (), ("END",)) is None, "no such message"

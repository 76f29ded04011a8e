"""The two folds: whatever the events, the joined stream and the body say the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roteiro.chat.events import (
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)
from roteiro.conversation.events import (
    AnswerEvent,
    AnswerFinished,
    Delta,
    LogprobEntry,
    RoundFinished,
    Usage,
)
from roteiro.engine.request import Loading, PromptProgress, Queued, Timings
from roteiro.server.wire.chat_reply import BodyFold, ChunkFold, ReplyHead
from roteiro.server.wire.figures import timings_json

TIMINGS = Timings(cache_n=2, prompt_n=3, prompt_ms=30, predicted_n=4, predicted_ms=60, queue_ms=1)


def end(reason: str = "stop", **fields: Any) -> AnswerFinished:
    usage = Usage(prompt_tokens=5, completion_tokens=4, cached_tokens=2)
    return AnswerFinished(finish_reason=reason, usage=usage, timings=TIMINGS, model="m", **fields)


def folded(events: list[AnswerEvent], **head: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    told = ReplyHead(id="chatcmpl-1", model="m", created=1, **head)
    chunks, body = ChunkFold(told), BodyFold(told)
    streamed = []
    for event in events:
        streamed += chunks.chunks(0, event)
        body.add(0, event)
    return streamed, body.body()


texts = st.text(min_size=1, max_size=5)
pieces = st.lists(
    st.one_of(
        texts.map(lambda t: Delta(event=TextDelta(text=t))),
        texts.map(lambda t: Delta(event=ReasoningDelta(text=t))),
        st.just(Queued(position=1)),
        st.just(Loading(model="m")),
        st.just(PromptProgress(total=5, cache=2, processed=3, time_ms=1)),
        st.just(PromptProgress(total=5, cache=2, processed=5, time_ms=2)),
    ),
    max_size=12,
)


@st.composite
def answers(draw: st.DrawFn) -> list[AnswerEvent]:
    events: list[AnswerEvent] = list(draw(pieces))
    for index in range(draw(st.integers(0, 3))):
        events.append(Delta(event=ToolCallStart(index=index, id=f"c{index}", name="f")))
        fragments = draw(st.lists(texts, min_size=1, max_size=3))
        events += [Delta(event=ToolCallArguments(index=index, fragment=f)) for f in fragments]
        events.append(Delta(event=ToolCallEnd(index=index, arguments="".join(fragments))))
    return [*events, end()]


@given(answers(), st.booleans(), st.booleans())
def test_the_joined_stream_is_the_body(
    events: list[AnswerEvent], include_usage: bool, progress: bool
) -> None:
    chunks, body = folded(events, include_usage=include_usage, return_progress=progress)
    message = body["choices"][0]["message"]
    joined: dict[str, str] = {"content": "", "reasoning_content": ""}
    calls: dict[int, dict[str, str]] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            for key in joined:
                joined[key] += delta.get(key) or ""
            for entry in delta.get("tool_calls", ()):
                call = calls.setdefault(entry["index"], {"id": entry.get("id"), "name": "", "arguments": ""})
                call["name"] += entry["function"].get("name", "")
                call["arguments"] += entry["function"]["arguments"]
    assert joined["content"] == message["content"]
    assert joined["reasoning_content"] == message.get("reasoning_content", "")
    told = [{"id": c["id"], **c["function"]} for c in message.get("tool_calls", ())]
    assert list(calls.values()) == told
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    finishes = [c["finish_reason"] for chunk in chunks for c in chunk["choices"]]
    assert [f for f in finishes if f] == ["stop"]
    assert [("timings" in chunk) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert ("usage" in chunks[-1]) is include_usage
    assert all("usage" not in chunk for chunk in chunks[:-1])


def test_an_empty_answer_still_has_role_and_finish() -> None:
    chunks, body = folded([end("length")])
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": None},
        {},
    ]
    assert body["choices"][0]["message"] == {"role": "assistant", "content": ""}
    assert body["choices"][0]["finish_reason"] == "length"


def test_the_role_is_told_as_soon_as_the_prompt_is_evaluated() -> None:
    """An answer that may become a call is held back: until then this is all that shows the model at work."""
    fold = ChunkFold(ReplyHead(id="chatcmpl-1", model="m", created=1))
    assert list(fold.chunks(0, PromptProgress(total=5, cache=2, processed=3, time_ms=1))) == []
    (first,) = fold.chunks(0, PromptProgress(total=5, cache=2, processed=5, time_ms=2))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert [chunk["choices"][0]["delta"] for chunk in fold.chunks(0, Delta(event=TextDelta(text="x")))] == [
        {"content": "x"}
    ]


def test_logprobs_only_where_asked() -> None:
    entry = LogprobEntry(
        token="a",
        id=5,
        data=b"a",
        logprob=-0.5,
        top=(LogprobEntry(token="b", id=6, data=b"b", logprob=-1.0),),
    )
    events = [Delta(event=TextDelta(text="a"), logprobs=(entry,)), end()]
    chunks, body = folded(events, logprobs=True)
    expected = {
        "id": 5,
        "token": "a",
        "bytes": [97],
        "logprob": -0.5,
        "top_logprobs": [{"id": 6, "token": "b", "bytes": [98], "logprob": -1.0}],
    }
    assert chunks[1]["choices"][0]["logprobs"] == {"content": [expected]}
    assert body["choices"][0]["logprobs"] == {"content": [expected]}
    chunks, body = folded(events)
    assert "logprobs" not in str(chunks)
    assert "logprobs" not in body["choices"][0]


def test_what_ask_mode_did_is_told_once_at_the_end() -> None:
    report = {"rounds": 1}
    chunks, body = folded([RoundFinished(number=1, runs=()), end(roteiro=report)])
    assert body["roteiro"] == chunks[-1]["roteiro"] == report
    assert all("roteiro" not in chunk for chunk in chunks[:-1])


def test_rates_count_steps_and_nothing_is_divided_by_zero() -> None:
    told = timings_json(TIMINGS)
    assert told["prompt_per_second"] == 100
    assert told["prompt_per_token_ms"] == 10
    assert told["predicted_per_token_ms"] == 20
    assert told["predicted_per_second"] == 50
    empty = timings_json(Timings())
    assert set(empty.values()) == {0}
    one = timings_json(Timings(predicted_n=1))
    assert (one["predicted_ms"], one["predicted_per_second"], one["predicted_per_token_ms"]) == (0.001, 0, 0)

"""Chat over HTTP, real ASGI and the scripted engine: one body and one stream from the same events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.conversations import THINKING_TEMPLATE
from fakes.served import CHAT, HELLO, client_of, events_of, make_runtime, text_of
from roteiro.engine.scripted import Behaviour, Reply

pytestmark = pytest.mark.anyio

URL = "/v1/chat/completions"
TOOL = {
    "type": "function",
    "function": {
        "name": "search",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
}
CALL = '<tool_call>\n{"name": "search", "arguments": {"q": "main"}}\n</tool_call>'


async def test_a_body_has_the_shape_that_clients_know(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["Hi there."])
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert reply.headers["x-request-id"].startswith("req-")
    body = reply.json()
    assert body["id"].startswith("chatcmpl-")
    assert len(body["id"]) == len("chatcmpl-") + 32
    assert (body["object"], body["model"]) == ("chat.completion", CHAT)
    (choice,) = body["choices"]
    assert choice == {
        "index": 0,
        "message": {"role": "assistant", "content": "Hi there."},
        "finish_reason": "stop",
    }
    usage, timings = body["usage"], body["timings"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert timings["cache_n"] + timings["prompt_n"] == usage["prompt_tokens"]
    assert timings["predicted_n"] == usage["completion_tokens"] == len("Hi there.") + 1
    assert all(value >= 0 for value in timings.values())


async def test_a_stream_says_the_same_as_the_body(tmp_path: Path) -> None:
    text = "Grüße 😀\nand more"
    runtime, _ = make_runtime(tmp_path, [text, text])
    async with client_of(runtime) as client:
        body = (await client.post(URL, json={"messages": HELLO})).json()
        reply = await client.post(URL, json={"messages": HELLO, "stream": True})
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["x-accel-buffering"] == "no"
    events = events_of(reply.text)
    assert events[-1] == "[DONE]"
    assert text_of(events) == body["choices"][0]["message"]["content"] == text
    chunks = events[:-1]
    assert {chunk["id"] for chunk in chunks} == {chunks[0]["id"]}
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert not any("role" in chunk["choices"][0]["delta"] for chunk in chunks[1:])
    finishes = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert finishes == [None] * (len(chunks) - 1) + ["stop"]
    assert all("timings" not in chunk for chunk in chunks[:-1])
    assert "usage" not in chunks[-1]
    assert chunks[-1]["timings"]["predicted_n"] == body["timings"]["predicted_n"]


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_usage": None}])
async def test_usage_is_streamed_only_when_asked_for(tmp_path: Path, options: Any) -> None:
    runtime, _ = make_runtime(tmp_path, ["a"])
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO, "stream": True, "stream_options": options})
    assert "usage" not in reply.text


async def test_the_usage_chunk_is_last_and_has_no_choices(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["a"])
    async with client_of(runtime) as client:
        reply = await client.post(
            URL,
            json={"messages": HELLO, "stream": True, "stream_options": {"include_usage": True}},
        )
    *_, finish, usage, done = events_of(reply.text)
    assert done == "[DONE]"
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert "timings" not in finish
    assert usage["choices"] == []
    assert usage["timings"]["predicted_n"] == usage["usage"]["completion_tokens"] == 2


async def test_timings_on_every_token_but_not_on_the_role(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["abc"])
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO, "stream": True, "timings_per_token": True})
    chunks = events_of(reply.text)[:-1]
    assert "timings" not in chunks[0]
    counts = [chunk["timings"]["predicted_n"] for chunk in chunks[1:]]
    assert counts == sorted(counts)
    assert counts[0] == 1


async def test_progress_runs_from_the_cache_to_the_total(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["a", "b"])
    ask = {
        "messages": [{"role": "user", "content": "x" * 100}],
        "stream": True,
        "return_progress": True,
    }
    async with client_of(runtime) as client:
        cold = events_of((await client.post(URL, json=ask)).text)
        warm = events_of((await client.post(URL, json=ask)).text)
        quiet = (await client.post(URL, json={**ask, "return_progress": False})).text
    for events, cached in ((cold, False), (warm, True)):
        progress = [event["prompt_progress"] for event in events[:-1] if "prompt_progress" in event]
        assert progress[0]["processed"] == progress[0]["cache"]
        assert progress[-1]["processed"] == progress[-1]["total"]
        assert [p["processed"] for p in progress] == sorted({p["processed"] for p in progress})
        assert len({(p["total"], p["cache"]) for p in progress}) == 1
        assert (progress[0]["cache"] > 0) is cached
    first = next(event for event in cold if "prompt_progress" in event)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert "prompt_progress" not in quiet
    # The role comes once more with the first token, as with llama-server.
    after = [event for event in cold[:-1] if "prompt_progress" not in event]
    assert after[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}


async def test_timings_on_progress_count_the_prompt_alone(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    ask = {"messages": HELLO, "stream": True, "return_progress": True, "timings_per_token": True}
    async with client_of(runtime) as client:
        events = events_of((await client.post(URL, json=ask)).text)
    told = [event for event in events[:-1] if "prompt_progress" in event]
    first = told[0]["timings"]
    assert (first["prompt_n"], first["prompt_ms"], first["predicted_n"]) == (0, 0, 0)
    for event in told:
        progress, timings = event["prompt_progress"], event["timings"]
        assert timings["cache_n"] + timings["prompt_n"] == progress["processed"]


async def test_reasoning_and_content_are_apart(tmp_path: Path) -> None:
    said = "why?\n</think>\n\n4"
    runtime, _ = make_runtime(tmp_path, [said, said], template=THINKING_TEMPLATE)
    async with client_of(runtime) as client:
        message = (await client.post(URL, json={"messages": HELLO})).json()["choices"][0]["message"]
        events = events_of((await client.post(URL, json={"messages": HELLO, "stream": True})).text)
    assert message["content"] == text_of(events) == "4"
    assert message["reasoning_content"] == text_of(events, "reasoning_content")
    assert message["reasoning_content"].strip() == "why?"
    for event in events[:-1]:
        delta = event["choices"][0]["delta"]
        assert not ("content" in delta and "reasoning_content" in delta)
        assert "" not in (delta.get("content"), delta.get("reasoning_content"))


async def test_a_tool_call_as_body_and_as_stream(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, [CALL, CALL])
    ask = {"messages": HELLO, "tools": [TOOL]}
    async with client_of(runtime) as client:
        body = (await client.post(URL, json=ask)).json()
        events = events_of((await client.post(URL, json={**ask, "stream": True})).text)
    (choice,) = body["choices"]
    assert choice["finish_reason"] == "tool_calls"
    (call,) = choice["message"]["tool_calls"]
    assert call["type"] == "function"
    assert call["function"]["name"] == "search"
    assert "<tool_call>" not in (choice["message"]["content"] or "")
    deltas = [entry for event in events[:-1] for entry in event["choices"][0]["delta"].get("tool_calls", ())]
    assert {entry["index"] for entry in deltas} == {0}
    assert set(deltas[0]) == {"index", "id", "type", "function"}
    assert deltas[0]["function"] == {"name": "search", "arguments": ""}
    assert all(set(entry) == {"index", "function"} for entry in deltas[1:])
    joined = "".join(entry["function"]["arguments"] for entry in deltas)
    assert joined == call["function"]["arguments"]
    assert events[-2]["choices"][0]["finish_reason"] == "tool_calls"


async def test_choices_come_in_turn_and_share_one_prompt(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["one", "two", "one", "two"])
    ask = {"messages": HELLO, "n": 2, "seed": 1}
    async with client_of(runtime) as client:
        body = (await client.post(URL, json=ask)).json()
        stream = {**ask, "stream": True, "stream_options": {"include_usage": True}}
        events = events_of((await client.post(URL, json=stream)).text)
    assert [c["message"]["content"] for c in body["choices"]] == ["one", "two"]
    assert [c["index"] for c in body["choices"]] == [0, 1]
    assert body["usage"]["completion_tokens"] == 8
    texts = {0: "", 1: ""}
    for event in events[:-1]:
        for choice in event["choices"]:
            texts[choice["index"]] += choice["delta"].get("content") or ""
    assert texts == {0: "one", 1: "two"}
    finishes = [c["finish_reason"] for e in events[:-1] for c in e["choices"] if c["finish_reason"]]
    assert finishes == ["stop", "stop"]
    assert events[-2]["usage"] == {
        **body["usage"],
        "prompt_tokens_details": events[-2]["usage"]["prompt_tokens_details"],
    }


async def test_a_cut_answer_says_length(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["abcdef"])
    async with client_of(runtime) as client:
        body = (await client.post(URL, json={"messages": HELLO, "max_tokens": 3})).json()
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["choices"][0]["message"]["content"] == "abc"
    assert body["usage"]["completion_tokens"] == 3


async def test_the_cache_is_told_in_usage(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["a", "b"])
    async with client_of(runtime) as client:
        first = (await client.post(URL, json={"messages": HELLO})).json()
        again = (await client.post(URL, json={"messages": HELLO})).json()
        fresh = (await client.post(URL, json={"messages": HELLO, "cache_prompt": False})).json()
    total = first["usage"]["prompt_tokens"]
    cached = [b["usage"]["prompt_tokens_details"]["cached_tokens"] for b in (first, again, fresh)]
    assert cached == [0, total - 1, 0]


async def test_logprobs_of_the_content(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, ["abc", "abc"])
    ask = {"messages": HELLO, "logprobs": True, "top_logprobs": 2}
    async with client_of(runtime) as client:
        body = (await client.post(URL, json=ask)).json()
        events = events_of((await client.post(URL, json={**ask, "stream": True})).text)
    entries = body["choices"][0]["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == "abc"
    assert all(entry["logprob"] <= 0 and len(entry["top_logprobs"]) == 2 for entry in entries)
    streamed = [
        entry for event in events[:-1] for entry in event["choices"][0].get("logprobs", {}).get("content", ())
    ]
    assert [e["token"] for e in streamed] == [e["token"] for e in entries]


async def test_both_paths_answer(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        assert (await client.post("/chat/completions", json={"messages": HELLO})).status_code == 200


async def test_ignored_fields_are_named_in_a_header(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    body = {"messages": HELLO, "zap": 1, "metadata": {}, "bad\nname": 2}
    async with client_of(runtime) as client:
        reply = await client.post(URL, json=body)
        stream = await client.post(URL, json={**body, "stream": True})
        plain = await client.post(URL, json={"messages": HELLO})
    assert reply.headers["x-roteiro-ignored-fields"] == "zap"
    assert stream.headers["x-roteiro-ignored-fields"] == "zap"
    assert "x-roteiro-ignored-fields" not in plain.headers


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"model": "nope"}, 404, "model_not_found"),
        ({"messages": [{"role": "user", "content": "x" * 5000}]}, 400, "context_length_exceeded"),
        ({"max_tokens": 5000}, 400, "context_length_exceeded"),
        ({"n": 0}, 400, "invalid_value"),
        ({"messages": []}, 400, "invalid_value"),
        ({"grammar": "root"}, 400, "unsupported_parameter"),
        ({"model": "embed-model"}, 422, "model_unusable"),
    ],
)
async def test_an_error_before_the_first_token_is_a_status(
    tmp_path: Path, stream: bool, fields: dict[str, Any], status: int, code: str
) -> None:
    runtime, backend = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO, "stream": stream, **fields})
        assert reply.status_code == status
        error = reply.json()["error"]
        assert error["code"] == code
        assert reply.headers["content-type"] == "application/json; charset=utf-8"
        assert not backend.prompts
        after = await client.post(URL, json={"messages": HELLO})
        assert after.status_code == 200


async def test_overflow_carries_its_numbers(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, window=512)
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": [{"role": "user", "content": "x" * 600}]})
    error = reply.json()["error"]
    assert error["type"] == "exceed_context_size_error"
    assert error["n_ctx"] == 512
    assert error["n_prompt_tokens"] > 600


async def test_a_template_that_refuses_is_a_400_in_its_own_words(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, template="{{ raise_exception('only tea here') }}")
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO, "stream": True})
    assert reply.status_code == 400
    assert "only tea here" in reply.json()["error"]["message"]


async def test_a_failure_after_the_first_token_is_one_event_and_the_end(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, [Reply(text="abcdef", fail_after=3), "fine"])
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO, "stream": True})
        after = (await client.post(URL, json={"messages": HELLO})).json()
    events = events_of(reply.text)
    assert reply.status_code == 200
    assert "[DONE]" not in events
    assert text_of(events) == "abc"
    assert events[-1]["error"]["code"] == "decode_failed"
    assert sum("error" in event for event in events) == 1
    assert after["choices"][0]["message"]["content"] == "fine"


async def test_a_failure_of_an_unstreamed_answer_is_a_500(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, [Reply(text="abcdef", fail_after=3)])
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO})
    assert (reply.status_code, reply.json()["error"]["code"]) == (500, "decode_failed")


async def test_a_load_that_fails_is_a_422_also_for_a_stream(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, behaviour=Behaviour(fail_load={"chat-model"}))
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO, "stream": True})
    assert reply.status_code == 422


async def test_the_hard_stop_is_a_504_and_an_event_in_a_stream(tmp_path: Path) -> None:
    slow = Reply(text="abcdefghij", token_delay_s=0.1)
    runtime, _ = make_runtime(tmp_path, [slow, slow], request_timeout_s=0.35)
    async with client_of(runtime) as client:
        reply = await client.post(URL, json={"messages": HELLO})
        stream = await client.post(URL, json={"messages": HELLO, "stream": True})
    assert (reply.status_code, reply.json()["error"]["code"]) == (504, "request_timeout")
    events = events_of(stream.text)
    assert events[-1]["error"]["code"] == "request_timeout"
    assert 0 < len(text_of(events)) < 10


async def test_without_a_model_everything_else_still_answers(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, models=False)
    async with client_of(runtime) as client:
        assert (await client.post(URL, json={"messages": HELLO})).status_code == 404
        assert (await client.get("/v1/models")).json()["data"] == []
        assert (await client.get("/health")).json() == {"status": "ok"}
        assert (await client.get("/slots")).json() == []
        assert (await client.get("/props")).json()["default_generation_settings"]["n_ctx"] == 0
        assert (await client.get("/metrics")).status_code == 200


async def test_content_stop_and_client_values_reach_the_model(tmp_path: Path) -> None:
    runtime, backend = make_runtime(tmp_path, ["alpha beta gamma delta"])
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    async with client_of(runtime) as client:
        body = (
            await client.post(
                URL,
                json={
                    "messages": [
                        {"role": "developer", "content": "Be brief"},
                        {"role": "user", "content": parts},
                    ],
                    "stop": ["beta gamma"],
                },
            )
        ).json()
    assert body["choices"][0]["message"]["content"] == "alpha "
    assert body["choices"][0]["finish_reason"] == "stop"
    assert "<|im_start|>system\nBe brief<|im_end|>" in backend.prompts[0]
    assert "<|im_start|>user\nab<|im_end|>" in backend.prompts[0]

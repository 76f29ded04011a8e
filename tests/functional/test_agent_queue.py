# ruff: noqa: SIM117 - a server, a client and a pool each read better on a line of their own
"""Several agents at once: who waits knows it, everybody gets a turn, and who leaves costs nothing."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from fakes.conversations import THINKING_TEMPLATE
from fakes.harness import TOOLS, URL, Agent
from fakes.served import CHAT, Served, events_of, serving
from fakes.waiting import until
from roteiro.engine.scripted import Behaviour, Reply

HOLD = Reply(text="h" * 30, token_delay_s=0.05, match="hold the engine")


def ask(text: str, **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **fields}


def asked(served: Served) -> list[str]:
    """What the model was asked, in order, by the users' last words."""
    return [prompt.rsplit("user\n", 1)[1].split("<", 1)[0] for prompt in served.backend.prompts]


def leave(client: httpx.Client, body: dict[str, Any]) -> None:
    """Send a request and close the connection while it is under way."""
    if not body["stream"]:
        with pytest.raises(httpx.ReadTimeout):
            client.post(URL, json=body, timeout=0.4)
        return
    with client.stream("POST", URL, json=body) as reply:
        lines = reply.iter_lines()  # held: httpx closes a response whose reader is collected
        next(lines)
        time.sleep(0.2)


def queued(served: Served, count: int) -> None:
    until(lambda: served.runtime.engine.state().queued == count)


def test_clients_take_turns_and_each_keeps_its_order(tmp_path: Path) -> None:
    with serving(tmp_path, [HOLD]) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            pool.submit(client.post, URL, json=ask("hold the engine", user="busy"))
            until(served.busy)
            for waiting, (name, text) in enumerate(
                [("busy", f"busy {n}") for n in range(4)]
                + [
                    ("other", "other 0"),
                    ("third", "third 0"),
                ]
            ):
                pool.submit(client.post, URL, json=ask(text, user=name))
                queued(served, waiting + 1)
        # The client with many requests has its first turn, then the others have theirs.
        assert asked(served)[1:] == ["busy 0", "other 0", "third 0", "busy 1", "busy 2", "busy 3"]


def test_a_queued_client_hears_its_place_as_it_changes(tmp_path: Path) -> None:
    with serving(tmp_path, [HOLD, "one", "two"]) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pool.submit(client.post, URL, json=ask("hold the engine"))
            until(served.busy)
            pool.submit(client.post, URL, json=ask("first"))
            queued(served, 1)
            began = time.monotonic()
            with client.stream("POST", URL, json=ask("second", stream=True, return_progress=True)) as reply:
                assert time.monotonic() - began < 1.2
                seen = client.get("/slots")
                assert seen.headers["X-Roteiro-Queued"] == "2"
                assert {slot["n_queued"] for slot in seen.json()} == {2}
                assert "llamacpp:requests_deferred 2.0" in client.get("/metrics").text
                text = reply.read().decode()
    places = [event["queued"]["position"] for event in events_of(text) if "queued" in event]
    assert places == [2, 1]
    assert text.index(": queued position=2") < text.index(": queued position=1") < text.index('"total"')


@pytest.mark.parametrize("stream", [True, False])
def test_a_prompt_that_does_not_fit_is_a_status_while_the_engine_is_busy(
    tmp_path: Path, stream: bool
) -> None:
    """Its tokens are counted between two batches of another prompt, which takes more than a second here."""
    behaviour = Behaviour(batch_delay_s=1.3, n_batch=2048)
    with serving(tmp_path, behaviour=behaviour) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            client.get("/props")
            first = pool.submit(client.post, URL, json=ask("y" * 3000, max_tokens=1))
            until(served.busy)
            time.sleep(0.1)
            reply = client.post(URL, json=ask("z" * 5000, stream=stream))
            assert reply.status_code == 400, reply.text
            error = reply.json()["error"]
            assert error["type"] == "exceed_context_size_error"
            assert error["n_prompt_tokens"] > 5000
            assert error["n_ctx"] == 4096
            assert first.result().status_code == 200


def test_a_place_in_the_queue_is_given_up_by_who_leaves(tmp_path: Path) -> None:
    with serving(tmp_path, [HOLD]) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            pool.submit(client.post, URL, json=ask("hold the engine"))
            until(served.busy)
            with client.stream("POST", URL, json=ask("leaves", stream=True)):
                queued(served, 1)
                last = pool.submit(client.post, URL, json=ask("stays", stream=True, return_progress=True))
                queued(served, 2)
            queued(served, 1)
            events = events_of(last.result().text)
        assert [event["queued"]["position"] for event in events if "queued" in event] == [2, 1]
        assert asked(served) == ["hold the engine", "stays"]


@pytest.mark.parametrize("when", ["queue", "prefill", "decode"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_slots_are_idle_soon_after_a_client_left(tmp_path: Path, when: str, stream: bool) -> None:
    slow = Reply(text="s" * 100, token_delay_s=0.05, match="slow answer")
    with serving(tmp_path, [HOLD, slow], window=16_384) as served, served.client() as client:
        body = ask("slow answer", stream=stream)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            if when == "queue":
                pool.submit(client.post, URL, json=ask("hold the engine"))
                until(served.busy)
            elif when == "prefill":
                served.backend.behaviour.batch_delay_s = 0.2
                body = ask("y" * 3000 + "slow answer", stream=stream)
            leave(client, body)
            if when == "queue":
                assert until(lambda: not served.runtime.engine.state().queued) < 1
            else:
                assert until(lambda: not any(slot["is_processing"] for slot in served.slots())) < 1
        until(lambda: not served.busy())
        assert served.backend.open["sampler"] == 0
        assert not any("slow answer" in prompt for prompt in served.backend.prompts) or when == "decode"


def line_of(caplog: pytest.LogCaptureFixture, request_id: str) -> str:
    lines = [entry.getMessage() for entry in caplog.records if entry.name == "roteiro.access"]
    return next((line for line in lines if f"request={request_id} " in line), "")


def test_the_line_of_a_request_says_how_far_it_came(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="roteiro.access")
    with serving(tmp_path, [HOLD]) as served:
        served.backend.behaviour.batch_delay_s = 0.1
        with served.client(headers={"X-Request-Id": "half-way"}) as client:
            with client.stream("POST", URL, json=ask("y" * 2000, stream=True, return_progress=True)) as reply:
                for line in reply.iter_lines():
                    if '"processed":96' in line:
                        break
        until(lambda: line_of(caplog, "half-way"))
        assert "finish=left cached=0 evaluated=" in line_of(caplog, "half-way")
        assert int(line_of(caplog, "half-way").split("evaluated=")[1].split()[0]) >= 96
        served.backend.behaviour.batch_delay_s = 0.0
        with served.client(headers={"X-Request-Id": "whole"}) as client:
            client.post(URL, json=ask("y" * 2000))
        until(lambda: line_of(caplog, "whole"))
    whole = line_of(caplog, "whole")
    assert all(
        f" {name}=" in whole for name in ("finish", "queue_ms", "load_ms", "prompt_ms", "predicted_ms")
    )
    numbers = dict(
        part.split("=") for part in whole.split() if part.startswith(("cached", "evaluated", "generated"))
    )
    assert int(numbers["cached"]) >= 96
    assert int(numbers["cached"]) + int(numbers["evaluated"]) > 2000
    assert "reuse='kept" in whole or "reuse='extends" in whole


def test_four_agents_at_once_with_the_openai_package(tmp_path: Path) -> None:
    """Each with tools and history of its own; none sees another's, and each keeps its prefix."""
    replies = [Reply(text=f"I am {name}.", match=f"for agent {name} ") for name in "abcd"]
    failures: list[str] = []

    def live(url: str, name: str) -> None:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            messages: list[Any] = [{"role": "system", "content": f"You work for agent {name} only."}]
            held = 0
            for turn in range(5):
                messages.append({"role": "user", "content": f"turn {turn}"})
                reply = client.chat.completions.create(model=CHAT, messages=messages, tools=TOOLS, user=name)
                message = reply.choices[0].message
                if message.content != f"I am {name}.":
                    failures.append(f"{name} got {message.content!r}")
                cached = reply.usage.prompt_tokens_details.cached_tokens
                if turn and cached != held:
                    failures.append(f"{name} turn {turn}: {cached} of {held}")
                held = reply.usage.total_tokens - 1
                messages.append(message.model_dump(exclude_none=True))

    with serving(tmp_path, replies, window=8192) as served:
        threads = [threading.Thread(target=live, args=(served.url, name)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert served.runtime.engine.state().counters.requests == 20


def test_a_thought_ended_by_the_client_is_held_on_the_next_turn(tmp_path: Path) -> None:
    template = THINKING_TEMPLATE.replace(
        "+ (m.content or '')",
        "+ ('<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' if m.reasoning_content else '') "
        "+ (m.content or '')",
    )
    thought = Reply(text="on and on " * 50 + "</think>\n\nYes.", token_delay_s=0.01, match="hello")
    with serving(tmp_path, [thought, "done"], template=template) as served, served.client() as client:
        agent = Agent(client)
        agent.messages.append({"role": "user", "content": "hello"})
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(agent.go_on, reasoning_control=True)
            with served.client() as other:
                until(lambda: served.runtime.conversation._live)
                until(lambda: any(slot.get("n_held", 0) > 80 for slot in served.slots()))
                name = next(iter(served.runtime.conversation._live))
                body = {"id": name, "action": "reasoning_end"}
                until(lambda: other.post(f"{URL}/control", json=body).json()["success"])
            first = answer.result()
        assert len(first.message["reasoning_content"]) < 400, "it was cut"
        second = agent.ask("more")
        assert second.cached == first.held

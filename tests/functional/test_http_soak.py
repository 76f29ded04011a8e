"""Many clients at once, a third of which leave early: nobody is refused, and nothing is left behind."""

from __future__ import annotations

import concurrent.futures
import random
import threading
from pathlib import Path

import httpx
import pytest

from fakes.served import EMBEDDER, Served, events_of, serving
from fakes.waiting import until
from roteiro.engine.scripted import Reply

pytestmark = pytest.mark.timeout(120)

URL = "/v1/chat/completions"
CLIENTS = 6
REQUESTS = 12


def one_client(served: Served, number: int) -> list[int]:
    """A mix of requests; returns the statuses of those that were waited for."""
    dice, statuses = random.Random(number), []
    with served.client() as client:
        for i in range(REQUESTS):
            stream = dice.random() < 0.5
            body = {
                "messages": [{"role": "user", "content": f"client {number} says {i} hello"}],
                "stream": stream,
            }
            kind = dice.choice(["leave", "stay", "stay", "embed"])
            if kind == "embed":
                statuses.append(
                    client.post("/v1/embeddings", json={"input": "a", "model": EMBEDDER}).status_code
                )
            elif kind == "leave" and stream:
                with client.stream("POST", URL, json=body) as reply:
                    lines = reply.iter_lines()
                    next(lines, None)
            elif kind == "leave":
                with pytest.raises(httpx.ReadTimeout):
                    client.post(URL, json=body, timeout=0.02)
            else:
                reply = client.post(URL, json=body)
                statuses.append(reply.status_code)
                if stream:
                    assert events_of(reply.text)[-1] == "[DONE]"
    return statuses


def test_clients_that_leave_disturb_nobody_and_leave_nothing(tmp_path: Path) -> None:
    slow = Reply(text="abcdefghij", token_delay_s=0.003, match="hello")
    with serving(tmp_path, [slow]) as served:
        with served.client() as client:
            client.post(URL, json={"messages": [{"role": "user", "content": "hello"}]})
        threads = threading.active_count()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            found = list(pool.map(lambda number: one_client(served, number), range(CLIENTS)))
        assert {status for statuses in found for status in statuses} == {200}
        until(lambda: not served.busy())
        assert served.backend.open["sampler"] == 0
        # The pool of worker threads grows to its own bound and no further.
        assert threading.active_count() <= threads + 45
        state = served.runtime.engine.state()
        assert (state.queued, state.processing) == (0, 0)
        assert not any(session.is_processing for model in state.models for session in model.sessions)
        assert not served.runtime.conversation._live
    assert served.backend.open == {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}


def test_cancel_and_send_again_fifty_times(tmp_path: Path) -> None:
    endless = Reply(text="z", end=False, token_delay_s=0.002, match="hello")
    with serving(tmp_path, [endless]) as served, served.client() as client:
        body = {"messages": [{"role": "user", "content": "hello"}], "stream": True}
        for _ in range(50):
            with client.stream("POST", URL, json=body) as reply:
                lines = reply.iter_lines()
                next(lines)
        until(lambda: not served.busy())
        plain = client.post(URL, json={**body, "stream": False, "max_tokens": 3})
        assert plain.json()["choices"][0]["message"]["content"] == "zzz"
        assert served.backend.open["sampler"] == 0

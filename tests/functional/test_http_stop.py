# ruff: noqa: SIM117 - a server, a client and a pool each read better on a line of their own
"""What happens to the requests of a server that is told to stop: each ends, and each is told."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fakes.served import EMBEDDER, events_of, make_runtime, running, serving, text_of
from fakes.waiting import until
from roteiro.engine.scripted import Behaviour, Reply
from roteiro.mcp_server.http import McpEndpoint

URL = "/v1/chat/completions"
ENDLESS = Reply(text="z", end=False, token_delay_s=0.05)
NOTHING_OPEN = {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}


def ask(text: str = "hello", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **fields}


@contextmanager
def connection(url: str, head: str, body: bytes = b"") -> Iterator[socket.socket]:
    """A connection over which a request was sent as given."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=8) as sock:
        sock.sendall(head.replace("\n", "\r\n").encode() + body)
        yield sock


def everything(sock: socket.socket) -> bytes:
    answer = b""
    while chunk := sock.recv(65536):
        answer += chunk
    return answer


def test_a_stop_lets_running_requests_finish(tmp_path: Path) -> None:
    slow = Reply(text="z" * 20, token_delay_s=0.03)
    results: list[Any] = []
    with serving(tmp_path, [slow]) as served:
        with served.client() as client:
            thread = threading.Thread(
                target=lambda: results.append(client.post(URL, json=ask(stream=True)).text)
            )
            thread.start()
            until(served.busy)
            served.server.handle_exit(2, None)
            thread.join(5)
    assert events_of(results[0])[-1] == "[DONE]"
    assert text_of(events_of(results[0])) == "z" * 20
    assert served.backend.open == {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}


def test_a_stop_does_not_wait_for_ever_and_tells_whoever_is_there(tmp_path: Path) -> None:
    with serving(tmp_path, [ENDLESS] * 3) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            with client.stream("POST", URL, json=ask(stream=True)) as reply:
                lines = reply.iter_lines()
                next(lines)
                queued = pool.submit(client.post, URL, json=ask())
                until(lambda: served.runtime.engine.state().queued == 1)
                began = time.monotonic()
                served.server.handle_exit(15, None)
                events = events_of("\n\n".join(lines))
                assert time.monotonic() - began < 6
            answer = queued.result(5)
    assert events[-1]["error"]["code"] == "engine_closed"
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_closed")
    assert served.backend.open == NOTHING_OPEN


@pytest.mark.parametrize(
    ("path", "body", "behaviour"),
    [
        (URL, ask("a prompt of some tokens " * 20), Behaviour(batch_delay_s=0.5, n_batch=2)),
        (URL, ask(), Behaviour(load_delay_s=8)),
        ("/v1/embeddings", {"model": EMBEDDER, "input": "a text"}, Behaviour(batch_delay_s=60)),
    ],
)
def test_a_stop_answers_an_unstreamed_request_that_runs(
    tmp_path: Path, path: str, body: dict[str, Any], behaviour: Behaviour
) -> None:
    with serving(tmp_path, behaviour=behaviour) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answering = pool.submit(client.post, path, json=body)
            until(served.busy)
            served.server.handle_exit(15, None)
            answer = answering.result(6)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_closed")
    assert served.backend.open == NOTHING_OPEN


def test_a_stop_answers_a_body_that_is_still_being_sent(tmp_path: Path) -> None:
    head = f"POST {URL} HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 99\n\n"
    with serving(tmp_path) as served, connection(served.url, head, b'{"mess') as sock:
        until(lambda: len(served.server._state.requests) == 1)
        served.server.handle_exit(15, None)
        answer = everything(sock).decode()
    assert answer.startswith("HTTP/1.1 503")
    assert json.loads(answer.partition("\r\n\r\n")[2])["error"]["code"] == "engine_closed"


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_answers_while_a_file_is_being_looked_at(
    tmp_path: Path, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_record: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr("fakes.served.admit_all", never)
    with serving(tmp_path) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answering = pool.submit(client.post, URL, json=ask(stream=stream))
            until(lambda: len(served.server._state.requests) == 1)
            time.sleep(1)  # a stream's headers are out then
            served.server.handle_exit(15, None)
            answer = answering.result(6)
    if stream:
        assert answer.status_code == 200
        assert events_of(answer.text)[-1]["error"]["code"] == "engine_closed"
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "engine_closed")


def test_a_stop_does_not_wait_for_a_client_that_does_not_read(tmp_path: Path) -> None:
    body = json.dumps(ask(stream=True)).encode()
    head = f"POST {URL} HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: {len(body)}\n\n"
    fast = Reply(text="z" * 2000, end=False)
    with serving(tmp_path, [fast]) as served, connection(served.url, head, body):
        until(served.busy)
        time.sleep(0.5)
        began = time.monotonic()
        served.server.handle_exit(15, None)
        until(lambda: served.backend.open == NOTHING_OPEN, seconds=8)
        assert time.monotonic() - began < 6


def test_a_stop_ends_a_stream_that_only_listens_at_once(tmp_path: Path) -> None:
    head = "GET /mcp HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n"
    runtime, _ = make_runtime(tmp_path)
    with running(runtime, mounts={"/mcp": McpEndpoint(runtime.tools)}) as (server, url):
        with connection(url, head) as sock:
            first = sock.recv(65536)
            began = time.monotonic()
            server.handle_exit(15, None)
            rest = everything(sock)
            assert time.monotonic() - began < 1.5
    assert first.startswith(b"HTTP/1.1 200")
    assert b"error" not in first + rest


def test_requests_after_the_stop_find_nobody(tmp_path: Path) -> None:
    slow = Reply(text="z" * 20, token_delay_s=0.05)
    with serving(tmp_path, [slow]) as served, served.client() as client:
        with client.stream("POST", URL, json=ask(stream=True)) as reply:
            until(served.busy)
            served.server.handle_exit(15, None)
            time.sleep(0.4)
            with served.client() as other, pytest.raises(httpx.ConnectError):
                other.get("/health")
            assert events_of(reply.read().decode())[-1] == "[DONE]"

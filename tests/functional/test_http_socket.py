# ruff: noqa: SIM117 - a server, a client and a pool each read better on a line of their own
"""The server behind a real socket: queueing, leaving, comments on a clock, hostile bytes, real clients."""

from __future__ import annotations

import concurrent.futures
import json
import re
import socket
import stat
import time
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from fakes.conversations import THINKING_TEMPLATE
from fakes.served import CHAT, EMBEDDER, HELLO, Served, events_of, serving, text_of
from fakes.waiting import until
from roteiro.engine.scripted import Behaviour, Reply
from roteiro.errors import UsageError
from roteiro.server.listen import listen

URL = "/v1/chat/completions"
SLOW = Reply(text="x" * 100, token_delay_s=0.05)


def ask(text: str = "hello", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **fields}


def raw(served: Served, data: bytes, *, wait_s: float = 3, shut: bool = False) -> bytes:
    """Send bytes, read what comes back until the server closes or is silent."""
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=wait_s) as sock:
        sock.sendall(data)
        if shut:
            sock.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while chunk := sock.recv(65536):
                answer += chunk
        except TimeoutError:
            pass
        return answer


# --- leaving -----------------------------------------------------------------------------------------


def test_leaving_a_stream_stops_the_work(tmp_path: Path) -> None:
    with serving(tmp_path, [SLOW, "fine"]) as served, served.client() as client:
        with client.stream("POST", URL, json=ask(stream=True)) as reply:
            lines = reply.iter_lines()  # held: httpx closes a response whose reader is collected
            next(line for line in lines if '"content":"' in line)  # the role comes before any token
            until(served.busy)
        assert until(lambda: not served.busy()) < 1
        body = client.post(URL, json=ask()).json()
        assert body["choices"][0]["message"]["content"] == "fine"
        assert served.backend.open["sampler"] == 0


def test_leaving_an_unstreamed_request_stops_the_work(tmp_path: Path) -> None:
    with serving(tmp_path, [SLOW]) as served, served.client() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post(URL, json=ask(), timeout=0.3)
        assert until(lambda: not served.busy()) < 1


@pytest.mark.parametrize("stream", [False, True])
def test_leaving_in_prefill_stops_the_work(tmp_path: Path, stream: bool) -> None:
    behaviour = Behaviour(batch_delay_s=0.2, n_batch=32)
    with serving(tmp_path, behaviour=behaviour) as served, served.client() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post(URL, json=ask("y" * 2000, stream=stream), timeout=0.5)
        assert until(lambda: not served.busy()) < 1
        assert served.backend.evaluated < 500


@pytest.mark.parametrize("stream", [False, True])
def test_a_queued_request_whose_client_left_never_starts(tmp_path: Path, stream: bool) -> None:
    long = Reply(text="z" * 30, token_delay_s=0.05, match="first")
    with serving(tmp_path, [long]) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(client.post, URL, json=ask("first"))
            until(served.busy)
            with pytest.raises(httpx.ReadTimeout):
                client.post(URL, json=ask("second", stream=stream), timeout=0.4)
            third = pool.submit(client.post, URL, json=ask("third"))
            assert first.result().status_code == third.result().status_code == 200
        assert not any("second" in prompt for prompt in served.backend.prompts)


def test_twenty_streams_half_of_them_dropped_leave_a_working_server(tmp_path: Path) -> None:
    with serving(tmp_path, [Reply(text="abcdef", token_delay_s=0.01, match="hello")]) as served:
        with served.client() as client:
            for i in range(20):
                with client.stream("POST", URL, json=ask(stream=True)) as reply:
                    if i % 2:
                        next(reply.iter_lines())
                    else:
                        reply.read()
            assert client.post(URL, json=ask()).json()["choices"][0]["message"]["content"] == "abcdef"
        until(lambda: not served.busy())
        assert served.backend.open["sampler"] == 0


# --- waiting -----------------------------------------------------------------------------------------


def test_a_queued_stream_has_headers_and_its_place_within_a_second(tmp_path: Path) -> None:
    long = Reply(text="z" * 40, token_delay_s=0.05, match="first")
    with serving(tmp_path, [long], keepalive_s=0.3) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            first = pool.submit(client.post, URL, json=ask("first"))
            until(served.busy)
            began = time.monotonic()
            with client.stream("POST", URL, json=ask("second", stream=True, return_progress=True)) as reply:
                assert time.monotonic() - began < 1.1
                assert reply.status_code == 200
                text, comments = "", 0
                for chunk in reply.iter_text():
                    text += chunk
                    comments = text.count("\n: \n") + text.startswith(": \n")
                    assert served.runtime.engine.state().queued <= 1
            assert first.result().status_code == 200
        assert ": queued position=1\n\n" in text
        assert comments >= 2
        events = events_of(text)
        assert events[0]["queued"] == {"position": 1}
        assert events[-1] == "[DONE]"
        assert text_of(events) == "Hello from the scripted model."


def test_comments_come_on_a_clock_during_a_long_prefill(tmp_path: Path) -> None:
    behaviour = Behaviour(batch_delay_s=1.5, n_batch=4000)
    with serving(tmp_path, behaviour=behaviour) as served, served.client() as client:
        began = time.monotonic()
        with client.stream("POST", URL, json=ask("y" * 100, stream=True, sse_ping_interval=0.2)) as reply:
            assert time.monotonic() - began < 1.1
            text = reply.read().decode()
    assert text.count(": \n\n") >= 3
    assert text_of(events_of(text)) == "Hello from the scripted model."


def test_other_routes_answer_while_the_engine_works(tmp_path: Path) -> None:
    behaviour = Behaviour(batch_delay_s=0.5, n_batch=1000)
    with serving(tmp_path, behaviour=behaviour) as served, served.client() as client:
        with client.stream("POST", URL, json=ask("y" * 3000, stream=True)) as reply:
            until(served.busy)
            for path in ("/health", "/props", "/slots", "/metrics", "/v1/models"):
                client.get(path)
                began = time.monotonic()
                assert client.get(path).status_code == 200
                assert time.monotonic() - began < 0.25
            slots = client.get("/slots").json()
            assert any(slot["is_processing"] for slot in slots)
            reply.close()


def test_a_full_queue_is_a_503_with_retry_after(tmp_path: Path) -> None:
    with serving(tmp_path, [SLOW], queue_limit=1) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            held = pool.submit(client.post, URL, json=ask(max_tokens=20))
            until(served.busy)
            queued = pool.submit(client.post, URL, json=ask(max_tokens=1))
            until(lambda: served.runtime.engine.state().queued == 1)
            reply = client.post(URL, json=ask(stream=True))
            assert reply.status_code == 503
            assert int(reply.headers["retry-after"]) >= 1
            assert reply.json()["error"]["type"] == "unavailable_error"
            assert held.result().status_code == queued.result().status_code == 200


# --- control -----------------------------------------------------------------------------------------


def test_a_running_thought_is_ended(tmp_path: Path) -> None:
    thought = Reply(text="hm " * 100 + "\n</think>\n\nDone.", token_delay_s=0.02)
    with serving(tmp_path, [thought], template=THINKING_TEMPLATE) as served:
        with (
            served.client() as client,
            client.stream("POST", URL, json=ask(stream=True, reasoning_control=True)) as reply,
        ):
            text, outcome = "", None
            for chunk in reply.iter_text():
                text += chunk
                events = [e for e in events_of(text.rpartition("\n\n")[0]) if isinstance(e, dict)]
                if outcome is None and len(text_of(events, "reasoning_content")) > 10:
                    with served.client() as other:
                        outcome = other.post(
                            URL + "/control", json={"id": events[0]["id"], "action": "reasoning_end"}
                        ).json()
    events = events_of(text)
    assert outcome == {"success": True}
    assert text_of(events) == "Done."
    assert len(text_of(events, "reasoning_content")) < 150
    assert events[-2]["choices"][0]["finish_reason"] == "stop"


def test_a_thought_without_control_is_left_alone(tmp_path: Path) -> None:
    thought = Reply(text="hm " * 20 + "\n</think>\n\nDone.", token_delay_s=0.02)
    with serving(tmp_path, [thought], template=THINKING_TEMPLATE) as served:
        with served.client() as client, client.stream("POST", URL, json=ask(stream=True)) as reply:
            lines = reply.iter_lines()
            first = json.loads(next(line for line in lines if line.startswith("data: "))[6:])
            with served.client() as other:
                outcome = other.post(
                    URL + "/control", json={"id": first["id"], "action": "reasoning_end"}
                ).json()
            list(lines)
    assert outcome["success"] is False
    assert "reasoning_control" in outcome["message"]


def test_an_unload_waits_for_the_turn_it_would_disturb(tmp_path: Path) -> None:
    slow = Reply(text="z" * 20, token_delay_s=0.03)
    with serving(tmp_path, [slow]) as served, served.client() as client:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answer = pool.submit(client.post, URL, json=ask())
            until(lambda: served.runtime.engine.state().models)
            reply = client.post("/models/unload", json={"model": CHAT})
            assert reply.json() == {"success": True}
            assert answer.result().json()["choices"][0]["message"]["content"] == "z" * 20


# --- hostile bytes -----------------------------------------------------------------------------------

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50 + b"\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 403),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (HEAD + b"Content-Length: abc\r\n\r\n{}", 400),
        (HEAD + b"Content-Length: -5\r\n\r\n{}", 400),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n", 400),
        (HEAD + b"Content-Length: 99999999999\r\n\r\n", 413),
        (b"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET http://evil.example/v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
        (b"GET /health HTTP/1.0\r\n\r\n", 403),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
        (HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", 400),
    ],
)
def test_bytes_that_are_no_request_are_refused_and_harm_nothing(
    tmp_path: Path, data: bytes, status: int
) -> None:
    with serving(tmp_path) as served:
        answer = raw(served, data, wait_s=1)
        lines = [line for line in answer.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]
        assert int(lines[-1].split()[1]) in ({status, 501} if b"gzip" in data else {status}), answer[:300]
        body = answer.rpartition(b"\r\n\r\n")[2]
        if lines[-1].split()[1] != b"501":
            assert json.loads(body)["error"]["message"]
        with served.client() as client:
            assert client.post(URL, json=ask()).status_code == 200


@pytest.mark.parametrize("head", [b"GET /%b HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nX: %b\r\n"])
def test_an_endless_head_is_cut_off(tmp_path: Path, head: bytes) -> None:
    with serving(tmp_path) as served:
        try:
            answer = raw(served, head % (b"a" * 2_000_000) + b"Host: localhost\r\n\r\n", wait_s=1)
        except (ConnectionResetError, BrokenPipeError):
            answer = b"HTTP/1.1 400 "  # closed while we were still sending
        assert answer.startswith(b"HTTP/1.1 400 ")
        with served.client() as client:
            assert client.get("/health").status_code == 200


def test_a_client_that_closes_its_half_or_sends_half_a_body_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as served:
        for data in (b"", b"GET", HEAD, HEAD + b'Content-Length: 500\r\n\r\n{"mess'):
            raw(served, data, wait_s=0.3, shut=True)
        with served.client() as client:
            assert client.post(URL, json=ask()).status_code == 200
        assert not served.busy()


def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /v1/nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with serving(tmp_path) as served:
        answer = raw(served, one + one + last)
    statuses = re.findall(rb"HTTP/1.1 (\d+) ", answer)
    assert statuses == [b"200", b"200", b"404"]


# --- real clients ------------------------------------------------------------------------------------


def test_the_openai_package_chats_streams_embeds_and_lists(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
            assert [model.id for model in client.models.list()] == [CHAT, EMBEDDER]
            assert client.models.retrieve(CHAT).id == CHAT
            reply = client.chat.completions.create(model=CHAT, messages=HELLO)
            assert reply.choices[0].message.content == "Hello from the scripted model."
            stream = client.chat.completions.create(
                model=CHAT, messages=HELLO, stream=True, stream_options={"include_usage": True}
            )
            chunks = list(stream)
            assert chunks[-1].usage.completion_tokens == reply.usage.completion_tokens
            text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
            assert text == reply.choices[0].message.content
            vectors = client.embeddings.create(model=EMBEDDER, input=["a", "b"]).data
            assert len(vectors[0].embedding) == 16
            with pytest.raises(openai.NotFoundError) as caught:
                client.chat.completions.create(model="nope", messages=HELLO)
            assert caught.value.code == "model_not_found"
            with pytest.raises(openai.BadRequestError):
                client.chat.completions.create(model=CHAT, messages=[])


def test_the_openai_package_assembles_a_streamed_call(tmp_path: Path) -> None:
    call = '<tool_call>\n{"name": "search", "arguments": {"q": "a"}}\n</tool_call>'
    tool = {
        "type": "function",
        "function": {
            "name": "search",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
        },
    }
    with serving(tmp_path, [call]) as served:
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none") as client:
            with client.chat.completions.stream(model=CHAT, messages=HELLO, tools=[tool]) as stream:
                final = stream.get_final_completion()
    (made,) = final.choices[0].message.tool_calls
    assert made.function.name == "search"
    assert json.loads(made.function.arguments) == {"q": "a"}


# --- addresses ---------------------------------------------------------------------------------------


def test_a_unix_socket_is_private_and_removed_and_a_stale_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "r.sock"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    with serving(tmp_path, addr=f"unix:{path}") as served:
        assert served.url == f"unix:{path}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://anything") as client:
            assert client.post(URL, json=ask()).status_code == 200
        with pytest.raises(UsageError, match="in use"):
            listen(f"unix:{path}")
    assert not path.exists()


def test_a_path_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    with pytest.raises(UsageError, match="not a socket"):
        listen(f"unix:{path}")
    assert path.read_text() == "precious"
    with pytest.raises(UsageError, match="Cannot listen"):
        listen(f"unix:{tmp_path}/no/such/folder.sock")


def test_a_port_in_use_is_one_sentence() -> None:
    first = listen("127.0.0.1:0")
    try:
        with pytest.raises(UsageError, match=r"Cannot listen on 127\.0\.0\.1") as caught:
            listen(first.url.removeprefix("http://"))
        assert "in use" in caught.value.message
        assert first.loopback
    finally:
        first.close()


def test_other_addresses_are_told_apart_from_loopback() -> None:
    everywhere = listen("0.0.0.0:0")
    try:
        assert not everywhere.loopback
    finally:
        everywhere.close()
    both = listen("localhost:0")
    try:
        ports = {one.getsockname()[1] for one in both.sockets}
        assert len(ports) == 1
        assert both.loopback
    finally:
        both.close()

"""A client that behaves as an agent's harness does, and the servers it talks to.

It streams, folds, checks the numbers of every reply, and sends back what it received. Used by `agent` and
`soak`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from benchmarks.processes import free_port, wait_for

Json = dict[str, Any]
# One server answers before it has loaded its model and another loads it first: both get the same time.
SETTLED_SECONDS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server. `name` is what its rows are called; `model` is sent with each request."""

    name: str
    url: str
    model: str
    pid: int
    log: Path

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=600, trust_env=False)

    def slots(self) -> list[Json]:
        with self.client() as client:
            return client.get("/slots", params={"model": self.model}).json()


@dataclass(slots=True, kw_only=True)
class Reply:
    """A streamed answer, folded as an OpenAI client folds it, and what it cost."""

    message: Json
    timings: Json
    first_ms: float = 0.0
    said_ms: float = 0.0
    progress: list[Json] = field(default_factory=list)

    @property
    def cached(self) -> int:
        return int(self.timings["cache_n"])

    @property
    def evaluated(self) -> int:
        return int(self.timings["prompt_n"])


def chat(served: Served, messages: Sequence[Json], **fields: Any) -> Reply:
    """One streamed turn."""
    body = {"model": served.model, "messages": list(messages), "stream": True, "return_progress": True}
    body |= {"stream_options": {"include_usage": True}, "temperature": 0, "seed": 1, **fields}
    started = time.perf_counter()
    with (
        served.client() as client,
        client.stream("POST", "/v1/chat/completions", json=body) as response,
    ):
        if response.status_code != httpx.codes.OK:
            raise RuntimeError(f"{served.name}: {response.status_code} {response.read().decode()}")
        return fold(objects(response), started)


def objects(response: httpx.Response) -> Iterator[Json]:
    """The objects of a stream; an error in it, or an end without its mark, is raised."""
    for line in response.iter_lines():
        if line == "data: [DONE]":
            return
        if line.startswith("data: "):
            value = json.loads(line.removeprefix("data: "))
            if "error" in value:
                raise RuntimeError(value["error"])
            yield value
    raise RuntimeError("the stream ended without [DONE]")


def fold(events: Iterator[Json], started: float) -> Reply:
    """Fold a stream; `first_ms` is the time of the first chunk that is no progress, `said_ms` of the first
    that says something: a call is not told before its name is whole."""
    message: Json = {"role": "assistant", "content": ""}
    calls: dict[int, Json] = {}
    reply = Reply(message=message, timings={})
    usage: Json = {}
    for event in events:
        reply.timings = event.get("timings") or reply.timings
        usage = event.get("usage") or usage
        if "prompt_progress" in event:
            reply.progress.append(event["prompt_progress"])
        elif event["choices"] and not reply.first_ms:
            reply.first_ms = (time.perf_counter() - started) * 1000
        for choice in event["choices"]:
            if _add(message, calls, choice["delta"]) and not reply.said_ms:
                reply.said_ms = (time.perf_counter() - started) * 1000
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    _check(reply, usage)
    return reply


@contextmanager
def roteiro(
    path: Path, folder: Path, *, threads: int, sessions: int = 4, cache_mb: int = 2048, disk_mb: int = 0
) -> Iterator[Served]:
    """`roteiro serve` over one model file, in a store of its own under `folder`."""
    env = {**os.environ, "ROTEIRO_HOME": str(folder / "home")}
    program = [sys.executable, "-m", "roteiro"]
    subprocess.run([*program, "model", "import", str(path)], env=env, check=True, capture_output=True)
    port = free_port()
    command = [*program, "serve", "--addr", f"127.0.0.1:{port}", "--no-tools", "--threads", str(threads)]
    command += ["--sessions", str(sessions), "--prefix-cache-mb", str(cache_mb)]
    command += ["--prefix-cache-disk-mb", str(disk_mb)]
    with _running("roteiro", command, port, folder, env) as served:
        yield served


@contextmanager
def llama_server(binary: Path, path: Path, folder: Path, *, threads: int, window: int) -> Iterator[Served]:
    """llama-server with four slots of `window` tokens and its prompt cache as it comes."""
    port = free_port()
    command = [str(binary), "-m", str(path), "--host", "127.0.0.1", "--port", str(port), "--jinja"]
    command += ["-np", "4", "-c", str(4 * window), "-t", str(threads), "-tb", str(threads), "--no-warmup"]
    with _running("llama-server", command, port, folder, dict(os.environ)) as served:
        yield served


# ---------------------------------------------------------------------------------------------------


def _add(message: Json, calls: dict[int, Json], delta: Json) -> bool:
    said = False
    for key in ("content", "reasoning_content"):
        if delta.get(key):
            message[key] = message.get(key, "") + delta[key]
            said = True
    for part in delta.get("tool_calls") or ():
        new: Json = {"type": "function", "function": {"name": "", "arguments": ""}}
        call = calls.setdefault(part["index"], new)
        if "id" in part:
            call["id"] = part["id"]
        for key, text in part["function"].items():
            call["function"][key] += text or ""
        said = True
    return said


def _check(reply: Reply, usage: Json) -> None:
    """What is promised of every reply: exact sums, and progress from the cache to the whole."""
    assert reply.cached + reply.evaluated == usage["prompt_tokens"], (reply.timings, usage)
    assert usage["prompt_tokens_details"]["cached_tokens"] == reply.cached, usage
    processed = [one["processed"] for one in reply.progress]
    assert processed == sorted(set(processed)), processed
    assert processed[0] == reply.progress[0]["cache"] == reply.cached, reply.progress
    assert processed[-1] == reply.progress[-1]["total"] == usage["prompt_tokens"], reply.progress


@contextmanager
def _running(name: str, command: list[str], port: int, folder: Path, env: dict[str, str]) -> Iterator[Served]:
    log, url = folder / f"{name}-{port}.log", f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        process, started = (
            subprocess.Popen(command, stdout=out, stderr=out, env=env, cwd=folder),
            time.monotonic(),
        )
        try:
            wait_for(process, url)
            model = _model(url)
            time.sleep(max(0.0, started + SETTLED_SECONDS - time.monotonic()))
            yield Served(name=name, url=url, model=model, pid=process.pid, log=log)
        finally:
            process.terminate()
            try:
                process.wait(30)
            finally:
                process.kill()
                process.wait()


def _model(url: str) -> str:
    """The id of the one model that is served; a server may still be loading it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        reply = httpx.get(f"{url}/v1/models", trust_env=False)
        if reply.status_code == httpx.codes.OK and httpx.get(f"{url}/health", trust_env=False).is_success:
            return str(reply.json()["data"][0]["id"])
        time.sleep(0.2)
    raise SystemExit(f"{url} did not come up")

"""Many mixed requests from several clients, a third of which leave early: does anything stay behind?

    python -m benchmarks soak [--model FILE.gguf]             # 2,000 requests from 8 clients
    python -m benchmarks soak --requests 600

Asserts that the server never answers with an error of its own, that every complete reply's numbers add up,
and that at the end nothing runs, waits or is leased, and threads, open files and resident memory are what
they were after the warm-up. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from benchmarks.harness import Json, Served, objects, roteiro
from benchmarks.processes import default_model, resident_mib

CLIENTS = 8
CHAT = "/v1/chat/completions"
WORDS = ["file", "test", "graph", "token", "branch", "merge", "value", "index", "parser", "lease", "queue"]
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at one file.",
        "parameters": {"type": "object", "properties": {"path": {"enum": ["a.py", "b.py"]}}},
    },
}
# Resident memory may move by this much between two calm moments: allocators keep pages.
RSS_SLACK_MIB = 32


@dataclass(slots=True)
class Tally:
    """What happened, shared by all clients."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str) -> None:
        with self.lock:
            self.counts[name] += 1

    def fault(self, text: str) -> None:
        with self.lock:
            self.faults.append(text)


class Client:
    """One client with a conversation of its own that starts over now and then."""

    def __init__(self, served: Served, tally: Tally, seed: int, max_tokens: int) -> None:
        self._served = served
        self._tally = tally
        self._random = random.Random(seed)
        self._max_tokens = max_tokens
        self._name = f"client-{seed}"
        self._messages: list[Json] = []

    def live(self, take: Callable[[], bool]) -> None:
        with self._served.client() as client:
            while take():
                try:
                    self._one(client)
                except httpx.HTTPError as error:
                    self._tally.fault(f"{type(error).__name__}: {error}")

    def _one(self, client: httpx.Client) -> None:
        kinds = (self._whole, self._streamed, self._leaves, self._side, self._wrong)
        self._random.choices(kinds, weights=(20, 25, 33, 15, 7))[0](client)

    def _body(self, **fields: Any) -> Json:
        if len(self._messages) > 6 or self._random.random() < 0.2:
            self._messages = [{"role": "system", "content": " ".join(self._random.choices(WORDS, k=60))}]
        self._messages.append({"role": "user", "content": " ".join(self._random.choices(WORDS, k=8))})
        body = {"model": self._served.model, "messages": self._messages, "user": self._name, "seed": 1}
        body["max_tokens"] = self._random.randint(1, self._max_tokens)
        extra = self._random.choice(
            (
                {},
                {"tools": [TOOL]},
                {"tools": [TOOL], "tool_choice": "required", "max_tokens": 3 * self._max_tokens},
                {"id_slot": self._random.randint(0, 3)},
                {"cache_prompt": False},
                {"response_format": {"type": "json_object"}},
                {"logprobs": True, "top_logprobs": 2},
                {"n": 2},
                {"stop": ["e"]},
                {"timings_per_token": True},
            )
        )
        return body | extra | fields

    def _whole(self, client: httpx.Client) -> None:
        reply = client.post(CHAT, json=self._body())
        self._check_status(reply.status_code, reply.text)
        if reply.status_code == httpx.codes.OK:
            value = reply.json()
            self._sums(value["usage"], value["timings"])
            self._messages.append(value["choices"][0]["message"])
            self._answer_calls()
        self._tally.add("whole")

    def _streamed(self, client: httpx.Client) -> None:
        body = self._body(stream=True, return_progress=True, stream_options={"include_usage": True})
        with client.stream("POST", CHAT, json=body) as reply:
            if reply.status_code != httpx.codes.OK:
                self._check_status(reply.status_code, reply.read().decode())
            else:
                try:
                    last = list(objects(reply))[-1]
                    self._sums(last["usage"], last["timings"])
                except RuntimeError as error:
                    self._tally.fault(f"stream: {error}")
        self._messages.pop()
        self._tally.add("streamed")

    def _leaves(self, client: httpx.Client) -> None:
        """Close the connection in the queue, the prompt or the answer, streamed or not."""
        patience = self._random.choice((0.01, 0.05, 0.2, 0.5))
        body = self._body(stream=self._random.random() < 0.6)
        try:
            with client.stream("POST", CHAT, json=body, timeout=patience) as reply:
                until = time.monotonic() + patience
                for _ in reply.iter_bytes():
                    if time.monotonic() > until:
                        break
        except httpx.TimeoutException:
            pass
        self._messages.pop()
        self._tally.add("left")

    def _side(self, client: httpx.Client) -> None:
        """What agents ask beside their requests, while others are answered."""
        model, messages = self._served.model, [{"role": "user", "content": "hello"}]
        path, body = self._random.choice(
            (
                ("/slots", None),
                ("/metrics", None),
                ("/props", None),
                ("/health", None),
                ("/v1/models", None),
                ("/tokenize", {"content": "some text", "model": model}),
                ("/apply-template", {"messages": messages, "model": model}),
                ("/v1/chat/completions/input_tokens", {"messages": messages, "model": model}),
            )
        )
        reply = client.get(path) if body is None else client.post(path, json=body)
        self._check_status(reply.status_code, reply.text)
        self._tally.add("side")

    def _wrong(self, client: httpx.Client) -> None:
        """Mistakes of clients: each a 4xx, none of them anybody else's trouble."""
        path, body = self._random.choice(
            (
                (CHAT, {"messages": []}),
                (CHAT, {"messages": [{"role": "user", "content": "x"}], "model": "nobody"}),
                (CHAT, {"messages": [{"role": "user", "content": "word " * 40_000}], "stream": True}),
                (CHAT, {"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}),
                ("/v1/nothing", {}),
            )
        )
        reply = client.post(path, json=body)
        if not httpx.codes.is_client_error(reply.status_code):
            self._tally.fault(f"{path}: {reply.status_code} for a client's mistake")
        self._tally.add("wrong")

    def _answer_calls(self) -> None:
        for call in self._messages[-1].get("tool_calls") or ():
            self._messages.append({"role": "tool", "tool_call_id": call["id"], "content": "found"})

    def _check_status(self, status: int, text: str) -> None:
        if status != httpx.codes.OK:
            self._tally.fault(f"{status}: {text[:300]}")

    def _sums(self, usage: Json, timings: Json) -> None:
        # With several choices the timings are the first one's.
        if timings["cache_n"] + timings["prompt_n"] != usage["prompt_tokens"]:
            self._tally.fault(f"the sums are off: {usage} {timings}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--max-tokens", type=int, default=12)
    parser.add_argument("--threads", type=int, default=max(1, len(os.sched_getaffinity(0))))
    parser.add_argument("--cache-mb", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        started = roteiro(options.model, Path(scratch), threads=options.threads, cache_mb=options.cache_mb)
        with started as served:
            sys.exit(soak(served, options.requests, options.max_tokens))


def soak(served: Served, requests: int, max_tokens: int) -> int:
    """Warm up with a third of the requests, then the rest; 0 when nothing stayed behind."""
    tally = Tally()
    began = time.monotonic()
    run(served, tally, requests // 3, max_tokens)
    before = calm(served)
    run(served, tally, requests - requests // 3, max_tokens)
    after = calm(served)
    faults = [*tally.faults, *left_behind(before, after)]
    log = served.log.read_text()
    faults += ["the log has a traceback"] if "Traceback" in log else []
    for fault in faults[:20]:
        print("FAULT", fault)
    report = {"requests": dict(tally.counts), "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(report | {"before": before, "after": after, "faults": len(faults)}))
    return 1 if faults else 0


def run(served: Served, tally: Tally, requests: int, max_tokens: int) -> None:
    left = iter(range(requests))
    lock = threading.Lock()

    def take() -> bool:
        with lock:
            number = next(left, None)
        if number is not None and number % 100 == 0:
            print(f"{number} of {requests}: {dict(tally.counts)}", file=sys.stderr)
        return number is not None

    seeds = range(sum(tally.counts.values()), sum(tally.counts.values()) + CLIENTS)
    clients = [Client(served, tally, seed, max_tokens) for seed in seeds]
    threads = [threading.Thread(target=client.live, args=(take,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def calm(served: Served) -> Json:
    """Wait until nothing runs or waits, and look at the process."""
    deadline = time.monotonic() + 60
    while not _idle(served):
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)
    time.sleep(1)
    process = Path("/proc") / str(served.pid)
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    files = Counter(_kind(entry) for entry in (process / "fd").iterdir())
    return {
        "idle": _idle(served),
        "rss_mib": round(resident_mib(served.pid)),
        "snapshots_mib": round(_snapshot_bytes(served) / 2**20),
        "threads": int(status["Threads"]),
        "files": sum(files.values()),
        "sockets": files["socket"],
    }


def left_behind(before: Json, after: Json) -> list[str]:
    found = [] if after["idle"] else ["the engine is still at work, or somebody still waits"]
    grown = after["rss_mib"] - before["rss_mib"] - max(0, after["snapshots_mib"] - before["snapshots_mib"])
    if grown > RSS_SLACK_MIB:
        found.append(f"memory grew by {grown} MiB that no snapshot takes")
    # Worker threads come and go with what runs at once; a leak is one for every so many requests.
    if after["threads"] > before["threads"] + CLIENTS:
        found.append(f"threads grew from {before['threads']} to {after['threads']}")
    if after["files"] > before["files"] + 2:
        found.append(f"open files grew from {before['files']} to {after['files']}")
    return found


# ---------------------------------------------------------------------------------------------------


def _idle(served: Served) -> bool:
    with served.client() as client:
        slots = client.get("/slots", params={"model": served.model}).json()
    return not any(slot["is_processing"] or slot.get("n_queued") for slot in slots)


def _snapshot_bytes(served: Served) -> float:
    with served.client() as client:
        text = client.get("/metrics").text
    line = next(line for line in text.splitlines() if line.startswith("roteiro:snapshot_bytes"))
    return float(line.split()[1])


def _kind(entry: Path) -> str:
    try:
        return str(entry.readlink()).partition(":")[0]
    except FileNotFoundError:
        return "gone"


if __name__ == "__main__":
    main()

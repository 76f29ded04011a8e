"""What serving costs: decode and prefill through HTTP against a bare loop, reuse, latency, memory, start.

    python -m benchmarks serving [--model FILE.gguf] [--rounds 3] [--requests 300] [--peer]

Each round runs Roteiro and the bare loop, twice in turns, and (with --peer, where llama-cpp-python's own
server can start) that server, on the same model and threads. A table, then one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
from benchmarks.processes import default_model, free_port, resident_mib, roteiro_server, wait_for

PROMPT_TOKENS = 1000
GENERATED = 128


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args(arguments)
    found: dict[str, Any] = {"model": options.model.name, "threads": options.threads}
    with tempfile.TemporaryDirectory() as scratch:
        speeds(found, options, Path(scratch))
        with roteiro_server(Path(scratch), options.model, "--threads", str(options.threads)) as served:
            second_turn(found, served.url)
            latency(found, served.url)
            flatness(found, served.url, served.process.pid, options.requests)
        starts(found, Path(scratch))
    report(found)


def speeds(found: dict[str, Any], options: argparse.Namespace, scratch: Path) -> None:
    """Tokens per second of each, and the ratios to the bare loop: medians of the rounds.

    What else the machine does changes from minute to minute by more than what is measured, so a round is
    compared with itself only.
    """
    rounds = []
    for number in range(options.rounds):
        rounds.append(one_round(options, scratch, number))
        print("round", json.dumps({name: round(value, 3) for name, value in rounds[-1].items()}), flush=True)
    found |= {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def one_round(options: argparse.Namespace, scratch: Path, number: int) -> dict[str, float]:
    """The best of two turns of each."""
    found: dict[str, float] = {}
    with roteiro_server(scratch, options.model, "--threads", str(options.threads)) as served:
        for turn in range(2):
            measure(found, "roteiro", served.url, 2 * number + turn)
            measure_bare(found, options)
    if options.peer:
        with peer_server(options) as url:
            for turn in range(2):
                measure(found, "peer", url, 2 * number + turn)
    for name in list(found):
        who, what = name.split("_")
        if who != "bare":
            found[f"{name}_ratio"] = found[name] / found[f"bare_{what}"]
    return found


def measure_bare(found: dict[str, float], options: argparse.Namespace) -> None:
    """The same work with nothing around the library."""
    bare = json.loads(
        run("benchmarks/bare_loop.py", options.model, PROMPT_TOKENS, GENERATED, options.threads)
    )
    best(found, "bare_prefill", 1000 * PROMPT_TOKENS / bare["prefill_ms"])
    best(found, "bare_decode", 1000 * (GENERATED - 1) / bare["decode_ms"])


def measure(found: dict[str, float], name: str, url: str, number: int) -> None:
    """One cold request: time to the first token, then the pace of the rest, as the client sees them."""
    sentences = "The ship sailed over the sea and the crew sang. " * (PROMPT_TOKENS // 11 - 3)
    text = f"Round {number}. {sentences}Tell a long story about that ship."
    stream(url, text="Warm up.", max_tokens=4)
    began = time.perf_counter()
    stamps, usage = stream(url, text=text, max_tokens=GENERATED)
    if len(stamps) < GENERATED // 4:  # not every server takes ignore_eos
        print(f"{name}: the answer ended after {len(stamps)} chunks, not measured")
        return
    first = stamps[0] - began
    best(found, f"{name}_prefill", usage["prompt_tokens"] / first)
    # Chunks are tokens but for characters cut in two; the client cannot see more.
    best(found, f"{name}_decode", (usage["completion_tokens"] - 1) / (stamps[-1] - stamps[0]))


def stream(url: str, *, text: str, max_tokens: int) -> tuple[list[float], dict[str, Any]]:
    """Arrival times of the pieces with text, and the usage.

    The client runs on the cores that compute: it notes the time of each piece and reads them at the end.
    """
    body = {
        "messages": [{"role": "user", "content": text}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "max_tokens": max_tokens,
        "ignore_eos": True,
    }
    stamps: list[float] = []
    pieces: list[bytes] = []
    connection = HTTPConnection(url.removeprefix("http://"), timeout=600)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    while piece := reply.read1(1 << 16):
        stamps.append(time.perf_counter())
        pieces.append(piece)
    connection.close()
    told = [stamp for stamp, piece in zip(stamps, pieces, strict=True) if _says(piece)]
    return told, _usage(b"".join(pieces)) or {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": len(told),
    }


def _says(piece: bytes) -> bool:
    return re.search(rb'"content": ?"[^"]', piece) is not None


def _usage(answer: bytes) -> dict[str, Any]:
    """The usage in a stream; empty where the server does not tell it."""
    for line in reversed(answer.splitlines()):
        if line.startswith(b"data: {") and (usage := json.loads(line[6:]).get("usage")):
            return dict(usage)
    return {}


def second_turn(found: dict[str, Any], url: str) -> None:
    """The second turn of a conversation against the same prompt cold."""
    first = [{"role": "user", "content": "Tell me of ships." + " word and another" * 250}]
    answer = httpx.post(
        f"{url}/v1/chat/completions",
        json={"messages": first, "max_tokens": 24, "temperature": 0},
        timeout=600,
    ).json()
    turn = [*first, answer["choices"][0]["message"], {"role": "user", "content": "And of the sea?"}]
    for name, cached in (("warm", True), ("cold", False)):
        began = time.perf_counter()
        body = {"messages": turn, "max_tokens": 1, "temperature": 0, "cache_prompt": cached}
        reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=600).json()
        found[f"second_turn_{name}_evaluated"] = reply["timings"]["prompt_n"]
        found[f"second_turn_{name}_ms"] = (time.perf_counter() - began) * 1000


def latency(found: dict[str, Any], url: str) -> None:
    """`GET /v1/models` while a long prefill and a generation run."""
    text = "Read this." + " word and another" * 900
    work = threading.Thread(target=stream, args=(url,), kwargs={"text": text, "max_tokens": 200})
    work.start()
    times = []
    with httpx.Client(base_url=url, trust_env=False) as client:
        while work.is_alive() and len(times) < 2000:
            began = time.perf_counter()
            client.get("/v1/models").raise_for_status()
            times.append((time.perf_counter() - began) * 1000)
            time.sleep(0.005)
    work.join()
    times.sort()
    found["models_p50_ms"] = statistics.median(times)
    found["models_p99_ms"] = times[int(len(times) * 0.99) - 1]
    found["models_samples"] = len(times)


def flatness(found: dict[str, Any], url: str, pid: int, requests: int) -> None:
    """Resident memory after a third of the requests and after all."""
    with httpx.Client(base_url=url, timeout=600, trust_env=False) as client:
        for number in range(requests):
            body = {"messages": [{"role": "user", "content": f"Number {number}"}], "max_tokens": 4}
            client.post("/v1/chat/completions", json=body).raise_for_status()
            if number == requests // 3:
                found["rss_warm_mib"] = resident_mib(pid)
    found["rss_end_mib"] = resident_mib(pid)


def starts(found: dict[str, Any], scratch: Path) -> None:
    """Seconds to a server that answers (no model loaded), and to `--help`."""
    for _ in range(3):
        began = time.perf_counter()
        with roteiro_server(scratch, None):
            least(found, "ready_s", time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "roteiro", "--help"], check=True, capture_output=True)
        least(found, "help_s", time.perf_counter() - began)


@contextmanager
def peer_server(options: argparse.Namespace) -> Iterator[str]:
    """llama-cpp-python's own server."""
    port = free_port()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(options.model), "--port", str(port)]
    command += [
        "--n_threads",
        str(options.threads),
        "--n_threads_batch",
        str(options.threads),
        "--n_ctx",
        "4096",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(process, f"http://127.0.0.1:{port}", path="/v1/models")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def run(*command: object) -> str:
    done = subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True, text=True)
    return done.stdout


def best(found: dict[str, Any], name: str, value: float) -> None:
    found[name] = max(value, found.get(name, 0.0))


def least(found: dict[str, Any], name: str, value: float) -> None:
    found[name] = min(value, found.get(name, float("inf")))


def report(found: dict[str, Any]) -> None:
    for name, value in found.items():
        print(f"{name:<28} {value:.3f}" if isinstance(value, float) else f"{name:<28} {value}")
    print(json.dumps(found))


if __name__ == "__main__":
    main()

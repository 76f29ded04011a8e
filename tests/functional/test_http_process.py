"""`roteiro serve` and `roteiro chat` as processes: starting, stopping, refusing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from fakes.served import serving

pytestmark = pytest.mark.timeout(60)

ROTEIRO = [sys.executable, "-m", "roteiro"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@contextmanager
def server(folder: Path, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    port = free_port()
    process = subprocess.Popen(
        [*ROTEIRO, "serve", "--addr", f"127.0.0.1:{port}", *args],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)
        process.stderr.close()


def wait_for(url: str) -> None:
    for _ in range(200):
        try:
            httpx.get(f"{url}/health", trust_env=False)
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not start")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_starts_without_a_model_says_so_and_stops_with_0(tmp_path: Path, sign: signal.Signals) -> None:
    with server(tmp_path) as (process, url):
        wait_for(url)
        assert httpx.get(f"{url}/v1/models", trust_env=False).json()["data"] == []
        process.send_signal(sign)
        _, told = process.communicate(timeout=15)
    assert process.returncode == 0
    assert f"Serving at {url}/v1" in told
    assert "Traceback" not in told


def test_what_stays_in_memory_is_taken_out_of_the_collectors_sight(tmp_path: Path) -> None:
    with server(tmp_path, "--log-level", "debug") as (process, _):
        told = next(line for line in process.stderr if "garbage collector" in line)
    # The modules alone are more than this.
    assert int(told.rpartition("objects=")[2]) > 10_000


def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    with server(tmp_path) as (process, url):
        wait_for(url)
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as waiting:
            # A request that is never finished keeps the graceful stop waiting.
            waiting.sendall(
                b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
            )
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            process.wait(2)
    assert process.returncode == 130


def test_a_port_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        addr = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [*ROTEIRO, "serve", "--addr", addr],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert errors == [f"error: Cannot listen on {addr}: address already in use."]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--addr", "nowhere"], "--addr"),
        (["--threads", "many"], "--threads"),
        (["--models", "nope"], "[serve] models"),
        (["--allowed-origins", "*"], "allowed_origins"),
        (["--allowed-hosts", "http://a/b"], "allowed_hosts"),
        (["--api-key-file", "/no/such/file"], "api_key_file"),
        (["--sessions", "0"], "--sessions"),
    ],
)
def test_a_mistake_in_a_flag_stops_the_start_and_names_it(tmp_path: Path, args: list[str], said: str) -> None:
    done = subprocess.run(
        [*ROTEIRO, "serve", *args], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_chat_talks_to_a_running_server(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        done = subprocess.run(
            [*ROTEIRO, "chat", "--url", served.url, "-m", "hello"],
            cwd=tmp_path,
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )
        piped = subprocess.run(
            [*ROTEIRO, "chat", "--url", served.url, "--model", "nope"],
            cwd=tmp_path,
            input="hello",
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert (done.returncode, done.stdout) == (0, "Hello from the scripted model.\n")
    assert piped.returncode == 2
    assert "'nope' is not installed" in piped.stderr


def test_chat_without_a_server_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [*ROTEIRO, "chat", "--url", f"http://127.0.0.1:{free_port()}", "-m", "x"],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert "did not answer" in done.stderr

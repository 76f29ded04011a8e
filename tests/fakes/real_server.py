"""A real `roteiro serve` process over a real model, for tests with real clients."""

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

START_SECONDS = 60


@contextmanager
def real_server(home: Path, folder: Path, models: list[Path], *flags: str) -> Iterator[str]:
    """Import the models into a store of its own, serve them, and give the base URL; stops it at the end."""
    env = {**os.environ, "ROTEIRO_HOME": str(home)}
    for model in models:
        command = [sys.executable, "-m", "roteiro", "model", "import", str(model)]
        subprocess.run(command, env=env, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    log = (home / "serve.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "roteiro", "serve", "--addr", f"127.0.0.1:{port}", *flags],
        cwd=folder,
        env=env,
        stdout=log,
        stderr=log,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, url, home / "serve.log")
        yield url
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(30) == 0, (home / "serve.log").read_text()
        finally:
            process.kill()
            process.wait()
            log.close()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            httpx.get(f"{url}/health", trust_env=False)
        except httpx.HTTPError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text())

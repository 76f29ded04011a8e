"""Servers as processes, for the benchmarks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1.gguf"
START_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server process and where it listens."""

    url: str
    process: subprocess.Popen[bytes]


def default_model() -> Path:
    """SmolLM2, where `make models` puts it."""
    return Path(os.environ.get("ROTEIRO_TEST_MODELS", ".cache/models")) / SMOLLM2


@contextmanager
def roteiro_server(
    home: Path, model: Path | None, *flags: str, folder: Path | None = None
) -> Iterator[Served]:
    """`roteiro serve` over one model (or none) in a store of its own under `home`."""
    env = {**os.environ, "ROTEIRO_HOME": str(home / ("with" if model else "without"))}
    if model is not None:
        command = [sys.executable, "-m", "roteiro", "model", "import", str(model)]
        subprocess.run(command, env=env, check=True, capture_output=True)
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "roteiro",
        "serve",
        "--addr",
        f"127.0.0.1:{port}",
        "--log-level",
        "warning",
        *flags,
    ]
    process = subprocess.Popen(command, env=env, cwd=folder or home)
    try:
        wait_for(process, f"http://127.0.0.1:{port}")
        yield Served(url=f"http://127.0.0.1:{port}", process=process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()


def wait_for(process: subprocess.Popen[bytes], url: str, *, path: str = "/health") -> None:
    """Wait until a server answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended with {process.returncode}")
        try:
            httpx.get(url + path, trust_env=False)
        except httpx.HTTPError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit(f"{process.args!r} did not start in {START_SECONDS} s")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def resident_mib(pid: int) -> float:
    """Resident memory of a process (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"no VmRSS for {pid}")

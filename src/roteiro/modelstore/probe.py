"""Runs the child process that proves a GGUF loadable, and says what its end means.

A bad file can make llama.cpp abort, so nothing is loaded in this process before a child has loaded,
tokenised and decoded with it. The child's command line is handed in; its code is not known here.
Thread: any for the blocking form, the event loop for the other.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from roteiro.errors import MissingExtra
from roteiro.modelstore.index import ProbeVerdict
from roteiro.modelstore.record import ModelRecord

CHILD_MODULE = "roteiro.engine.probe_child"
ENGINE_PACKAGE = "llama-cpp-python"
ENGINE_MODULE = "llama_cpp"

# Start of the child and of the engine, and then the file at a slow disk's speed.
PROBE_BASE_SECONDS = 60.0
PROBE_BYTES_PER_SECOND = 20_000_000
# The last words of a child that are worth quoting.
REASON_CHARACTERS = 300
SOURCE_FOLDERS = re.compile(r"\S*/(?=[^/\s]+:\d+: )")


class ChildProbe:
    """Probes one file at a time in a fresh process.

    Args:
        command: the child's command line; the file's path is added to it. None: this Python running
            the engine's own probe, which needs the `llama` extra.
        engine: version the verdict is bound to; None asks for the installed engine's.
        timeout_s: for one probe; None grows with the file's size.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        engine: str | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._needs_engine = command is None
        self._command = tuple(command or (sys.executable, "-m", CHILD_MODULE))
        self._engine = engine
        self._timeout_s = timeout_s

    @property
    def engine(self) -> str:
        """Version of the engine that gives the verdicts."""
        if self._engine is None:
            self._engine = _installed_engine() if self._needs_engine else "custom"
        return self._engine

    def run(self, record: ModelRecord) -> ProbeVerdict:
        """Probe and block until the child has ended."""
        self._prepare()
        limit = self._limit(record.size)
        try:
            done = subprocess.run(  # noqa: PLW1510  (the exit status is the answer)
                self._line(record.path),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=limit,
                env=_child_environment(),
            )
        except subprocess.TimeoutExpired:
            return self._timed_out(record, limit)
        return self._judge(record, done.returncode, done.stdout, done.stderr)

    async def run_async(self, record: ModelRecord) -> ProbeVerdict:
        """Probe without blocking the loop. Cancelling it ends the child."""
        await asyncio.to_thread(self._prepare)
        limit = self._limit(record.size)
        child = await asyncio.create_subprocess_exec(
            *self._line(record.path),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_child_environment(),
        )
        try:
            async with asyncio.timeout(limit):
                out, err = await child.communicate()
        except TimeoutError:
            return self._timed_out(record, limit)
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return self._judge(record, child.returncode or 0, out, err)

    # ---------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """What needs the disk before a child is started."""
        if self._needs_engine and importlib.util.find_spec(ENGINE_MODULE) is None:
            raise MissingExtra("llama", "Checking that a model can be loaded")
        self._engine = self.engine

    def _line(self, path: Path) -> list[str]:
        return [*self._command, str(path)]

    def _limit(self, size: int) -> float:
        if self._timeout_s is not None:
            return self._timeout_s
        return PROBE_BASE_SECONDS + size / PROBE_BYTES_PER_SECOND

    def _timed_out(self, record: ModelRecord, limit: float) -> ProbeVerdict:
        return self._refuse(record, f"it did not answer within {limit:.0f} s", final=False)

    def _judge(self, record: ModelRecord, status: int, out: bytes, err: bytes) -> ProbeVerdict:
        answer = _last_object(out)
        if status == 0 and answer is not None and answer.get("ok") is True:
            facts = {key: value for key, value in answer.items() if key != "ok"}
            return self._verdict(record, ok=True, reason="", facts=facts)
        if status < 0:
            # The system's out-of-memory killer sends KILL: that says nothing about the file.
            final = -status != getattr(signal, "SIGKILL", 9)
            return self._refuse(record, _signal_reason(-status, err), final=final)
        if answer is not None and answer.get("ok") is False:
            reason = str(answer.get("reason") or answer.get("error") or "no reason given")
            return self._refuse(record, _shorten(reason), final=answer.get("final") is not False)
        words = _last_words(err) or "it gave no answer"
        return self._refuse(record, f"the probe ended with status {status}: {words}", final=False)

    def _refuse(self, record: ModelRecord, reason: str, *, final: bool = True) -> ProbeVerdict:
        return self._verdict(record, ok=False, reason=reason, final=final)

    def _verdict(
        self,
        record: ModelRecord,
        *,
        ok: bool,
        reason: str,
        final: bool = True,
        facts: dict[str, object] | None = None,
    ) -> ProbeVerdict:
        return ProbeVerdict(
            ok=ok,
            reason=reason,
            sha256=record.identity.sha256,
            engine=self.engine,
            checked=time.time(),
            final=final,
            facts=facts or {},
        )


def _installed_engine() -> str:
    try:
        return f"{ENGINE_PACKAGE} {importlib.metadata.version(ENGINE_PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _child_environment() -> dict[str, str]:
    # Without this an abort starts a debugger on the dying process, which can hang for minutes.
    return {**os.environ, "GGML_NO_BACKTRACE": "1"}


def _last_object(out: bytes) -> dict[str, object] | None:
    """The last line that is a JSON object: libraries print to standard output too."""
    for line in reversed(out.splitlines()):
        if line.lstrip().startswith(b"{"):
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict):
                return value
    return None


def _signal_reason(number: int, err: bytes) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    words = _last_words(err)
    return f"loading it ended the process ({name})" + (f": {words}" if words else "")


def _last_words(err: bytes) -> str:
    lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    return _shorten(lines[-1]) if lines else ""


def _shorten(text: str) -> str:
    """One printable line that can stand in a sentence; assertions lose the folders of their source file."""
    line = SOURCE_FOLDERS.sub("", "".join(char if char.isprintable() else " " for char in text))
    return line[:REASON_CHARACTERS].strip().rstrip(".")

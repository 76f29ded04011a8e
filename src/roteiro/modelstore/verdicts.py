"""Keeps probe verdicts with the bytes they hold for, and runs a probe when there is none.

Thread: the blocking form any; the async form on one event loop.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import defaultdict

from roteiro.errors import ModelUnusable, RoteiroError
from roteiro.modelstore.folders import Folders
from roteiro.modelstore.index import ProbeVerdict
from roteiro.modelstore.probe import ChildProbe
from roteiro.modelstore.record import ModelRecord

__all__ = ["ProbeVerdict", "Verdicts"]

# A refusal that may have been the machine's fault is asked again after this long.
RETRY_SECONDS = 600.0

log = logging.getLogger("roteiro.modelstore")


class Verdicts:
    """Verdicts by model, from the index or from a probe."""

    def __init__(self, folders: Folders, probe: ChildProbe) -> None:
        self._folders = folders
        self._probe = probe
        self._lock = threading.Lock()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # Verdicts of this process alone: those that may not be the file's fault, and those that could not
        # be written, for example in a read-only store.
        self._unwritten: dict[str, ProbeVerdict] = {}

    def known(self, record: ModelRecord) -> ProbeVerdict | None:
        """The verdict on exactly these bytes under this engine, unless it is due again."""
        entry = self._folders.entries().get(record.id)
        candidates = (self._unwritten.get(record.id), entry.verdict if entry else None)
        return next((verdict for verdict in candidates if self._applies(verdict, record)), None)

    def ensure(self, record: ModelRecord, *, again: bool) -> ProbeVerdict:
        """Block until there is a verdict; raise when it is a refusal."""
        with self._lock:
            verdict = None if again else self.known(record)
            if verdict is None:
                verdict = self._probe.run(record)
                self._keep(record, verdict)
        return _accepted(record, verdict)

    async def ensure_async(self, record: ModelRecord, *, again: bool) -> ProbeVerdict:
        """Wait for a verdict without blocking the loop; raise when it is a refusal."""
        async with self._turns[record.identity.sha256]:
            verdict = None if again else await asyncio.to_thread(self.known, record)
            if verdict is None:
                verdict = await self._probe.run_async(record)
                await asyncio.to_thread(self._keep, record, verdict)
        return _accepted(record, verdict)

    # ---------------------------------------------------------------------------------------------

    def _applies(self, verdict: ProbeVerdict | None, record: ModelRecord) -> bool:
        if verdict is None or verdict.sha256 != record.identity.sha256:
            return False
        if verdict.engine != self._probe.engine:
            return False
        return verdict.final or time.time() - verdict.checked < RETRY_SECONDS

    def _keep(self, record: ModelRecord, verdict: ProbeVerdict) -> None:
        if not verdict.final:
            self._unwritten[record.id] = verdict
            return
        try:
            self._folders.keep_verdict(record, verdict)
        except (OSError, RoteiroError) as error:
            log.warning("verdict not written model=%s reason=%s", record.id, error)
            self._unwritten[record.id] = verdict
        else:
            self._unwritten.pop(record.id, None)


def _accepted(record: ModelRecord, verdict: ProbeVerdict) -> ProbeVerdict:
    if verdict.ok:
        return verdict
    raise ModelUnusable(
        f"The model {record.id!r} cannot be loaded: {verdict.reason}.",
        hint=f"`roteiro model verify {record.id}` compares its bytes with what was installed; "
        "another quantisation or a newer engine may work.",
        param="model",
        details={"reason": verdict.reason, "final": verdict.final},
    )

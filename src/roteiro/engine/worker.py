"""The engine thread: every native call of the process happens here, one at a time.

Two kinds of jobs: a long one (a generation, an embedding, a load: at most one is submitted at a time, by the
holder of the lock) and short ones (tokenise, sizes, closing a vocabulary). A running long job calls
`serve_short_jobs` between its steps, so that short jobs never wait for a whole generation. It knows nothing
of what the jobs do. Thread: `submit*` any, the rest the engine thread.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from roteiro.errors import EngineClosed

_LOG = logging.getLogger("roteiro.engine")
T = TypeVar("T")


class _Job:
    """A function and the future that waits for it."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.future: Future[object] = Future()

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.function()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class EngineThread:
    """Starts on the first job; `aclose` ends it after the jobs in it."""

    def __init__(self, name: str = "roteiro-engine") -> None:
        self._name = name
        self._condition = threading.Condition()
        self._short: deque[_Job] = deque()
        self._long: deque[_Job] = deque()
        self._closed = False
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        state = "closed" if self._closed else "running" if self._thread else "idle"
        return f"<EngineThread {state}, {len(self._long)} long, {len(self._short)} short>"

    def submit(self, function: Callable[[], T], *, short: bool) -> Future[T]:
        """Queue a job from any thread.

        Raises:
            EngineClosed: the thread has been closed.
        """
        job = _Job(function)
        with self._condition:
            if self._closed:
                raise EngineClosed
            (self._short if short else self._long).append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._condition.notify_all()
        return job.future  # type: ignore[return-value]  # the job returns what its function returns

    async def run_short(self, function: Callable[[], T]) -> T:
        """Run a short job and wait for it; a cancelled waiter takes back a job that has not started."""
        return await asyncio.wrap_future(self.submit(function, short=True))

    async def run_long(self, function: Callable[[], T], on_cancel: Callable[[], None]) -> T:
        """Run a long job and wait for its end even when the waiter is cancelled.

        The caller holds the engine's lock, which must not be released while the job runs: `on_cancel`
        asks the job to stop, and the cancellation is re-raised here once the job is over.
        """
        future = asyncio.wrap_future(self.submit(function, short=False))
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait({future})
            except asyncio.CancelledError as error:
                cancelled = error
                on_cancel()
        if cancelled is not None:
            if not future.cancelled() and (failure := future.exception()) is not None:
                _LOG.debug("job failed after its waiter left: %r", failure)
            raise cancelled
        return future.result()

    def serve_short_jobs(self) -> None:
        """Run the short jobs that wait; called by a long job between its steps."""
        while self._short:
            self._short.popleft().run()

    def wait_for_short_jobs(self, timeout: float) -> None:
        """Sleep until a short job comes or the time is up, then run what is there."""
        with self._condition:
            if not self._short:
                self._condition.wait(timeout)
        self.serve_short_jobs()

    def wake(self) -> None:
        """End a `wait_for_short_jobs` early. Any thread."""
        with self._condition:
            self._condition.notify_all()

    async def aclose(self, last: Callable[[], None] = lambda: None) -> None:
        """Run what is queued, then `last`, then end the thread. Idempotent."""
        with self._condition:
            if self._closed:
                return
            if self._thread is None:
                self._closed = True
                return
            job = _Job(last)
            self._long.append(job)
            self._closed = True
            self._condition.notify_all()
        await asyncio.wrap_future(job.future)
        thread = self._thread
        await asyncio.get_running_loop().run_in_executor(None, thread.join)

    # ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._short and not self._long and not self._closed:
                    self._condition.wait()
                if not self._short and not self._long:
                    return
            self.serve_short_jobs()
            if self._long:
                self._long.popleft().run()

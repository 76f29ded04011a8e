"""What connects one generation on the engine thread with its reader on the event loop.

Owns the cancel and stop flags, the bounded way out for events, and the pause between steps in which short
jobs are served. Knows nothing of tokens' meaning. Thread: each method says which.
"""

from __future__ import annotations

import time
from typing import Protocol

from roteiro.engine.backend import Context
from roteiro.engine.channel import Channel
from roteiro.engine.request import GenerationEvent, TokenChunk

# Events a reader may be behind before the writer waits: about a second of fast decoding.
CHANNEL_CAPACITY = 128
# How often a writer that waits for its reader looks at its flags and at the short jobs.
_STALL_POLL_SECONDS = 0.05


class Cancelled(Exception):
    """The work is no longer wanted."""


class ShortJobs(Protocol):
    """Where short jobs wait."""

    def serve_short_jobs(self) -> None:
        """Run those that wait now."""


class Steering:
    """See the module's docstring."""

    def __init__(self, jobs: ShortJobs, *, stall_s: float) -> None:
        self.cancelled = False
        self.stopped = False
        self.stalled = False
        self.ended = False
        self.delivered = 0
        self.channel: Channel[GenerationEvent] | None = None
        self._jobs = jobs
        self._stall_s = stall_s
        self._context: Context | None = None

    # Event loop ----------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Stop within a token, or at once inside a batch where the library can."""
        self.cancelled = True
        if (context := self._context) is not None:
            context.interrupt()
        self._release()

    def end(self) -> None:
        """As `cancel`, but the reader is there and is to be told."""
        self.ended = True
        self.cancel()

    def stop(self) -> None:
        """Finish in order, as if the chunks delivered so far were all."""
        self.stopped = True
        self._release()

    def post(self, event: GenerationEvent) -> None:
        """Send an event from the event loop."""
        if self.channel is not None:
            self.channel.post(event)

    async def receive(self) -> GenerationEvent | None:
        """The next event for the reader; None after the last."""
        if self.channel is None:
            return None
        event = await self.channel.get()
        if isinstance(event, TokenChunk) and not self.stopped:
            self.delivered += 1
        return event

    # Engine thread -------------------------------------------------------------------------------

    def attach(self, context: Context) -> None:
        """Let `cancel` reach a decode in this context.

        Raises:
            Cancelled: it came before.
        """
        context.rearm()
        self._context = context
        self.check()

    def detach(self) -> None:
        """`cancel` no longer touches the context."""
        self._context = None

    def check(self) -> None:
        """Raise `Cancelled` where the work is no longer wanted."""
        if self.cancelled:
            raise Cancelled

    def between_steps(self) -> None:
        """Serve short jobs, then `check`."""
        self._jobs.serve_short_jobs()
        if self.cancelled:
            raise Cancelled

    def emit(self, event: GenerationEvent) -> None:
        """Send an event, waiting for a reader that is behind.

        Raises:
            Cancelled: the reader left, or did not read for the configured time.
        """
        channel = self.channel
        if channel is None:
            return
        if channel.full():
            self._wait_for(channel)
        channel.put(event)

    # ---------------------------------------------------------------------------------------------

    def _wait_for(self, channel: Channel[GenerationEvent]) -> None:
        deadline = time.monotonic() + self._stall_s
        while not self.stopped and not channel.wait_for_room(_STALL_POLL_SECONDS):
            self.between_steps()
            if time.monotonic() >= deadline:
                self.stalled = True
                raise Cancelled
        self.check()

    def _release(self) -> None:
        if self.channel is not None:
            self.channel.release_writer()

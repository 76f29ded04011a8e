"""A bounded queue from the engine thread to one reader on the event loop.

Owns back-pressure: a slow reader slows the writer, a reader that stalls too long ends the generation. Knows
nothing of what it carries. Thread: `put` on the engine thread, `get` and `post` on the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class ReaderStalled(Exception):
    """Nobody has read from the channel for too long."""


class Channel(Generic[T]):
    """See the module's docstring. Build it on the loop that reads it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._room = threading.Condition()
        self._ended = False
        self._waking = False

    def post(self, item: T) -> None:
        """Add an item from the event loop; never waits and is not bounded (few and small)."""
        self._items.append(item)
        self._ready.set()

    def end(self) -> None:
        """No more items come. Event loop."""
        self._ended = True
        self._ready.set()

    def full(self) -> bool:
        """True when the reader is behind. Any thread."""
        return len(self._items) >= self._capacity

    def put(self, item: T) -> None:
        """Add an item from the engine thread; the caller makes sure that there is room."""
        self._items.append(item)
        if not self._waking:
            # One wake-up serves all items that come before the reader runs.
            self._waking = True
            # A closed loop has no reader; the stall limit or the cancel flag ends the generation.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    def wait_for_room(self, timeout: float) -> bool:
        """Engine thread: sleep until there is room or the time is up; says whether there is room."""
        deadline = time.monotonic() + timeout
        with self._room:
            while self.full():
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._room.wait(left)
        return True

    async def get(self) -> T | None:
        """The next item, or None after the last."""
        while not self._items:
            if self._ended:
                return None
            self._ready.clear()
            if not self._items:
                await self._ready.wait()
        was_full = self.full()
        item = self._items.popleft()
        if was_full:
            self.release_writer()
        return item

    def release_writer(self) -> None:
        """Wake a writer that waits for room, for it to look at its flags."""
        with self._room:
            self._room.notify_all()

    def _wake(self) -> None:
        self._waking = False
        self._ready.set()

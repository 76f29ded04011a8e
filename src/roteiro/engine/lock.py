"""The one lock of the engine: fair, first come first served, with places in the queue that can be seen.

Clients take turns (round robin over `client`), requests of one client keep their order. It knows nothing of
what is done under it. Thread: event loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import zip_longest

from roteiro.errors import Busy, EngineClosed


class Ticket:
    """A place in the queue and, once granted, the lock itself; `release` gives back either. Idempotent."""

    def __init__(self, lock: FairLock, client: str, on_position: Callable[[int], None]) -> None:
        self.client = client
        self.on_position = on_position
        self.position = 0
        self.granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lock = lock

    def release(self) -> None:
        """Give the lock back, or leave the queue."""
        self._lock._release(self)


class FairLock:
    """See the module's docstring. `limit` bounds how many may wait; 0 lets nobody wait."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._holder: Ticket | None = None
        self._waiting: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._closed = False

    def __repr__(self) -> str:
        held = "held" if self._holder else "free"
        return f"<FairLock {held}, {self.waiting} waiting>"

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return sum(len(queue) for queue in self._waiting.values())

    @property
    def held(self) -> bool:
        """True while somebody has the lock."""
        return self._holder is not None

    @property
    def closed(self) -> bool:
        """True once `close` was called."""
        return self._closed

    async def acquire(self, client: str = "", on_position: Callable[[int], None] = lambda _: None) -> Ticket:
        """Wait for the lock. `on_position` hears the place (1 is next) at once and on every change.

        Raises:
            Busy: as many as allowed are waiting already.
            EngineClosed: the lock was closed before it was granted.
        """
        if self._closed:
            raise EngineClosed
        ticket = Ticket(self, client, on_position)
        if self._holder is None and not self._waiting:
            self._holder = ticket
            ticket.granted.set_result(None)
            return ticket
        if self.waiting >= self._limit:
            waiting = self.waiting
            raise Busy(
                f"The queue is full: {waiting} requests are waiting ([serve] queue_limit).",
                retry_after_s=max(1, min(30, waiting)),
            )
        self._waiting.setdefault(client, deque()).append(ticket)
        self._announce()
        try:
            await ticket.granted
        except BaseException:
            ticket.release()
            raise
        return ticket

    def close(self) -> None:
        """Refuse whoever waits and whoever comes; the holder keeps the lock until it releases it."""
        self._closed = True
        for ticket in self._order():
            if not ticket.granted.done():
                ticket.granted.set_exception(EngineClosed())
        self._waiting.clear()

    # ---------------------------------------------------------------------------------------------

    def _release(self, ticket: Ticket) -> None:
        if ticket is self._holder:
            self._holder = None
            self._grant_next()
            self._announce()
            return
        queue = self._waiting.get(ticket.client)
        if queue is None or ticket not in queue:
            return
        queue.remove(ticket)
        if not queue:
            del self._waiting[ticket.client]
        self._announce()

    def _grant_next(self) -> None:
        while self._waiting:
            client, queue = self._waiting.popitem(last=False)
            ticket = queue.popleft()
            if queue:
                # The client that was served goes to the back of the round.
                self._waiting[client] = queue
            if not ticket.granted.done():
                self._holder = ticket
                ticket.granted.set_result(None)
                return

    def _order(self) -> list[Ticket]:
        rounds = zip_longest(*self._waiting.values())
        return [ticket for one in rounds for ticket in one if ticket is not None]

    def _announce(self) -> None:
        for position, ticket in enumerate(self._order(), start=1):
            if position != ticket.position:
                ticket.position = position
                ticket.on_position(position)

"""The engine's lock: order, fairness, visible places, and release on every path."""

from __future__ import annotations

import asyncio

import pytest

from roteiro.engine.lock import FairLock
from roteiro.errors import Busy, EngineClosed

pytestmark = pytest.mark.anyio


async def order_of(lock: FairLock, clients: list[str]) -> list[str]:
    """In which order requests that come one after the other get the lock."""
    first = await lock.acquire("holder")
    served: list[str] = []

    async def work(name: str) -> None:
        ticket = await lock.acquire(name[0])
        served.append(name)
        await asyncio.sleep(0)
        ticket.release()

    tasks = []
    for name in clients:
        tasks.append(asyncio.create_task(work(name)))
        await asyncio.sleep(0)
    first.release()
    await asyncio.gather(*tasks)
    return served


async def test_one_client_is_served_in_order() -> None:
    assert await order_of(FairLock(9), ["a1", "a2", "a3"]) == ["a1", "a2", "a3"]


async def test_clients_take_turns() -> None:
    served = await order_of(FairLock(9), ["a1", "a2", "a3", "b1", "c1", "b2"])
    assert served == ["a1", "b1", "c1", "a2", "b2", "a3"]


async def test_places_are_told_at_once_and_whenever_they_change() -> None:
    lock = FairLock(9)
    holder = await lock.acquire("a")
    seen: dict[str, list[int]] = {"a": [], "b": []}
    waiting = [asyncio.create_task(lock.acquire(name[0], seen[name[0]].append)) for name in ("a2", "b1")]
    await asyncio.sleep(0)
    assert seen == {"a": [1], "b": [2]}
    holder.release()
    second = await waiting[0]
    assert seen == {"a": [1], "b": [2, 1]}
    second.release()
    (await waiting[1]).release()
    assert repr(lock) == "<FairLock free, 0 waiting>"


async def test_a_waiter_that_leaves_is_passed_over() -> None:
    lock = FairLock(9)
    holder = await lock.acquire()
    leaver, stayer = (asyncio.create_task(lock.acquire(name)) for name in "ab")
    await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.sleep(0)
    assert lock.waiting == 1
    holder.release()
    (await stayer).release()
    assert not lock.held


async def test_a_waiter_cancelled_in_the_moment_it_was_granted_gives_the_lock_on() -> None:
    lock = FairLock(9)
    holder = await lock.acquire()
    unlucky, lucky = (asyncio.create_task(lock.acquire(name)) for name in "ab")
    await asyncio.sleep(0)
    holder.release()
    unlucky.cancel()
    ticket = await asyncio.wait_for(lucky, 1)
    ticket.release()
    ticket.release()
    assert not lock.held


async def test_a_full_queue_refuses_and_says_when_to_retry() -> None:
    lock = FairLock(1)
    holder = await lock.acquire()
    waiter = asyncio.create_task(lock.acquire())
    await asyncio.sleep(0)
    with pytest.raises(Busy) as busy:
        await lock.acquire()
    assert busy.value.retry_after_s >= 1
    holder.release()
    (await waiter).release()


async def test_closing_refuses_whoever_waits_and_whoever_comes() -> None:
    lock = FairLock(9)
    holder = await lock.acquire()
    waiter = asyncio.create_task(lock.acquire())
    await asyncio.sleep(0)
    lock.close()
    with pytest.raises(EngineClosed):
        await waiter
    with pytest.raises(EngineClosed):
        await lock.acquire()
    holder.release()
    assert not lock.held

"""Extracts and links many files over the machine's cores, few of them in this process.

Workers are spawned, not forked: a server's threads must not be copied. Batches wait in line only so
far, so that the parent's memory stays bounded, and results come in the order of the tasks. A file
whose grammar brings a worker down is reported and the rest goes on. Thread: the caller's.
"""

from __future__ import annotations

import gc
import marshal
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final

from roteiro.graph.extract.facts import FileHeader
from roteiro.graph.facts_map import Unpacked
from roteiro.graph.link import Linker
from roteiro.graph.parcel import Parcel, Row, Task, make_parcel, unpack_body, unpack_header

# Below these, starting workers (0.2 s each) costs more than they save.
POOL_MIN_FILES: Final = 64
POOL_MIN_BYTES: Final = 1 << 20
LINK_MIN_FILES: Final = 300
MAX_JOBS: Final = 16
_BATCH_BYTES: Final = 256 << 10
_BATCH_FILES: Final = 48
_BATCHES_PER_JOB: Final = 4
_LINK_BATCH_BYTES: Final = 128 << 10  # of packed bodies


def extract_all(
    root: Path, tasks: Sequence[tuple[Task, int]], *, jobs: int | None = None
) -> Iterator[Parcel]:
    """The parcel of each task, in their order.

    Args:
        root: the tree's root.
        tasks: each with the size of its file.
        jobs: how many processes; by default as many as cores may be used, and none for few files.
    """
    wanted = jobs if jobs is not None else _cores()
    few = len(tasks) < POOL_MIN_FILES or sum(size for _, size in tasks) < POOL_MIN_BYTES
    if wanted < 2 or (jobs is None and few):
        for task, _ in tasks:
            yield make_parcel(root, task)
        return
    waiting = deque(_batches(tasks))
    while waiting:
        crashed: deque[list[Task]] = deque()
        yield from _until_crash(root, waiting, crashed, wanted)
        # One at a time, so that it shows which file it was.
        for batch in crashed:
            for task in batch:
                yield _alone(root, task)


def link_all(
    headers: Unpacked[FileHeader],
    bodies: Iterable[tuple[str, bytes]],
    count: int,
    *,
    linker: Linker,
    jobs: int | None = None,
) -> Iterator[tuple[str, list[Row]]]:
    """(path, edges as rows) of each file, in order.

    Args:
        headers: every file's.
        bodies: (path, packed body) of the files to link.
        count: how many these are.
        linker: links in this process, where workers would not pay.
        jobs: how many processes; by default as many as cores may be used, and none for few files.
    """
    wanted = jobs if jobs is not None else _cores()
    if wanted < 2 or (jobs is None and count < LINK_MIN_FILES):
        for path, body in bodies:
            yield path, linker.rows(path, headers[path], unpack_body(body))
        return
    pool = _pool(wanted, headers.packed)
    running: deque[Future[bytes]] = deque()
    try:
        for batch in _body_batches(bodies):
            running.append(pool.submit(_link, batch))
            if len(running) >= wanted * _BATCHES_PER_JOB:
                yield from marshal.loads(running.popleft().result())  # noqa: S302
        while running:
            yield from marshal.loads(running.popleft().result())  # noqa: S302
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


# --------------------------------------------------------------------------------------------------


def _until_crash(
    root: Path, waiting: deque[list[Task]], crashed: deque[list[Task]], jobs: int
) -> Iterator[Parcel]:
    """Work through `waiting`; when a worker dies, move what was under way to `crashed` and stop."""
    running: deque[tuple[list[Task], Future[bytes]]] = deque()
    pool = _pool(jobs)
    try:
        while waiting or running:
            while waiting and len(running) < jobs * _BATCHES_PER_JOB:
                batch = waiting.popleft()
                running.append((batch, pool.submit(_work, str(root), batch)))
            batch, future = running[0]
            packed = future.result()
            running.popleft()
            for values in marshal.loads(packed):  # noqa: S302 (made by our own worker)
                yield Parcel(*values)
    except BrokenProcessPool:
        crashed.extend(batch for batch, _ in running)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _alone(root: Path, task: Task) -> Parcel:
    pool = _pool(1)
    try:
        values = marshal.loads(pool.submit(_work, str(root), [task]).result())[0]  # noqa: S302
        return Parcel(*values)
    except BrokenProcessPool:
        return Parcel(task.path, "skipped", "its grammar crashed", task.lang, 0, b"", 0, -1, 0)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _pool(jobs: int, headers: dict[str, bytes] | None = None) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        min(jobs, MAX_JOBS), mp_context=context, initializer=_begin, initargs=(headers,)
    )


def _begin(headers: dict[str, bytes] | None) -> None:
    """Leave Ctrl-C to the parent, leave with it when it is killed, and take in what linking needs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What is kept is never garbage here: collecting only each batch's own objects saves 10-25 %.
    gc.disable()
    parent = multiprocessing.parent_process()
    assert parent is not None

    def leave_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=leave_with_parent, name="parent-watch", daemon=True).start()
    if headers is not None:
        unpacked = Unpacked(headers.items(), unpack_header)
        _worker.update(headers=unpacked, linker=Linker(unpacked))


# A worker process's own; empty in the parent.
_worker: dict[str, Any] = {}


def _link(batch: list[tuple[str, bytes]]) -> bytes:
    linker, headers = _worker["linker"], _worker["headers"]
    packed = marshal.dumps(
        [(path, linker.rows(path, headers[path], unpack_body(body))) for path, body in batch]
    )
    gc.collect(0)
    return packed


def _body_batches(bodies: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    batch: list[tuple[str, bytes]] = []
    for path, body in bodies:
        batch.append((path, body))
        if sum(len(packed) for _, packed in batch) >= _LINK_BATCH_BYTES:
            yield batch
            batch = []
    if batch:
        yield batch


def _work(root: str, batch: list[Task]) -> bytes:
    folder = Path(root)
    packed = marshal.dumps([tuple(make_parcel(folder, Task(*task))) for task in batch])
    gc.collect(0)
    return packed


def _batches(tasks: Sequence[tuple[Task, int]]) -> Iterator[list[Task]]:
    batch: list[Task] = []
    total = 0
    for task, size in tasks:
        batch.append(task)
        total += size
        if total >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

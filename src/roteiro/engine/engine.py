"""The engine as the conversation layer sees it: tokens in, events out, one generation at a time.

Composes the lock, the engine thread, the pool and the snapshots; the work itself is in `turn`, `decode` and
`embeddings`. It knows no text format, no HTTP and no configuration file. Thread: event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from roteiro.engine.backend import Backend, Interrupted
from roteiro.engine.embeddings import EmbeddingResult, embed
from roteiro.engine.generation import Generation
from roteiro.engine.lock import FairLock, Ticket
from roteiro.engine.meter import Meter
from roteiro.engine.pool import FileChanged, Pool
from roteiro.engine.report import Outcome, picture, tally
from roteiro.engine.request import GenerationRequest, Loading, Queued
from roteiro.engine.saving import identity_of, save_all_sessions, save_session
from roteiro.engine.shelf import Shelf
from roteiro.engine.sizing import WindowPlan, kv_bytes_per_token, plan_window, window_of
from roteiro.engine.snapshots import SnapshotStore
from roteiro.engine.state import Counters, EngineState
from roteiro.engine.steering import Cancelled, Steering
from roteiro.engine.turn import Turn
from roteiro.engine.vocabulary import VocabularyCache, VocabularyHandle
from roteiro.engine.worker import EngineThread
from roteiro.errors import (
    ContextOverflow,
    EngineClosed,
    InvalidRequest,
    ModelTooLarge,
    ModelUnusable,
)
from roteiro.modelstore.record import ModelRecord

_LOG = logging.getLogger("roteiro.engine")
T = TypeVar("T")


async def _admit_all(_record: ModelRecord) -> None:
    """Admit every file: for tests and for callers that probed before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What `[serve]` says of the engine. A budget of 0 bounds nothing; `sleep_idle_s` 0 never unloads.

    `prefix_folder` is where the prefix cache outlives the server, in `prefix_disk_bytes` at most; 0 is off.
    `stall_s`: seconds a reader may leave its events unread; `vocabularies`: how many are kept loaded.
    """

    memory_budget_bytes: int = 0
    max_context_tokens: int | None = None
    sessions: int = 4
    prefix_cache_bytes: int = 0
    prefix_disk_bytes: int = 0
    prefix_folder: Path | None = None
    queue_limit: int = 64
    threads: int | None = None
    gpu_layers: int | None = None
    sleep_idle_s: float = 0.0
    stall_s: float = 30.0
    vocabularies: int = 4


class Engine:
    """See the module's docstring.

    Args:
        backend: the native library, or the scripted one.
        options: sizes and limits.
        clock: seconds, monotonic.
        admit: called before a file is given to the library for the first time or after it changed; raises
            `ModelUnusable` for one that must not be (its probe died).
    """

    def __init__(
        self,
        backend: Backend,
        options: EngineOptions,
        *,
        clock: Callable[[], float] = time.perf_counter,
        admit: Callable[[ModelRecord], Awaitable[None]] = _admit_all,
    ) -> None:
        self.options = options
        self.threads, self.threads_reason = backend.threads(options.threads)
        self.prefill_batch = backend.prefill_batch(options.gpu_layers)
        self._backend = backend
        self._clock = clock
        self._admit = admit
        self._thread = EngineThread()
        self._lock = FairLock(options.queue_limit)
        self._snapshots = SnapshotStore(options.prefix_cache_bytes, self._shelf())
        self._pool = Pool(
            backend,
            budget=options.memory_budget_bytes,
            sessions=options.sessions,
            threads=self.threads,
            n_batch=self.prefill_batch,
            gpu_layers=options.gpu_layers,
            clock=clock,
            before_close=lambda resident, session: save_session(self._snapshots, resident, session, clock()),
        )
        self._vocabularies = VocabularyCache(
            backend, self._thread, capacity=options.vocabularies, admit=admit
        )
        self._counters = Counters()
        self._loading: str | None = None
        self._sleeping = False
        self._started: asyncio.Future[None] | None = None
        self._running: set[Steering] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._background: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Engine {self._backend.name} {self._pool!r} {self._lock!r}>"

    # Without the lock ----------------------------------------------------------------------------

    async def vocabulary(self, record: ModelRecord) -> VocabularyHandle:
        """The model's vocabulary, without loading the model or waiting for the lock.

        Raises:
            ModelUnusable, LoadFailed: the file cannot be used.
        """
        await self._start()
        return await self._vocabularies.get(record)

    def window(self, record: ModelRecord) -> int:
        """The most tokens a request to this model may have, answer included."""
        return window_of(record.header, self.options.max_context_tokens)

    def plan(self, record: ModelRecord, prompt_tokens: int, max_tokens: int | None) -> WindowPlan:
        """Size a request, or refuse it.

        Raises:
            ContextOverflow: it does not fit the window.
            ModelTooLarge: model and context do not fit the budget even alone.
        """
        plan = plan_window(prompt=prompt_tokens, max_tokens=max_tokens, window=self.window(record))
        needed = record.size + kv_bytes_per_token(record.header) * plan.start
        budget = self.options.memory_budget_bytes
        if 0 < budget < needed:
            raise ModelTooLarge(record.id, needed=needed, budget=budget)
        return plan

    def state(self) -> EngineState:
        """What is loaded, held, queued and counted at this moment."""
        return picture(
            self._pool,
            self._snapshots,
            counters=replace(self._counters, loads=self._pool.loads),
            loading=self._loading,
            sleeping=self._sleeping,
            queued=self._lock.waiting,
            processing=int(self._lock.held),
            window=lambda record: window_of(record.header, self.options.max_context_tokens),
        )

    # With the lock -------------------------------------------------------------------------------

    def generate(self, record: ModelRecord, request: GenerationRequest) -> Generation:
        """Start a generation; it waits for its turn when its events are read.

        Raises:
            ContextOverflow, ModelTooLarge, InvalidRequest: as `plan`, before anything is queued.
        """
        plan = self.plan(record, len(request.prompt), request.max_tokens)
        steering = Steering(self._thread, stall_s=self.options.stall_s)
        return Generation(lambda: self._generate(record, request, plan, steering), steering)

    async def embed(
        self, record: ModelRecord, inputs: Sequence[Sequence[int]], *, client: str = ""
    ) -> EmbeddingResult:
        """One normalised vector an input.

        Raises:
            ContextOverflow: an input is longer than the window.
            InvalidRequest: there are no inputs, or one is empty.
            ModelUnusable: the model gives no embeddings.
        """
        self._check_inputs(record, inputs)
        steering = Steering(self._thread, stall_s=self.options.stall_s)

        def job() -> EmbeddingResult:
            with self._pool.lease(record, lambda: self._load_progress(steering)) as resident:
                return embed(self._pool, resident, inputs, steering)

        result = await self._exclusively(record, client, steering, job)
        total = self._counters.embedded_tokens + result.prompt_tokens
        self._counters = replace(self._counters, embedded_tokens=total)
        return result

    async def load(self, record: ModelRecord, *, client: str = "") -> None:
        """Load a model now.

        Raises:
            ModelTooLarge, LoadFailed, ModelUnusable: it cannot be.
        """
        steering = Steering(self._thread, stall_s=self.options.stall_s)

        def job() -> None:
            with self._pool.lease(record, lambda: self._load_progress(steering)):
                return

        await self._exclusively(record, client, steering, job)

    async def unload(self, model_id: str) -> bool:
        """Unload a model once its use has ended; False when it was not loaded."""
        ticket = await self._lock.acquire()
        try:
            return await self._thread.run_long(lambda: self._pool.unload(model_id), _nothing)
        finally:
            self._release(ticket)

    async def forget(self, record: ModelRecord) -> None:
        """Drop everything known of a model's file: it changed or was removed."""
        self._vocabularies.forget(record.id)
        ticket = await self._lock.acquire()

        def job() -> None:
            self._pool.unload(record.id, keep_tokens=False)
            self._snapshots.forget(identity_of(record))

        try:
            await self._thread.run_long(job, _nothing)
        finally:
            self._release(ticket)

    def end_requests(self) -> None:
        """Let what has the lock, waits for it or wants it later fail with `EngineClosed`. Idempotent."""
        self._lock.close()
        for steering in self._running:
            steering.end()

    async def aclose(self) -> None:
        """`end_requests`, then free everything. Idempotent."""
        self.end_requests()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        await self._thread.aclose(self._free_everything)

    # ---------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        """Initialise the library once; requests that come meanwhile wait and keep their order."""
        if self._started is None:
            _LOG.info("threads=%d (%s)", self.threads, self.threads_reason)
            self._started = asyncio.ensure_future(self._thread.run_short(self._backend.start))
        await asyncio.shield(self._started)

    def _free_everything(self) -> None:
        if self._snapshots.outlives:
            save_all_sessions(self._pool, self._snapshots)
        self._pool.unload_all(keep_tokens=False)
        self._snapshots.close()
        self._vocabularies.close()
        if self._started is not None:
            self._backend.stop()

    async def _generate(
        self,
        record: ModelRecord,
        request: GenerationRequest,
        plan: WindowPlan,
        steering: Steering,
    ) -> None:
        meter = Meter(clock=self._clock)
        turn = Turn(
            pool=self._pool,
            snapshots=self._snapshots,
            record=record,
            request=request,
            plan=plan,
            steering=steering,
            meter=meter,
            clock=self._clock,
        )
        arrived = self._clock()

        def begin() -> None:
            meter.queue_ms = (self._clock() - arrived) * 1000

        outcome: Outcome = "failed"

        def job() -> None:
            nonlocal outcome
            end = turn.run(lambda: self._load_progress(steering))
            # A reader that has this event leaves, and its leaving must not count as a cancellation.
            outcome = "requests"
            steering.emit(end)

        try:
            await self._exclusively(record, request.client, steering, job, begin)
        except (Cancelled, Interrupted, asyncio.CancelledError):
            outcome = "requests" if outcome == "requests" else "cancelled"
            if not steering.cancelled and not steering.stalled:
                raise
        finally:
            self._counters = tally(self._counters, meter, outcome)

    async def _exclusively(
        self,
        record: ModelRecord,
        client: str,
        steering: Steering,
        job: Callable[[], T],
        begin: Callable[[], None] = lambda: None,
    ) -> T:
        """Run a long job over a model under the lock, admitting its file first where that is due."""
        await self._start()
        ticket = await self._lock.acquire(client, lambda position: steering.post(Queued(position=position)))
        self._running.add(steering)
        try:
            if self._lock.closed:  # between the grant and now
                raise EngineClosed
            begin()
            self._sleeping = False
            return await self._run_admitted(record, steering, job)
        except (Cancelled, Interrupted) as error:
            if steering.ended:
                raise EngineClosed from error
            raise
        finally:
            self._loading = None
            self._running.discard(steering)
            self._release(ticket)

    async def _run_admitted(self, record: ModelRecord, steering: Steering, job: Callable[[], T]) -> T:
        for _attempt in range(2):
            if self._pool.find(record.id) is None:
                self._loading = record.id
                steering.post(Loading(model=record.id))
                await self._admit(record)
            try:
                return await self._thread.run_long(job, steering.cancel)
            except FileChanged:
                self._vocabularies.forget(record.id)
                self._snapshots.forget(identity_of(record))
        raise ModelUnusable(
            f"The file of {record.id!r} is gone or keeps changing: {record.path}.",
            hint="`roteiro model verify` compares it with what was installed.",
            param="model",
        )

    def _load_progress(self, steering: Steering) -> bool:
        """Between two parts of a loading: short jobs run, and a reader that left ends it."""
        self._thread.serve_short_jobs()
        return not steering.cancelled

    def _release(self, ticket: Ticket) -> None:
        ticket.release()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if self.options.sleep_idle_s > 0 and not self._lock.held and self._pool.residents:
            loop = asyncio.get_running_loop()
            self._idle_timer = loop.call_later(self.options.sleep_idle_s, self._go_to_sleep)

    def _go_to_sleep(self) -> None:
        if self._lock.held or self._lock.waiting or self._lock.closed:
            return
        task = asyncio.get_running_loop().create_task(self._unload_all())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _unload_all(self) -> None:
        ticket = await self._lock.acquire()
        try:
            await self._thread.run_long(lambda: self._pool.unload_all(keep_tokens=True), _nothing)
            self._sleeping = True
            _LOG.info("idle: every model unloaded")
        finally:
            ticket.release()

    def _shelf(self) -> Shelf | None:
        folder, budget = self.options.prefix_folder, self.options.prefix_disk_bytes
        if folder is None or budget == 0:
            return None
        return Shelf(folder, budget=budget, build=self._backend.build, still=lambda: not self._lock.held)

    def _check_inputs(self, record: ModelRecord, inputs: Sequence[Sequence[int]]) -> None:
        window = self.window(record)
        if not inputs or not all(inputs):
            raise InvalidRequest("An input is empty.", hint="Send text.", param="input")
        for index, tokens in enumerate(inputs):
            if len(tokens) > window:
                raise ContextOverflow(prompt_tokens=len(tokens), n_ctx=window, input_index=index)


def _nothing() -> None:
    """Short work under the lock is not cancelled half-way."""

"""Loaded models and their kept sessions under one byte budget, least recently used first out.

Owns loading, unloading, leases and the making of contexts; what goes when room is needed is
`eviction.choose_victims`. A GGUF's size is the footprint proxy for its weights. Thread: engine thread;
`residents` is a tuple that is replaced, never changed, so that the event loop may read it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from roteiro.engine.backend import Backend, Context, ContextOptions, LoadedModel, LoadOptions
from roteiro.engine.eviction import Kept, choose_victims
from roteiro.engine.session import Session
from roteiro.engine.sizing import kv_bytes_per_token
from roteiro.errors import LoadFailed, ModelTooLarge
from roteiro.modelstore.record import ModelRecord

_LOG = logging.getLogger("roteiro.engine")

Signature = tuple[tuple[int, int, int], ...]


class FileChanged(Exception):
    """The file behind a loaded model is not the one that was loaded."""


@dataclass(slots=True, kw_only=True, eq=False)
class Resident:
    """A loaded model with its slots, and the context it embeds with."""

    record: ModelRecord
    model: LoadedModel
    signature: Signature
    sessions: tuple[Session, ...]
    embedding: Session = field(default_factory=lambda: Session(slot=-1))
    leases: int = 0
    last_used: float = 0.0

    @property
    def kept_bytes(self) -> int:
        """Bytes of its contexts."""
        return self.embedding.size_bytes + sum(one.size_bytes for one in self.sessions)

    @property
    def size_bytes(self) -> int:
        """Bytes of weights and contexts."""
        return self.record.size + self.kept_bytes


class Lease:
    """A loaded model that may not be evicted while this is held."""

    def __init__(self, resident: Resident) -> None:
        self.resident = resident

    def __enter__(self) -> Resident:
        self.resident.leases += 1
        return self.resident

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.resident.leases -= 1


def signature_of(record: ModelRecord) -> Signature:
    """Size, mtime and inode of every file of a model; what a loaded one is bound to.

    Raises:
        FileChanged: a file is gone.
    """
    try:
        stats = [part.stat() for part in record.parts]
    except OSError as error:
        raise FileChanged from error
    return tuple((one.st_size, one.st_mtime_ns, one.st_ino) for one in stats)


class Pool:
    """See the module's docstring. `before_close` hears of a session whose tokens are about to be lost."""

    def __init__(
        self,
        backend: Backend,
        *,
        budget: int,
        sessions: int,
        threads: int,
        n_batch: int,
        gpu_layers: int | None,
        clock: Callable[[], float],
        before_close: Callable[[Resident, Session], None] = lambda _resident, _session: None,
    ) -> None:
        self.residents: tuple[Resident, ...] = ()
        self.loads = 0
        self.budget = budget
        self._backend = backend
        self._slots = max(1, sessions)
        self._threads = threads
        self._n_batch = n_batch
        self._load_options = LoadOptions(gpu_layers=gpu_layers)
        self._clock = clock
        self._before_close = before_close

    def __repr__(self) -> str:
        gib = 2**30
        leased = sum(1 for one in self.residents if one.leases)
        kept = sum(1 for one in self.residents for session in one.sessions if session.context)
        return (
            f"<Pool {len(self.residents)} loaded, {leased} leased, {kept} sessions, "
            f"{self.used / gib:.2f} of {self.budget / gib:.2f} GiB>"
        )

    @property
    def used(self) -> int:
        """Bytes of everything loaded and kept."""
        return sum(one.size_bytes for one in self.residents)

    def find(self, model_id: str) -> Resident | None:
        """The loaded model of that id."""
        return next((one for one in self.residents if one.record.id == model_id), None)

    def lease(self, record: ModelRecord, progress: Callable[[], bool]) -> Lease:
        """Hold a model, loading it first where needed.

        Raises:
            FileChanged: the loaded file changed on disk; it is no longer loaded.
            ModelTooLarge: it cannot fit even with everything else unloaded.
            LoadFailed: the library refused it.
            Interrupted: `progress` returned False.
        """
        resident = self.find(record.id)
        if resident is not None and resident.signature != _signature_or_none(record):
            _LOG.warning("model file changed model=%s", record.id)
            self.unload(record.id, keep_tokens=False)
            raise FileChanged
        if resident is None:
            resident = self._load(record, progress)
        resident.last_used = self._clock()
        return Lease(resident)

    def unload(self, model_id: str, *, keep_tokens: bool = True) -> bool:
        """Free a model and its contexts; False when it was not loaded. Not for one that is leased."""
        resident = self.find(model_id)
        if resident is None:
            return False
        assert resident.leases == 0, f"{model_id} is in use"
        for session in resident.sessions:
            self.close_session(resident, session, keep_tokens=keep_tokens)
        resident.embedding.close()
        resident.model.close()
        self.residents = tuple(one for one in self.residents if one is not resident)
        _LOG.info("model unloaded model=%s", model_id)
        return True

    def unload_all(self, *, keep_tokens: bool) -> None:
        """Free everything; with `keep_tokens`, sessions may be saved first."""
        for resident in self.residents:
            self.unload(resident.record.id, keep_tokens=keep_tokens)

    def close_session(self, resident: Resident, session: Session, *, keep_tokens: bool = True) -> None:
        """Free a session's context; `before_close` may save its tokens first."""
        if session.context is not None and session.tokens and keep_tokens:
            self._before_close(resident, session)
        session.close()

    def open_context(self, resident: Resident, session: Session, n_ctx: int) -> Context:
        """Give a session a new context of `n_ctx` tokens; the one it had is closed first.

        Raises:
            ModelTooLarge: the budget does not allow it even with everything idle gone.
            LoadFailed: the library could not make it.
        """
        session.close()
        size = kv_bytes_per_token(resident.record.header) * n_ctx
        self._make_room(size, resident, session)
        options = ContextOptions(n_ctx=n_ctx, n_batch=self._n_batch, threads=self._threads)
        session.context = self._open(resident, options)
        session.size_bytes = size
        return session.context

    def open_embedding_context(self, resident: Resident, *, n_tokens: int, sequences: int) -> Context:
        """Give a model a context that embeds `n_tokens` at once; as `open_context`."""
        resident.embedding.close()
        size = kv_bytes_per_token(resident.record.header) * n_tokens
        self._make_room(size, resident, resident.embedding)
        options = ContextOptions(
            n_ctx=n_tokens,
            n_batch=n_tokens,
            threads=self._threads,
            sequences=sequences,
            embeddings=True,
        )
        resident.embedding.context = self._open(resident, options)
        resident.embedding.size_bytes = size
        return resident.embedding.context

    # ---------------------------------------------------------------------------------------------

    def _load(self, record: ModelRecord, progress: Callable[[], bool]) -> Resident:
        self._make_room(record.size, None, None, record.id)
        signature = signature_of(record)
        started = self._clock()
        model = self._backend.load_model(record.path, self._load_options, progress)
        resident = Resident(
            record=record,
            model=model,
            signature=signature,
            sessions=tuple(Session(slot=slot) for slot in range(self._slots)),
        )
        self.residents = (*self.residents, resident)
        self.loads += 1
        seconds = self._clock() - started
        _LOG.info("model loaded model=%s bytes=%d seconds=%.2f", record.id, record.size, seconds)
        return resident

    def _open(self, resident: Resident, options: ContextOptions) -> Context:
        try:
            return resident.model.open_context(options)
        except LoadFailed:
            # Memory may be short in a way the budget does not know: idle sessions go, then once more.
            for session in resident.sessions:
                if not session.busy:
                    self.close_session(resident, session)
            return resident.model.open_context(options)

    def _make_room(
        self, needed: int, resident: Resident | None, session: Session | None, model_id: str = ""
    ) -> None:
        if self.budget <= 0:
            return
        kept = list(self._kept(resident, session))
        victims = choose_victims(kept, needed=needed, budget=self.budget)
        if victims is None:
            in_use = sum(one.size for one in kept if one.in_use)
            name = model_id or (resident.record.id if resident else "")
            raise ModelTooLarge(name, needed=in_use + needed, budget=self.budget)
        for victim in victims:
            self._evict(victim)

    def _kept(self, resident: Resident | None, session: Session | None) -> list[Kept]:
        kept: list[Kept] = []
        for one in self.residents:
            used = one is resident or one.leases > 0
            kept.append(
                Kept(
                    model=one.record.id,
                    slot=None,
                    size=one.record.size,
                    last_used=one.last_used,
                    in_use=used,
                )
            )
            kept.extend(
                Kept(
                    model=one.record.id,
                    slot=each.slot,
                    size=each.size_bytes,
                    last_used=each.last_used,
                    in_use=each.busy or each is session,
                )
                for each in (*one.sessions, one.embedding)
                if each.size_bytes
            )
        return kept

    def _evict(self, victim: Kept) -> None:
        resident = self.find(victim.model)
        if resident is None:
            return
        if victim.slot is None:
            self.unload(victim.model)
            return
        every = (*resident.sessions, resident.embedding)
        session = next(one for one in every if one.slot == victim.slot)
        self.close_session(resident, session)
        _LOG.debug("session closed model=%s slot=%d", victim.model, victim.slot)


def _signature_or_none(record: ModelRecord) -> Signature | None:
    try:
        return signature_of(record)
    except FileChanged:
        return None

"""Pictures and totals of the engine, built from its live parts. Thread: event loop; reads, never writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from roteiro.engine.meter import Meter
from roteiro.engine.pool import Pool, Resident
from roteiro.engine.session import Session
from roteiro.engine.snapshots import SnapshotStore
from roteiro.engine.state import Counters, EngineState, ModelState, SessionState
from roteiro.modelstore.record import ModelRecord

Outcome = Literal["requests", "cancelled", "failed"]


def picture(
    pool: Pool,
    snapshots: SnapshotStore,
    *,
    counters: Counters,
    loading: str | None,
    sleeping: bool,
    queued: int,
    processing: int,
    window: Callable[[ModelRecord], int],
) -> EngineState:
    """The state now. Numbers of a running generation may be a token apart from each other."""
    residents = pool.residents
    return EngineState(
        models=tuple(_model(resident, window(resident.record)) for resident in residents),
        loading=loading,
        sleeping=sleeping,
        queued=queued,
        processing=processing,
        budget_bytes=pool.budget,
        used_bytes=sum(resident.size_bytes for resident in residents),
        snapshots=len(snapshots),
        snapshot_bytes=snapshots.held,
        counters=counters,
    )


def tally(counters: Counters, meter: Meter, outcome: Outcome) -> Counters:
    """The totals with one more generation in them, however it ended."""
    timings = meter.timings()
    counted = replace(
        counters,
        prompt_tokens=counters.prompt_tokens + timings.prompt_n,
        cached_tokens=counters.cached_tokens + timings.cache_n,
        prompt_seconds=counters.prompt_seconds + timings.prompt_ms / 1000,
        predicted_tokens=counters.predicted_tokens + timings.predicted_n,
        predicted_seconds=counters.predicted_seconds + timings.predicted_ms / 1000,
        most_tokens=max(counters.most_tokens, timings.cache_n + timings.prompt_n + timings.predicted_n),
    )
    if outcome == "cancelled":
        return replace(counted, cancelled=counted.cancelled + 1)
    if outcome == "failed":
        return replace(counted, failed=counted.failed + 1)
    return replace(counted, requests=counted.requests + 1)


# -------------------------------------------------------------------------------------------------


def _model(resident: Resident, window: int) -> ModelState:
    return ModelState(
        id=resident.record.id,
        bytes=resident.size_bytes,
        in_use=resident.leases > 0,
        facts=resident.model.facts,
        sessions=tuple(_session(one, window) for one in resident.sessions),
    )


def _session(session: Session, window: int) -> SessionState:
    context = session.context
    remaining = session.limit - session.prompt_tokens - session.decoded
    return SessionState(
        id=session.slot,
        n_ctx=window,
        allocated=context.n_ctx if context is not None else 0,
        is_processing=session.busy,
        has_served=session.served,
        n_prompt_tokens=session.prompt_tokens,
        n_prompt_tokens_processed=session.processed,
        n_prompt_tokens_cache=session.cached,
        n_decoded=session.decoded,
        n_remain=remaining if session.busy else -1,
        tokens=len(session.tokens),
        bytes=session.size_bytes,
    )

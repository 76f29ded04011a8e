"""Which states are saved, and when: on the way through a prompt, before a session is lost, at the stop.

Decides and copies; what is kept of it, and what goes when room is short, is the snapshot store's. Thread:
engine thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from roteiro.engine.backend import ModelFacts, State
from roteiro.engine.pool import Pool, Resident
from roteiro.engine.request import GenerationRequest
from roteiro.engine.session import Session
from roteiro.engine.shelf import SnapshotKind
from roteiro.engine.sizing import kv_bytes_per_token
from roteiro.engine.snapshots import FLOOR_TOKENS, SnapshotStore
from roteiro.errors import RoteiroError
from roteiro.modelstore.record import ModelRecord

_LOG = logging.getLogger("roteiro.engine")
# Where a state that cannot be rewound is saved: before the tokens that open the answer.
_TURN_CUT_TOKENS = 4


def identity_of(record: ModelRecord) -> str:
    """What a snapshot of a model is bound to: the bytes of its file."""
    identity = record.identity
    return f"{record.id} {identity.sha256} {identity.size} {identity.mtime_ns}"


def places_to_save(
    request: GenerationRequest,
    record: ModelRecord,
    facts: ModelFacts,
    snapshots: SnapshotStore,
    *,
    held: int,
    again: bool,
) -> dict[int, SnapshotKind]:
    """At which lengths of a prompt its state is saved, and as what; the store learns from the prompt.

    Args:
        request: whose prompt is to be evaluated.
        record: the model's.
        facts: how its memory behaves.
        snapshots: what is saved already.
        held: how much of the prompt is in memory.
        again: it rewrites the last turn of the conversation that is held: a history, not a preamble.
    """
    if not request.cache_prompt or not snapshots.enabled:
        return {}
    kinds: dict[int, SnapshotKind] = {}
    total, opened = len(request.prompt), len(request.prompt) - _TURN_CUT_TOKENS
    cut = snapshots.boundary(identity_of(record), request.prompt, declared=request.preamble, held=held)
    if cut > held or (cut == held and cut and not again):
        kinds[cut] = "preamble"
    if facts.in_parts:
        # The next conversation then finds what it shares with a long prompt and need not copy it from the
        # session.
        if total - max([held, *kinds]) >= FLOOR_TOKENS:
            kinds[total] = "turn"
    elif facts.memory != "none" and opened >= max(FLOOR_TOKENS, held + 1):
        kinds[opened] = "turn"
    return kinds


def save_on_the_way(
    snapshots: SnapshotStore,
    resident: Resident,
    tokens: Sequence[int],
    kind: SnapshotKind,
    *,
    copy: Callable[[], State],
    now: float,
) -> None:
    """Keep the state of a prompt's first tokens at one of its `places_to_save`; `copy` makes the copy."""
    model, facts = identity_of(resident.record), resident.model.facts
    if not snapshots.wants(model, tokens):
        return
    if kind == "preamble" and facts.in_parts and snapshots.promote(model, tokens, now):
        return
    # A prompt drives nothing out: its session is still there, and is saved when it is lost.
    spare = kind == "turn" and facts.in_parts
    if spare and kv_bytes_per_token(resident.record.header) * len(tokens) > snapshots.room:
        return
    snapshots.add(model, tokens, copy(), kind, now, spare=spare)


def save_session(snapshots: SnapshotStore, resident: Resident, session: Session, now: float) -> None:
    """Keep the state of a session that is about to lose its tokens, as a turn."""
    context, model = session.context, identity_of(resident.record)
    if context is not None and not session.busy and snapshots.wants(model, session.tokens):
        snapshots.add(model, session.tokens, context.save(), "turn", now)


def save_all_sessions(pool: Pool, snapshots: SnapshotStore) -> None:
    """Keep the state of every session before the server stops, the one that was used last at the end.

    An answer comes back as its client writes it, which need not be token by token what the model wrote, so
    this is of use where a state can be cut. Other memory has been saved before its last answer opened.
    """
    for resident in pool.residents:
        if not resident.model.facts.in_parts:
            continue
        for session in sorted(resident.sessions, key=lambda one: one.last_used):
            try:
                save_session(snapshots, resident, session, session.last_used)
            except (RoteiroError, MemoryError) as error:
                _LOG.warning("session not saved slot=%d: %r", session.slot, error)
            session.close()

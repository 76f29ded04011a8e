"""Live contexts kept between requests, and the choice of the one that serves a prompt best.

A session is a context and the tokens in it, generated ones included. This module decides what of it a new
prompt can use; it evaluates nothing. Thread: engine thread (the pure functions: any).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from roteiro.engine.backend import Context, ModelFacts

# Copying a state costs about 20 ms for 1,000 tokens; fewer than this many are evaluated as quickly.
FORK_FLOOR_TOKENS = 16
# A state is brought in whole: of one with more than this many times the tokens that are kept, it is not
# worth the window that it needs.
MOST_PARTS = 4
# Tokens that are compared first; then twice as many each time.
_FIRST_STEP = 64


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """One slot of a loaded model.

    Attributes:
        slot: its number, from 0; what `id_slot` pins.
        context: the live context, or None where nothing is kept; `size_bytes` is what it takes.
        tokens: what the context holds, position by position.
        turn_start: where the last request's own tokens began; a prompt that agrees up to there continues
            or rewrites the same conversation.
        last_used: the clock's time of the last use.
        busy: a generation is running in it; `served`: there has been one.
        prompt_tokens, processed, cached, decoded, limit: the last request's progress, for `/slots`.
    """

    slot: int
    context: Context | None = None
    size_bytes: int = 0
    tokens: list[int] = field(default_factory=list)
    turn_start: int = 0
    last_used: float = 0.0
    busy: bool = False
    served: bool = False
    prompt_tokens: int = 0
    processed: int = 0
    cached: int = 0
    decoded: int = 0
    limit: int = 0

    def close(self) -> None:
        """Free the context and forget its tokens. Idempotent."""
        if self.context is not None:
            self.context.close()
        self.context = None
        self.size_bytes = 0
        self.tokens = []
        self.turn_start = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which session serves a prompt, and how.

    `keep` tokens of `session` stay ("continue"), or of `source` are copied into it ("fork"), or nothing is
    kept ("fresh"). `note` says why, for the log.
    """

    session: Session
    how: Literal["continue", "fork", "fresh"]
    keep: int = 0
    source: Session | None = None
    note: str = ""


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the longest common prefix; costs no more than the prefix is long."""
    limit = min(len(left), len(right))
    low, step = 0, _FIRST_STEP
    # Slices are compared in C; walking 100,000 tokens one by one in Python would be felt.
    while low < limit and _same(left, right, low, low + step):
        low += step
        step *= 2
    low, high = min(low, limit), min(low + step, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if _same(left, right, low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def kept_prefix(held: Sequence[int], prompt: Sequence[int], *, longest_cut: int) -> int:
    """How many tokens of a saved state a prompt can use; at least one is left to evaluate.

    All or none, unless the state can be cut. That is done to states of up to `longest_cut` tokens (0: to
    none), and not where bringing in all of it to keep a small part would cost more than the part.
    """
    keep = min(common_prefix(held, prompt), len(prompt) - 1)
    whole = keep == len(held)
    return keep if whole or len(held) <= min(longest_cut, MOST_PARTS * keep) else 0


def usable_prefix(session: Session, prompt: Sequence[int], facts: ModelFacts) -> int:
    """How many of the session's tokens a prompt can keep; at least one is always left to evaluate.

    Attention memory can be cut anywhere; a sliding window only where the cells before the cut are still
    there; recurrent state not at all, so only a prompt that purely appends can use it.
    """
    if session.context is None or not session.tokens:
        return 0
    keep = min(common_prefix(session.tokens, prompt), len(prompt) - 1)
    if keep in (0, len(session.tokens)):
        return keep
    if facts.memory == "attention":
        return keep
    if facts.memory == "swa":
        first = session.context.first_position()
        return keep if 0 <= first <= max(0, keep - facts.n_swa) else 0
    return 0


def choose_session(
    sessions: Sequence[Session], prompt: Sequence[int], facts: ModelFacts, *, pinned: int
) -> Choice:
    """Pick the session for a prompt; see `Choice`."""
    usable = {one.slot: usable_prefix(one, prompt, facts) for one in sessions}
    best = max(sessions, key=lambda one: (usable[one.slot], one.last_used))
    if pinned >= 0:
        return _into(sessions[pinned % len(sessions)], best, usable, prompt, facts)
    keep = usable[best.slot]
    if keep and _same_conversation(best, keep):
        return Choice(session=best, how="continue", keep=keep, note=_kept_note(best, keep))
    return _into(_replaceable(sessions), best, usable, prompt, facts)


def divergence_note(session: Session, prompt: Sequence[int]) -> str:
    """Why a session's tokens could not all be used, in one phrase."""
    if not session.tokens:
        return "nothing held"
    at = common_prefix(session.tokens, prompt)
    if at == len(session.tokens):
        return "whole session extended"
    return f"differs at token {at} of {len(session.tokens)} held"


# -------------------------------------------------------------------------------------------------


def _same(left: Sequence[int], right: Sequence[int], start: int, end: int) -> bool:
    return tuple(left[start:end]) == tuple(right[start:end])


def _same_conversation(session: Session, keep: int) -> bool:
    return keep == len(session.tokens) or keep >= max(session.turn_start, 1)


def _replaceable(sessions: Sequence[Session]) -> Session:
    """An empty slot, else the least recently used one."""
    return min(sessions, key=lambda one: (bool(one.tokens), one.last_used, one.slot))


def _into(
    target: Session,
    best: Session,
    usable: dict[int, int],
    prompt: Sequence[int],
    facts: ModelFacts,
) -> Choice:
    own = usable[target.slot]
    most = usable[best.slot]
    gain = most - own
    if best is not target and gain >= FORK_FLOOR_TOKENS and facts.memory != "none":
        note = f"copied {most} tokens from slot {best.slot}"
        return Choice(session=target, how="fork", keep=most, source=best, note=note)
    if own:
        return Choice(session=target, how="continue", keep=own, note=_kept_note(target, own))
    return Choice(session=target, how="fresh", note=divergence_note(best, prompt))


def _kept_note(session: Session, keep: int) -> str:
    held = len(session.tokens)
    if keep == held:
        return f"extends slot {session.slot}"
    return f"kept {keep} of {held} tokens held in slot {session.slot}"

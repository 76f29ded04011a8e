"""Which kept things go when room is needed. Pure policy; frees nothing itself. Thread: any.

Kept sessions go first, least recently used first, then whole models, least recently used first. What is in
use never goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something that could be freed: a session (`slot` its number) or a model's weights (None)."""

    model: str
    slot: int | None
    size: int
    last_used: float
    in_use: bool


def choose_victims(kept: Sequence[Kept], *, needed: int, budget: int) -> list[Kept] | None:
    """What to free so that `needed` more bytes fit `budget`, in order; None when nothing makes it fit.

    Freeing a model's weights frees its sessions too, so those are chosen before it.
    """
    excess = sum(one.size for one in kept) + needed - budget
    victims: list[Kept] = []
    for one in _in_order(kept):
        if excess <= 0:
            break
        victims.append(one)
        excess -= one.size
    return victims if excess <= 0 else None


def _in_order(kept: Sequence[Kept]) -> list[Kept]:
    busy_models = {one.model for one in kept if one.in_use}
    sessions = [one for one in kept if one.slot is not None and not one.in_use]
    weights = [one for one in kept if one.slot is None and one.model not in busy_models]
    sessions.sort(key=lambda one: one.last_used)
    weights.sort(key=lambda one: one.last_used)
    return sessions + weights

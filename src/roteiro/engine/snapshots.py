"""The prefix cache: sequence states in host memory, restored whole at position 0, then cut where they can be.

Two kinds: a *turn* is what a session held when a long prompt was evaluated, or when it was about to be
overwritten; a *preamble* is a prefix that prompts share (an agent's system prompt and tools). Preambles
outlive turns. The budget is in bytes, and `_held` is the one place that accounts for them. A shelf, where
there is one, keeps them on disk: preambles as they are learned, turns when the store is closed. Thread:
engine thread.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from roteiro.engine.backend import State
from roteiro.engine.session import common_prefix, kept_prefix
from roteiro.engine.shelf import Shelf, SnapshotKind, superseded

_LOG = logging.getLogger("roteiro.engine")
# A hybrid model's state takes 150 MiB at any length, so a short prefix cannot pay for its entry.
FLOOR_TOKENS = 512
# Prompts remembered to learn what they share; an agent's requests alternate among few conversations.
_RECENT_PROMPTS = 4
# Fewer new tokens than this after a shared prefix: a repeated prompt, not a common preamble.
_LEAST_NEW_TOKENS = 8
# A turn that is longer than a preamble by at most a quarter of it serves in its place.
_LITTLE_MORE = 4
# A token id kept in a tuple: the pointer; the ids themselves are mostly shared small integers.
_TOKEN_BYTES = 8


@dataclass(slots=True, kw_only=True, eq=False)
class Snapshot:
    """A saved state and the tokens it stands for. `model` is the file's identity."""

    model: str
    tokens: tuple[int, ...]
    data: State
    kind: SnapshotKind
    last_used: float

    @property
    def size(self) -> int:
        """Bytes it takes in host memory."""
        return len(self.data) + _TOKEN_BYTES * len(self.tokens)


class Found(NamedTuple):
    """A snapshot, and how many of its first tokens the prompt can use."""

    snapshot: Snapshot
    keep: int


class SnapshotStore:
    """See the module's docstring. A budget of 0 turns it off: nothing is saved, found or learned."""

    def __init__(self, budget: int, shelf: Shelf | None = None) -> None:
        self._budget = budget
        self._shelf = shelf if budget > 0 else None
        self._held = 0
        self._entries: list[Snapshot] = []
        self._recent: dict[str, list[tuple[int, ...]]] = {}

    def __repr__(self) -> str:
        mib = 2**20
        kinds = [entry.kind for entry in self._entries]
        return (
            f"<SnapshotStore {kinds.count('preamble')} preambles, {kinds.count('turn')} turns, "
            f"{self._held / mib:.1f} of {self._budget / mib:.1f} MiB>"
        )

    @property
    def enabled(self) -> bool:
        """False when the budget is 0."""
        return self._budget > 0

    @property
    def held(self) -> int:
        """Bytes held now."""
        return self._held

    @property
    def room(self) -> int:
        """Bytes that an entry may take without driving out another."""
        return self._budget - self._held

    def __len__(self) -> int:
        return len(self._entries)

    def find(
        self,
        model: str,
        prompt: Sequence[int],
        now: float,
        *,
        longer_than: int = 0,
        longest_cut: int = 0,
    ) -> Found | None:
        """The entry of which the prompt can use most; see `kept_prefix`.

        Of two that serve as well the shorter one is less to copy. What serves less than `longer_than`, which
        is what is live, is of no use, and is not read from the disk.
        """
        best: Snapshot | None = None
        most = longer_than
        for entry in sorted(self._entries, key=lambda one: len(one.tokens)):
            if entry.model != model or len(entry.tokens) <= most:
                continue
            keep = kept_prefix(entry.tokens, prompt, longest_cut=longest_cut)
            if keep > most:
                best, most = entry, keep
        shelved = self._from_shelf(model, prompt, most, now, longest_cut=longest_cut)
        if shelved is not None:
            best, most = shelved, kept_prefix(shelved.tokens, prompt, longest_cut=longest_cut)
        elif best is not None and self._shelf is not None:
            self._shelf.touch(model, best.tokens)
        if best is None:
            return None
        best.last_used = now
        return Found(best, most)

    def stand_in(self, model: str, tokens: Sequence[int], now: float, *, cut: bool) -> Snapshot | None:
        """The entry for these tokens, or, where it can be cut to them, one that holds little more."""
        wanted = tuple(tokens)
        most = len(wanted) + (len(wanted) // _LITTLE_MORE if cut else 0)
        for entry in self._entries:
            close = len(wanted) <= len(entry.tokens) <= most
            if entry.model == model and close and entry.tokens[: len(wanted)] == wanted:
                entry.last_used = now
                return entry
        return None

    def promote(self, model: str, tokens: Sequence[int], now: float) -> bool:
        """Make the preamble of a stand-in that can be cut; False where there is none."""
        entry = self.stand_in(model, tokens, now, cut=True)
        if entry is None:
            return False
        entry.kind = "preamble"
        if self._shelf is not None:
            self._shelf.keep(model, entry.tokens, entry.data, entry.kind)
        return True

    def wants(self, model: str, tokens: Sequence[int]) -> bool:
        """Whether these tokens are worth saving: long enough, and not already in an entry."""
        if not self.enabled or len(tokens) < FLOOR_TOKENS:
            return False
        wanted = tuple(tokens)
        return not any(entry.model == model and entry.tokens == wanted for entry in self._entries)

    def add(
        self,
        model: str,
        tokens: Sequence[int],
        data: State,
        kind: SnapshotKind,
        now: float,
        *,
        spare: bool = False,
    ) -> bool:
        """Keep a state; False when it cannot fit, and then nothing is dropped. Turns that it extends are.

        `spare`: it is kept only as long as nothing else is to be dropped for it.
        """
        new = Snapshot(model=model, tokens=tuple(tokens), data=data, kind=kind, last_used=now)
        replaced = [one for one in self._entries if one.model == model and _extends(new, one)]
        others = [one for one in self._entries if one not in replaced]
        room = self._budget - sum(one.size for one in others)
        victims = _victims(others, needed=new.size - room, kind=kind)
        if victims is None or (spare and victims):
            _LOG.debug("snapshot refused size=%d budget=%d", new.size, self._budget)
            return False
        for entry in (*replaced, *victims):
            self._drop(entry)
        self._entries.append(new)
        self._held += new.size
        if self._shelf is not None and kind == "preamble":
            self._shelf.keep(model, tokens, data, kind)
        return True

    def discard(self, entry: Snapshot) -> None:
        """Forget an entry that could not be restored."""
        if entry in self._entries:
            self._drop(entry)
        if self._shelf is not None:
            self._shelf.discard(entry.model, entry.tokens)

    def forget(self, model: str) -> None:
        """Forget everything of a model's file."""
        for entry in [one for one in self._entries if one.model == model]:
            self._drop(entry)
        self._recent.pop(model, None)
        if self._shelf is not None:
            self._shelf.forget(model)

    @property
    def outlives(self) -> bool:
        """Whether what is kept here is there again after a restart."""
        return self._shelf is not None

    def close(self) -> None:
        """Put on the shelf what is not there yet, then forget everything. Idempotent."""
        if self._shelf is not None:
            for entry in sorted(self._entries, key=lambda one: one.last_used):
                self._shelf.keep(entry.model, entry.tokens, entry.data, entry.kind)
            self._shelf.close()
        self._entries.clear()
        self._recent.clear()
        self._held = 0

    def boundary(self, model: str, prompt: Sequence[int], *, declared: int, held: int) -> int:
        """Learn from a prompt: the length of the prefix to save while it is evaluated, 0 for none.

        It is what the prompt is declared to share, else the longest prefix it shares with a recent
        prompt. `held` is how much of the prompt is in memory already: a shorter prefix cannot be saved
        any more. A prompt that repeats an earlier one nearly whole shares no preamble with it.
        """
        if not self.enabled:
            return 0
        recent = self._recent.setdefault(model, [])
        shared = declared or max((common_prefix(one, prompt) for one in recent), default=0)
        recent.append(tuple(prompt))
        del recent[:-_RECENT_PROMPTS]
        if shared < max(1, held) or shared > len(prompt) - _LEAST_NEW_TOKENS:
            return 0
        return shared if self.wants(model, prompt[:shared]) else 0

    # ---------------------------------------------------------------------------------------------

    def _from_shelf(
        self, model: str, prompt: Sequence[int], floor: int, now: float, *, longest_cut: int
    ) -> Snapshot | None:
        """An entry on disk that serves more than `floor` tokens, brought into memory."""
        if self._shelf is None:
            return None
        find = partial(self._shelf.find, model, prompt, longer_than=floor, longest_cut=longest_cut)
        while (found := find()) is not None:
            data = self._shelf.load(found)
            if data is None:
                continue  # the shelf has forgotten it
            if self.add(model, found.tokens, data, found.kind, now):
                return self._entries[-1]
            return Snapshot(model=model, tokens=found.tokens, data=data, kind=found.kind, last_used=now)
        return None

    def _drop(self, entry: Snapshot) -> None:
        self._entries.remove(entry)
        self._held -= entry.size


def _extends(new: Snapshot, old: Snapshot) -> bool:
    return superseded(old.kind, old.tokens, new.tokens)


def _victims(entries: Sequence[Snapshot], *, needed: int, kind: SnapshotKind) -> list[Snapshot] | None:
    """What goes for `needed` bytes: turns, oldest first, then preambles, which no turn drives out."""
    victims: list[Snapshot] = []
    for entry in sorted(entries, key=lambda one: (one.kind == "preamble", one.last_used)):
        if needed <= 0:
            break
        if kind == "turn" and entry.kind == "preamble":
            return None
        victims.append(entry)
        needed -= entry.size
    return victims if needed <= 0 else None

"""One generation on the engine thread: pick a session, bring its prefix in, evaluate, generate, keep it.

Owns the order of those steps and what is left behind when one fails or is cancelled. The policies are in
`session`, `saving`, `snapshots` and `sizing`; the token loop is `decode`. Thread: engine thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from roteiro.engine.backend import Context, Interrupted, State
from roteiro.engine.decode import Sequence, generate, prefill
from roteiro.engine.divergence import divergence
from roteiro.engine.meter import Meter
from roteiro.engine.pool import Pool, Resident
from roteiro.engine.request import FinishKind, GenerationFinished, GenerationRequest
from roteiro.engine.sampling import resolve
from roteiro.engine.saving import identity_of, places_to_save, save_on_the_way, save_session
from roteiro.engine.session import MOST_PARTS, Choice, Session, choose_session
from roteiro.engine.sizing import CONTEXT_MULTIPLE, WindowPlan, grown_size, kv_bytes_per_token
from roteiro.engine.snapshots import Found, SnapshotStore
from roteiro.engine.steering import Cancelled, Steering
from roteiro.errors import CapacityError, LoadFailed, ModelTooLarge, ModelUnusable
from roteiro.modelstore.record import ModelRecord

_LOG = logging.getLogger("roteiro.engine")
# A snapshot must save this many tokens more than a live session, or copying it in is not worth it.
_RESTORE_GAIN_TOKENS = 32
# The end of a prompt opens the answer, and a replayed turn is often rendered differently from there on.
_PROMPT_TAIL_TOKENS = 8


@dataclass(slots=True, kw_only=True)
class Turn:
    """See the module's docstring. `run` is called once.

    `copied` is the state of what the session holds, while that is what was copied from another one.
    """

    pool: Pool
    snapshots: SnapshotStore
    record: ModelRecord
    request: GenerationRequest
    plan: WindowPlan
    steering: Steering
    meter: Meter
    clock: Callable[[], float]
    note: str = ""
    same_conversation: bool = False
    copied: State | None = None

    def run(self, progress: Callable[[], bool]) -> GenerationFinished:
        """Generate, and answer the last event.

        Raises:
            Cancelled, Interrupted: the work was no longer wanted; what was evaluated is kept.
            FileChanged: the model's file changed; nothing was done.
            RoteiroError: the model could not be loaded, or the library failed.
        """
        started = self.clock()
        with self.pool.lease(self.record, progress) as resident:
            self.meter.load_ms = (self.clock() - started) * 1000
            self._check_generative(resident)
            session = self._prepare(resident)
            try:
                kind, tail = self._advance(resident, session)
            except (Cancelled, Interrupted):
                self._settle(session)
                raise
            except BaseException:
                # A session after a failure holds nobody knows what.
                session.close()
                raise
            finally:
                self.steering.detach()
                session.busy = False
                session.last_used = self.clock()
            if not self.request.cache_prompt:
                self._clear(session)
            return self._finished(session, kind, tail)

    def _check_generative(self, resident: Resident) -> None:
        if not resident.model.facts.can_generate:
            raise ModelUnusable(
                f"The model {self.record.id!r} gives embeddings and cannot generate text.",
                hint="Name a generative model; `roteiro model list` shows the kinds.",
                param="model",
            )

    # Prepare -------------------------------------------------------------------------------------

    def _prepare(self, resident: Resident) -> Session:
        """Choose a session and bring as much of the prompt into it as can be had."""
        choice = self._choose(resident)
        session, source = choice.session, choice.source
        found = self._snapshot(resident, choice)
        held_before = len(session.tokens)
        if not self.same_conversation or found is not None:
            self._save_lost(resident, session, choice)
        session.busy = True
        session.served = True
        try:
            if found is not None:
                self._restore(resident, session, found)
            elif source is not None:
                self._fork(resident, session, source, choice.keep)
            else:
                self._continue(resident, session, choice.keep)
            self._remember_turn(session, choice, held_before)
        except BaseException:
            session.close()
            session.busy = False
            raise
        return session

    def _choose(self, resident: Resident) -> Choice:
        sessions, pinned = resident.sessions, self.request.id_slot
        if self.request.cache_prompt:
            prompt, facts = self.request.prompt, resident.model.facts
            if _LOG.isEnabledFor(logging.DEBUG):
                where = divergence(sessions, prompt, resident.model.vocabulary.token_bytes)
                _LOG.debug("prefix model=%s %s", self.record.id, where or "nothing held is lost")
            choice = choose_session(sessions, prompt, facts, pinned=pinned)
            self.note = choice.note
            kept = choice.how == "continue" and choice.keep >= choice.session.turn_start
            self.same_conversation = kept
            return choice
        self.note = "cache_prompt is false"
        if pinned >= 0:
            return Choice(session=sessions[pinned % len(sessions)], how="fresh")
        oldest = min(sessions, key=lambda one: (bool(one.tokens), one.last_used, one.slot))
        return Choice(session=oldest, how="fresh")

    def _snapshot(self, resident: Resident, choice: Choice) -> Found | None:
        """A saved prefix that is worth more than what is live."""
        if not self.request.cache_prompt:
            return None
        model, prompt, now = identity_of(self.record), self.request.prompt, self.clock()
        forks, cut = choice.how == "fork", resident.model.facts.in_parts
        longer_than = choice.keep if forks else choice.keep + _RESTORE_GAIN_TOKENS - 1
        longest = self._longest_cut() if cut else 0
        found = self.snapshots.find(model, prompt, now, longer_than=longer_than, longest_cut=longest)
        if found is not None or not forks:
            return found
        # A fork is a copy too, and has to be written before it is read.
        same = self.snapshots.stand_in(model, prompt[: choice.keep], now, cut=cut)
        usable = same is not None and len(same.tokens) <= max(longest, choice.keep)
        return Found(same, choice.keep) if same is not None and usable else None

    def _longest_cut(self) -> int:
        """The longest state that can be brought in to be cut: its context must fit window and budget."""
        most = self.plan.window - 1
        if self.pool.budget > 0:
            left = self.pool.budget - self.record.size
            tokens = left // max(1, kv_bytes_per_token(self.record.header))
            most = min(most, tokens // CONTEXT_MULTIPLE * CONTEXT_MULTIPLE - 1)
        return max(most, self.plan.start - 1)

    def _save_lost(self, resident: Resident, session: Session, choice: Choice) -> None:
        """Save a session that is about to be overwritten by another conversation."""
        pinned_rewrite = choice.how == "continue" and choice.keep == len(session.tokens)
        if session.context is not None and session.tokens and not pinned_rewrite:
            save_session(self.snapshots, resident, session, self.clock())

    def _restore(self, resident: Resident, session: Session, found: Found) -> None:
        """Bring a saved prefix in, whole, and cut it; start over where that fails."""
        snapshot, keep = found
        try:
            context = self._fitting(resident, session, len(snapshot.tokens))
        except (ModelTooLarge, LoadFailed):
            # A context of the request's own size may do: nothing was wrong with the snapshot.
            self._continue(resident, session, 0)
            self.note = f"no room for a snapshot of {len(snapshot.tokens)} tokens"
            return
        if context.restore(snapshot.data) and context.trim(keep):
            session.tokens = list(snapshot.tokens[:keep])
            self.note = f"restored {keep} tokens ({snapshot.kind} snapshot)"
            return
        _LOG.warning("snapshot could not be restored tokens=%d", len(snapshot.tokens))
        self.snapshots.discard(snapshot)
        self._clear(session)
        self.note = "a snapshot could not be restored"

    def _fork(self, resident: Resident, session: Session, source: Session, keep: int) -> None:
        """Copy what another conversation shares with this one; start over where that fails."""
        assert source.context is not None
        in_parts = resident.model.facts.in_parts
        held = keep if in_parts else len(source.tokens)
        if held > max(self.plan.start, MOST_PARTS * keep):
            # The copy carries all of the source before it is cut: not worth a window that large.
            self._continue(resident, session, 0)
            self.note = f"shares {keep} tokens with a session too long to copy"
            return
        source_tokens = source.tokens
        data, context = self._copied(resident, session, source, held if in_parts else None)
        if context.restore(data) and context.trim(keep):
            session.tokens = source_tokens[:keep]
            self.copied = data if held == keep else None
            return
        self._clear(session)
        self.note = "the shared prefix could not be copied"

    def _copied(
        self, resident: Resident, session: Session, source: Session, length: int | None
    ) -> tuple[State, Context]:
        """A copy of the source's state, or of its beginning, and an empty context with room for it."""
        assert source.context is not None
        room = len(source.tokens) if length is None else length
        # Both mostly wait for fresh memory, so the one is done beside the other.
        with ThreadPoolExecutor(1) as beside:
            copy = beside.submit(source.context.save, length)
            source.busy = True
            try:
                context = self._fitting(resident, session, room)
            except (ModelTooLarge, LoadFailed):
                # Not beside the source: what is copied of it is enough.
                copy.result()
                source.busy = False
                context = self._fitting(resident, session, room)
            finally:
                source.busy = False
            return copy.result(), context

    def _continue(self, resident: Resident, session: Session, keep: int) -> None:
        """Keep the first tokens of the session's own, moving them when the context is too small."""
        context = session.context
        if context is None:
            self.pool.open_context(resident, session, self.plan.start)
            return
        if keep == 0 or not context.trim(keep):
            self._clear(session)
        else:
            del session.tokens[keep:]
        if context.n_ctx < self.plan.enough:
            self._move(resident, session, self.plan.start)

    def _fitting(self, resident: Resident, session: Session, tokens: int) -> Context:
        """An empty context that has room for `tokens` and for the request."""
        context = session.context
        if context is not None and context.n_ctx >= max(self.plan.enough, tokens + 1):
            self._clear(session)
            return context
        rounded = -(-(tokens + 1) // CONTEXT_MULTIPLE) * CONTEXT_MULTIPLE
        size = max(self.plan.start, min(rounded, self.plan.window))
        return self.pool.open_context(resident, session, size)

    def _move(self, resident: Resident, session: Session, n_ctx: int) -> bool:
        """Give the session a larger context with its tokens in it; False when they were lost."""
        context, tokens = session.context, session.tokens
        data = context.save() if context is not None and tokens else None
        new = self.pool.open_context(resident, session, n_ctx)
        if data is None:
            return True
        if new.restore(data):
            session.tokens = tokens
            return True
        new.trim(0)
        self.note = "the session could not be moved to a larger context"
        return False

    def _remember_turn(self, session: Session, choice: Choice, held_before: int) -> None:
        """Note where this conversation's last turn begins; see `Session.turn_start`."""
        held, total = len(session.tokens), len(self.request.prompt)
        if choice.how == "continue" and held and choice.keep == held:
            if choice.keep == held_before:
                session.turn_start = max(1, held - _PROMPT_TAIL_TOKENS)
        else:
            tail = min(_PROMPT_TAIL_TOKENS, total // 2)
            session.turn_start = max(1, held, total - tail)
        session.prompt_tokens, session.cached = total, held
        session.processed = session.decoded = 0
        session.limit = self.plan.limit

    # Advance -------------------------------------------------------------------------------------

    def _advance(self, resident: Resident, session: Session) -> tuple[FinishKind, str]:
        vocabulary = resident.model.vocabulary
        options = resolve(
            self.request.sampling,
            model_defaults=self.record.header.sampling,
            n_vocab=vocabulary.facts.n_vocab,
            end_tokens=vocabulary.facts.end_tokens,
        )
        sampler = resident.model.open_sampler(options)
        try:
            if options.penalises:
                sampler.observe(self.request.prompt[-max(0, options.repeat_last_n) :])
            sequence = Sequence(
                request=self.request,
                limit=self.plan.limit,
                session=session,
                sampler=sampler,
                vocabulary=vocabulary,
                meter=self.meter,
                grow=lambda: self._grow(resident, session),
            )
            self.steering.attach(sequence.context)
            self._prefill(resident, sequence)
            kind = generate(sequence, self.steering)
            return kind, sequence.decoder.flush()
        finally:
            sampler.close()

    def _prefill(self, resident: Resident, sequence: Sequence) -> None:
        """Evaluate the prompt, saving what later prompts may share on the way."""
        prompt, facts = self.request.prompt, resident.model.facts
        held = len(sequence.session.tokens)
        again = self.same_conversation
        kinds = places_to_save(self.request, self.record, facts, self.snapshots, held=held, again=again)

        def copy() -> State:
            return sequence.context.save() if self.copied is None else self.copied

        def save(position: int) -> None:
            kind, tokens = kinds[position], prompt[:position]
            save_on_the_way(self.snapshots, resident, tokens, kind, copy=copy, now=self.clock())

        if held in kinds:
            save(held)
        self.copied = None
        prefill(sequence, self.steering, cuts=kinds.keys(), at_cut=save)

    def _grow(self, resident: Resident, session: Session) -> bool:
        """Make the context larger in mid-generation; False when the window or the budget ends."""
        context = session.context
        if context is None or context.n_ctx >= self.plan.window:
            return False
        tokens, old = session.tokens, context.n_ctx
        self.steering.detach()
        try:
            kept = self._move(resident, session, grown_size(old, self.plan.window))
        except (CapacityError, LoadFailed) as error:
            _LOG.warning("context could not grow n_ctx=%d: %s", old, error)
            return False
        new = session.context
        assert new is not None
        self.steering.attach(new)
        if not kept:
            for start in range(0, len(tokens), new.n_batch):
                part = tokens[start : start + new.n_batch]
                new.decode(part, position=start, logits=False)
                session.tokens.extend(part)
        return True

    # Leave behind --------------------------------------------------------------------------------

    def _settle(self, session: Session) -> None:
        """After a cancellation: keep what is certainly in memory, else nothing."""
        context = session.context
        if context is None:
            return
        context.rearm()
        if not self.request.cache_prompt or not context.trim(len(session.tokens)):
            self._clear(session)

    def _clear(self, session: Session) -> None:
        """Empty a session but keep its context."""
        if session.context is not None:
            session.context.trim(0)
        session.tokens = []
        session.turn_start = 0

    def _finished(self, session: Session, kind: FinishKind, tail: str) -> GenerationFinished:
        if kind == "stopped":
            # What was sampled after the reader had seen enough is no part of the answer.
            self.meter.predicted_n = min(self.meter.predicted_n, self.steering.delivered)
            tail = ""
        return GenerationFinished(
            kind=kind,
            timings=self.meter.timings(),
            text=tail,
            slot=session.slot,
            reuse_note=self.note,
        )

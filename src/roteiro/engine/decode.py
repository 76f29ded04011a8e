"""The loop of a generation: evaluate the prompt in batches, then sample and evaluate token by token.

A `Sequence` is everything that belongs to one generation (tokens, sampler, constraint, detokeniser); the
functions advance it a step at a time, so that later several sequences can share a step. Knows no queue, no
budget and no session policy. Thread: engine thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from roteiro.engine.backend import Context, NoRoom, Sampler, Vocabulary
from roteiro.engine.detokenize import TextDecoder
from roteiro.engine.meter import Meter
from roteiro.engine.request import (
    FinishKind,
    GenerationRequest,
    PromptProgress,
    TokenChunk,
    TokenLogprob,
)
from roteiro.engine.sampling import log_probabilities
from roteiro.engine.session import Session
from roteiro.engine.steering import Steering
from roteiro.errors import DecodeFailed

_NO_LOGPROBS: tuple[TokenLogprob | None, tuple[TokenLogprob, ...]] = (None, ())


@dataclass(slots=True, kw_only=True, eq=False)
class Sequence:
    """The state of one generation. `session.tokens` grows with every token evaluated."""

    request: GenerationRequest
    limit: int
    session: Session
    sampler: Sampler
    vocabulary: Vocabulary
    meter: Meter
    grow: Callable[[], bool]
    decoder: TextDecoder = field(default_factory=TextDecoder)
    generated: list[int] = field(default_factory=list)

    @property
    def context(self) -> Context:
        """The context it lives in; changes when it grows."""
        context = self.session.context
        assert context is not None
        return context


def prefill(
    sequence: Sequence,
    steering: Steering,
    *,
    cuts: Collection[int] = (),
    at_cut: Callable[[int], None] = lambda _: None,
) -> None:
    """Evaluate what of the prompt is not held yet; a batch ends at each of `cuts`, where `at_cut` is called.

    Raises:
        Cancelled, Interrupted: the work is no longer wanted.
        DecodeFailed: the library failed.
    """
    prompt, session, meter = sequence.request.prompt, sequence.session, sequence.meter
    total, position = len(prompt), len(session.tokens)
    meter.start(position)
    _tell_progress(sequence, steering)
    while position < total:
        steering.between_steps()
        end = min([position + sequence.context.n_batch, total, *(c for c in cuts if c > position)])
        try:
            sequence.context.decode(prompt[position:end], position=position, logits=end == total)
        except NoRoom as error:
            raise DecodeFailed(
                f"There was no room for prompt tokens {position} to {end} in the context.",
                hint="Shorten the conversation or lower [serve] sessions.",
            ) from error
        session.tokens.extend(prompt[position:end])
        meter.evaluated(end - position)
        position = end
        _tell_progress(sequence, steering)
        if position in cuts:
            at_cut(position)


def generate(sequence: Sequence, steering: Steering) -> FinishKind:
    """Produce tokens until the model ends its turn, a limit is reached or the reader stops it.

    Raises:
        Cancelled, Interrupted: the work is no longer wanted.
        DecodeFailed: the library failed.
    """
    prompt_length = len(sequence.request.prompt)
    while prompt_length + len(sequence.generated) < sequence.limit:
        if steering.stopped:
            return "stopped"
        batch = _forced(sequence)
        finish: FinishKind | None
        if batch:
            finish = _append_forced(sequence, steering, batch)
        elif sequence.request.constraint is not None and sequence.request.constraint.finished():
            return "end"
        else:
            batch = (_sample(sequence, steering),)
            finish = "end" if batch[0] in sequence.vocabulary.facts.end_tokens else None
        steering.between_steps()
        if finish is not None:
            return finish
        if prompt_length + len(sequence.generated) >= sequence.limit:
            break
        if not _evaluate(sequence, batch):
            break
    return "stopped" if steering.stopped else "length"


# -------------------------------------------------------------------------------------------------


def _tell_progress(sequence: Sequence, steering: Steering) -> None:
    meter, session = sequence.meter, sequence.session
    session.processed = meter.prompt_n
    steering.emit(
        PromptProgress(
            total=len(sequence.request.prompt),
            cache=meter.cache_n,
            processed=meter.cache_n + meter.prompt_n,
            time_ms=int(meter.prompt_ms),
        )
    )


def _forced(sequence: Sequence) -> tuple[int, ...]:
    request = sequence.request
    if request.forced is not None and (tokens := request.forced.take(tuple(sequence.generated))):
        return tokens
    return request.constraint.forced() if request.constraint is not None else ()


def _append_forced(sequence: Sequence, steering: Steering, batch: tuple[int, ...]) -> FinishKind | None:
    """Take forced tokens over; says how the generation ends if one of them ends it."""
    room = sequence.limit - len(sequence.request.prompt) - len(sequence.generated)
    for token in batch[:room]:
        ended = token in sequence.vocabulary.facts.end_tokens
        sequence.sampler.accept(token)
        if sequence.request.constraint is not None and not ended:
            sequence.request.constraint.accept(token)
        _deliver(sequence, steering, token, ended=ended)
        if ended:
            return "end"
    return None


def _sample(sequence: Sequence, steering: Steering) -> int:
    """Choose a token and deliver it."""
    constraint, top = sequence.request.constraint, sequence.request.sampling.top_logprobs
    logprob_of: Callable[[int], TokenLogprob] | None = None
    best: tuple[TokenLogprob, ...] = ()
    if constraint is not None or top is not None:
        logits = sequence.context.logits()
        if top is not None:
            # Before the mask, which works in place.
            logprob_of, best = log_probabilities(logits, top, sequence.vocabulary.token_bytes)
        if constraint is not None:
            constraint.mask(logits)
    token = sequence.sampler.sample(sequence.context)
    ended = token in sequence.vocabulary.facts.end_tokens
    if constraint is not None and not ended:
        constraint.accept(token)
    logprobs = _NO_LOGPROBS if logprob_of is None or ended else (logprob_of(token), best)
    _deliver(sequence, steering, token, ended=ended, logprobs=logprobs)
    return token


def _deliver(
    sequence: Sequence,
    steering: Steering,
    token: int,
    *,
    ended: bool,
    logprobs: tuple[TokenLogprob | None, tuple[TokenLogprob, ...]] = _NO_LOGPROBS,
) -> None:
    sequence.meter.token()
    sequence.generated.append(token)
    sequence.session.decoded += 1
    data = b"" if ended else sequence.vocabulary.token_bytes(token)
    steering.emit(
        TokenChunk(
            token=token,
            text=sequence.decoder.push(data),
            timings=sequence.meter.timings() if sequence.request.timings_per_token else None,
            logprob=logprobs[0],
            top_logprobs=logprobs[1],
        )
    )


def _evaluate(sequence: Sequence, batch: tuple[int, ...]) -> bool:
    """Evaluate tokens that were delivered; False when there is no room and none can be had."""
    session = sequence.session
    for start in range(0, len(batch), sequence.context.n_batch):
        part = batch[start : start + sequence.context.n_batch]
        if len(session.tokens) + len(part) > sequence.context.n_ctx and not sequence.grow():
            return False
        try:
            sequence.context.decode(part, position=len(session.tokens), logits=True)
        except NoRoom:
            if not sequence.grow():
                return False
            sequence.context.decode(part, position=len(session.tokens), logits=True)
        session.tokens.extend(part)
    return True

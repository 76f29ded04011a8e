"""What the engine is asked for and what it answers: tokens in, frozen events out.

The engine knows tokens, bytes and milliseconds. It knows no message, no template, no stop string and no
HTTP. Values here are immutable and may cross threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """How the next token is chosen. None means: the GGUF's own sampling metadata, else llama.cpp's default.

    Names, defaults and meanings are llama.cpp's request fields: temperature 0.8 (<= 0 is greedy), top_k 40
    (0 off), top_p 0.95, min_p 0.05, typical_p 1.0, repeat_last_n 64, repeat_penalty 1.0, presence_penalty 0,
    frequency_penalty 0. `seed` None draws a fresh one. `logit_bias` maps token id to a bias;
    minus infinity bans. `ignore_eos` bans every end-of-generation token. `top_logprobs` None: no
    log-probabilities; N >= 0: the chosen token's and the N best ones'.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repeat_last_n: int | None = None
    repeat_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    ignore_eos: bool = False
    top_logprobs: int | None = None


class Constraint(Protocol):
    """Restricts which tokens may come next. Built off the loop; advanced on the engine thread only.

    One object serves one generation. An implementation that cannot go on raises
    `roteiro.errors.InvalidRequest`, which ends that generation alone.
    """

    def mask(self, logits: Any) -> None:
        """Set the logits (numpy float32, shape [n_vocab], changed in place) of forbidden tokens to -inf."""

    def accept(self, token: int) -> None:
        """Advance past `token`, which was sampled or forced."""

    def forced(self) -> tuple[int, ...]:
        """Tokens that must follow now, or () when there is a choice; they are decoded without sampling."""

    def finished(self) -> bool:
        """True when nothing but the end of generation may follow."""


class ForcedTokens(Protocol):
    """Lets the event loop interrupt a generation by forcing tokens in it (the end of a thought)."""

    def take(self, generated: tuple[int, ...]) -> tuple[int, ...]:
        """Tokens to append now, before the next one is sampled; () for none. Called on the engine thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One generation.

    Attributes:
        prompt: token ids, at least one.
        max_tokens: most tokens to generate; None means to the end of the window.
        sampling: how tokens are chosen.
        constraint: restricts them; None for free text.
        forced: interrupts them; None for never.
        cache_prompt: False evaluates the whole prompt and keeps nothing of what was held.
        id_slot: pins a session by number from 0; -1 takes the one with the longest usable prefix.
        timings_per_token: True puts `Timings` on every chunk.
        client: whose request it is, for fair queueing; any stable text.
        preamble: number of leading prompt tokens known to repeat (tools, system prompt); 0 when unknown.
    """

    prompt: tuple[int, ...]
    max_tokens: int | None = None
    sampling: SamplingParams = field(default_factory=SamplingParams)
    constraint: Constraint | None = None
    forced: ForcedTokens | None = None
    cache_prompt: bool = True
    id_slot: int = -1
    timings_per_token: bool = False
    client: str = ""
    preamble: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Counts and milliseconds with llama-server's meanings (docs/http-api.md says each).

    `cache_n + prompt_n` is the prompt's length once it is evaluated; `predicted_n` counts sampled
    tokens, the end token included. `queue_ms` and `load_ms` are ours: waiting for the engine and loading
    the model, neither in `prompt_ms`.
    """

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0
    queue_ms: float = 0.0
    load_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprob:
    """One token's natural log-probability before any bias or truncation; `data` is its exact bytes."""

    token: int
    data: bytes
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The request waits; `position` 1 is next. Sent at once and whenever the position changes."""

    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """The request holds the engine and its model is being loaded."""

    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptProgress:
    """Prefill: `processed` counts from `cache` to `total`; first event before any work, then one a batch."""

    total: int
    cache: int
    processed: int
    time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenChunk:
    """One generated token. `text` is what became printable: may be empty in mid-character.

    Concatenated over a generation, `text` is the exact UTF-8 decoding of the tokens' bytes; end tokens
    contribute none. Control tokens other than end-of-generation ones contribute their text.
    """

    token: int
    text: str
    timings: Timings | None = None
    logprob: TokenLogprob | None = None
    top_logprobs: tuple[TokenLogprob, ...] = ()


FinishKind = Literal["end", "length", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationFinished:
    """The last event. `end`: the model ended its turn; `length`: a limit cut it; `stopped`: we were told to.

    `text` is a dangling tail released at the end (an unfinished character as U+FFFD), usually empty.
    `reuse_note` says in one phrase what was reused of the prompt, or why not; for the request log line.
    """

    kind: FinishKind
    timings: Timings
    text: str = ""
    slot: int = 0
    reuse_note: str = ""


GenerationEvent = Queued | Loading | PromptProgress | TokenChunk | GenerationFinished

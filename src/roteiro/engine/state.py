"""A picture of the engine for `/slots`, `/props`, `/metrics` and the log: frozen values. Thread: any."""

from __future__ import annotations

from dataclasses import dataclass

from roteiro.engine.backend import ModelFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """One slot. `has_served` is False until its first request; counts are the last request's.

    `n_ctx` is the model's window: what a request in this slot may grow to; `allocated` what it has now.
    `n_prompt_tokens_processed` counts evaluated tokens, `n_prompt_tokens_cache` those taken from memory,
    `tokens` what the slot holds; `n_remain` -1 when idle.
    """

    id: int
    n_ctx: int
    allocated: int
    is_processing: bool
    has_served: bool
    n_prompt_tokens: int
    n_prompt_tokens_processed: int
    n_prompt_tokens_cache: int
    n_decoded: int
    n_remain: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """A loaded model and its slots; `bytes` counts weights and kept sessions."""

    id: str
    bytes: int
    in_use: bool
    facts: ModelFacts
    sessions: tuple[SessionState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Totals since start. Prompt tokens are evaluated ones; cached ones are counted apart."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    prompt_seconds: float = 0.0
    predicted_tokens: int = 0
    predicted_seconds: float = 0.0
    requests: int = 0
    cancelled: int = 0
    failed: int = 0
    most_tokens: int = 0
    embedded_tokens: int = 0
    loads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineState:
    """Everything at one moment.

    `loading` is the id of a model being loaded; `sleeping` is True after an idle unload until the next
    request; `queued` counts requests that wait, `processing` those that hold the engine (0 or 1).
    """

    models: tuple[ModelState, ...]
    loading: str | None
    sleeping: bool
    queued: int
    processing: int
    budget_bytes: int
    used_bytes: int
    snapshots: int
    snapshot_bytes: int
    counters: Counters

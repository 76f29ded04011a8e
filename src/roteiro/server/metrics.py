"""How `/metrics` shows the engine's counters: llama-server's names, over prometheus-client.

The text is made only when it is asked for. Thread: event loop.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from roteiro.engine.state import Counters, EngineState

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Row = tuple[str, str, float]


class Metrics:
    """Remembers the counters of the last scrape, for the rates between two scrapes."""

    def __init__(self) -> None:
        self.started = time.time()
        self._last = Counters()

    def render(self, state: EngineState) -> bytes:
        """The exposition text of `state`; begins a new interval for the rates."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Families(state, self._last))
        self._last = state.counters
        return generate_latest(registry)


# ---------------------------------------------------------------------------------------------------


class _Families:
    """What prometheus-client calls a collector."""

    def __init__(self, state: EngineState, last: Counters) -> None:
        self._state = state
        self._last = last

    def collect(self) -> Iterator[Metric]:
        for name, text, value in _counters(self._state.counters):
            yield CounterMetricFamily(name, text, value=value)
        for name, text, value in _gauges(self._state, self._last):
            yield GaugeMetricFamily(name, text, value=value)


def _counters(now: Counters) -> tuple[Row, ...]:
    evaluated = now.prompt_tokens + now.predicted_tokens
    return (
        ("llamacpp:prompt_tokens", "Prompt tokens evaluated.", now.prompt_tokens),
        ("llamacpp:prompt_tokens_cached", "Prompt tokens reused.", now.cached_tokens),
        ("llamacpp:prompt_seconds", "Seconds of prompt evaluation.", now.prompt_seconds),
        ("llamacpp:tokens_predicted", "Tokens generated.", now.predicted_tokens),
        ("llamacpp:tokens_predicted_seconds", "Seconds of generation.", now.predicted_seconds),
        ("llamacpp:n_decode", "Tokens evaluated, of prompts and answers.", evaluated),
        ("roteiro:requests", "Requests that the engine took.", now.requests),
        ("roteiro:requests_cancelled", "Requests whose client left.", now.cancelled),
        ("roteiro:requests_failed", "Requests that failed.", now.failed),
        ("roteiro:embedded_tokens", "Tokens embedded.", now.embedded_tokens),
        ("roteiro:model_loads", "Models loaded.", now.loads),
    )


def _gauges(state: EngineState, last: Counters) -> tuple[Row, ...]:
    now = state.counters
    prompt = _rate(now.prompt_tokens - last.prompt_tokens, now.prompt_seconds - last.prompt_seconds)
    predicted = _rate(
        now.predicted_tokens - last.predicted_tokens,
        now.predicted_seconds - last.predicted_seconds,
    )
    return (
        ("llamacpp:n_tokens_max", "Largest context seen, in tokens.", now.most_tokens),
        ("llamacpp:prompt_tokens_seconds", "Prompt tokens a second since last time.", prompt),
        ("llamacpp:predicted_tokens_seconds", "Tokens a second since last time.", predicted),
        ("llamacpp:requests_processing", "Requests in the engine.", state.processing),
        ("llamacpp:requests_deferred", "Requests in the queue.", state.queued),
        ("llamacpp:n_busy_slots_per_decode", "Sequences a step.", state.processing),
        ("roteiro:models_loaded", "Models in memory.", len(state.models)),
        ("roteiro:memory_used_bytes", "Bytes of the budget in use.", state.used_bytes),
        ("roteiro:memory_budget_bytes", "The budget in bytes.", state.budget_bytes),
        ("roteiro:snapshot_bytes", "Bytes held by prefix snapshots.", state.snapshot_bytes),
    )


def _rate(count: float, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0

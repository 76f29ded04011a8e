"""Counters of what was served, and how `/metrics` shows them: llama-server's names, over prometheus-client.

Counting is plain addition on the event loop; the text is made only when it is asked for. Thread: event
loop.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from roteiro.engine.request import Timings

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Totals:
    """Sums since the start, and those of the last scrape for the averages between two scrapes."""

    started: float = field(default_factory=time.time)
    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    predicted_tokens: int = 0
    prompt_s: float = 0.0
    predicted_s: float = 0.0
    queue_s: float = 0.0
    largest_context: int = 0
    scraped: tuple[int, float, int, float] = (0, 0.0, 0, 0.0)

    def add(self, timings: Timings) -> None:
        """Count one finished turn."""
        self.requests += 1
        self.prompt_tokens += timings.prompt_n
        self.cached_tokens += timings.cache_n
        self.predicted_tokens += timings.predicted_n
        self.prompt_s += timings.prompt_ms / 1000
        self.predicted_s += timings.predicted_ms / 1000
        self.queue_s += timings.queue_ms / 1000
        held = timings.cache_n + timings.prompt_n + timings.predicted_n
        self.largest_context = max(self.largest_context, held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the engine is doing now."""

    processing: int = 0
    waiting: int = 0
    loaded_models: int = 0
    used_bytes: int = 0


def render(totals: Totals, load: Load) -> bytes:
    """The exposition text; starts a new interval for the averages."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(totals, load))
    text = generate_latest(registry)
    totals.scraped = _mark(totals)
    return text


# ---------------------------------------------------------------------------------------------------


class _Collector:
    """Yields the families in one order."""

    def __init__(self, totals: Totals, load: Load) -> None:
        self._totals = totals
        self._load = load

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from self._gauges()

    def _counters(self) -> Iterator[Metric]:
        totals = self._totals
        rows = (
            ("llamacpp:prompt_tokens", "Prompt tokens evaluated.", totals.prompt_tokens),
            ("llamacpp:prompt_tokens_cached", "Prompt tokens reused.", totals.cached_tokens),
            ("llamacpp:prompt_seconds", "Seconds of prompt evaluation.", totals.prompt_s),
            ("llamacpp:tokens_predicted", "Tokens generated.", totals.predicted_tokens),
            ("llamacpp:tokens_predicted_seconds", "Seconds of generation.", totals.predicted_s),
            (
                "llamacpp:n_decode",
                "Tokens evaluated, prompt and answer.",
                totals.prompt_tokens + totals.predicted_tokens,
            ),
            ("roteiro:requests", "Turns finished.", totals.requests),
            ("roteiro:queue_seconds", "Seconds that requests waited.", totals.queue_s),
        )
        for name, text, value in rows:
            yield CounterMetricFamily(name, text, value=value)

    def _gauges(self) -> Iterator[Metric]:
        totals, load = self._totals, self._load
        prompt_n, prompt_s, predicted_n, predicted_s = (
            now - then for now, then in zip(_mark(totals), totals.scraped, strict=True)
        )
        rows = (
            ("llamacpp:n_tokens_max", "Largest context seen, in tokens.", totals.largest_context),
            (
                "llamacpp:prompt_tokens_seconds",
                "Prompt tokens a second since the last scrape.",
                prompt_n / prompt_s if prompt_s else 0.0,
            ),
            (
                "llamacpp:predicted_tokens_seconds",
                "Tokens a second since the last scrape.",
                predicted_n / predicted_s if predicted_s else 0.0,
            ),
            ("llamacpp:requests_processing", "Requests in the engine.", load.processing),
            ("llamacpp:requests_deferred", "Requests in the queue.", load.waiting),
            ("llamacpp:n_busy_slots_per_decode", "Sequences a step.", min(1, load.processing)),
            ("roteiro:loaded_models", "Models in memory.", load.loaded_models),
            ("roteiro:used_bytes", "Bytes of the memory budget in use.", load.used_bytes),
        )
        for name, text, value in rows:
            yield GaugeMetricFamily(name, text, value=value)


def _mark(totals: Totals) -> tuple[int, float, int, float]:
    return (totals.prompt_tokens, totals.prompt_s, totals.predicted_tokens, totals.predicted_s)

"""The exposition text: sums are sums, and rates are those since the last scrape."""

from __future__ import annotations

import dataclasses

from prometheus_client.parser import text_string_to_metric_families

from roteiro.engine.state import Counters, EngineState
from roteiro.server.metrics import Metrics

STATE = EngineState(
    models=(),
    loading=None,
    sleeping=False,
    queued=3,
    processing=1,
    budget_bytes=100,
    used_bytes=40,
    snapshots=0,
    snapshot_bytes=0,
    counters=Counters(
        prompt_tokens=100, cached_tokens=7, prompt_seconds=2, predicted_tokens=60, predicted_seconds=3
    ),
)


def scraped(metrics: Metrics, state: EngineState) -> dict[str, float]:
    text = metrics.render(state).decode()
    families = text_string_to_metric_families(text)
    return {sample.name: sample.value for family in families for sample in family.samples}


def test_sums_and_what_is_going_on() -> None:
    values = scraped(Metrics(), STATE)
    assert values["llamacpp:prompt_tokens_total"] == 100
    assert values["llamacpp:prompt_tokens_cached_total"] == 7
    assert values["llamacpp:n_decode_total"] == 160
    assert values["llamacpp:requests_deferred"] == 3
    assert values["llamacpp:requests_processing"] == 1
    assert values["roteiro:memory_used_bytes"] == 40


def test_rates_are_those_since_the_last_scrape() -> None:
    metrics = Metrics()
    first = scraped(metrics, STATE)
    assert first["llamacpp:prompt_tokens_seconds"] == 50
    assert first["llamacpp:predicted_tokens_seconds"] == 20
    idle = scraped(metrics, STATE)
    assert idle["llamacpp:prompt_tokens_seconds"] == 0
    more = dataclasses.replace(STATE.counters, prompt_tokens=130, prompt_seconds=3)
    later = scraped(metrics, dataclasses.replace(STATE, counters=more))
    assert later["llamacpp:prompt_tokens_seconds"] == 30
    assert later["llamacpp:predicted_tokens_seconds"] == 0


def test_every_family_says_what_it_is() -> None:
    text = Metrics().render(STATE).decode()
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation and family.type in {"counter", "gauge"} for family in families)

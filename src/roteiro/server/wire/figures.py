"""Timings, usage and log-probabilities as the wire writes them. Pure; thread: any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roteiro.conversation.events import LogprobEntry, Usage
from roteiro.engine.request import PromptProgress, Timings

_LEAST_PREDICTED_MS = 0.001
"""llama-server never reports 0 ms once a token exists, so that clients may divide by it."""


def timings_json(timings: Timings) -> dict[str, Any]:
    """llama-server's `timings`, and the two waits that are not in them."""
    predicted_ms = timings.predicted_ms
    if timings.predicted_n:
        predicted_ms = max(predicted_ms, _LEAST_PREDICTED_MS)
    steps = timings.predicted_n - 1  # the first token's time belongs to the prompt
    return {
        "cache_n": timings.cache_n,
        "prompt_n": timings.prompt_n,
        "prompt_ms": round(timings.prompt_ms, 3),
        "prompt_per_token_ms": _ratio(timings.prompt_ms, timings.prompt_n),
        "prompt_per_second": _ratio(1000 * timings.prompt_n, timings.prompt_ms),
        "predicted_n": timings.predicted_n,
        "predicted_ms": round(predicted_ms, 3),
        "predicted_per_token_ms": _ratio(predicted_ms, steps),
        "predicted_per_second": _ratio(1000 * max(steps, 0), predicted_ms),
        "queue_ms": round(timings.queue_ms, 3),
        "load_ms": round(timings.load_ms, 3),
    }


def usage_json(usages: Sequence[Usage]) -> dict[str, Any]:
    """`usage` of one or several choices: one prompt, and the sum of what was generated."""
    first = usages[0]
    completion = sum(usage.completion_tokens for usage in usages)
    return {
        "completion_tokens": completion,
        "prompt_tokens": first.prompt_tokens,
        "total_tokens": first.prompt_tokens + completion,
        "prompt_tokens_details": {"cached_tokens": first.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": sum(usage.reasoning_tokens for usage in usages)},
    }


def logprobs_json(entries: Sequence[LogprobEntry]) -> dict[str, Any]:
    """A choice's `logprobs`."""
    return {"content": [_entry(entry, with_top=True) for entry in entries]}


def progress_json(progress: PromptProgress) -> dict[str, int]:
    """`prompt_progress`."""
    return {
        "total": progress.total,
        "cache": progress.cache,
        "processed": progress.processed,
        "time_ms": progress.time_ms,
    }


def progress_timings(progress: PromptProgress) -> Timings:
    """What the timings are in the middle of a prompt."""
    return Timings(
        cache_n=progress.cache,
        prompt_n=progress.processed - progress.cache,
        prompt_ms=progress.time_ms,
    )


# ---------------------------------------------------------------------------------------------------


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole > 0 else 0.0


def _entry(entry: LogprobEntry, *, with_top: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "id": entry.id,
        "token": entry.token,
        "bytes": list(entry.data),
        "logprob": entry.logprob,
    }
    if with_top:
        value["top_logprobs"] = [_entry(top, with_top=False) for top in entry.top]
    return value

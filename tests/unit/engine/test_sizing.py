"""Windows, context sizes, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.engines import make_record
from roteiro.engine.sizing import (
    CONTEXT_FLOOR_TOKENS,
    OPEN_STEP_TOKENS,
    context_size,
    grown_size,
    kv_bytes_per_token,
    plan_window,
    window_of,
)
from roteiro.errors import ContextOverflow, InvalidRequest, ModelUnusable


def test_the_window_is_the_trained_one_lowered_by_the_cap(tmp_path: Path) -> None:
    header = make_record(tmp_path, window=8192).header
    assert window_of(header, None) == 8192
    assert window_of(header, 4096) == 4096
    assert window_of(header, 100_000) == 8192


@pytest.mark.parametrize("trained", [0, -1, 2**31])
def test_a_window_that_cannot_be_is_refused(tmp_path: Path, trained: int) -> None:
    header = replace(make_record(tmp_path).header, context_length=trained)
    with pytest.raises(ModelUnusable):
        window_of(header, 4096)


def test_a_request_pays_for_its_own_window() -> None:
    assert plan_window(prompt=10, max_tokens=5, window=32768).start == CONTEXT_FLOOR_TOKENS
    long = plan_window(prompt=10_000, max_tokens=500, window=32768)
    assert (long.limit, long.start) == (10_500, 10_752)
    assert long.enough == 10_564
    whole = plan_window(prompt=32_000, max_tokens=768, window=32768)
    assert (whole.start, whole.enough) == (32768, 32768)


def test_an_open_ended_request_starts_small_and_may_reach_the_window() -> None:
    plan = plan_window(prompt=10_000, max_tokens=None, window=32768)
    assert plan.limit == 32768
    assert plan.start == context_size(10_000 + OPEN_STEP_TOKENS, 32768)
    assert plan.enough < plan.start


def test_growing_ends_at_the_window() -> None:
    size = 4096
    for _ in range(20):
        grown = grown_size(size, 20_000)
        assert grown > size or size == 20_000
        size = grown
    assert size == 20_000


@pytest.mark.parametrize(("prompt", "max_tokens"), [(100, None), (99, 2), (101, 0), (1, 100)])
def test_what_does_not_fit_is_refused_with_the_numbers(prompt: int, max_tokens: int | None) -> None:
    with pytest.raises(ContextOverflow) as overflow:
        plan_window(prompt=prompt, max_tokens=max_tokens, window=100)
    assert overflow.value.details == {"n_prompt_tokens": prompt, "n_ctx": 100}


def test_nonsense_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        plan_window(prompt=0, max_tokens=1, window=100)
    with pytest.raises(InvalidRequest):
        plan_window(prompt=1, max_tokens=-1, window=100)


def test_cache_bytes_come_from_the_header(tmp_path: Path) -> None:
    header = make_record(tmp_path).header
    assert kv_bytes_per_token(header) == 2 * 4 * 1 * (64 + 64)
    grouped = replace(
        header,
        embedding_length=1536,
        scalars={
            "llama.block_count": 28,
            "llama.attention.head_count": 12,
            "llama.attention.head_count_kv": 2,
        },
    )
    # 112 MiB at 4,096 tokens, as measured on Qwen2.5-Coder-1.5B.
    assert kv_bytes_per_token(grouped) * 4096 == 112 * 2**20

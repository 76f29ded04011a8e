"""A real model behind a real socket: reuse over turns, leaving in mid-prefill, banned words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import pytest

from fakes.served import admit_all, running
from fakes.waiting import until
from roteiro.config import load_config
from roteiro.runtime import build_runtime

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

ASK = [{"role": "user", "content": "Name three colours."}]


@pytest.fixture
def url(tmp_path: Path, smollm2_path: Path) -> Iterator[str]:
    runtime = build_runtime(load_config(cwd=tmp_path), admit=admit_all)
    runtime.models.import_file(smollm2_path.resolve(), model_id="smollm2")
    with running(runtime) as (_, url):
        yield url


@pytest.fixture
def client(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", timeout=120, max_retries=0) as client:
        yield client


def test_the_second_turn_evaluates_only_what_is_new(client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model="smollm2", messages=ASK, temperature=0, max_tokens=16)
    said = first.choices[0].message
    turn = [*ASK, {"role": "assistant", "content": said.content}, {"role": "user", "content": "Go on."}]
    second = client.chat.completions.create(model="smollm2", messages=turn, temperature=0, max_tokens=4)
    cached = second.usage.prompt_tokens_details.cached_tokens
    assert cached >= first.usage.prompt_tokens
    timings = second.model_extra["timings"]
    assert timings["cache_n"] + timings["prompt_n"] == second.usage.prompt_tokens
    assert timings["prompt_n"] < 40


def test_leaving_in_mid_prefill_frees_the_engine(url: str) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        client.post("/v1/chat/completions", json={"messages": ASK, "max_tokens": 1})
        long = {"messages": [{"role": "user", "content": "word " * 6000}]}
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/chat/completions", json=long, timeout=1.5)

        def idle() -> bool:
            return not any(slot["is_processing"] for slot in client.get("/slots").json())

        began = time.monotonic()
        until(idle, 30)
        assert time.monotonic() - began < 10
        assert client.post("/v1/chat/completions", json={"messages": ASK, "max_tokens": 1}).is_success


def test_words_that_are_banned_do_not_come(client: openai.OpenAI) -> None:
    fields = {"model": "smollm2", "messages": ASK, "temperature": 0, "max_tokens": 12}
    plain = client.chat.completions.create(**fields).choices[0].message.content
    first = plain.split()[0]
    bias = {first: False, f" {first}": False}
    banned = client.chat.completions.create(**fields, extra_body={"logit_bias": bias})
    assert not banned.choices[0].message.content.startswith(first)

"""The small pure parts: eviction, sampling, detokenising, threads, batches of inputs, the channel."""

from __future__ import annotations

import asyncio
import math
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roteiro.engine.channel import Channel
from roteiro.engine.detokenize import TextDecoder
from roteiro.engine.embeddings import pack
from roteiro.engine.eviction import Kept, choose_victims
from roteiro.engine.request import SamplingParams
from roteiro.engine.sampling import log_probabilities, resolve
from roteiro.engine.threads import choose_threads
from roteiro.errors import InvalidRequest


def kept(model: str, slot: int | None, size: int, used: float, *, in_use: bool = False) -> Kept:
    return Kept(model=model, slot=slot, size=size, last_used=used, in_use=in_use)


def names(victims: list[Kept] | None) -> list[tuple[str, int | None]] | None:
    return None if victims is None else [(one.model, one.slot) for one in victims]


def test_sessions_go_before_models_and_the_oldest_first() -> None:
    held = [
        kept("a", None, 50, 1),
        kept("a", 0, 10, 4),
        kept("b", None, 30, 2),
        kept("b", 1, 10, 3),
    ]
    assert names(choose_victims(held, needed=0, budget=100)) == []
    assert names(choose_victims(held, needed=5, budget=100)) == [("b", 1)]
    assert names(choose_victims(held, needed=15, budget=100)) == [("b", 1), ("a", 0)]
    assert names(choose_victims(held, needed=25, budget=100)) == [("b", 1), ("a", 0), ("a", None)]
    assert choose_victims(held, needed=101, budget=100) is None


def test_what_is_in_use_never_goes() -> None:
    held = [kept("a", None, 50, 1, in_use=True), kept("a", 0, 10, 2), kept("b", None, 30, 3)]
    assert names(choose_victims(held, needed=40, budget=100)) == [("a", 0), ("b", None)]
    assert choose_victims(held, needed=60, budget=100) is None
    busy = [kept("a", None, 50, 1), kept("a", 0, 10, 2, in_use=True)]
    assert choose_victims(busy, needed=60, budget=100) is None


def resolved(params: SamplingParams, **defaults: float) -> object:
    return resolve(params, model_defaults=defaults, n_vocab=10, end_tokens=frozenset({9}))


def test_defaults_are_the_models_own_then_the_librarys() -> None:
    plain = resolve(SamplingParams(), model_defaults={}, n_vocab=10, end_tokens=frozenset())
    assert (plain.temperature, plain.top_k, plain.top_p, plain.min_p) == (0.8, 40, 0.95, 0.05)
    own = resolve(
        SamplingParams(top_p=0.5),
        model_defaults={"temperature": 0.3, "top_p": 0.9, "top_k": 20},
        n_vocab=10,
        end_tokens=frozenset(),
    )
    assert (own.temperature, own.top_k, own.top_p) == (0.3, 20, 0.5)


def test_seeds_are_drawn_when_not_given_and_kept_when_given() -> None:
    seeds = {resolved(SamplingParams()).seed for _ in range(8)}  # type: ignore[attr-defined]
    assert len(seeds) == 8
    assert resolved(SamplingParams(seed=42)).seed == 42  # type: ignore[attr-defined]
    assert resolved(SamplingParams(seed=-1)).seed not in (-1, 0xFFFFFFFF)  # type: ignore[attr-defined]


def test_biases_outside_the_vocabulary_are_left_out_and_ends_can_be_banned() -> None:
    params = SamplingParams(logit_bias={3: 1.5, 99: 2.0, -1: 1.0}, ignore_eos=True)
    assert resolved(params).logit_bias == ((3, 1.5), (9, -math.inf))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=math.nan),
        SamplingParams(repeat_penalty=0.0),
        SamplingParams(presence_penalty=math.inf),
        SamplingParams(repeat_last_n=-1),
        SamplingParams(logit_bias={1: math.inf}),
        SamplingParams(logit_bias={1: math.nan}),
    ],
)
def test_values_that_mean_nothing_are_refused(params: SamplingParams) -> None:
    with pytest.raises(InvalidRequest):
        resolved(params)


def test_log_probabilities_sum_to_one_and_come_in_order() -> None:
    logits = np.array([1.0, 3.0, 2.0, 3.0], dtype=np.float32)
    of, best = log_probabilities(logits, 3, lambda token: bytes([65 + token]))
    assert sum(math.exp(of(token).logprob) for token in range(4)) == pytest.approx(1)
    assert [one.token for one in best] == [1, 3, 2]
    assert best[0].data == b"B"
    assert log_probabilities(logits, 0, lambda _: b"")[1] == ()
    assert logits.tolist() == [1.0, 3.0, 2.0, 3.0]


@given(st.text(), st.lists(st.integers(1, 5), min_size=1))
def test_text_is_the_same_however_its_bytes_are_cut(text: str, cuts: list[int]) -> None:
    data = text.encode(errors="replace")
    decoder = TextDecoder()
    out, at, turn = [], 0, 0
    while at < len(data):
        step = cuts[turn % len(cuts)]
        out.append(decoder.push(data[at : at + step]))
        at, turn = at + step, turn + 1
    assert "".join(out) + decoder.flush() == data.decode()
    assert decoder.flush() == ""


def test_a_dangling_tail_comes_out_once() -> None:
    decoder = TextDecoder()
    assert decoder.push("é".encode()[:1]) == ""
    assert decoder.flush() == "\ufffd"
    assert decoder.flush() == ""


CPUINFO = "\n\n".join(
    f"processor : {number}\nphysical id : 0\ncore id : {number // 2}" for number in range(8)
)


def test_threads_are_physical_cores_within_what_is_allowed() -> None:
    everything = frozenset(range(8))
    assert choose_threads(3) == (3, "[serve] threads")
    found = choose_threads(None, allowed=everything, cpuinfo=CPUINFO, quota="max 100000")
    assert found == (4, "physical cores")
    few = choose_threads(None, allowed=frozenset({0, 1, 2}), cpuinfo=CPUINFO, quota="")
    assert few == (2, "physical cores")
    limited = choose_threads(None, allowed=everything, cpuinfo=CPUINFO, quota="200000 100000")
    assert limited == (2, "processor quota of the control group")
    assert choose_threads(None, allowed=everything, cpuinfo="", quota="") == (8, "processors")


def test_inputs_are_packed_in_order_within_the_limits() -> None:
    assert pack([5, 5, 5], tokens=10, sequences=9) == [[0, 1], [2]]
    assert pack([1, 1, 1], tokens=10, sequences=2) == [[0, 1], [2]]
    assert pack([50, 1], tokens=10, sequences=2) == [[0], [1]]
    assert pack([], tokens=10, sequences=2) == []


@pytest.mark.anyio
async def test_a_channel_passes_everything_from_a_thread_and_holds_a_fast_writer() -> None:
    channel: Channel[int] = Channel(4)

    def write() -> None:
        for number in range(200):
            while channel.full():
                channel.wait_for_room(1)
            channel.put(number)
        loop.call_soon_threadsafe(channel.end)

    loop = asyncio.get_running_loop()
    thread = threading.Thread(target=write)
    thread.start()
    received = []
    while (item := await channel.get()) is not None:
        received.append(item)
    thread.join()
    assert received == list(range(200))

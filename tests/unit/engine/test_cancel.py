"""A reader that leaves stops the work: while queued, loading, in prefill, in decode, and by stalling."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from fakes.engines import ask, collect, make_engine, make_record, say, text_of
from roteiro.engine.engine import Engine, EngineOptions
from roteiro.engine.generation import Generation
from roteiro.engine.request import (
    GenerationEvent,
    Loading,
    PromptProgress,
    Queued,
    SamplingParams,
    TokenChunk,
)
from roteiro.engine.scripted import Behaviour, Reply, ScriptedBackend, encode
from roteiro.errors import ReaderTooSlow

pytestmark = pytest.mark.anyio


async def until(generation: Generation, kind: type[GenerationEvent]) -> None:
    async for event in generation:
        if isinstance(event, kind):
            return
    raise AssertionError(f"no {kind}")


async def closes_quickly(engine: Engine, generation: Generation) -> None:
    """Close it and see that engine and lock are free at once."""
    started = time.perf_counter()
    await generation.aclose()
    await generation.aclose()
    assert time.perf_counter() - started < 1
    state = engine.state()
    assert (state.processing, state.queued) == (0, 0)
    assert not any(one.is_processing for model in state.models for one in model.sessions)


async def test_leaving_in_decode_stops_within_a_token(tmp_path: Path) -> None:
    engine, backend = make_engine([Reply(text="slow " * 100, token_delay_s=0.02), "next"])
    record = make_record(tmp_path)
    generation = engine.generate(record, ask("question"))
    await until(generation, TokenChunk)
    await closes_quickly(engine, generation)
    assert backend.open["sampler"] == 0
    # What was evaluated stays usable.
    end = await say(engine, record, "questionsl")
    assert end.timings.cache_n >= 8
    assert engine.state().counters.cancelled == 1
    await engine.aclose()


async def test_leaving_in_a_long_prefill_batch_stops_inside_it(tmp_path: Path) -> None:
    behaviour = Behaviour(n_batch=16, batch_delay_s=5)
    engine, _ = make_engine(behaviour=behaviour)
    record = make_record(tmp_path)
    generation = engine.generate(record, ask("x" * 200))
    await until(generation, PromptProgress)
    await asyncio.sleep(0.05)
    await closes_quickly(engine, generation)
    behaviour.batch_delay_s = 0
    assert (await say(engine, record, "x" * 200)).kind == "end"
    await engine.aclose()


async def test_leaving_while_the_model_loads_ends_the_loading(tmp_path: Path) -> None:
    engine, backend = make_engine(behaviour=Behaviour(load_delay_s=3))
    generation = engine.generate(make_record(tmp_path), ask("x"))
    await until(generation, Loading)
    await closes_quickly(engine, generation)
    assert backend.loads == 0
    await engine.aclose()


async def test_a_queued_request_whose_reader_left_never_starts(tmp_path: Path) -> None:
    engine, backend = make_engine([Reply(text="slow " * 10, token_delay_s=0.01), "third"])
    record = make_record(tmp_path)
    running = asyncio.create_task(collect(engine, record, ask("first")))
    await asyncio.sleep(0.05)
    queued = engine.generate(record, ask("second"))
    await until(queued, Queued)
    await queued.aclose()
    assert text_of(await collect(engine, record, ask("third"))) == "third"
    await running
    assert backend.prompts == ["first", "third"]
    await engine.aclose()


async def test_a_cancelled_task_leaves_nothing_behind(tmp_path: Path) -> None:
    engine, _ = make_engine([Reply(text="slow " * 100, token_delay_s=0.02)] * 3)
    record = make_record(tmp_path)
    for _ in range(3):
        task = asyncio.create_task(collect(engine, record, ask("x")))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert engine.state().processing == 0
    assert (await say(engine, record, "y")).kind == "end"
    await engine.aclose()


async def test_a_reader_that_stalls_loses_its_generation_and_not_the_engine(
    tmp_path: Path,
) -> None:
    engine, _ = make_engine([Reply(text="x" * 1000)], stall_s=0.1)
    record = make_record(tmp_path)
    generation = engine.generate(record, ask("question"))
    await until(generation, TokenChunk)
    assert (await say(engine, record, "next")).kind == "end"
    with pytest.raises(ReaderTooSlow):
        async for _event in generation:
            pass
    await generation.aclose()
    await engine.aclose()


async def test_a_slow_reader_gets_everything(tmp_path: Path) -> None:
    engine, _ = make_engine(["x" * 400])
    generation = engine.generate(make_record(tmp_path), ask("question"))
    events = []
    async for event in generation:
        events.append(event)
        if len(events) % 100 == 0:
            await asyncio.sleep(0.05)
    assert text_of(events) == "x" * 400
    await engine.aclose()


async def test_a_generation_that_is_never_read_does_nothing(tmp_path: Path) -> None:
    engine, backend = make_engine()
    generation = engine.generate(make_record(tmp_path), ask("x"))
    await generation.aclose()
    with pytest.raises(StopAsyncIteration):
        await generation.__anext__()
    assert backend.prompts == []
    await engine.aclose()


async def test_tokenising_is_served_between_the_tokens_of_a_generation(tmp_path: Path) -> None:
    engine, _ = make_engine([Reply(text="slow " * 100, token_delay_s=0.02)])
    record = make_record(tmp_path)
    handle = await engine.vocabulary(record)
    generation = engine.generate(record, ask("x"))
    await until(generation, TokenChunk)
    started = time.perf_counter()
    assert await handle.tokenize("hello", parse_special=True) == encode("hello")
    assert time.perf_counter() - started < 0.5
    await generation.aclose()
    await engine.aclose()


async def test_unloading_waits_for_the_use_to_end(tmp_path: Path) -> None:
    engine, backend = make_engine([Reply(text="slow " * 4, token_delay_s=0.01)])
    record = make_record(tmp_path)
    running = asyncio.create_task(collect(engine, record, ask("x")))
    await asyncio.sleep(0.05)
    assert await engine.unload(record.id)
    assert text_of(await running) == "slow " * 4
    assert backend.open["model"] == 0
    await engine.aclose()


class Mask:
    """Allows only the letters of a word, forces its tail, and then nothing."""

    def __init__(self, word: str, forced: str = "") -> None:
        self.word = [*word.encode()]
        self.tail = [*forced.encode()]
        self.accepted: list[int] = []

    def mask(self, logits: object) -> None:
        allowed = self.word[len(self.accepted)]
        kept = logits[allowed]  # type: ignore[index]
        logits[:] = float("-inf")  # type: ignore[index]
        logits[allowed] = kept  # type: ignore[index]

    def accept(self, token: int) -> None:
        self.accepted.append(token)

    def forced(self) -> tuple[int, ...]:
        return tuple(self.tail) if len(self.accepted) == len(self.word) else ()

    def finished(self) -> bool:
        return len(self.accepted) == len(self.word) + len(self.tail)


async def test_a_constraint_masks_forces_and_ends(tmp_path: Path) -> None:
    engine, _ = make_engine(["something else entirely"])
    constraint = Mask("yes", " sir")
    request = ask("x", constraint=constraint, sampling=SamplingParams(top_logprobs=1))
    events = await collect(engine, make_record(tmp_path), request)
    assert text_of(events) == "yes sir"
    assert bytes(constraint.accepted) == b"yes sir"
    assert events[-1].kind == "end"  # type: ignore[union-attr]
    await engine.aclose()


class EndThought:
    """Forces the end of a thought after three tokens."""

    def take(self, generated: tuple[int, ...]) -> tuple[int, ...]:
        return encode("</think>") if len(generated) == 4 else ()


async def test_forced_tokens_cut_a_thought_short_and_the_answer_follows(tmp_path: Path) -> None:
    engine, backend = make_engine(["<think>a very long thought</think>answer"])
    record = make_record(tmp_path)
    events = await collect(engine, record, ask("x", forced=EndThought()))
    assert text_of(events) == "<think>a v</think>answer"
    evaluated = backend.evaluated
    await say(engine, record, "x<think>a v</think>answer<|im_end|>y")
    assert backend.evaluated - evaluated < 40
    await engine.aclose()


async def test_fifty_cancel_and_resend_leave_the_engine_whole(tmp_path: Path) -> None:
    backend = ScriptedBackend(default="x" * 300)
    engine = Engine(backend, EngineOptions())
    record = make_record(tmp_path)
    for turn in range(50):
        generation = engine.generate(record, ask(f"ask {turn}"))
        await until(generation, TokenChunk)
        if turn % 2:
            await generation.aclose()
        else:
            task = asyncio.create_task(generation.aclose())
            await asyncio.sleep(0)
            task.cancel()
    assert (await say(engine, record, "last")).kind == "end"
    await engine.aclose()
    assert backend.open == {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}

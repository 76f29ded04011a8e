"""The facade over the scripted backend: events, limits, stops, errors, loading and unloading."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from fakes.engines import MIB, ask, collect, finished, make_engine, make_record, say, text_of
from roteiro.engine.request import Loading, PromptProgress, Queued, SamplingParams, TokenChunk
from roteiro.engine.scripted import END_TOKEN, Behaviour, Reply, encode
from roteiro.errors import (
    ContextOverflow,
    DecodeFailed,
    EngineClosed,
    InvalidRequest,
    LoadFailed,
    ModelTooLarge,
    ModelUnusable,
)

pytestmark = pytest.mark.anyio


async def test_a_generation_tells_loading_progress_tokens_and_its_end(tmp_path: Path) -> None:
    engine, backend = make_engine(["hi é"], behaviour=Behaviour(n_batch=4))
    events = await collect(engine, make_record(tmp_path), ask("0123456789"))
    assert isinstance(events[0], Loading)
    progress = [event for event in events if isinstance(event, PromptProgress)]
    assert [(one.cache, one.processed, one.total) for one in progress] == [
        (0, 0, 10),
        (0, 4, 10),
        (0, 8, 10),
        (0, 10, 10),
    ]
    chunks = [event for event in events if isinstance(event, TokenChunk)]
    assert [chunk.text for chunk in chunks] == ["h", "i", " ", "", "é", ""]
    assert chunks[-1].token == END_TOKEN
    end = finished(events)
    assert end.kind == "end"
    assert (end.timings.cache_n, end.timings.prompt_n, end.timings.predicted_n) == (0, 10, 6)
    assert backend.prompts == ["0123456789"]
    await engine.aclose()
    assert backend.open == {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}


async def test_max_tokens_ends_with_length_and_a_dangling_character_comes_out_once(
    tmp_path: Path,
) -> None:
    engine, _ = make_engine(["aé"])
    events = await collect(engine, make_record(tmp_path), ask("x", max_tokens=2))
    assert finished(events).kind == "length"
    assert text_of(events) == "a\ufffd"
    await engine.aclose()


async def test_zero_max_tokens_evaluates_the_prompt_and_says_nothing(tmp_path: Path) -> None:
    engine, backend = make_engine()
    end = await say(engine, make_record(tmp_path), "hello", max_tokens=0)
    assert (end.kind, end.timings.prompt_n, end.timings.predicted_n) == ("length", 5, 0)
    assert backend.prompts == []
    await engine.aclose()


async def test_an_open_ended_answer_grows_to_the_end_of_the_window(tmp_path: Path) -> None:
    engine, _ = make_engine([Reply(text="abc", end=False)])
    record = make_record(tmp_path, window=9000)
    end = await say(engine, record, "hello")
    assert end.kind == "length"
    assert end.timings.predicted_n == 9000 - 5
    assert engine.state().models[0].sessions[0].allocated == 9000
    await engine.aclose()


async def test_growing_survives_a_state_that_cannot_be_moved(tmp_path: Path) -> None:
    engine, _ = make_engine([Reply(text="abc", end=False)], behaviour=Behaviour(refuse_restore=True))
    end = await say(engine, make_record(tmp_path, window=5000), "hello")
    assert end.timings.predicted_n == 5000 - 5
    await engine.aclose()


async def test_stop_ends_in_order_with_the_tokens_that_were_read(tmp_path: Path) -> None:
    engine, _ = make_engine(["a long answer " * 50])
    generation = engine.generate(make_record(tmp_path), ask("x"))
    read = 0
    async for event in generation:
        if isinstance(event, TokenChunk):
            read += 1
            if read == 3:
                generation.stop()
        last = event
    assert finished([last]).kind == "stopped"
    assert finished([last]).timings.predicted_n == 3
    await generation.aclose()
    await engine.aclose()


async def test_what_does_not_fit_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    engine, backend = make_engine(memory_budget_bytes=70 * MIB)
    record = make_record(tmp_path, window=100)
    with pytest.raises(ContextOverflow) as overflow:
        engine.generate(record, ask("x" * 100))
    assert overflow.value.details == {"n_prompt_tokens": 100, "n_ctx": 100}
    with pytest.raises(ContextOverflow):
        engine.generate(record, ask("x" * 50, max_tokens=51))
    with pytest.raises(ModelTooLarge):
        engine.generate(make_record(tmp_path, "large", size=80 * MIB), ask("x"))
    with pytest.raises(InvalidRequest):
        engine.generate(record, ask(""))
    assert backend.loads == 0
    await engine.aclose()


async def test_a_configured_cap_lowers_the_window(tmp_path: Path) -> None:
    engine, _ = make_engine(max_context_tokens=128)
    record = make_record(tmp_path)
    assert engine.window(record) == 128
    end = await say(engine, record, "x" * 100)
    assert end.timings.predicted_n <= 28
    await engine.aclose()


async def test_a_decode_failure_ends_one_request_and_the_next_one_works(tmp_path: Path) -> None:
    engine, _ = make_engine([Reply(text="broken", fail_after=3), "fine"])
    record = make_record(tmp_path)
    with pytest.raises(DecodeFailed):
        await collect(engine, record, ask("first"))
    assert engine.state().models[0].sessions[0].tokens == 0
    assert text_of(await collect(engine, record, ask("second"))) == "fine"
    state = engine.state()
    assert (state.counters.failed, state.counters.requests, state.processing) == (1, 1, 0)
    await engine.aclose()


async def test_a_load_failure_leaves_the_lock_free(tmp_path: Path) -> None:
    engine, backend = make_engine(behaviour=Behaviour(fail_load={"bad"}))
    with pytest.raises(LoadFailed):
        await collect(engine, make_record(tmp_path, "bad"), ask("x"))
    assert (await say(engine, make_record(tmp_path), "x")).kind == "end"
    await engine.aclose()
    assert backend.open["model"] == 0


async def test_a_refused_file_is_never_given_to_the_library(tmp_path: Path) -> None:
    engine, backend = make_engine()

    async def admit(record: object) -> None:
        raise ModelUnusable("its probe died")

    engine = type(engine)(backend, engine.options, admit=admit)
    record = make_record(tmp_path)
    with pytest.raises(ModelUnusable):
        await engine.vocabulary(record)
    with pytest.raises(ModelUnusable):
        await collect(engine, record, ask("x"))
    assert backend.loads == 0
    assert engine.state().processing == 0
    await engine.aclose()


async def test_a_file_that_changed_is_loaded_anew(tmp_path: Path) -> None:
    engine, backend = make_engine()
    record = make_record(tmp_path)
    await say(engine, record, "x")
    os.utime(record.path, ns=(1, 1))
    await say(engine, record, "x")
    assert backend.loads == 2
    record.path.unlink()
    with pytest.raises(ModelUnusable):
        await say(engine, record, "x")
    await engine.aclose()


async def test_two_models_under_a_budget_for_one_take_turns(tmp_path: Path) -> None:
    engine, backend = make_engine(memory_budget_bytes=100 * MIB)
    records = [make_record(tmp_path, "one"), make_record(tmp_path, "two")]
    ends = await asyncio.gather(*(say(engine, records[turn % 2], f"ask {turn}") for turn in range(6)))
    assert [end.kind for end in ends] == ["end"] * 6
    assert [model.id for model in engine.state().models] == ["two"]
    assert engine.state().used_bytes <= 100 * MIB
    assert backend.open["model"] == 1
    await engine.aclose()


async def test_load_unload_forget_and_the_state_between(tmp_path: Path) -> None:
    engine, backend = make_engine()
    record = make_record(tmp_path)
    await engine.load(record)
    assert [model.id for model in engine.state().models] == ["scripted"]
    assert await engine.unload("scripted")
    assert not await engine.unload("scripted")
    await say(engine, record, "x")
    await engine.forget(record)
    assert engine.state().models == ()
    assert engine.state().counters.loads == 2
    await engine.aclose()
    assert backend.open["context"] == 0


async def test_an_idle_engine_goes_to_sleep_and_wakes(tmp_path: Path) -> None:
    engine, backend = make_engine(sleep_idle_s=0.05)
    record = make_record(tmp_path)
    await say(engine, record, "x")
    for _ in range(100):
        if engine.state().sleeping:
            break
        await asyncio.sleep(0.02)
    assert engine.state().models == ()
    await say(engine, record, "x")
    assert not engine.state().sleeping
    assert backend.loads == 2
    await engine.aclose()


async def test_closing_ends_what_runs_and_refuses_what_comes(tmp_path: Path) -> None:
    engine, backend = make_engine([Reply(text="slow" * 100, token_delay_s=0.01)])
    record = make_record(tmp_path)
    generation = engine.generate(record, ask("x"))
    await generation.__anext__()
    queued = engine.generate(record, ask("y"))
    assert isinstance(await queued.__anext__(), Queued)
    await engine.aclose()
    with pytest.raises(EngineClosed):
        await queued.__anext__()
    with pytest.raises(EngineClosed):
        await say(engine, record, "z")
    await generation.aclose()
    assert backend.open == {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}


async def test_logprobs_are_of_the_raw_distribution(tmp_path: Path) -> None:
    engine, _ = make_engine(["ab"])
    request = ask("x", sampling=SamplingParams(top_logprobs=3))
    chunks = [
        event
        for event in await collect(engine, make_record(tmp_path), request)
        if isinstance(event, TokenChunk)
    ]
    assert chunks[0].logprob is not None
    assert chunks[0].logprob.data == b"a"
    assert chunks[0].logprob.logprob == pytest.approx(-5.5797, abs=1e-3)
    assert [one.token for one in chunks[0].top_logprobs] == [0, 1, 2]
    assert chunks[-1].logprob is None
    await engine.aclose()


async def test_embeddings_are_normalised_in_order_and_counted(tmp_path: Path) -> None:
    engine, _ = make_engine()
    record = make_record(tmp_path, kind="embedding", window=512)
    inputs = [encode(text) for text in ("one", "two", "one" * 100)] * 30
    result = await engine.embed(record, inputs)
    assert result.prompt_tokens == sum(len(tokens) for tokens in inputs)
    assert all(abs(float((vector**2).sum()) - 1) < 1e-5 for vector in result.vectors)
    assert (result.vectors[0] == result.vectors[3]).all()
    assert (result.vectors[0] != result.vectors[1]).any()
    with pytest.raises(ContextOverflow):
        await engine.embed(record, [encode("x" * 513)])
    with pytest.raises(InvalidRequest):
        await engine.embed(record, [()])
    await engine.aclose()


async def test_a_model_without_pooling_does_not_embed(tmp_path: Path) -> None:
    engine, _ = make_engine(behaviour=Behaviour(pooling="none"))
    with pytest.raises(ModelUnusable):
        await engine.embed(make_record(tmp_path), [encode("x")])
    assert engine.state().processing == 0
    await engine.aclose()


async def test_the_vocabulary_comes_without_the_model(tmp_path: Path) -> None:
    engine, backend = make_engine()
    record = make_record(tmp_path)
    handle = await engine.vocabulary(record)
    assert await engine.vocabulary(record) is handle
    assert await handle.tokenize("<|im_end|>", parse_special=True) == (END_TOKEN,)
    plain = await handle.tokenize("<|im_end|></think>", parse_special=False)
    assert not set(plain) & set(encode("<|im_end|></think>"))
    assert await handle.detokenize(plain) == "<|im_end|></think>"
    assert await handle.tokenize_parts([("<|im_start|>", True), ("<|im_end|>", False)]) == (
        *encode("<|im_start|>"),
        *b"<|im_end|>",
    )
    assert await handle.detokenize(encode("a<|im_end|>b"), special=False) == "ab"
    assert handle.is_eog(END_TOKEN)
    with pytest.raises(InvalidRequest):
        await handle.token_bytes(99999)
    assert backend.loads == 0
    del handle
    await engine.aclose()
    assert backend.open["vocabulary"] == 0

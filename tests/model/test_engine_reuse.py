"""Prefix reuse on real llama.cpp memory: attention, sliding-window and recurrent.

The slow path is the oracle: each answer with reuse equals that of a bare context which evaluates the same
tokens, split into the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from fakes.engines import collect, finished, record_of
from fakes.tiny_gguf import TinyKind, make_tiny
from roteiro.engine.backend import ContextOptions, LoadOptions
from roteiro.engine.engine import Engine, EngineOptions
from roteiro.engine.llama import LlamaBackend
from roteiro.engine.request import (
    GenerationFinished,
    GenerationRequest,
    PromptProgress,
    SamplingParams,
    TokenChunk,
)
from roteiro.modelstore.record import ModelRecord

pytestmark = [pytest.mark.anyio, pytest.mark.model, pytest.mark.timeout(300)]

GREEDY = SamplingParams(temperature=0, ignore_eos=True)
KINDS: tuple[TinyKind, ...] = ("attention", "swa", "recurrent")


@pytest.fixture(scope="module", params=[*KINDS, "smollm2"])
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ModelRecord:
    if request.param == "smollm2":
        return record_of(request.getfixturevalue("smollm2_path"), "smollm2")
    path = tmp_path_factory.mktemp("tiny") / f"{request.param}.gguf"
    return record_of(make_tiny(path, request.param), request.param)


def tokens_of(start: int, count: int) -> tuple[int, ...]:
    """A prompt that repeats nothing too soon and holds no control token in any test vocabulary."""
    return tuple(40 + (start * 31 + index * 7 + index // 13) % 180 for index in range(count))


def batches(tokens: Sequence[int]) -> list[Sequence[int]]:
    """As the engine splits them when it evaluates them in one go."""
    size = LlamaBackend().prefill_batch(None)
    return [tokens[start : start + size] for start in range(0, len(tokens), size)]


def oracle(record: ModelRecord, chunks: Sequence[Sequence[int]], count: int) -> list[int]:
    """Greedy tokens of a bare context that evaluates `chunks` as given, then token by token."""
    backend = LlamaBackend()
    model = backend.load_model(record.path, LoadOptions(), lambda: True)
    size = sum(len(chunk) for chunk in chunks) + count + 256
    threads = backend.threads(None)[0]
    context = model.open_context(ContextOptions(n_ctx=size, n_batch=256, threads=threads))
    banned = model.vocabulary.facts.end_tokens
    position = 0
    generated: list[int] = []
    for chunk in chunks:
        context.decode(chunk, position=position, logits=True)
        position += len(chunk)
    while True:
        logits = context.logits()
        logits[list(banned)] = float("-inf")
        generated.append(int(logits.argmax()))
        if len(generated) == count:
            break
        context.decode(generated[-1:], position=position, logits=True)
        position += 1
    context.close()
    model.close()
    return generated


async def run(
    engine: Engine, record: ModelRecord, prompt: Sequence[int], count: int = 12, **fields: object
) -> tuple[list[int], GenerationFinished]:
    request = GenerationRequest(
        prompt=tuple(prompt),
        max_tokens=count,
        sampling=GREEDY,
        **fields,  # type: ignore[arg-type]
    )
    events = await collect(engine, record, request)
    progress = [event for event in events if isinstance(event, PromptProgress)]
    end = finished(events)
    assert progress[0].processed == progress[0].cache == end.timings.cache_n
    assert progress[-1].processed == len(prompt) == end.timings.cache_n + end.timings.prompt_n
    return [event.token for event in events if isinstance(event, TokenChunk)], end


@pytest.fixture
async def engine() -> Iterator[Engine]:
    engine = Engine(LlamaBackend(), EngineOptions(sessions=1, prefix_cache_bytes=1 << 28))
    yield engine
    await engine.aclose()


async def test_a_prompt_that_extends_the_session_evaluates_only_the_new_tokens(
    engine: Engine, record: ModelRecord
) -> None:
    first = tokens_of(1, 100)
    answer, _ = await run(engine, record, first)
    assert answer == oracle(record, [first], 12)
    # The last sampled token was never evaluated, so it is new.
    more = (*answer[-1:], *tokens_of(2, 30))
    second, end = await run(engine, record, (*first, *answer[:-1], *more))
    assert (end.timings.cache_n, end.timings.prompt_n) == (111, 31)
    chunks = [first, *([token] for token in answer[:-1]), more]
    assert second == oracle(record, chunks, 12)


async def test_the_same_prompt_again_evaluates_one_token_or_starts_over(
    engine: Engine, record: ModelRecord
) -> None:
    prompt = tokens_of(3, 120)
    first, _ = await run(engine, record, prompt)
    second, end = await run(engine, record, prompt)
    if record.id == "recurrent":
        assert end.timings.cache_n == 0
        assert second == first
    else:
        assert end.timings.cache_n == 119
        assert second == oracle(record, [prompt[:-1], prompt[-1:]], 12)


async def test_a_prompt_that_diverges_never_answers_wrong(engine: Engine, record: ModelRecord) -> None:
    shared = tokens_of(4, 100)
    await run(engine, record, (*shared, *tokens_of(5, 20)))
    other = tokens_of(6, 25)
    answer, end = await run(engine, record, (*shared, *other), id_slot=0)
    if record.id == "recurrent":
        assert end.timings.cache_n == 0
        assert answer == oracle(record, [(*shared, *other)], 12)
    else:
        assert end.timings.cache_n == 100
        assert answer == oracle(record, [shared, other], 12)


async def test_what_two_conversations_share_is_copied_exactly_and_the_source_goes_on(
    record: ModelRecord,
) -> None:
    engine = Engine(LlamaBackend(), EngineOptions(sessions=2))
    shared, mine = tokens_of(50, 90), tokens_of(51, 30)
    first, _ = await run(engine, record, (*shared, *mine), 6, id_slot=0)
    other = tokens_of(52, 25)
    answer, end = await run(engine, record, (*shared, *other), 6, id_slot=1)
    if record.id == "recurrent":
        assert end.timings.cache_n == 0
        assert answer == oracle(record, [(*shared, *other)], 6)
    else:
        assert (end.timings.cache_n, "copied 90 tokens" in end.reuse_note) == (90, True)
        assert answer == oracle(record, [shared, other], 6)
    more = (*first[-1:], *tokens_of(53, 7))
    again, end = await run(engine, record, (*shared, *mine, *first[:-1], *more), 6, id_slot=0)
    assert end.timings.cache_n == 125
    assert again == oracle(record, [(*shared, *mine), *([token] for token in first[:-1]), more], 6)
    await engine.aclose()


async def test_a_preamble_is_restored_whole_and_exactly(engine: Engine, record: ModelRecord) -> None:
    preamble, questions = tokens_of(7, 600), (tokens_of(8, 40), tokens_of(17, 40))
    cold, _ = await run(engine, record, (*preamble, *questions[0]), preamble=600)
    await run(engine, record, tokens_of(9, 50), cache_prompt=False)
    warm, end = await run(engine, record, (*preamble, *questions[1]), preamble=600)
    assert "restored 600 tokens (preamble snapshot)" in end.reuse_note
    assert (end.timings.cache_n, end.timings.prompt_n) == (600, 40)
    for answer, question in zip((cold, warm), questions, strict=True):
        chunks = [*batches(preamble), question]
        if record.id in ("swa", "recurrent"):
            # Where nothing can be rewound, the state is also saved just before the answer opens.
            chunks[-1:] = [question[:-4], question[-4:]]
        assert answer == oracle(record, chunks, 12)


async def test_a_part_of_what_was_saved_is_restored_exactly(engine: Engine, record: ModelRecord) -> None:
    shared = tokens_of(60, 560)
    await run(engine, record, (*shared, *tokens_of(61, 60)), 4)
    await run(engine, record, tokens_of(62, 50), 4, cache_prompt=False)
    other = tokens_of(63, 30)
    answer, end = await run(engine, record, (*shared, *other), 8)
    if record.id in ("swa", "recurrent"):
        assert end.timings.cache_n == 0
        parts = [*batches((*shared, *other)[:-4]), other[-4:]]
    else:
        assert (end.timings.cache_n, end.timings.prompt_n) == (560, 30)
        assert "restored 560 tokens (turn snapshot)" in end.reuse_note
        whole = batches((*shared, *tokens_of(61, 60)))
        parts = [*whole[:-1], whole[-1][: 560 % len(whole[0])], other]
    assert answer == oracle(record, parts, 8)


async def test_a_boundary_is_learned_from_what_prompts_share(engine: Engine, record: ModelRecord) -> None:
    preamble = tokens_of(10, 530)
    for turn in range(2):
        _, end = await run(engine, record, (*preamble, *tokens_of(20 + turn, 30)), 2, id_slot=0)
    await run(engine, record, tokens_of(30, 50), 2, cache_prompt=False)
    _, end = await run(engine, record, (*preamble, *tokens_of(40, 30)), 2)
    assert end.timings.cache_n == 530
    assert "restored 530 tokens" in end.reuse_note


async def test_a_session_about_to_be_overwritten_comes_back(engine: Engine, record: ModelRecord) -> None:
    first = tokens_of(11, 520)
    answer, _ = await run(engine, record, first, 3)
    await run(engine, record, tokens_of(12, 300), 3)
    prompt = (*first, *answer, *tokens_of(13, 5))
    again, end = await run(engine, record, prompt, 3)
    assert end.timings.cache_n == 522
    assert "turn snapshot" in end.reuse_note
    parts = batches(first)
    if record.id in ("swa", "recurrent"):
        parts = [*batches(first[:516]), first[516:]]
    chunks = [*parts, answer[:1], answer[1:2], prompt[522:]]
    assert again == oracle(record, chunks, 3)


async def test_a_larger_window_takes_the_state_along(record: ModelRecord) -> None:
    engine = Engine(LlamaBackend(), EngineOptions(sessions=1))
    first = tokens_of(14, 60)
    answer, _ = await run(engine, record, first, 4)
    prompt = (*first, *answer)
    # max_tokens beyond the first context's 4,096 asks for a larger one.
    request = GenerationRequest(prompt=prompt, max_tokens=4030, sampling=GREEDY)
    async with engine.generate(record, request) as generation:
        async for event in generation:
            if isinstance(event, PromptProgress):
                assert event.cache == 63
                break
    await engine.aclose()


async def test_a_prompt_left_half_way_does_not_spoil_the_next(engine: Engine, record: ModelRecord) -> None:
    prompt = tokens_of(15, 1200 if record.id == "smollm2" else 3500)
    generation = engine.generate(record, GenerationRequest(prompt=prompt, sampling=GREEDY))
    async for event in generation:
        if isinstance(event, PromptProgress) and event.processed:
            break
    await generation.aclose()
    shared = prompt[:100]
    answer, end = await run(engine, record, (*shared, *tokens_of(16, 20)), 6)
    chunks = [(*shared, *tokens_of(16, 20))]
    if end.timings.cache_n:
        chunks = [*batches(prompt[: end.timings.cache_n]), chunks[0][end.timings.cache_n :]]
    assert answer == oracle(record, chunks, 6)

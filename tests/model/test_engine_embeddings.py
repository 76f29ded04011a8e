"""Embeddings from real llama.cpp: batches, refusals, and the original all-MiniLM-L6-v2 as the judge."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from fakes.engines import ask, collect, record_of
from fakes.tiny_gguf import make_tiny
from roteiro.engine.engine import Engine, EngineOptions
from roteiro.engine.llama import LlamaBackend
from roteiro.errors import ContextOverflow, ModelUnusable

pytestmark = [pytest.mark.anyio, pytest.mark.model, pytest.mark.timeout(300)]

REFERENCE = Path(__file__).parent.parent / "assets" / "minilm_reference.json"


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = Engine(LlamaBackend(), EngineOptions())
    yield engine
    await engine.aclose()


async def test_a_batch_gives_what_each_input_gives_alone(engine: Engine, tmp_path: Path) -> None:
    record = record_of(make_tiny(tmp_path / "bert.gguf", "bert", window=512), kind="embedding")
    inputs = [tuple(range(start, start + 3 + start % 90)) for start in range(40, 120)]
    together = await engine.embed(record, inputs)
    assert together.prompt_tokens == sum(map(len, inputs))
    for index in (0, 1, 33, 79):
        alone = await engine.embed(record, [inputs[index]])
        assert float(alone.vectors[0] @ together.vectors[index]) > 0.9999
        assert float(np.linalg.norm(alone.vectors[0])) == pytest.approx(1, abs=1e-5)


async def test_long_inputs_are_refused_and_the_window_itself_is_not(engine: Engine, tmp_path: Path) -> None:
    record = record_of(make_tiny(tmp_path / "bert.gguf", "bert", window=512), kind="embedding")
    await engine.embed(record, [(65,) * 512])
    with pytest.raises(ContextOverflow):
        await engine.embed(record, [(65,) * 513])


async def test_an_encoder_does_not_generate_and_a_generator_does_not_embed(
    engine: Engine, tmp_path: Path
) -> None:
    encoder = record_of(make_tiny(tmp_path / "bert.gguf", "bert", window=512), kind="embedding")
    with pytest.raises(ModelUnusable):
        await collect(engine, encoder, ask("hello"))
    generator = record_of(make_tiny(tmp_path / "attention.gguf", "attention"))
    with pytest.raises(ModelUnusable):
        await engine.embed(generator, [(65, 66)])
    assert (await collect(engine, generator, ask("hello", max_tokens=2)))[-1]


async def test_vectors_and_tokens_are_those_of_the_original_minilm(engine: Engine, minilm_path: Path) -> None:
    record = record_of(minilm_path, kind="embedding")
    rows = json.loads(REFERENCE.read_text())
    handle = await engine.vocabulary(record)
    inputs = [await handle.tokenize(row["text"], parse_special=False, add_special=True) for row in rows]
    assert [list(tokens) for tokens in inputs] == [row["tokens"] for row in rows]
    result = await engine.embed(record, inputs)
    cosines = [
        float(vector @ np.array(row["vector"])) for vector, row in zip(result.vectors, rows, strict=True)
    ]
    assert min(cosines) > 0.999, cosines

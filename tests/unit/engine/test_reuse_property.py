"""Whatever is reused, the model has seen exactly the prompt: random requests over every kind of memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.engines import MIB, ask, collect, finished, make_record
from roteiro.engine.backend import MemoryKind
from roteiro.engine.engine import Engine, EngineOptions
from roteiro.engine.request import GenerationFinished, TokenChunk
from roteiro.engine.scripted import Behaviour, ScriptedBackend

PARTS = ("system prompt. " * 40, "tools; " * 30, "hello ", "what is it? ", "Hello from", "bye. " * 20)

REQUESTS = st.lists(
    st.fixed_dictionaries(
        {
            "parts": st.lists(st.sampled_from(range(len(PARTS))), min_size=1, max_size=5),
            "slot": st.sampled_from([-1, -1, -1, 0, 1, 5]),
            "cache": st.sampled_from([True, True, True, False]),
            "max_tokens": st.sampled_from([None, 0, 1, 7, 3000]),
            "declared": st.booleans(),
            "read": st.sampled_from([None, None, None, 1, 3]),
            "model": st.sampled_from(["one", "one", "two"]),
        }
    ),
    min_size=1,
    max_size=12,
)


async def play(folder: Path, memory: MemoryKind, options: EngineOptions, script: list[dict]) -> None:
    behaviour = Behaviour(memory=memory, n_swa=32, n_batch=50)
    backend = ScriptedBackend(behaviour=behaviour)
    engine = Engine(backend, options)
    records = {name: make_record(folder, name, window=8192) for name in ("one", "two")}
    for step in script:
        text = "".join(PARTS[part] for part in step["parts"])
        request = ask(
            text,
            max_tokens=step["max_tokens"],
            id_slot=step["slot"],
            cache_prompt=step["cache"],
            preamble=len(PARTS[step["parts"][0]]) if step["declared"] else 0,
        )
        before = len(backend.prompts)
        if step["read"] is not None:
            generation = engine.generate(records[step["model"]], request)
            async for event in generation:
                if isinstance(event, TokenChunk | GenerationFinished):
                    break
            await generation.aclose()
            continue
        end = finished(await collect(engine, records[step["model"]], request))
        assert end.timings.cache_n + end.timings.prompt_n == len(text)
        assert end.timings.prompt_n >= 1
        if not step["cache"]:
            assert end.timings.cache_n == 0
        if step["max_tokens"] != 0:
            assert backend.prompts[before:] == [text]
        state = engine.state()
        assert state.snapshot_bytes <= options.prefix_cache_bytes
        assert state.used_bytes <= options.memory_budget_bytes
    await engine.aclose()
    assert backend.open == {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("memory", ["attention", "swa", "recurrent"])
def test_the_model_always_sees_the_whole_prompt(tmp_path: Path, memory: MemoryKind) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(
        REQUESTS,
        st.sampled_from([1, 2, 4]),
        st.sampled_from([0, 6000, MIB]),
        st.sampled_from([76, 90, 200]),
    )
    def run(script: list[dict], sessions: int, prefix: int, budget: int) -> None:
        options = EngineOptions(
            sessions=sessions, prefix_cache_bytes=prefix, memory_budget_bytes=budget * MIB
        )
        asyncio.run(play(tmp_path, memory, options, script))

    run()

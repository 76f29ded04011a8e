"""The engine against a bare C-API greedy loop: the same model, threads and batches, in turns, in one process.

    python benchmarks/engine_speed.py MODEL.gguf --prompt 512 --tokens 128 --rounds 5

Prints tokens a second and the median of the rounds' ratios, then one JSON line.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

from roteiro.engine.engine import Engine, EngineOptions
from roteiro.engine.llama import LlamaBackend
from roteiro.engine.llama.binding import C
from roteiro.engine.request import GenerationFinished, GenerationRequest, SamplingParams
from roteiro.modelstore.gguf import read_header
from roteiro.modelstore.record import FileIdentity, ModelRecord

TEXT = "The quick brown fox jumps over the lazy dog, then rests beside the river. "
CONTEXT = 4096


def record_of(path: Path) -> ModelRecord:
    stat = path.stat()
    return ModelRecord(
        id=path.stem.lower(),
        path=path,
        parts=(path,),
        size=stat.st_size,
        kind="generative",
        header=read_header(path),
        identity=FileIdentity(size=stat.st_size, mtime_ns=stat.st_mtime_ns, sha256=""),
        source="benchmark",
        created=0,
    )


class BareLoop:
    """What there is without Roteiro: a batch, `llama_decode`, and the largest logit."""

    def __init__(self, path: Path, *, threads: int, n_batch: int) -> None:
        self._model = C.llama_model_load_from_file(os.fsencode(path), C.llama_model_default_params())
        self._threads = threads
        self._n_batch = n_batch

    def run(self, prompt: tuple[int, ...], count: int) -> tuple[float, float]:
        """Prefill and decode, in tokens a second."""
        params = C.llama_context_default_params()
        params.n_ctx = CONTEXT
        params.n_batch = params.n_ubatch = self._n_batch
        params.n_threads = params.n_threads_batch = self._threads
        params.n_outputs_max = 1
        context = C.llama_init_from_model(self._model, params)
        batch = C.llama_batch_init(self._n_batch, 0, 1)
        greedy = C.llama_sampler_init_greedy()
        started = time.perf_counter()
        for start in range(0, len(prompt), self._n_batch):
            part = prompt[start : start + self._n_batch]
            self._fill(batch, part, start, last=start + len(part) == len(prompt))
            assert C.llama_decode(context, batch) == 0
        token = C.llama_sampler_sample(greedy, context, -1)
        first = time.perf_counter()
        for position in range(len(prompt), len(prompt) + count - 1):
            self._fill(batch, (token,), position, last=True)
            assert C.llama_decode(context, batch) == 0
            token = C.llama_sampler_sample(greedy, context, -1)
        ended = time.perf_counter()
        C.llama_sampler_free(greedy)
        C.llama_batch_free(batch)
        C.llama_free(context)
        return len(prompt) / (first - started), (count - 1) / (ended - first)

    def _fill(self, batch: Any, tokens: tuple[int, ...], start: int, *, last: bool) -> None:
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            batch.token[index] = token
            batch.pos[index] = start + index
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = last and index == len(tokens) - 1


async def engine_run(
    engine: Engine, record: ModelRecord, prompt: tuple[int, ...], count: int
) -> tuple[float, float]:
    request = GenerationRequest(
        prompt=prompt,
        max_tokens=count,
        sampling=SamplingParams(temperature=0),
        cache_prompt=False,
    )
    async with engine.generate(record, request) as generation:
        async for event in generation:
            last = event
    assert isinstance(last, GenerationFinished)
    timings = last.timings
    assert timings.predicted_n == count, "the model ended early: choose fewer tokens"
    return (
        timings.prompt_n / timings.prompt_ms * 1000,
        (timings.predicted_n - 1) / timings.predicted_ms * 1000,
    )


async def compare(path: Path, *, prompt_tokens: int, count: int, rounds: int) -> None:
    record = record_of(path)
    engine = Engine(LlamaBackend(), EngineOptions(sessions=1))
    handle = await engine.vocabulary(record)
    tokens = await handle.tokenize(TEXT * (prompt_tokens // 8), parse_special=False)
    prompt = tokens[:prompt_tokens]
    bare = BareLoop(path, threads=engine.threads, n_batch=engine.prefill_batch)
    await engine_run(engine, record, prompt[:32], 4)
    prefill, decode = [], []
    for _ in range(rounds):
        ours = await engine_run(engine, record, prompt, count)
        theirs = bare.run(prompt, count)
        prefill.append(ours[0] / theirs[0])
        decode.append(ours[1] / theirs[1])
        print(
            f"prefill {ours[0]:7.1f} / {theirs[0]:7.1f} tokens/s   "
            f"decode {ours[1]:6.1f} / {theirs[1]:6.1f} tokens/s   (engine / bare)",
            flush=True,
        )
    await engine.aclose()
    result = {
        "model": record.id,
        "threads": engine.threads,
        "n_batch": engine.prefill_batch,
        "prefill_ratio": round(statistics.median(prefill), 3),
        "decode_ratio": round(statistics.median(decode), 3),
    }
    print(json.dumps(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    asyncio.run(
        compare(
            arguments.model,
            prompt_tokens=arguments.prompt,
            count=arguments.tokens,
            rounds=arguments.rounds,
        )
    )


if __name__ == "__main__":
    main()

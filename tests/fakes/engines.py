"""Engines over the scripted backend, and model records made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roteiro.engine.engine import Engine, EngineOptions
from roteiro.engine.request import (
    GenerationEvent,
    GenerationFinished,
    GenerationRequest,
    TokenChunk,
)
from roteiro.engine.scripted import Behaviour, Reply, ScriptedBackend, encode
from roteiro.modelstore.gguf import read_header
from roteiro.modelstore.record import FileIdentity, GgufHeader, ModelKind, ModelRecord

MIB = 2**20


def make_record(
    folder: Path,
    model_id: str = "scripted",
    *,
    size: int = 64 * MIB,
    window: int = 4096,
    kind: ModelKind = "generative",
) -> ModelRecord:
    """A record whose file exists (empty) and whose KV cache takes 1 KiB a token."""
    path = folder / f"{model_id}.gguf"
    path.touch()
    header = GgufHeader(
        architecture="llama",
        name=model_id,
        quantization="F16",
        context_length=window,
        embedding_length=64,
        vocabulary_size=265,
        tokenizer="gpt2",
        scalars={
            "llama.block_count": 4,
            "llama.attention.head_count": 1,
            "llama.attention.head_count_kv": 1,
        },
    )
    return ModelRecord(
        id=model_id,
        path=path,
        parts=(path,),
        size=size,
        kind=kind,
        header=header,
        identity=FileIdentity(size=size, mtime_ns=0, sha256=model_id),
        source="test",
        created=0,
    )


def make_engine(
    replies: Sequence[Reply | str] = (), *, behaviour: Behaviour | None = None, **options: Any
) -> tuple[Engine, ScriptedBackend]:
    backend = ScriptedBackend(replies, behaviour=behaviour)
    return Engine(backend, EngineOptions(**options)), backend


def ask(text: str, **fields: Any) -> GenerationRequest:
    return GenerationRequest(prompt=encode(text), **fields)


async def collect(engine: Engine, record: ModelRecord, request: GenerationRequest) -> list[GenerationEvent]:
    async with engine.generate(record, request) as generation:
        return [event async for event in generation]


def text_of(events: Sequence[GenerationEvent]) -> str:
    chunks = [event.text for event in events if isinstance(event, TokenChunk)]
    return "".join(chunks) + finished(events).text


def finished(events: Sequence[GenerationEvent]) -> GenerationFinished:
    last = events[-1]
    assert isinstance(last, GenerationFinished), events
    return last


async def say(engine: Engine, record: ModelRecord, text: str, **fields: Any) -> GenerationFinished:
    return finished(await collect(engine, record, ask(text, **fields)))


def record_of(path: Path, model_id: str = "", *, kind: ModelKind = "generative") -> ModelRecord:
    """A record of a real file, made without a model store."""
    stat = path.stat()
    return ModelRecord(
        id=model_id or path.stem.lower(),
        path=path,
        parts=(path,),
        size=stat.st_size,
        kind=kind,
        header=read_header(path),
        identity=FileIdentity(size=stat.st_size, mtime_ns=stat.st_mtime_ns, sha256=path.name),
        source="test",
        created=0,
    )

"""A whole server over the scripted backend: in process over ASGI, or behind a real socket in a thread."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from blockbuster import blockbuster_ctx

from fakes import gguf_files as g
from fakes.conversations import HERMES_TEMPLATE
from roteiro.config import load_config
from roteiro.engine.scripted import Behaviour, Reply, ScriptedBackend
from roteiro.modelstore.record import ModelRecord
from roteiro.runtime import Runtime, build_runtime
from roteiro.server.app import create_app
from roteiro.server.lifespan import Mounted
from roteiro.server.listen import listen
from roteiro.server.serve import Protocol, Server, run

CHAT = "chat-model"
EMBEDDER = "embed-model"
HELLO = [{"role": "user", "content": "hello"}]


async def admit_all(_record: ModelRecord) -> None:
    """Nothing here could harm a process."""


def make_runtime(
    folder: Path,
    replies: Sequence[Reply | str] = (),
    *,
    template: str = HERMES_TEMPLATE,
    behaviour: Behaviour | None = None,
    window: int = 4096,
    models: bool = True,
    **serve: Any,
) -> tuple[Runtime, ScriptedBackend]:
    """A runtime with one chat model and one embedder installed."""
    cli = {f"serve.{name}": value for name, value in serve.items()}
    config = load_config({"serve.memory_budget_mb": 4096, **cli}, cwd=folder)
    backend = ScriptedBackend(replies, behaviour=behaviour or Behaviour(n_ctx_train=window))
    runtime = build_runtime(config, backend=backend, admit=admit_all)
    if models:
        file = g.model(name="Chat").set("llama.context_length", g.U32, window)
        file.set("tokenizer.chat_template", g.STRING, template)
        runtime.models.import_file(file.write(folder / "in" / f"{CHAT}.gguf"))
        bert = g.model("bert", name="Embed").drop("tokenizer.chat_template")
        bert.set("bert.pooling_type", g.U32, 1)
        runtime.models.import_file(bert.write(folder / "in" / f"{EMBEDDER}.gguf"))
    return runtime, backend


@asynccontextmanager
async def client_of(runtime: Runtime, *, keys: Sequence[str] = ()) -> AsyncIterator[httpx.AsyncClient]:
    """A client straight into the application; nothing of Roteiro may block the loop. Closes the runtime."""
    transport = httpx.ASGITransport(create_app(runtime, keys=keys), raise_app_exceptions=False)
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8017", timeout=15
        ) as client:
            with blockbuster_ctx("roteiro"):
                yield client
    finally:
        await runtime.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server behind a real socket."""

    url: str
    runtime: Runtime
    backend: ScriptedBackend
    server: Server

    def client(self, **fields: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=15, **fields)

    def slots(self) -> list[dict[str, Any]]:
        with self.client() as client:
            return client.get("/slots").json()

    def busy(self) -> bool:
        state = self.runtime.engine.state()
        return bool(state.processing or state.queued)


@contextmanager
def serving(
    folder: Path, replies: Sequence[Reply | str] = (), *, addr: str = "127.0.0.1:0", **fields: Any
) -> Iterator[Served]:
    """Serve in a thread with an event loop of its own; stops gracefully at the end."""
    runtime, backend = make_runtime(folder, replies, **fields)
    with running(runtime, addr) as (server, url):
        yield Served(url=url, runtime=runtime, backend=backend, server=server)


@contextmanager
def running(
    runtime: Runtime, addr: str = "127.0.0.1:0", *, mounts: Mapping[str, Mounted] | None = None
) -> Iterator[tuple[Server, str]]:
    """Any runtime behind a real socket, closed at the end."""
    listening = listen(addr)
    app = create_app(runtime, mounts=mounts)
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=4,
    )
    started = threading.Event()
    server = Server(config, app, announce=started.set)
    thread = threading.Thread(target=lambda: run(server, listening), daemon=True)
    thread.start()
    try:
        assert started.wait(10)
        yield server, listening.url
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
        assert not thread.is_alive()


def events_of(text: str) -> list[Any]:
    """The data events of a stream's text; `[DONE]` stays as it is."""
    found = []
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("data: ")]
        for line in lines:
            payload = line.removeprefix("data: ")
            found.append(payload if payload == "[DONE]" else json.loads(payload))
    return found


def text_of(events: Sequence[Any], key: str = "content") -> str:
    """The joined deltas of choice 0."""
    chunks = [event for event in events if isinstance(event, dict)]
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    return "".join(choice["delta"].get(key) or "" for choice in choices)

"""The one place that wires objects: from a configuration to everything a front door needs.

No other module sees the whole `Config`; each object is given what it uses. Heavy libraries are imported
when their object is first used. Closed in reverse order. Thread: event loop.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Awaitable, Callable

from roteiro.config.schema import Config
from roteiro.conversation.ask import Ask, AskOptions
from roteiro.conversation.catalog import Catalog
from roteiro.conversation.embedding import Embedder
from roteiro.conversation.loop import Conversation
from roteiro.conversation.profile import Profiles
from roteiro.engine.absent import AbsentBackend
from roteiro.engine.backend import Backend
from roteiro.engine.engine import Engine, EngineOptions
from roteiro.errors import ConfigError, RoteiroError
from roteiro.modelstore.record import ModelRecord
from roteiro.modelstore.store import ModelStore
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import Briefer
from roteiro.tools.graph_tools import graph_registry

log = logging.getLogger("roteiro")

MIB = 2**20
PREFIX_FOLDER = "prefixes"
"""Under `$ROTEIRO_HOME`: where the prefix cache outlives the server."""
Admit = Callable[[ModelRecord], Awaitable[None]]


class Runtime:
    """Everything behind a front door.

    Attributes:
        config: the effective configuration.
        models: what is installed.
        catalog: which of it is served.
        engine: tokens in, events out.
        conversation: chat.
        embedder: embeddings.
        profiles: what is known of each model as a partner in conversation.
        graph: the code graph of the work tree; opened when first asked.
        tools: its queries as tools.
        missing: why no model can be used here, "" when one can.
    """

    def __init__(
        self,
        config: Config,
        backend: Backend,
        *,
        admit: Admit | None,
        missing: str,
        ask_options: AskOptions,
    ) -> None:
        self.config = config
        self.missing = missing
        self.models = ModelStore(config.paths.model_store)
        self.catalog = Catalog(self.models, names=config.serve.models, defaults=config.models)
        self.engine = Engine(backend, engine_options(config), admit=admit or self._admit)
        self.profiles = Profiles(self.engine)
        self.graph = GraphAccess(config.project_root)
        self.tools = graph_registry(self.graph, ignore=config.debt.ignore)
        briefer = Briefer(self.graph, ignore=config.debt.ignore)
        ask = Ask(self.engine, self.graph, self.tools, briefer, ask_options)
        self.conversation = Conversation(
            self.engine, self.catalog, self.profiles, ask if config.serve.tools else None
        )
        self.embedder = Embedder(self.engine, self.catalog)
        self._closed = False

    def __repr__(self) -> str:
        return f"<Runtime {self.models!r} {self.engine!r}>"

    async def warm(self) -> None:
        """Have ready what the first request would wait seconds for and what takes little memory.

        The default model's vocabulary, template and grammar tokenizer; no weights. What fails here is told
        to the request that needs it.
        """
        if self.missing:
            return
        try:
            record = await self.catalog.choose(None, "generative")
            profile = await self.profiles.get(record)
            await asyncio.to_thread(lambda: profile.guide.tokenizer)
        except RoteiroError as error:
            log.debug("nothing to have ready: %s", error)

    async def aclose(self) -> None:
        """Stop what runs and free everything; idempotent."""
        if not self._closed:
            self._closed = True
            await self.engine.aclose()
            self.graph.close()

    async def _admit(self, record: ModelRecord) -> None:
        """No file is given to the native library before a child process has survived it (ADR-0013)."""
        if not self.missing:
            await self.models.ensure_probed_async(record)


def build_runtime(
    config: Config,
    *,
    backend: Backend | None = None,
    admit: Admit | None = None,
    ask_options: AskOptions | None = None,
) -> Runtime:
    """Wire everything; loads no model and no native library.

    Args:
        config: the effective configuration.
        backend: the inference library; by default llama.cpp where it is installed.
        admit: decides whether a file may be loaded; by default the probe in a child process.
        ask_options: how Ask mode works; by default as measured.
    """
    missing = ""
    if backend is None:
        backend, missing = find_backend()
    return Runtime(config, backend, admit=admit, missing=missing, ask_options=ask_options or AskOptions())


def find_backend() -> tuple[Backend, str]:
    """llama.cpp, or the absent backend with what is missing and what brings it."""
    if importlib.util.find_spec("llama_cpp") is None:
        return (
            AbsentBackend(),
            "No model can be served: install the engine with pip install 'roteiro[llama]'.",
        )
    from roteiro.engine.llama import LlamaBackend

    return LlamaBackend(), ""


def engine_options(config: Config) -> EngineOptions:
    """What the engine needs of the configuration.

    Raises:
        ConfigError: a prefix cache is to be kept on disk and there is none.
    """
    serve = config.serve
    if serve.prefix_cache_disk_mb and not serve.prefix_cache_mb:
        raise ConfigError(
            [f"[serve] prefix_cache_disk_mb is {serve.prefix_cache_disk_mb}, but prefix_cache_mb is 0"],
            hint="Give the prefix cache some memory too (--prefix-cache-mb 512), or leave the disk out.",
            param="serve.prefix_cache_disk_mb",
        )
    return EngineOptions(
        memory_budget_bytes=serve.memory_budget_mb * MIB,
        max_context_tokens=serve.max_context_tokens,
        sessions=serve.sessions,
        prefix_cache_bytes=serve.prefix_cache_mb * MIB,
        prefix_disk_bytes=serve.prefix_cache_disk_mb * MIB,
        prefix_folder=config.paths.home / PREFIX_FOLDER,
        queue_limit=serve.queue_limit,
        threads=serve.threads,
        gpu_layers=serve.gpu_layers,
        sleep_idle_s=serve.sleep_idle_s,
    )

"""The effective configuration, after merging: plain frozen values, one class a section.

Components receive only their own section; only `runtime.py` sees the whole. Thread: any.
The keys' defaults, classes and meanings live in `keys.py`; the reference file is config/roteiro.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """`[serve]`. Sizes in MiB where the name says `_mb`, in seconds where it says `_s`.

    `models` None serves every installed model.
    `threads` and `gpu_layers` None mean: found out at start, with the reason logged.
    """

    addr: str
    models: tuple[str, ...] | None
    tools: bool
    memory_budget_mb: int
    max_context_tokens: int | None
    max_client_tool_bytes: int
    prefix_cache_mb: int
    prefix_cache_disk_mb: int
    sessions: int
    sleep_idle_s: float
    queue_limit: int
    request_timeout_s: float | None
    keepalive_s: float
    threads: int | None
    gpu_layers: int | None
    api_key_file: Path | None
    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsConfig:
    """`[models]`: the ids used when a request names none; None takes the first installed of the kind."""

    generative: str | None
    embedding: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtConfig:
    """`[debt]`: globs whose markers are left out, merged over the layers unless `ignore_reset`."""

    ignore: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathsConfig:
    """`[paths]` and what follows from `$ROTEIRO_HOME`."""

    home: Path
    model_store: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig:
    """`[mcp]`: names of the tools served (None: all) and whether `/mcp` is mounted beside `/v1`."""

    tools: tuple[str, ...] | None
    http: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """`[store]`: whether `model pull` may run without a prompt."""

    allow_pull: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything, frozen after loading. `project_root` is the work tree or folder the command runs in."""

    serve: ServeConfig
    models: ModelsConfig
    debt: DebtConfig
    paths: PathsConfig
    mcp: McpConfig
    store: StoreConfig
    project_root: Path

"""Every configuration key, declared once: name, default, class, how it is read and what it means.

The key's Python type carries its class, so a key cannot be without one (ADR-0003). The reference file
`config/roteiro.toml`, `roteiro config` and the flags of `roteiro serve` are held to this table by tests.
Pure data; thread: any.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from roteiro.config import readers as read

Reader = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What all classes of keys share.

    Attributes:
        name: `section.key`.
        read: turns a TOML value (or a flag's text) into ours, or raises ValueError with what it must be.
        default: the effective value where no layer sets the key.
        help: one sentence for the reference file and the flags.
        shown_default: how the default is written for people.
    """

    name: str
    read: Reader
    default: Any
    help: str
    shown_default: str | None = None
    class_name: ClassVar[str] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKey(Key):
    """The first layer that sets it decides: CLI, project, user, default.

    `project_refuses` says why a project file's value is not taken, or None when it is.
    """

    project_refuses: Callable[[Any], str | None] | None = None
    class_name: ClassVar[str] = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityKey(Key):
    """Granted by CLI, user or default; a project file may only lower it.

    `lower(grant, project)` meets the two and never exceeds the grant.
    """

    lower: Callable[[Any, Any], Any]
    class_name: ClassVar[str] = "capability"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOnlyKey(Key):
    """CLI, user or default; a project file's entry is refused with a warning."""

    class_name: ClassVar[str] = "user only"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntersectionKey(Key):
    """Every layer may narrow the set and none may widen it; None is everything."""

    class_name: ClassVar[str] = "intersection"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedListKey(Key):
    """The layers' lists add up, unless `reset` is set, which drops the layers below its own."""

    reset: str
    class_name: ClassVar[str] = "value"


def _only_loopback(addr: str) -> str | None:
    if addr.startswith("unix:"):
        return None
    host = read.split_address(addr)[0]
    if host == "localhost" or _is_loopback(host):
        return None
    return "a project file may bind loopback addresses only"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _both(grant: bool, project: bool) -> bool:
    return grant and project


KEYS: tuple[Key, ...] = (
    ValueKey(
        name="serve.addr",
        read=read.address,
        default="127.0.0.1:8017",
        help="Where to listen: HOST:PORT, or unix:/path.sock.",
        project_refuses=_only_loopback,
    ),
    ValueKey(
        name="serve.models",
        read=read.optional_names,
        default=None,
        shown_default="all installed",
        help="Which installed models are served, by id.",
    ),
    ValueKey(
        name="serve.tools",
        read=read.boolean,
        default=True,
        help="Hand the graph's queries to the served model as tools.",
    ),
    ValueKey(
        name="serve.memory_budget_mb",
        read=read.at_least(1),
        default=None,
        shown_default="half of RAM",
        help="MiB for loaded models, kept sessions and the running request.",
    ),
    ValueKey(
        name="serve.max_context_tokens",
        read=read.at_least(1),
        default=None,
        shown_default="each model's trained window",
        help="Lowers every model's context window, in tokens.",
    ),
    CapabilityKey(
        name="serve.max_client_tool_bytes",
        read=read.at_least(0),
        default=32768,
        lower=min,
        help="Most bytes of a request's tools array, as compact JSON; 0 admits none.",
    ),
    ValueKey(
        name="serve.prefix_cache_mb",
        read=read.at_least(0),
        default=0,
        help="MiB of host memory for snapshots of prompt prefixes; 0 is off.",
    ),
    CapabilityKey(
        name="serve.prefix_cache_disk_mb",
        read=read.at_least(0),
        default=0,
        lower=min,
        help="MiB of disk where those snapshots outlive the server; they hold what prompts said. 0 is off.",
    ),
    ValueKey(
        name="serve.sessions",
        read=read.at_least(1),
        default=4,
        help="Live contexts kept per loaded model, inside the memory budget.",
    ),
    ValueKey(
        name="serve.sleep_idle_s",
        read=read.seconds,
        default=0.0,
        help="Unload models after so many seconds without work; 0 is never.",
    ),
    ValueKey(
        name="serve.queue_limit",
        read=read.at_least(1),
        default=64,
        help="Requests that may wait for the engine; one more is told to retry (503).",
    ),
    ValueKey(
        name="serve.request_timeout_s",
        read=read.seconds,
        default=None,
        shown_default="none",
        help="Hard stop for one request, in seconds.",
    ),
    ValueKey(
        name="serve.keepalive_s",
        read=read.positive_seconds,
        default=10.0,
        help="Seconds of silence after which a stream gets an SSE comment.",
    ),
    ValueKey(
        name="serve.threads",
        read=read.auto_or_at_least(1),
        default=None,
        shown_default="auto",
        help="Threads that evaluate tokens.",
    ),
    ValueKey(
        name="serve.gpu_layers",
        read=read.auto_or_at_least(0),
        default=None,
        shown_default="auto",
        help="Layers put on a GPU.",
    ),
    UserOnlyKey(
        name="serve.api_key_file",
        read=read.path,
        default=None,
        shown_default="none",
        help="File whose lines are the API keys that requests must carry.",
    ),
    UserOnlyKey(
        name="serve.allowed_hosts",
        read=read.names,
        default=(),
        shown_default="loopback names",
        help="Host names that requests may address besides loopback ones.",
    ),
    UserOnlyKey(
        name="serve.allowed_origins",
        read=read.names,
        default=(),
        shown_default="none",
        help="Web origins that may call the server from a browser.",
    ),
    ValueKey(
        name="models.generative",
        read=read.name,
        default=None,
        shown_default="first installed",
        help="Model used for chats that name none.",
    ),
    ValueKey(
        name="models.embedding",
        read=read.name,
        default=None,
        shown_default="first installed",
        help="Model used for embeddings that name none.",
    ),
    MergedListKey(
        name="debt.ignore",
        read=read.names,
        default=(),
        reset="debt.ignore_reset",
        help="Globs of paths whose debt markers are left out.",
    ),
    ValueKey(
        name="debt.ignore_reset",
        read=read.boolean,
        default=False,
        help="Drop the lower layers' debt.ignore.",
    ),
    UserOnlyKey(
        name="paths.model_store",
        read=read.path,
        default=None,
        shown_default="$ROTEIRO_HOME/models",
        help="Folder of the installed models.",
    ),
    IntersectionKey(
        name="mcp.tools",
        read=read.optional_names,
        default=None,
        shown_default="all",
        help="Graph tools that are served over MCP; every layer may narrow, none widen.",
    ),
    CapabilityKey(
        name="mcp.http",
        read=read.boolean,
        default=False,
        lower=_both,
        help="Serve MCP at /mcp beside /v1.",
    ),
    CapabilityKey(
        name="store.allow_pull",
        read=read.boolean,
        default=False,
        lower=_both,
        help="Let `roteiro model pull` run without asking.",
    ),
)

BY_NAME: dict[str, Key] = {key.name: key for key in KEYS}
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(key.name.split(".")[0] for key in KEYS))

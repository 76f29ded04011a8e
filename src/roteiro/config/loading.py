"""Loads the configuration: files to layers, layers to effective values, values to `Config`.

The one function that other packages call is `load_config`. Reads files; thread: any but the event loop.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roteiro.config import paths
from roteiro.config.layers import Layer, cli_layer, read_file
from roteiro.config.merge import Effective, merge
from roteiro.config.schema import (
    Config,
    DebtConfig,
    McpConfig,
    ModelsConfig,
    PathsConfig,
    ServeConfig,
    StoreConfig,
)

log = logging.getLogger("roteiro.config")

MIB = 2**20
# Used where the operating system does not say how much memory there is.
FALLBACK_BUDGET_MB = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """The configuration with how it came about."""

    config: Config
    entries: Mapping[str, Effective]
    warnings: tuple[str, ...]


def load_config(cli: Mapping[str, Any] | None = None, *, cwd: Path | None = None) -> Config:
    """The effective configuration; warnings go to the `roteiro.config` logger.

    Args:
        cli: values of flags by full key name (`serve.addr`); None values mean "not given".
        cwd: folder whose project file applies; the working folder by default.

    Raises:
        ConfigError: a file or value that cannot be used, with file, line and key.
    """
    loaded = load(cli, cwd=cwd)
    for warning in loaded.warnings:
        log.warning("%s", warning)
    return loaded.config


def load(
    cli: Mapping[str, Any] | None = None,
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedConfig:
    """As `load_config`, with origins and warnings as values."""
    environ = os.environ if environ is None else environ
    folder = (cwd or Path.cwd()).absolute()
    home = paths.home_folder(environ)
    layers = [cli_layer(cli or {}), read_file(home / paths.USER_FILE, "user")]
    project = paths.project_file(folder)
    if project is not None:
        layers.append(read_file(project, "project"))
    entries = _found_out(merge(layers), home)
    root = paths.work_tree_root(folder) or folder
    config = _config(entries, home=home, root=root)
    return LoadedConfig(config=config, entries=entries, warnings=_warnings(layers, entries))


def memory_budget_mb() -> int:
    """Half of the machine's memory in MiB."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return FALLBACK_BUDGET_MB
    return int(max(1, total // 2 // MIB))


# ------------------------------------------------------------------------------------------------


def _warnings(layers: list[Layer], entries: Mapping[str, Effective]) -> tuple[str, ...]:
    unknown = [warning for layer in layers for warning in layer.warnings]
    refused = [
        f"{item.where or item.layer}: {name} = {item.value!r} is not taken: {item.why}"
        for name, entry in entries.items()
        for item in entry.overruled
        if item.layer == "project" and "project file may" in item.why
    ]
    return (*unknown, *refused)


def _found_out(entries: dict[str, Effective], home: Path) -> dict[str, Effective]:
    """Fill in the defaults that depend on the machine, so that what is shown is what is in force."""
    computed: dict[str, Any] = {
        "serve.memory_budget_mb": memory_budget_mb(),
        "paths.model_store": home / "models",
    }
    for name, value in computed.items():
        if entries[name].value is None:
            entries[name] = replace(entries[name], value=value)
    return entries


def _config(entries: Mapping[str, Effective], *, home: Path, root: Path) -> Config:
    def section(name: str) -> dict[str, Any]:
        prefix = f"{name}."
        return {k.removeprefix(prefix): e.value for k, e in entries.items() if k.startswith(prefix)}

    return Config(
        serve=ServeConfig(**section("serve")),
        models=ModelsConfig(**section("models")),
        debt=DebtConfig(ignore=entries["debt.ignore"].value),
        paths=PathsConfig(home=home, model_store=entries["paths.model_store"].value or home / "models"),
        mcp=McpConfig(**section("mcp")),
        store=StoreConfig(**section("store")),
        project_root=root,
    )

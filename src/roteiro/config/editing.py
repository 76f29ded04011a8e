"""Writes one key into a configuration file, keeping a backup and never dropping a comment unasked.

Writes files; thread: any but the event loop.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import tomli_w

from roteiro.config.explain import plain
from roteiro.config.keys import BY_NAME, Key, UserOnlyKey, ValueKey
from roteiro.config.layers import LayerName, read_file
from roteiro.errors import ConfigError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What `set_key` did. `line` is the TOML for the key; `written` False leaves adding it to the user."""

    path: Path
    line: str
    written: bool
    backup: Path | None = None


def set_key(path: Path, layer: LayerName, name: str, text: str, *, rewrite: bool = False) -> Edit:
    """Set `name` to `text` (a TOML value, or plain text) in the file at `path`.

    A file with comments is left alone unless `rewrite`, since writing it anew would drop them.

    Raises:
        UsageError: the key does not exist, or this layer may not set it.
        ConfigError: the value is of the wrong kind, or the file cannot be read as it is or written.
    """
    key = _known(name)
    value = _checked(key, text)
    _allowed(key, layer, value)
    read_file(path, layer)  # a malformed file is reported, not overwritten
    section, option = name.split(".")
    line = f"[{section}]\n{tomli_w.dumps({option: plain(value)}).strip()}"
    old = path.read_text("utf-8") if path.exists() else ""
    if _has_comment(old) and not rewrite:
        return Edit(path=path, line=line, written=False)
    document = tomllib.loads(old)
    document.setdefault(section, {})[option] = plain(value)
    try:
        backup = _write(path, old, tomli_w.dumps(document))
    except OSError as error:
        raise ConfigError([f"{path} cannot be written: {error.strerror or error}"]) from error
    return Edit(path=path, line=line, written=True, backup=backup)


# ------------------------------------------------------------------------------------------------


def _known(name: str) -> Key:
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, n=3)
        hint = f"Did you mean: {', '.join(near)}?" if near else "`roteiro config` lists every key."
        raise UsageError(f"There is no configuration key {name!r}.", hint=hint)
    return BY_NAME[name]


def _checked(key: Key, text: str) -> Any:
    try:
        raw = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        raw = text
    try:
        value = key.read(raw)
    except ValueError as error:
        raise ConfigError([f"{key.name} {error}; it is {text!r}"], param=key.name) from error
    return "all" if value is None and raw == "all" else "auto" if value is None else value


def _allowed(key: Key, layer: LayerName, value: Any) -> None:
    if layer != "project":
        return
    if isinstance(key, UserOnlyKey):
        raise UsageError(
            f"{key.name} may not be set by a project file.",
            hint="Leave out --project to set it for yourself.",
        )
    if isinstance(key, ValueKey) and key.project_refuses and (why := key.project_refuses(value)):
        raise UsageError(
            f"{key.name} = {value!r} is not taken: {why}.", hint="Leave out --project to set it for yourself."
        )


def _has_comment(text: str) -> bool:
    """Whether the document holds a comment: a `#` outside of strings."""
    try:
        without = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        if without != text.rstrip("\n"):
            return True
        return any(_trailing_comment(line) for line in text.splitlines())
    except tomllib.TOMLDecodeError:
        return True


def _trailing_comment(line: str) -> bool:
    quote = ""
    for char in line:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return True
    return False


def _write(path: Path, old: str, new: str) -> Path | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if old:
        backup = path.with_suffix(path.suffix + ".bak")
        backup.write_text(old, "utf-8")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(new)
        file.flush()
        os.fsync(file.fileno())
    Path(temporary).replace(path)
    return backup

"""Reads configuration files into layers: which keys a file sets, to what, and on which line.

A file that cannot be parsed, or a value of the wrong kind, is an error that names file, line and key.
An unknown key is a warning. Reads files; thread: any but the event loop.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from roteiro.config.keys import BY_NAME, SECTIONS
from roteiro.errors import ConfigError

LayerName = Literal["cli", "project", "user"]

# A configuration of ours has a few hundred bytes; a project file is untrusted input.
MAX_FILE_BYTES = 1 << 20

_HEADER = re.compile(r"^\s*\[\s*([A-Za-z0-9_.\"'-]+)\s*\]")
_ASSIGNMENT = re.compile(r"^\s*([A-Za-z0-9_.\"'-]+)\s*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The keys one layer sets. `where` gives `file:line` by key, for messages."""

    name: LayerName
    values: Mapping[str, Any]
    where: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read_file(path: Path, name: LayerName) -> Layer:
    """Read one file; a missing one is an empty layer.

    Raises:
        ConfigError: the file is not readable, not TOML, or holds a value of the wrong kind.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return Layer(name=name, values={})
    except OSError as error:
        raise ConfigError([f"{path} cannot be read: {error.strerror}"]) from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError([f"{path} is larger than {MAX_FILE_BYTES} bytes"])
    return _layer(_parse(data, path), data.decode("utf-8"), path, name)


def cli_layer(values: Mapping[str, Any]) -> Layer:
    """The layer of the flags given; None means the flag was not given."""
    given = {key: value for key, value in values.items() if value is not None}
    checked, mistakes = {}, []
    for key, value in given.items():
        try:
            checked[key] = BY_NAME[key].read(value)
        except ValueError as error:
            flag = "--" + key.split(".")[1].replace("_", "-")
            mistakes.append(f"{flag} {error}; it is {value!r}")
    if mistakes:
        raise ConfigError(mistakes)
    return Layer(name="cli", values=checked)


# ------------------------------------------------------------------------------------------------


def _parse(data: bytes, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError([f"{path}:{line}: not UTF-8"]) from error
    except tomllib.TOMLDecodeError as error:
        line_match = re.search(r"line (\d+)", str(error))
        line = int(line_match[1]) if line_match else data.count(b"\n") + 1
        raise ConfigError([f"{path}:{line}: not valid TOML: {error}"]) from error
    except RecursionError as error:
        raise ConfigError([f"{path}: nested too deeply"]) from error


def _layer(document: dict[str, Any], text: str, path: Path, name: LayerName) -> Layer:
    values: dict[str, Any] = {}
    where: dict[str, str] = {}
    mistakes: list[str] = []
    warnings: list[str] = []
    for section, table in document.items():
        if section not in SECTIONS:
            warnings.append(_unknown(path, _line(text, section, None), f"[{section}]", SECTIONS))
            continue
        if not isinstance(table, dict):
            mistakes.append(f"{path}:{_line(text, section, None)}: [{section}] must be a table")
            continue
        for key, raw in table.items():
            full, line = f"{section}.{key}", _line(text, section, key)
            if full not in BY_NAME:
                warnings.append(_unknown(path, line, full, tuple(BY_NAME)))
                continue
            try:
                values[full] = BY_NAME[full].read(raw)
                where[full] = f"{path}:{line}"
            except ValueError as error:
                mistakes.append(f"{path}:{line}: {full} {error}; it is {raw!r}")
    if mistakes:
        raise ConfigError(mistakes, hint="`roteiro config` shows every key and its class.")
    return Layer(name=name, values=values, where=where, warnings=tuple(warnings))


def _unknown(path: Path, line: int, what: str, known: tuple[str, ...]) -> str:
    near = get_close_matches(what.strip("[]"), known, n=1)
    ask = f"; did you mean {near[0]}?" if near else ""
    return f"{path}:{line}: unknown key {what} is ignored{ask}"


def _line(text: str, section: str, key: str | None) -> int:
    """The line on which `[section]` or its `key` is written; the section's line if the key is inline."""
    current, section_line = "", 1
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            current = header[1].strip("\"'")
            if current == section:
                section_line = number
                if key is None:
                    return number
        elif assignment := _ASSIGNMENT.match(line):
            written = assignment[1].replace('"', "").replace("'", "")
            full = f"{current}.{written}" if current else written
            if full == (f"{section}.{key}" if key else section):
                return number
            if not current and written == section:
                section_line = number
    return section_line

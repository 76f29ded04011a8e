"""Says of every key what is in force, its class, where it came from and what was overruled.

Pure: turns effective values into rows; printing is the CLI's. Thread: any.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from roteiro.config.merge import Effective


def to_json(entries: Mapping[str, Effective]) -> dict[str, Any]:
    """`{keys: [{key, value, class, origin, overruled: [{layer, value, why}]}]}`."""
    return {
        "keys": [
            {
                "key": name,
                "value": plain(entry.value),
                "class": entry.key.class_name,
                "origin": entry.origin,
                "overruled": [
                    {"layer": item.layer, "value": plain(item.value), "why": item.why}
                    for item in entry.overruled
                ],
            }
            for name, entry in entries.items()
        ]
    }


def shown(entry: Effective) -> str:
    """The effective value for people, with the words for a default that is not a plain value."""
    words = entry.key.shown_default if entry.origin == "default" else None
    if words is None:
        return _text(entry.value)
    return words if entry.value in (None, ()) else f"{_text(entry.value)} ({words})"


def plain(value: Any) -> Any:
    """The value as JSON and TOML know it."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(value) + "]"
    return str(value)

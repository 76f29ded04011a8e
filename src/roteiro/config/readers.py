"""How a key's raw value becomes ours. Each reader raises ValueError that says what the value must be.

Values come from TOML (already typed) or from a flag. Pure; thread: any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any


def boolean(value: Any) -> bool:
    """`true` or `false`."""
    if isinstance(value, bool):
        return value
    raise ValueError("must be true or false")


def at_least(low: int) -> Callable[[Any], int]:
    """A whole number, `low` or more (and below 2^53, which JSON and TOML agree on)."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**53:
            raise ValueError(f"must be a whole number of at least {low}")
        return value

    return read


def auto_or_at_least(low: int) -> Callable[[Any], int | None]:
    """A whole number of at least `low`, or "auto" (None)."""
    number = at_least(low)

    def read(value: Any) -> int | None:
        if value == "auto":
            return None
        try:
            return number(value)
        except ValueError:
            raise ValueError(f'must be "auto" or a whole number of at least {low}') from None

    return read


def seconds(value: Any) -> float:
    """A finite number of seconds, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("must be a number of seconds, 0 or more")
    return float(value)


def positive_seconds(value: Any) -> float:
    """A finite number of seconds above 0."""
    result = seconds(value)
    if result == 0:
        raise ValueError("must be a number of seconds above 0")
    return result


def name(value: Any) -> str:
    """Non-empty text."""
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError("must be non-empty text")


def names(value: Any) -> tuple[str, ...]:
    """A list of non-empty texts."""
    if isinstance(value, list | tuple) and all(isinstance(v, str) and v.strip() for v in value):
        return tuple(value)
    raise ValueError("must be a list of non-empty texts")


def optional_names(value: Any) -> tuple[str, ...] | None:
    """A list of non-empty texts, or "all" (None)."""
    if value == "all":
        return None
    try:
        return names(value)
    except ValueError:
        raise ValueError('must be "all" or a list of non-empty texts') from None


def path(value: Any) -> Path:
    """A path; `~` is the home folder."""
    if isinstance(value, Path):
        return value.expanduser()
    return Path(name(value)).expanduser()


def address(value: Any) -> str:
    """`HOST:PORT`, `[IPv6]:PORT` or `unix:/path.sock`."""
    text = name(value)
    if text.startswith("unix:"):
        if not Path(text.removeprefix("unix:")).is_absolute():
            raise ValueError("must name an absolute path after unix:")
        return text
    split_address(text)
    return text


def split_address(text: str) -> tuple[str, int]:
    """Host (without brackets) and port of `HOST:PORT`; ValueError when it is not one."""
    host, separator, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    bare = host[1:-1] if bracketed else host
    plain = bare and (bracketed or ":" not in bare)
    if not (separator and plain and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise ValueError("must be HOST:PORT (IPv6 in brackets) or unix:/path.sock")
    return bare, int(port)

"""Every call form Roteiro reads and writes, in the order in which they are tried.

Stricter and marked forms come first, forms that are marked by nothing but their grammar last.
Thread: any.
"""

from __future__ import annotations

from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.dialects.hermes import HERMES

ALL: tuple[Dialect, ...] = (HERMES,)


def by_name(name: str) -> Dialect | None:
    """The dialect with that name, or None."""
    return next((dialect for dialect in ALL if dialect.name == name), None)

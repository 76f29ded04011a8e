"""Limit and offset, the same for every listing: 0 is no limit, and neither may be negative."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

from roteiro.errors import UsageError

T = TypeVar("T")


def checked_page(limit: int, offset: int) -> None:
    """Refuse a page that cannot mean anything.

    Raises:
        UsageError: a negative limit or offset.
    """
    for name, value in (("limit", limit), ("offset", offset)):
        if value < 0:
            raise UsageError(
                f"The {name} is {value}; it cannot be negative.",
                hint="A limit of 0 is no limit." if name == "limit" else "The first item is at 0.",
                param=name,
            )


def page(items: Sequence[T], *, limit: int, offset: int) -> Sequence[T]:
    """The items of one page."""
    return items[offset : offset + limit] if limit else items[offset:]


def checked_choice(value: str, choices: Sequence[T], *, what: str) -> T:
    """The choice that a text names.

    Raises:
        UsageError: it names none; the message lists them.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise UsageError(
        f"{value!r} is no {what}.", hint=f"Choose from: {', '.join(map(str, choices))}.", param=what
    )


def checked_choices(values: Collection[str], choices: Sequence[T], *, what: str) -> tuple[T, ...]:
    """The choices that texts name, each once.

    Raises:
        UsageError: one names none.
    """
    return tuple(dict.fromkeys(checked_choice(value, choices, what=what) for value in values))

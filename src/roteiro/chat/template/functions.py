"""Filters and functions that chat templates expect beside Jinja's own, and bounded forms of those that grow.

Knows no Jinja: plain functions over plain values. Thread: the one that renders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from roteiro.chat import numbers
from roteiro.chat.template.budget import MAX_INTEGER_BITS, BudgetExceeded, current

# A width or precision in a format specification: more digits than this pad without end.
_WIDE_FORMAT = re.compile(r"\d{4,}|\*")
_MAX_WIDTH = 1_000
# How a template may change a list or a dictionary that is its own.
_CHANGES: dict[type, frozenset[str]] = {
    list: frozenset({"append", "clear", "extend", "insert", "pop", "remove", "reverse"}),
    dict: frozenset({"clear", "pop", "setdefault", "update"}),
}
_CHANGE = re.compile(r"\b(?:" + "|".join(sorted(frozenset().union(*_CHANGES.values()))) + r")\b")
# A reference in a list or a dictionary takes the room of so many characters.
_REFERENCE = 8
_PADDING_METHODS = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs"})


class TemplateRaised(Exception):
    """The template itself called `raise_exception`; the message is its own."""


def raise_exception(message: object = "") -> None:
    """End the rendering with the template's own words."""
    raise TemplateRaised(str(message))


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: Any = None,
    sort_keys: bool = False,
) -> str:
    """`tojson` as chat templates mean it: no HTML escapes, keys in their order, text as it is."""
    current().step()
    if isinstance(indent, int) and indent > 16:
        message = f"tojson was asked to indent by {indent}"
        raise BudgetExceeded(message)
    weigh(value)
    text = numbers.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=tuple(separators) if separators is not None else None,
        sort_keys=sort_keys,
        default=_json_default,
    )
    current().grow(len(text))
    return text


def _json_default(value: object) -> object:
    """Undefined values are null, other iterables are arrays: both occur in published templates."""
    if type(value).__name__.endswith("Undefined"):
        return None
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    message = f"{type(value).__name__} has no JSON form"
    raise TypeError(message)


def weigh(value: Any) -> None:
    """Count what printing a value visits: a few lines can build a list of a billion parts out of two."""
    current().step()
    if isinstance(value, Mapping):
        for member in value.values():
            weigh(member)
    elif isinstance(value, list | tuple):
        for member in value:
            weigh(member)


def to_string(value: Any) -> str:
    """The `string` filter."""
    if isinstance(value, str):
        return value
    weigh(value)
    return str(value)


def from_json(text: str) -> Any:
    """The value that a JSON text stands for."""
    current().grow(len(text))
    return numbers.loads(text)


def items(value: Any) -> list[tuple[Any, Any]]:
    """Key and value pairs of a mapping; none of anything that is undefined."""
    if isinstance(value, Mapping):
        return list(value.items())
    if type(value).__name__.endswith("Undefined"):
        return []
    message = f"{type(value).__name__} has no items"
    raise TypeError(message)


def replace(text: Any, old: Any, new: Any, count: int | None = None) -> str:
    """Replace `old` by `new`, after seeing how long the outcome would be."""
    source, before, after = str(text), str(old), str(new)
    current().step()
    _announce_replace(source, before, after)
    return source.replace(before, after, -1 if count is None else count)


def indent(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """Indent every line but the first."""
    source = str(text)
    pad = width if isinstance(width, str) else " " * min(int(width), _MAX_WIDTH)
    current().grow(len(source) + (source.count("\n") + 1) * len(pad))
    lines = source.split("\n")
    padded = [
        pad + line if (number or first) and (line or blank) else line for number, line in enumerate(lines)
    ]
    return "\n".join(padded)


def join(values: Iterable[Any], separator: Any = "", attribute: str | None = None) -> str:
    """Join texts, announcing the length first."""
    texts = [to_string(_member(value, attribute) if attribute else value) for value in values]
    glue = str(separator)
    current().step(len(texts))
    current().grow(sum(map(len, texts)) + len(glue) * len(texts))
    return glue.join(texts)


def join_parts(values: list[Any]) -> str:
    """What `~` does."""
    return join(values)


def _member(value: Any, attribute: str) -> Any:
    return value.get(attribute, "") if isinstance(value, Mapping) else ""


def count_rounds(values: Any) -> Any:
    """Wrapped around whatever a loop runs over: each round is a step."""
    budget = current()
    if isinstance(values, list | tuple | dict | str):
        budget.step(len(values) + 1)
        return values
    if isinstance(values, Iterable):
        return _counted(values)
    return values


def _counted(values: Iterable[Any]) -> Iterable[Any]:
    budget = current()
    for value in values:
        budget.step()
        yield value


def binary_operation(operator: str, left: Any, right: Any, apply: Callable[[Any, Any], Any]) -> Any:
    """Apply `+ * ** %` after refusing what would explode."""
    budget = current()
    budget.step()
    if operator == "+" and _sized(left) and _sized(right):
        budget.grow(len(left) + len(right))
    elif operator == "*":
        _announce_product(left, right)
    elif operator == "**":
        _announce_power(left, right)
    elif operator == "%" and isinstance(left, str):
        check_format(left)
        weigh(right)
    return apply(left, right)


def _sized(value: Any) -> bool:
    return isinstance(value, str | list | tuple)


def _announce_product(left: Any, right: Any) -> None:
    for value, times in ((left, right), (right, left)):
        if _sized(value) and isinstance(times, int):
            current().grow(len(value) * max(times, 0))
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())


def _announce_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() * abs(right))


def _check_bits(bits: int) -> None:
    if bits > MAX_INTEGER_BITS:
        message = f"it computed a number of more than {MAX_INTEGER_BITS} bits"
        raise BudgetExceeded(message)


def check_format(text: str) -> None:
    """Refuse format texts whose widths pad without bound."""
    if _WIDE_FORMAT.search(text):
        message = "it used a format text with a very wide field"
        raise BudgetExceeded(message)


def check_call(function: Any, arguments: tuple[Any, ...]) -> None:
    """Look at a call before it is made: a step, and methods of text that grow are announced."""
    current().step()
    owner = getattr(function, "__self__", None)
    if isinstance(owner, list | dict):
        _check_change(function.__name__, arguments)
    if not isinstance(owner, str):
        return
    name = function.__name__
    if name in _PADDING_METHODS and any(isinstance(value, int) and value > _MAX_WIDTH for value in arguments):
        message = f"it called {name} with a very wide field"
        raise BudgetExceeded(message)
    if name == "replace" and len(arguments) >= 2:
        _announce_replace(owner, str(arguments[0]), str(arguments[1]))
    elif name == "join" and arguments and isinstance(arguments[0], list | tuple):
        texts = arguments[0]
        current().grow(sum(len(str(text)) for text in texts) + len(owner) * len(texts))
    else:
        current().grow(len(owner))


def mentions_change(source: str) -> bool:
    """Whether a template's text names a method that changes a list or a dictionary."""
    return _CHANGE.search(source) is not None


def is_change(owner: Any, method: str) -> bool:
    """Whether it is one of the changes that a template may make to what is its own."""
    return method in _CHANGES.get(type(owner), ())


def copied(value: Any) -> Any:
    """A value whose lists and dictionaries are nobody else's."""
    if isinstance(value, Mapping):
        return {key: copied(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [copied(member) for member in value]
    return value


def _check_change(name: str, arguments: tuple[Any, ...]) -> None:
    """Announce what a list or dictionary gains; what has no length could go on for ever."""
    current().grow(_REFERENCE)
    if name not in {"extend", "update"}:
        return
    for value in arguments:
        if not isinstance(value, list | tuple | dict | str):
            message = f"it called {name} with {type(value).__name__}"
            raise BudgetExceeded(message)
        current().grow(_REFERENCE * len(value))


def _announce_replace(source: str, before: str, after: str) -> None:
    occurrences = source.count(before)
    current().grow(len(source) + occurrences * max(len(after) - len(before), 0))

"""Reads the texts of types that facts keep: `Optional[Foo]`, `dict[str,list[Foo]]`, `A|B`.

Pure text; what the names mean is for others. Thread: any.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_TRANSPARENT: Final = frozenset(
    {
        "Optional", "Union", "Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly",
        "Awaitable", "Coroutine", "Promise", "Readonly", "Partial", "NonNullable", "Box", "Rc", "Arc",
        "Ref", "RefMut", "Cow", "Pin", "Option", "Result", "Task", "ValueTask", "Nullable", "InitVar",
        "shared_ptr", "unique_ptr", "std.shared_ptr", "std.unique_ptr", "weak_ptr", "std.weak_ptr",
        "PromiseLike", "RefCell", "Mutex", "RwLock", "Lazy",
    }
)  # fmt: skip
_LAST: Final = frozenset({"Coroutine"})
_FIRST: Final = frozenset({"Annotated", "Result"})
_PAIRS: Final = frozenset(
    {
        "dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "Map", "HashMap",
        "BTreeMap", "Record", "Dictionary", "map", "unordered_map",
    }
)  # fmt: skip
_MAX_PARTS: Final = 12


@lru_cache(maxsize=16384)
def alternatives(text: str) -> tuple[str, ...]:
    """The types that a text may stand for: unions opened, wrappers that pass their members on removed."""
    found: list[str] = []
    waiting = [text]
    while waiting and len(found) < _MAX_PARTS:
        part = waiting.pop(0).strip()
        pieces = split(part, "|")
        if len(pieces) > 1:
            waiting = pieces + waiting
            continue
        head, args = head_and_arguments(part)
        if args and (head in _TRANSPARENT or head.rpartition(".")[2] in _TRANSPARENT):
            short = head.rpartition(".")[2]
            if short in _LAST:
                args = args[-1:]
            elif short in _FIRST:
                args = args[:1]
            waiting = list(args) + waiting
        elif part:
            found.append(part)
    return tuple(found)


@lru_cache(maxsize=16384)
def head_and_arguments(text: str) -> tuple[str, tuple[str, ...]]:
    """`dict[str,Foo]` is `dict` and (`str`, `Foo`); a suffix `Foo[]` is `list` and (`Foo`)."""
    opening = text.find("[")
    if opening < 0:
        return text, ()
    if text.endswith("[]"):
        return "list", (text[:-2],)
    if opening == 0 and text.startswith("[]"):
        return "list", (text[2:],)
    if not text.endswith("]"):
        return text[:opening], ()
    return text[:opening], tuple(split(text[opening + 1 : -1], ","))


def split(text: str, mark: str) -> list[str]:
    """The parts between marks that stand outside brackets."""
    if mark not in text:
        return [text] if text else []
    parts, depth, begin = [], 0, 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == mark and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    parts.append(text[begin:])
    return [part for part in parts if part]


def element(text: str, step: str) -> str:
    """The type of an element: `[]` of a mapping is its value, iterating over it (`f`) gives its keys."""
    head, args = head_and_arguments(text)
    if not args:
        return ""
    short = head.rpartition(".")[2]
    if short in _PAIRS and len(args) > 1:
        return args[0] if step == "f" else args[1]
    if short in {"Callable", "Literal", "TypeVar"}:
        return ""
    return args[0]

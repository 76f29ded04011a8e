"""What differs between languages when names are resolved: one row each.

Pure data. Thread: any.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a language finds names.

    `implicit_members`: a bare name in a method may be a member of its type. `class_scope`: what a type's
    body binds is visible by bare name in its methods. `explicit_self`: a method's first parameter is the
    receiver. `packages`: files of one folder (`folder`) or of one declared package (`declared`) share names.
    `open_names`: a bare name that nothing explains may be any file-level function of that name (C).
    """

    family: str
    builtins: frozenset[str] = frozenset()
    self_names: frozenset[str] = frozenset({"this"})
    super_names: frozenset[str] = frozenset({"super"})
    constructor: str = ""
    implicit_members: bool = False
    class_scope: bool = False
    explicit_self: bool = False
    packages: str = ""
    open_names: bool = False
    common_members: frozenset[str] = frozenset()


def _members(*types: type) -> frozenset[str]:
    return frozenset(name for kind in types for name in dir(kind))


_PYTHON: Final = Rules(
    family="python",
    builtins=frozenset(dir(builtins)) | {"__file__", "__name__", "reveal_type", "WindowsError"},
    self_names=frozenset(),
    constructor="__init__",
    explicit_self=True,
    common_members=_members(str, bytes, list, dict, set, tuple, int, float, object, BaseException)
    | {"close", "read", "write", "flush", "seek", "readline", "send", "recv", "group", "match", "search",
       "start", "join", "acquire", "release", "wait", "put", "sub", "findall", "info", "debug", "warning",
       "error", "exception", "run", "open", "name", "exists", "mkdir", "submit", "result", "cancel"},
)  # fmt: skip

RULES: Final[Mapping[str, Rules]] = {"python": _PYTHON}

STDLIB: Final = frozenset(sys.stdlib_module_names)

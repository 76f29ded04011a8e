"""What differs between languages when names are resolved: one row each.

Pure data. Thread: any.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How a language finds names.

    `modules` is the way in which files reach one another (see `systems`). `packages`: files of one folder
    (`folder`), of one declared package (`declared`) or all (`global`) share names. `parts`: a type's
    members may stand in other files, `reopened`: even where the type is stated again. `implicit_members`:
    a bare name in a method may be a member of its type. `explicit_self`: a method's first parameter is the
    receiver. `declared`: a function of another file needs a prototype in sight. `construct`: the member of
    a type that makes an instance. `common_members` are too usual a name to guess by. `lexical`: a name
    that only the file binds means the same everywhere in the file. `words` stand for a type or its instance.
    """

    family: str
    modules: str
    builtins: frozenset[str] = frozenset()
    self_names: frozenset[str] = frozenset({"this"})
    class_names: frozenset[str] = frozenset()
    super_names: frozenset[str] = frozenset({"super"})
    constructor: str = ""
    construct: str = ""
    packages: str = ""
    parts: bool = False
    reopened: bool = False
    implicit_members: bool = False
    class_scope: bool = False
    explicit_self: bool = False
    declared: bool = False
    global_functions: bool = False
    suffixes: tuple[str, ...] = ("",)
    common_members: frozenset[str] = frozenset()
    lexical: bool = field(init=False)
    words: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        # Fields and not properties: both are asked for with every expression.
        lexical = not self.implicit_members and self.modules in {"python", "ecma"}
        object.__setattr__(self, "lexical", lexical)
        object.__setattr__(self, "words", self.super_names | self.class_names | self.self_names)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _members(*types: type) -> frozenset[str]:
    return frozenset(name for kind in types for name in dir(kind))


_PYTHON: Final = Rules(
    family="python",
    modules="python",
    builtins=frozenset(dir(builtins)) | {"__file__", "__name__", "reveal_type", "WindowsError"},
    self_names=frozenset(),
    constructor="__init__",
    explicit_self=True,
    common_members=_members(str, bytes, list, dict, set, tuple, int, float, object, BaseException)
    | {"close", "read", "write", "flush", "seek", "readline", "send", "recv", "group", "match", "search",
       "start", "join", "acquire", "release", "wait", "put", "sub", "findall", "info", "debug", "warning",
       "error", "exception", "run", "open", "name", "exists", "mkdir", "submit", "result", "cancel"},
)  # fmt: skip

_USUAL: Final = _words(
    """add all any append apply bind call catch clear clone close concat contains copy count create delete
    each emit entries equals execute exists exit fetch filter find first flush forEach format get getName
    getValue has hashCode includes index indexOf init insert invoke is isEmpty items iter join keys last
    len length list load log main map match name new next of on open parse pop print println push put read
    reduce remove replace reset resolve reverse run save send set setValue size slice sort split start stop
    substring test then toString trim unwrap update url value values write Add Close Count Error Get Len
    Length New Next Read Remove Run Set String ToString Unwrap Write push_back begin end data empty
    to_s to_a to_string as_str into from default expect ok some collect err"""
)

_ECMA: Final = Rules(
    family="ecma",
    modules="ecma",
    constructor="constructor",
    builtins=_words(
        """Array Boolean Date Error JSON Map Math Number Object Promise Proxy Reflect RegExp Set String
        Symbol WeakMap WeakSet console document window globalThis process require module exports fetch
        setTimeout clearTimeout setInterval parseInt parseFloat isNaN Buffer URL TypeError RangeError
        undefined NaN Infinity encodeURIComponent decodeURIComponent queueMicrotask structuredClone
        BigInt ArrayBuffer Uint8Array Intl eval alert navigator location performance"""
    ),
    common_members=_USUAL,
)
_GO: Final = Rules(
    family="go",
    modules="packages",
    packages="folder",
    parts=True,
    self_names=frozenset(),
    super_names=frozenset(),
    builtins=_words(
        """append cap clear close complex copy delete imag len make max min new panic print println real
        recover bool byte error int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr string
        rune float32 float64 any true false nil iota"""
    ),
    common_members=_USUAL,
)
_JAVA: Final = Rules(
    family="java",
    modules="packages",
    packages="declared",
    implicit_members=True,
    class_scope=True,
    common_members=_USUAL,
)
_CSHARP: Final = replace(_JAVA, family="csharp", super_names=frozenset({"base"}), parts=True, reopened=True)
_PHP: Final = Rules(
    family="php",
    modules="packages",
    packages="declared",
    global_functions=True,
    self_names=frozenset({"$this"}),
    class_names=frozenset({"self", "static"}),
    super_names=frozenset({"parent"}),
    constructor="__construct",
    common_members=_USUAL,
)
_C: Final = Rules(
    family="c",
    modules="paths",
    packages="global",
    parts=True,
    declared=True,
    implicit_members=True,
    class_scope=True,
    super_names=frozenset(),
    common_members=_USUAL,
)
_RUBY: Final = Rules(
    family="ruby",
    modules="paths",
    packages="global",
    parts=True,
    reopened=True,
    implicit_members=True,
    class_scope=True,
    self_names=frozenset({"self"}),
    constructor="initialize",
    construct="new",
    suffixes=(".rb", ""),
    common_members=_USUAL,
)
_RUST: Final = Rules(
    family="rust",
    modules="rust",
    parts=True,
    self_names=frozenset({"self"}),
    super_names=frozenset(),
    builtins=_words(
        """Some None Ok Err Box Vec String Option Result Default Clone Copy Debug Drop drop println print
        format vec panic assert assert_eq assert_ne todo unimplemented unreachable write writeln eprintln
        matches dbg include_str env concat str u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 usize isize
        bool char Iterator IntoIterator From Into AsRef Fn FnMut FnOnce Send Sync Sized"""
    ),
    common_members=_USUAL,
)
_BASH: Final = Rules(family="bash", modules="paths", self_names=frozenset(), super_names=frozenset())

RULES: Final[Mapping[str, Rules]] = {
    "python": _PYTHON,
    "javascript": _ECMA,
    "typescript": _ECMA,
    "tsx": _ECMA,
    "go": _GO,
    "java": _JAVA,
    "csharp": _CSHARP,
    "php": _PHP,
    "c": _C,
    "cpp": _C,
    "ruby": _RUBY,
    "rust": _RUST,
    "bash": _BASH,
}

STDLIB: Final = frozenset(sys.stdlib_module_names)

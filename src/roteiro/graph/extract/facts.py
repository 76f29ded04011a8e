r"""What one file says, before anything is known about the other files.

Owns the values that extraction returns, the store keeps and linking reads, and their compact JSON form.
Knows no tree-sitter, no SQL and no other file: names are left as the file spells them. Thread: any.

Expressions are kept as short texts, the same in every language: a head and steps, `self.pool.get()[].run`.
A head is a name, or `'str` and the like for a literal; the steps are `.name`, `()` for a call and `[]` for
an element; `|` separates alternatives (`a or b`, `X | None`). A path separator (`::`, `->`, `\`) is a dot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from roteiro.graph.model import Marker, Node, NodeKind

FILE_SCOPE: Final = -1
"""The scope index that stands for the file itself."""


class Def(NamedTuple):
    """One definition. Its index in `FileHeader.defs` is its scope number.

    `qualname` carries the `~2` of a duplicate. `parent` is the scope that holds it (-1: the file).
    `params` are (name, type expression or "") in order; `returns` is the stated type, else what its return
    statements say; `bases` are expressions.

    `flags` letters: `s` static, `c` class method, `p` property, `a` async, `g` generator, `o` overload,
    `x` exported, `b` defined under a condition, `v` visible to its own file only, `i` returns were
    inferred from the body (an annotated return has no `i`), `d` has decorators of unknown effect,
    `w` a context manager made from a generator, `h` declared here and defined elsewhere.
    """

    qualname: str
    kind: NodeKind
    line: int
    parent: int
    flags: str
    params: tuple[tuple[str, str], ...]
    returns: str
    bases: tuple[str, ...]


class Bind(NamedTuple):
    """A name that gets a value or a type in a scope.

    `kind`: `=` the value of `expr`; `:` an instance of the type `expr`; `f` an element of `expr`; `w` what
    entering `expr` gives; `?` something unknown. A name with a dot (`self.pool`) is an attribute set from
    within a method.
    """

    scope: int
    name: str
    kind: str
    expr: str
    line: int


class Import(NamedTuple):
    """One imported name: `local` stands for `name` of `module` (the whole module where `name` is "").

    `name` is `*` for everything. `module` is as written, dots of a relative import included. `flags`:
    `x` re-exported, `p` a plain import of a package's first part, `s` a side effect only, `t` types only.
    """

    scope: int
    local: str
    module: str
    name: str
    line: int
    flags: str


class Ref(NamedTuple):
    """A use of something. `kind`: `c` a call, `n` a construction with `new`, `r` a value, `t` a type."""

    scope: int
    kind: str
    expr: str
    line: int


class Link(NamedTuple):
    """Something a person wrote in a comment, a docstring or a document; edges from it are `authored`.

    `source` is the key of the node whose text holds it. `kind`: `link` for `[[path#Symbol]]` (`target`
    is the text between the brackets), `adr` for a mention of an ADR (`target` is its four digits),
    `supersedes` for an ADR that replaces another, `contains` for a document's section (its key).
    """

    source: str
    kind: str
    target: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHeader:
    """What the symbol table needs of a file. `package` is the package or namespace it declares.

    `exports` is a stated list of public names (`__all__`), None where the file states none. `keys` are
    the keys of a document's nodes (`adr:0007`, `adr:0007#context`, `doc:README.md`), for links to find.
    """

    lang: str
    package: str = ""
    keys: tuple[str, ...] = ()
    defs: tuple[Def, ...] = ()
    binds: tuple[Bind, ...] = ()
    imports: tuple[Import, ...] = ()
    exports: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBody:
    """What must be resolved for this file alone.

    `blocks[i]` is the parent of scope number `len(defs) + i`: a nameless scope (lambda, comprehension,
    block) whose names shadow outer ones. `binds` are the names local to functions and blocks.
    """

    blocks: tuple[int, ...] = ()
    binds: tuple[Bind, ...] = ()
    refs: tuple[Ref, ...] = ()
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """Everything extracted from one file. `nodes` begin with the file's own node.

    `mentions` are the names that the file's references and declarations use: a change of one of these
    names' definitions elsewhere can change this file's edges. All edges,
    containment and authored links included, are made by linking.
    """

    path: str
    lang: str
    header: FileHeader
    body: FileBody
    nodes: tuple[Node, ...]
    markers: tuple[Marker, ...]
    mentions: frozenset[str]
    lines: int


def symbol_key(lang: str, path: str, qualname: str) -> str:
    """The key of a symbol's node."""
    return f"sym:{lang}:{path}#{qualname}"


def header_to_json(header: FileHeader) -> str:
    """A compact text; `header_from_json` gives an equal header back."""
    return _dumps(
        [
            header.lang,
            header.package,
            header.keys,
            header.defs,
            header.binds,
            header.imports,
            header.exports,
        ]
    )


def header_from_json(text: str | bytes) -> FileHeader:
    """The header that `header_to_json` wrote."""
    lang, package, keys, defs, binds, imports, exports = json.loads(text)
    return FileHeader(
        lang=lang,
        package=package,
        keys=tuple(keys),
        defs=tuple(map(_def, defs)),
        binds=tuple(map(_new_bind, binds)),
        imports=tuple(map(_new_import, imports)),
        exports=None if exports is None else tuple(exports),
    )


def body_to_json(body: FileBody) -> str:
    """A compact text; `body_from_json` gives an equal body back."""
    return _dumps([body.blocks, body.binds, body.refs, body.links])


def body_from_json(text: str | bytes) -> FileBody:
    """The body that `body_to_json` wrote."""
    blocks, binds, refs, links = json.loads(text)
    return FileBody(
        blocks=tuple(blocks),
        binds=tuple(map(_new_bind, binds)),
        refs=tuple(map(_new_ref, refs)),
        links=tuple(map(_new_link, links)),
    )


# A tenth of the time of the generated `_make`, for rows that we wrote ourselves.
_new_bind: Final = partial(tuple.__new__, Bind)
_new_import: Final = partial(tuple.__new__, Import)
_new_ref: Final = partial(tuple.__new__, Ref)
_new_link: Final = partial(tuple.__new__, Link)


def _def(row: list[Any]) -> Def:
    row[5] = tuple(map(tuple, row[5]))
    row[7] = tuple(row[7])
    return tuple.__new__(Def, row)


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

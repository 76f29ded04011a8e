"""Turns what a `Builder` collected into the values that leave the process: nodes, header, body, mentions.

Splits what other files may need (header) from what only this file's own linking needs (body), and works
out the returns of functions that state none. Thread: any.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, cast

from roteiro.graph.extract.facts import (
    FILE_SCOPE,
    Bind,
    Def,
    FileBody,
    FileHeader,
    Import,
    Link,
    Ref,
    symbol_key,
)
from roteiro.graph.extract.scopes import Symbol
from roteiro.graph.extract.symbols import Builder
from roteiro.graph.model import Node, NodeKind

_WORD: Final = re.compile(r"[^\W\d][\w$]*")
_HEAD: Final = re.compile(r"[^.()\[\]|]*")
_MAX_RETURNS: Final = 4


def nodes_of(path: str, builder: Builder) -> tuple[Node, ...]:
    """The file's own node, then one for each definition."""
    lang = builder.language.name
    own = Node(key=f"file:{path}", kind="file", name=path, path=path, lang=lang, doc=builder.doc)
    return (own, *(_node(path, lang, symbol) for symbol in builder.symbols))


def _node(path: str, lang: str, symbol: Symbol) -> Node:
    return Node(
        key=symbol_key(lang, path, symbol.qualname),
        kind=cast("NodeKind", symbol.kind),
        name=symbol.qualname.rsplit(".", 1)[-1].split("~", 1)[0],
        path=path,
        line=symbol.line,
        end_line=symbol.end_line,
        lang=lang,
        signature=symbol.signature,
        doc=symbol.doc,
    )


class Assembly:
    """The header and body of one built file."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._count = len(builder.symbols)
        by_name = {symbol.qualname: symbol for symbol in builder.symbols}
        for qualname, base in builder.extended:
            if base and qualname in by_name:
                by_name[qualname].bases.append(base)
        self._binds = [self._renumbered(bind) for bind in (*builder.binds, *builder.imports.exported)]
        self._locals: defaultdict[int, dict[str, list[Bind]]] = defaultdict(dict)
        for bind in self._binds:
            if self._is_local(bind.scope):
                self._locals[bind.scope].setdefault(bind.name, []).append(bind)

    def header(self) -> FileHeader:
        """What other files may need to know."""
        builder = self._builder
        return FileHeader(
            lang=builder.language.name,
            package=builder.package,
            defs=tuple(self._definition(i, row) for i, row in enumerate(builder.symbols)),
            binds=tuple(self._header_binds()),
            imports=tuple(Import(self._number(row.scope), *row[1:]) for row in builder.imports.found),
            exports=None if builder.exports is None else tuple(dict.fromkeys(builder.exports)),
        )

    def body(self, links: tuple[Link, ...]) -> FileBody:
        """What only this file's linking needs."""
        builder = self._builder
        return FileBody(
            blocks=tuple(map(self._number, builder.blocks)),
            binds=tuple(b for b in self._binds if self._is_local(b.scope) and "." not in b.name),
            refs=tuple(self._refs()),
            links=links,
        )

    def _number(self, scope: int) -> int:
        """Blocks are numbered after all definitions; while building they count down from -2."""
        return scope if scope >= FILE_SCOPE else self._count - scope - 2

    def _renumbered(self, bind: Bind) -> Bind:
        return bind if bind.scope >= FILE_SCOPE else bind._replace(scope=self._number(bind.scope))

    def _is_local(self, scope: int) -> bool:
        if scope == FILE_SCOPE:
            return False
        return scope >= self._count or self._builder.symbols[scope].kind in {"fn", "method"}

    def _header_binds(self) -> Iterator[Bind]:
        for bind in self._binds:
            if not self._is_local(bind.scope):
                yield bind
            elif "." in bind.name:
                expr = self._without_locals(bind.scope, bind.expr) if bind.kind != ":" else bind.expr
                yield bind._replace(expr=expr, kind=bind.kind if expr else "?")

    def _definition(self, number: int, symbol: Symbol) -> Def:
        returns = symbol.returns
        if "i" in symbol.flags:
            returns = [self._without_locals(number, expr) for expr in returns]
        return Def(
            symbol.qualname,
            cast("NodeKind", symbol.kind),
            symbol.line,
            self._number(symbol.parent),
            self._flags(symbol),
            tuple(symbol.params),
            "|".join(dict.fromkeys(expr for expr in returns[:_MAX_RETURNS] if expr)),
            tuple(symbol.bases),
        )

    def _flags(self, symbol: Symbol) -> str:
        name = symbol.qualname.rsplit(".", 1)[-1]
        rule = self._builder.language.public
        if rule == "marked":
            public = symbol.name_at in self._builder.exported or (
                symbol.parent == FILE_SCOPE and name in self._builder.imports.stated
            )
        elif rule == "underscore":
            exports = self._builder.exports
            public = name in exports if exports is not None else not name.startswith("_")
        else:
            public = rule == "all" or name[:1].isupper()
        flags = symbol.flags + ("x" if public else "")
        if symbol.name_at in self._builder.private:
            flags = flags.replace("x", "") + "v"
        return "".join(dict.fromkeys(flags))

    def _without_locals(self, scope: int, expr: str, depth: int = 3) -> str:
        """The expression with the function's own variables replaced by what they were bound to."""
        parts = [self._substituted(scope, part, depth) for part in expr.split("|")]
        return "|".join(dict.fromkeys(part for part in parts if part))

    def _substituted(self, scope: int, expr: str, depth: int) -> str:
        head = cast("re.Match[str]", _HEAD.match(expr))[0]
        binds = self._locals[scope].get(head)
        if binds is None:
            return expr
        if len(binds) > 1 or depth == 0 or not head:
            return ""
        bind = binds[0]
        rest = expr[len(head) :]
        if bind.kind == ":":
            return bind.expr + "()" + rest if _WORD.fullmatch(bind.expr) else ""
        if bind.kind != "=" or "|" in bind.expr:
            return ""
        return self._substituted(scope, bind.expr, depth - 1) + rest if bind.expr else ""

    def _refs(self) -> Iterator[Ref]:
        """The references, without plain uses of a function's own variables."""
        for ref in self._builder.uses.found:
            scope = self._number(ref.scope)
            if ref.kind == "r" and ref.expr in self._locals.get(scope, ()):
                continue
            yield ref if scope == ref.scope else ref._replace(scope=scope)


def mentions(header: FileHeader, body: FileBody) -> frozenset[str]:
    """Every name that this file's references and declarations use."""
    texts: list[str] = [ref.expr for ref in body.refs]
    texts += [bind.expr for bind in body.binds]
    texts += [bind.expr for bind in header.binds]
    for row in header.defs:
        texts += row.bases
        texts.append(row.returns)
        texts += [kind for _, kind in row.params if kind]
    for entry in header.imports:
        texts += (entry.module, entry.name)
    return frozenset(_WORD.findall("\n".join(set(texts))))

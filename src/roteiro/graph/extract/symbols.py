"""Builds a file's definitions, names and references out of its query matches, in one pass.

Keeps a stack of open scopes while it walks the matches in source order; the same code serves every
language, and a language differs only by its row and its capture file. Knows no other file. Thread: any.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from roteiro.graph.extract.comments import Comments, first_line
from roteiro.graph.extract.expressions import Expressions
from roteiro.graph.extract.facts import FILE_SCOPE, Bind
from roteiro.graph.extract.imports import Imports
from roteiro.graph.extract.languages import Language
from roteiro.graph.extract.parsing import Found, Match, Parsed, SyntaxNode
from roteiro.graph.extract.scopes import Scope, Symbol
from roteiro.graph.extract.uses import Uses, bare

_HOLDERS: Final = frozenset({"class", "interface", "struct", "enum", "trait", "extend"})
_OPEN: Final = _HOLDERS | {"file", "module"}
_VALUES: Final = frozenset(
    {
        "variable_declarator", "pair", "assignment_expression", "public_field_definition",
        "field_definition",
    }
)  # fmt: skip
_INFERRED: Final = frozenset({"auto", "var", "let", "dynamic", "mixed", "any"})
_SIGNATURE_MAX: Final = 240
_new: Final = tuple.__new__  # a tenth of the generated constructor's time


class Builder:
    """Walks a parsed file and collects what it says. Use once: `run()`, then read the attributes."""

    def __init__(self, language: Language, data: bytes, parsed: Parsed) -> None:
        self.language = language
        self.data = data
        self.parsed = parsed
        self.expressions = Expressions(language, data)
        self.comments = Comments(data)
        self.symbols: list[Symbol] = []
        self.blocks: list[int] = []
        self.binds: list[Bind] = []
        self.imports = Imports(self.expressions)
        self.uses = Uses(self.expressions, data, self.symbols)
        self.exports: list[str] | None = None
        self.exported: set[int] = set()
        self.private: set[int] = set()
        self.stubs: list[tuple[int, int, str]] = []
        self.package = ""
        self.doc: str | None = None
        self.extended: list[tuple[str, str]] = []
        self._taken: dict[str, int] = {}
        self._named: set[int] = set()
        self._file = Scope(len(data) + 1, FILE_SCOPE, -1, "", "file")
        self._scopes = [self._file]
        self._handlers: dict[str, Callable[[Match, Scope], None]] = {
            **self.imports.handlers,
            **self.uses.handlers,
            "block": self._on_block,
            "extend": self._on_extend,
            "param": self._on_param,
            "param.self": self._on_lone_param,
            "bind": self._on_bind,
            "bind.each": self._on_bind,
            "bind.enter": self._on_bind,
            "bind.again": self._on_bind_again,
            "global": self._on_global,
            "bind.item": self._on_bind,
            "bind.alias": self._on_alias,
            "bind.member": self._on_bind_member,
            "constructed": self._on_constructed,
            "prototype": self._on_prototype,
            "field": self._on_field,
            "export": self._on_export,
            "private": self._on_private,
            "getter": self._on_getter,
            "returned": self._on_returns,
            "stub": self._on_stub,
            "package": self._on_package,
            "comment": self._on_comment,
            "doc": self._on_doc,
        }

    @property
    def events(self) -> frozenset[str]:
        """The names of the events it knows, definitions apart."""
        return frozenset(self._handlers) | self.uses.quick.keys()

    def run(self) -> None:
        """Take in every match in source order."""
        scopes = self._scopes
        matches, events, _, _ = self.parsed
        if b"@" in self.data and self.language.public == "marked":
            matches = _decorators_moved(matches, events)
        # What no handler takes is a def.<kind>.
        handlers = [self._handlers.get(event, self._on_definition) for event in events]
        quick = [self.uses.quick.get(event) for event in events]
        for start, minus_end, pattern, _, node, captures in matches:
            scope = scopes[-1]
            while scope.end <= start:
                scopes.pop()
                scope = scopes[-1]
            use = quick[pattern]
            if use is not None:
                use(start, -minus_end, node, scope)
            else:
                handlers[pattern](_new(Match, (start, minus_end, events[pattern], node, captures)), scope)
        # Bound methods kept by their own objects are circles, which only the collector would free; the
        # matches are the bulk of a file's objects. Both go now, by counting alone.
        for table in (self._handlers, self.imports.handlers, self.uses.handlers, self.uses.quick):
            table.clear()
        self.parsed.matches.clear()

    # -- definitions -------------------------------------------------------------------------------

    def _on_definition(self, match: Match, scope: Scope) -> None:
        name_node = match.captures["name"][0]
        name = self.expressions.name(name_node)
        if not name or name_node.start_byte in self._named:
            return
        if name[0] in "[\"'":  # a computed or quoted name
            name = name.strip("[]\"'").rpartition(".")[2]
        kind = match.event[4:]
        if kind == "declared":
            kind = "method"
            if f"{scope.prefix}{name}" in self._taken:
                return
        name = self._plain(name)
        if not name or (kind == "const" and scope.kind not in _OPEN):
            return
        if kind == "fn" and (scope.kind in _HOLDERS or "." in name):
            kind = "method"
        prefix, receiver = scope.prefix, match.captures.get("receiver")
        if receiver is not None:
            prefix, kind = f"{bare(self.expressions.type(receiver[0]))}.", "method"
        symbol = self._define(f"{prefix}{name}", kind, scope, match.node, name_node)
        if match.event == "def.declared":
            symbol.flags += "h"
        returns = match.captures.get("returns")
        if returns is not None:
            symbol.returns.append(self.expressions.type(returns[0]))
        else:
            symbol.flags += "i"
        number = len(self.symbols) - 1
        opened = Scope(symbol.end, number, number, f"{symbol.qualname}.", kind)
        opened.takes_block = match.node.type in _VALUES
        self._scopes.append(opened)

    def _plain(self, name: str) -> str:
        """A definition's own name: what a CommonJS module exports, a prototype's member."""
        if "." not in name or self.language.public != "marked":
            return name
        head, _, rest = name.partition(".")
        if head in {"exports", "module"}:
            name = rest.removeprefix("exports.")
            self.imports.stated.add(name)
            return "" if name == "exports" else name
        return "" if head in self.language.self_names else name.replace(".prototype.", ".")

    def _define(
        self, qualname: str, kind: str, scope: Scope, node: SyntaxNode, name_node: SyntaxNode
    ) -> Symbol:
        self._named.add(name_node.start_byte)
        times = self._taken[qualname] = self._taken.get(qualname, 0) + 1
        symbol = Symbol(qualname if times == 1 else f"{qualname}~{times}", kind, scope.number, node)
        symbol.name_at = name_node.start_byte
        symbol.signature = self._signature(node, kind)
        if times > 1 and _conditional(node):
            symbol.flags += "b"
        if self.language.doc_comments:
            symbol.doc = self.comments.before(symbol.line)
        self.symbols.append(symbol)
        return symbol

    def _signature(self, node: SyntaxNode, kind: str) -> str:
        inner = node.child_by_field_name("definition") or node
        begin, end = inner.start_byte, inner.end_byte
        if kind != "const":
            body = inner.child_by_field_name("body")
            if body is not None:
                end = body.start_byte
        raw = self.data[begin : min(end, begin + 4 * _SIGNATURE_MAX)]
        if kind == "const":
            raw = raw.split(b"\n", 1)[0]
        text = " ".join(raw.decode("utf-8", "replace").split()).rstrip(":{").rstrip()
        return text if len(text) <= _SIGNATURE_MAX else text[: _SIGNATURE_MAX - 1] + "…"

    def _on_extend(self, match: Match, scope: Scope) -> None:
        """An `impl` or an extension: members of a type that is defined elsewhere."""
        name = bare(self.expressions.type(match.captures["name"][0]))
        self._open_block(match, scope, "extend", f"{scope.prefix}{name}.")
        base = match.captures.get("type")
        self.uses.taken.add(match.captures["name"][0].start_byte)
        if base is not None:
            self.uses.taken.add(base[0].start_byte)
            self.extended.append((f"{scope.prefix}{name}", self.expressions.type(base[0])))

    def _on_block(self, match: Match, scope: Scope) -> None:
        if scope.takes_block and scope.end == -match.minus_end:
            scope.takes_block = False  # `name = () => ...`: the function is the definition itself
            return
        self._open_block(match, scope, "block", scope.prefix)

    def _open_block(self, match: Match, scope: Scope, kind: str, prefix: str) -> None:
        self.blocks.append(scope.number)
        number = -1 - len(self.blocks)
        self._scopes.append(Scope(-match.minus_end, number, scope.owner, prefix, kind))

    # -- names -------------------------------------------------------------------------------------

    def _on_param(self, match: Match, scope: Scope) -> None:
        if scope.kind in _OPEN:
            return
        name = self.expressions.name(match.captures["name"][0])
        kind, expr = self._bound(match.captures, "=")
        if kind == ":" and scope.number == scope.owner >= 0:
            self.symbols[scope.number].params.append((name, expr))
            scope.bound.add(name.encode())
        elif scope.number == scope.owner >= 0:
            self.symbols[scope.number].params.append((name, ""))
            scope.bound.add(name.encode())
            if expr and not expr.startswith("'None"):
                self._bind(scope, name, "=", expr, match)
        else:
            self._bind(scope, name, kind, expr, match)

    def _on_lone_param(self, match: Match, scope: Scope) -> None:
        self._bind(scope, self.expressions.name(match.node), "?", "", match)

    def _on_bind(self, match: Match, scope: Scope) -> None:
        name_node = match.captures["name"][0]
        name = self.expressions.name(name_node)
        if not name or name_node.start_byte in self._named:
            return
        if (scope.number, name) in self.imports.required:
            return
        if name[0] == "@":
            name = f"self.{name}"
        elif name[0] == "$" and scope.kind in _HOLDERS:
            name = name[1:]
        kind, expr = self._bound(match.captures, _BIND_KINDS[match.event])
        if "." in name:
            head = name.split(".", 1)[0]
            if name.count(".") == 1 and head in self.language.self_names:
                self._bind(scope, name, kind, expr, match)
            return
        if scope.outer_names is not None and name in scope.outer_names:
            scope = self._file
        self._bind(scope, name, kind, expr, match)
        if scope.kind in _OPEN and f"{scope.prefix}{name}" not in self._taken:
            self._define(f"{scope.prefix}{name}", "const", scope, match.node, name_node)
        if scope is self._file and name == "__all__":
            self._read_exports(match)

    def _on_bind_again(self, match: Match, scope: Scope) -> None:
        if scope is self._file and self.expressions.name(match.captures["name"][0]) == "__all__":
            self._read_exports(match)

    def _bound(self, captures: dict[str, list[SyntaxNode]], kind: str) -> tuple[str, str]:
        """How a name is bound: by its stated type if it has one, else by its value."""
        stated = captures.get("type")
        if stated is not None:
            text = self.expressions.type(stated[0])
            if text and text not in _INFERRED:
                return ":", text
        value = captures.get("value")
        expr = self.expressions.value(value[0]) if value is not None else ""
        return (kind, expr) if expr else ("?", "")

    def _bind(self, scope: Scope, name: str, kind: str, expr: str, match: Match) -> None:
        row = (scope.number, name, kind, expr, match.node.start_point[0] + 1)
        self.binds.append(_new(Bind, row))
        if scope.kind not in _OPEN:
            scope.bound.add(name.encode())

    def _read_exports(self, match: Match) -> None:
        raw = self.data[match.start : -match.minus_end]
        names = [text.decode("utf-8", "replace") for text in _QUOTED.findall(raw)]
        self.exports = [*(self.exports or ()), *names]

    def _on_global(self, match: Match, scope: Scope) -> None:
        if scope.outer_names is None:
            scope.outer_names = set()
        scope.outer_names.add(self.expressions.text(match.captures["name"][0]))

    def _on_export(self, match: Match, _scope: Scope) -> None:
        self.exported.add(match.start)

    def _on_private(self, match: Match, _scope: Scope) -> None:
        self.private.add(match.start)

    def _on_getter(self, _match: Match, scope: Scope) -> None:
        if scope.owner >= 0:
            self.symbols[scope.owner].flags += "p"

    def _on_returns(self, match: Match, scope: Scope) -> None:
        if scope.number == scope.owner >= 0:
            symbol = self.symbols[scope.number]
            symbol.returns = [self.expressions.type(match.node)]
            symbol.flags = symbol.flags.replace("i", "")

    def _on_stub(self, match: Match, scope: Scope) -> None:
        text = self.expressions.text(match.node)[:200]
        self.stubs.append((match.node.start_point[0] + 1, scope.owner, text))

    def _on_alias(self, match: Match, scope: Scope) -> None:
        """A type under another name."""
        name = self.expressions.name(match.captures["name"][0])
        other = bare(self.expressions.type(match.captures["alias"][0]))
        if other and other != name:
            self._bind(scope, name, "=", other, match)

    def _on_bind_member(self, match: Match, scope: Scope) -> None:
        """`a.b = a.c = function () {}`: a member under a second name."""
        name = self.expressions.name(match.captures["name"][0])
        if scope is self._file and name.count(".") == 1:
            self._bind(scope, name, "=", self.expressions.value(match.captures["value"][0]), match)

    def _on_constructed(self, match: Match, scope: Scope) -> None:
        """`Foo x(1)`: the declared type is constructed."""
        stated = match.node.parent.child_by_field_name("type") if match.node.parent else None
        if stated is not None:
            self.uses.add(scope, "n", bare(self.expressions.type(stated)), match.node)

    def _on_prototype(self, match: Match, scope: Scope) -> None:
        self._bind(scope, self.expressions.name(match.node), "p", "", match)

    def _on_field(self, match: Match, scope: Scope) -> None:
        """A parameter that becomes a field of its object."""
        name = self.expressions.name(match.captures["name"][0]).lstrip("$")
        own = next(iter(self.language.self_names), "this")
        self._bind(scope, f"{own}.{name}", ":", self.expressions.type(match.captures["type"][0]), match)

    def _on_package(self, match: Match, _scope: Scope) -> None:
        self.package = self.expressions.name(match.node)

    # -- text --------------------------------------------------------------------------------------

    def _on_comment(self, match: Match, scope: Scope) -> None:
        self.comments.add(match.node, scope.owner)

    def _on_doc(self, match: Match, scope: Scope) -> None:
        self.comments.add(match.node, scope.owner)
        line = first_line(self.expressions.text(match.node))
        if scope.owner < 0:
            self.doc = self.doc or line
        elif self.symbols[scope.owner].doc is None:
            self.symbols[scope.owner].doc = line


_BIND_KINDS: Final = {"bind": "=", "bind.each": "f", "bind.enter": "w", "bind.item": "["}
_QUOTED: Final = re.compile(rb"[\"']([^\"'\\\n]+)[\"']")


def _decorators_moved(matches: list[Found], events: tuple[str, ...]) -> list[Found]:
    """The matches with what stands in a method's decorators after the method that it decorates.

    TypeScript's grammar makes these decorators neighbours of the method and not parts of it.
    """
    moved: list[Found] = []
    held: list[Found] = []
    end = 0
    for match in matches:
        start, minus_end, pattern, _, node, _ = match
        if held and start < end:
            held.append(match)
        elif events[pattern] == "decorator" and _beside_member(node):
            held.append(match)
            end = -minus_end
        else:
            opens = events[pattern] == "def.fn"
            moved += [match, *held] if opens else [*held, match]
            held = []
    return moved + held


def _beside_member(node: SyntaxNode) -> bool:
    """Whether the decorator that an expression makes is a neighbour of a class's members."""
    holder = node.parent.parent if node.parent is not None else None
    return holder is not None and holder.type == "class_body"


def _conditional(node: SyntaxNode) -> bool:
    """Whether a definition stands under an `if`, a `try` or the like."""
    parent = node.parent
    while parent is not None and parent.type in {"block", "decorated_definition", "else_clause"}:
        parent = parent.parent
    return parent is not None and parent.type in {
        "if_statement", "try_statement", "elif_clause", "except_clause", "with_statement",
        "preproc_ifdef", "preproc_if", "preproc_else", "preproc_elif",
    }  # fmt: skip

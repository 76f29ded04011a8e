"""Collects what a file uses: calls, values, types, bases, decorators, and what its functions return.

Knows the open scope it is told and no other file. Thread: any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from roteiro.graph.extract.expressions import Expressions
from roteiro.graph.extract.facts import Ref
from roteiro.graph.extract.parsing import Match, SyntaxNode
from roteiro.graph.extract.scopes import Scope, Symbol

_FLAGS: Final = {
    "staticmethod": "s",
    "classmethod": "c",
    "property": "p",
    "cached_property": "p",
    "setter": "p",
    "deleter": "p",
    "getter": "p",
    "overload": "o",
    "contextmanager": "w",
    "asynccontextmanager": "w",
}

Taker = Callable[[int, int, SyntaxNode, Scope], None]
"""Told the start, the end, the node and the open scope of a use."""
_new: Final = tuple.__new__  # a tenth of the generated constructor's time


class Uses:
    """The references of one file. `taken` are the places that need no further, weaker reference."""

    def __init__(self, expressions: Expressions, data: bytes, symbols: list[Symbol]) -> None:
        self._expressions = expressions
        self._data = data
        self._symbols = symbols
        self.found: list[Ref] = []
        self.taken: set[int] = set()
        self.handlers = {
            "base": self._on_base,
            "base.bound": self._on_base,
            "call.whole": self._on_call_whole,
            "call.token": self._on_call_token,
            "new": self._on_new,
            "ref.member": self._on_member,
            "type.use": self._on_type,
            "decorator": self._on_decorator,
            "return": self._on_return,
            "return.tail": self._on_tail,
            "yield": self._on_yield,
        }
        self.quick = {"call": self._call_taker(), "ref": self._value_taker()}

    # Two of three matches of a file are calls and values. What takes them keeps what it needs at hand.

    def _call_taker(self) -> Taker:
        data, take, keep = self._data, self.taken.add, self.found.append
        known, value_at = self._expressions.seen.get, self._expressions.value_at

        def on_call(start: int, end: int, node: SyntaxNode, scope: Scope) -> None:
            take(start)
            raw = data[start:end]
            expr = known(raw)
            if expr is None:
                expr = value_at(raw, node)
            if expr and expr[0] != "'":
                keep(_new(Ref, (scope.number, "c", expr, node.end_point[0] + 1)))

        return on_call

    def _value_taker(self) -> Taker:
        data, taken, keep = self._data, self.taken, self.found.append
        known, value_at = self._expressions.seen.get, self._expressions.value_at

        def on_value(start: int, end: int, node: SyntaxNode, scope: Scope) -> None:
            raw = data[start:end]
            if raw in scope.bound or start in taken:
                return
            expr = known(raw)
            if expr is None:
                expr = value_at(raw, node)
            if expr and expr[0] != "'":
                keep(_new(Ref, (scope.number, "r", expr, node.end_point[0] + 1)))

        return on_value

    def add(self, scope: Scope, kind: str, expr: str, node: SyntaxNode) -> None:
        """Keep a use, unless it is of a literal."""
        if expr and expr[0] != "'":
            self.found.append(_new(Ref, (scope.number, kind, expr, node.end_point[0] + 1)))

    def _on_base(self, match: Match, scope: Scope) -> None:
        text = self._expressions.type(match.node) or self._expressions.value(match.node)
        self.taken.add(match.start)
        if text and scope.owner >= 0:
            self._symbols[scope.owner].bases.append(text)

    def _on_call_whole(self, match: Match, scope: Scope) -> None:
        self.add(scope, "c", self._expressions.value(match.node).removesuffix("()"), match.node)

    def _on_call_token(self, match: Match, scope: Scope) -> None:
        """A call within a macro's tokens, if it is of a bare name."""
        if self._data[match.start - 1 : match.start] in {b".", b":"}:
            return
        if self._data[-match.minus_end : -match.minus_end + 1] == b"(":
            self.add(scope, "c", self._expressions.name(match.node), match.node)

    def _on_member(self, match: Match, scope: Scope) -> None:
        """A method named without being called, `Foo::bar`."""
        self.add(scope, "r", self._expressions.name(match.node), match.node)

    def _on_tail(self, match: Match, scope: Scope) -> None:
        """The last expression of a function's body, which is what it returns."""
        if self._data[-match.minus_end : scope.end].strip() in {b"}", b"end"}:
            self._on_return(match, scope)

    def _on_new(self, match: Match, scope: Scope) -> None:
        self.taken.add(match.start)
        self.add(scope, "n", bare(self._expressions.type(match.node)), match.node)

    def _on_type(self, match: Match, scope: Scope) -> None:
        if match.start not in self.taken:
            self.add(scope, "t", self._expressions.name(match.node), match.node)

    def _on_decorator(self, match: Match, scope: Scope) -> None:
        expr = self._expressions.value(match.node)
        plain = expr.removesuffix("()")
        if scope.owner >= 0:
            symbol = self._symbols[scope.owner]
            symbol.flags += _FLAGS.get(plain.rsplit(".", 1)[-1], "d")
            if match.start < symbol.start:
                symbol.start, symbol.line = match.start, match.node.start_point[0] + 1
        if plain == expr:
            self.add(scope, "c", expr, match.node)

    def _on_return(self, match: Match, scope: Scope) -> None:
        if scope.number == scope.owner >= 0 and "i" in self._symbols[scope.owner].flags:
            self._symbols[scope.owner].returns.append(self._expressions.value(match.node))

    def _on_yield(self, _match: Match, scope: Scope) -> None:
        if scope.owner >= 0:
            self._symbols[scope.owner].flags += "g"


def bare(type_text: str) -> str:
    """`Foo[T]` without its arguments."""
    return type_text.split("[", 1)[0]

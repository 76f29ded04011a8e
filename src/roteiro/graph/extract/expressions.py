"""Turns an expression of any language into the short text that facts keep (`self.pool.get().run`).

Walks down the left side of an expression with a table of the language's node types; what does not
decide the value's type (arguments, indexes) is dropped. Knows no scopes. Thread: any.
"""

from __future__ import annotations

import re
from typing import Final

from roteiro.graph.extract.languages import Language
from roteiro.graph.extract.parsing import SyntaxNode

_SIMPLE: Final = re.compile(rb"[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)*")
_SEPARATORS: Final = re.compile(rb"\s*(?:::|->|\?\.|\\|!\.)\s*")
_TYPE_NOISE: Final = re.compile(
    r"\b(?:dyn|mut|const|struct|enum|class|final|readonly|impl)\s|'\w+\s?|[&*?\s\"']"
)
_TYPE_CHARS: Final = re.compile(r"[\w.$\[\],|]{1,160}")
_LITERAL_STARTS: Final = frozenset(bytes((byte,)) for byte in b"\"'`0123456789[{")
_MAX_STEPS: Final = 24
_MAX_TEXT: Final = 200
_MAX_DEPTH: Final = 4


class Expressions:
    """Reads expressions of one file."""

    __slots__ = ("_data", "_language", "_literals", "_names", "_steps", "_words", "seen")

    def __init__(self, language: Language, data: bytes) -> None:
        self._language = language
        self._data = data
        self._steps = language.steps
        self._literals = language.literals
        self._words = language.words
        self.seen: dict[bytes, str] = {}
        self._names: dict[bytes, str] = {}

    def text(self, node: SyntaxNode) -> str:
        """The node's source text, as it stands."""
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def name(self, node: SyntaxNode) -> str:
        """A name or dotted path, its separators made dots; "" where the node is something else."""
        raw = self._data[node.start_byte : node.end_byte]
        known = self._names.get(raw)
        if known is not None:
            return known
        if len(raw) > _MAX_TEXT:
            return ""
        plain = raw if _SIMPLE.fullmatch(raw) else _SEPARATORS.sub(b".", raw).lstrip(b".:~")
        text = self._names[raw] = plain.decode("utf-8", "replace")
        return text

    def value(self, node: SyntaxNode, depth: int = 0) -> str:
        """The expression as facts keep it; "" where nothing can be said about it."""
        return self.value_at(self._data[node.start_byte : node.end_byte], node, depth)

    def value_at(self, raw: bytes, node: SyntaxNode, depth: int = 0) -> str:
        """As `value`, for who has the node's text already."""
        known = self.seen.get(raw)
        if known is not None:
            return known
        if raw[:1] in _LITERAL_STARTS:
            # Whatever is asked of a literal is a built-in's.
            return "'literal"
        if len(raw) <= _MAX_TEXT and _SIMPLE.fullmatch(raw):
            text = raw.decode("utf-8", "replace")
            word = self._words.get(text)
            text = self.seen[raw] = text if word is None else "'" + word
            return text
        return self._walk(node, depth)

    def type(self, node: SyntaxNode) -> str:
        """A type's text: names, brackets, commas and `|`; "" where it is none of the simple kinds."""
        if node.end_byte - node.start_byte > _MAX_TEXT:
            return ""
        text = _TYPE_NOISE.sub("", self.text(node).lstrip(": ")).replace("::", ".").replace("\\", ".")
        text = text.replace("<", "[").replace(">", "]").lstrip(".")
        return text if _TYPE_CHARS.fullmatch(text) else ""

    def _walk(self, node: SyntaxNode, depth: int) -> str:
        steps: list[str] = []
        current: SyntaxNode | None = node
        for _ in range(_MAX_STEPS):
            if current is None:
                break
            kind = current.type
            step = self._steps.get(kind)
            if step is None:
                return self._head(current, kind, steps)
            if step[0] == "." and (text := self._plain(current)):
                text += "".join(reversed(steps))
                return text if len(text) <= _MAX_TEXT else ""
            if step[0] == "|":
                return "" if steps else self._alternatives(current, step, depth)
            if step[0] == "::":  # `Foo::class`, `Foo::CONST`
                return (self.name(current) + "".join(reversed(steps))).removesuffix(".class")
            inner = self._step(current, step, steps)
            if inner is None and step[0] == ".()" and steps:  # a call of a bare name
                return steps.pop().lstrip(".") + "".join(reversed(steps))
            current = inner
        return ""

    def _plain(self, node: SyntaxNode) -> str:
        """The text of a member of a member of a name; "" where it is more than that."""
        raw = self._data[node.start_byte : node.end_byte]
        if len(raw) > _MAX_TEXT or not _SIMPLE.fullmatch(raw):
            return ""
        text = raw.decode("utf-8", "replace")
        return "" if text.partition(".")[0] in self._words else text

    def _step(self, node: SyntaxNode, step: tuple[str, str, str], steps: list[str]) -> SyntaxNode | None:
        """Note one step of the way and go inwards; None where the way ends."""
        operator, inner, member = step
        end = node.child_by_field_name(member) if member else None
        if operator == "?.":
            last = node.named_child(node.named_child_count - 1)
            end = last.child_by_field_name("name") if last is not None else None
        if operator in {".", "?.", ".()"}:
            if end is None:
                steps.clear()
                return None
            if operator == ".()":
                steps.append("()")
            steps.append("." + _member(self.text(end)))
        elif operator:
            steps.append(operator)
        return node.child_by_field_name(inner) if inner else node.named_child(0)

    def _head(self, node: SyntaxNode, kind: str, steps: list[str]) -> str:
        literal = self._literals.get(kind)
        if literal is not None:
            head = "'" + literal
        elif kind in self._language.leaves:
            head = self.name(node)
            if head[:1] == "@":
                head = f"self.{head}"
        else:
            return ""
        text = head + "".join(reversed(steps))
        return text if head and len(text) <= _MAX_TEXT else ""

    def _alternatives(self, node: SyntaxNode, step: tuple[str, str, str], depth: int) -> str:
        if depth >= _MAX_DEPTH:
            return ""
        _, left, right = step
        if left:
            found = [node.child_by_field_name(left), node.child_by_field_name(right)]
        else:  # `a if condition else b`
            children = node.named_children
            found = [children[0], children[-1]] if len(children) == 3 else []
        parts = [self.value(child, depth + 1) for child in found if child is not None]
        return "|".join(dict.fromkeys(part for part in parts if part))


def _member(text: str) -> str:
    """A member's name without type arguments and marks."""
    return text.partition("<")[0].lstrip("#$")

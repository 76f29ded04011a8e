"""Imports and exports of a file, in the forms that languages have for them.

An export that a module states under a name (`export {a as b}`, `module.exports = x`) is kept as a name
of the file with the prefix `export:`; `export:default` and `export:=` are what the module as a whole
gives. Knows no other file. Thread: any.
"""

from __future__ import annotations

from typing import Final, Protocol

from roteiro.graph.extract.expressions import Expressions
from roteiro.graph.extract.facts import FILE_SCOPE, Bind, Import
from roteiro.graph.extract.parsing import Match, SyntaxNode

EXPORT: Final = "export:"
_MAX_USES: Final = 200


class _Scope(Protocol):
    @property
    def number(self) -> int: ...


class Imports:
    """Collects imports and stated exports of one file."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self.found: list[Import] = []
        self.exported: list[Bind] = []
        self.stated: set[str] = set()
        self.required: set[tuple[int, str]] = set()
        self.handlers = {
            "import": self._on_import,
            "import.default": self._on_default,
            "import.bare": self._on_bare,
            "import.path": self._on_path,
            "import.alias": self._on_alias,
            "import.qualified": self._on_qualified,
            "using": self._on_using,
            "use": self._on_use,
            "submodule": self._on_submodule,
            "export.all": self._on_export_all,
            "export.from": self._on_export_from,
            "export.as": self._on_export_as,
            "export.default": self._on_export_default,
            "export.whole": self._on_export_whole,
        }

    def _add(self, scope: int, local: str, module: str, name: str, match: Match, *, flags: str = "") -> None:
        self.found.append(Import(scope, local, module, name, match.node.start_point[0] + 1, flags))

    def _text(self, match: Match, name: str) -> str:
        nodes: list[SyntaxNode] | None = match.captures.get(name)
        return self._expressions.text(nodes[0]).strip("\"'`<> ") if nodes else ""

    def _on_import(self, match: Match, scope: _Scope) -> None:
        module = self._text(match, "module")
        name = "*" if "star" in match.captures else self._text(match, "name")
        alias = self._text(match, "alias")
        local, flags = alias or name or module, ""
        if "_require" in match.captures:
            self.required.add((scope.number, local))
        if not name and not alias:
            if "/" in module:
                local = module.rpartition("/")[2]
            elif "." in module:
                local, flags = module.split(".", 1)[0], "p"
        self._add(scope.number, local, module, name, match, flags=flags)

    def _on_default(self, match: Match, scope: _Scope) -> None:
        alias = self._text(match, "alias")
        self._add(scope.number, alias, self._text(match, "module"), "default", match)

    def _on_bare(self, match: Match, _scope: _Scope) -> None:
        self._add(FILE_SCOPE, "", self._text(match, "module"), "", match, flags="s")

    def _on_path(self, match: Match, _scope: _Scope) -> None:
        self._add(FILE_SCOPE, "*", self._text(match, "module"), "*", match)

    def _on_alias(self, match: Match, _scope: _Scope) -> None:
        holder, _, name = self._text(match, "module").rpartition(".")
        self._add(FILE_SCOPE, self._text(match, "alias"), holder, name, match)

    def _on_qualified(self, match: Match, _scope: _Scope) -> None:
        path = "\\".join(t for t in (self._text(match, "scope"), self._text(match, "module")) if t)
        holder, _, name = path.replace("\\", ".").strip(".").rpartition(".")
        self._add(FILE_SCOPE, self._text(match, "alias") or name, holder, name, match)

    def _on_using(self, match: Match, _scope: _Scope) -> None:
        self._add(FILE_SCOPE, "*", self._text(match, "module").replace("::", "."), "*", match)

    def _on_use(self, match: Match, scope: _Scope) -> None:
        if match.node.end_byte - match.node.start_byte > 20_000:
            return
        for path, alias in use_paths(self._expressions.text(match.node)):
            holder, _, name = path.rpartition(".")
            if name == "self" and holder:
                holder, _, name = holder.rpartition(".")
            self._add(scope.number, "*" if name == "*" else alias or name, holder, name, match)

    def _on_submodule(self, match: Match, scope: _Scope) -> None:
        name = self._text(match, "name")
        self._add(scope.number, name, f"mod:{name}", "", match)

    def _on_export_all(self, match: Match, _scope: _Scope) -> None:
        self._add(FILE_SCOPE, "*", self._text(match, "module"), "*", match, flags="x")

    def _on_export_from(self, match: Match, _scope: _Scope) -> None:
        name = self._text(match, "name")
        local = EXPORT + (self._text(match, "alias") or name)
        self._add(FILE_SCOPE, local, self._text(match, "module"), name, match, flags="x")

    def _on_export_as(self, match: Match, _scope: _Scope) -> None:
        name = self._text(match, "name")
        self._export(self._text(match, "alias") or name, name, match)

    def _on_export_default(self, match: Match, _scope: _Scope) -> None:
        self._export("default", self._expressions.value(match.captures["value"][0]), match)

    def _on_export_whole(self, match: Match, _scope: _Scope) -> None:
        self._export("=", self._expressions.value(match.captures["value"][0]), match)

    def _export(self, name: str, expr: str, match: Match) -> None:
        if expr and expr[0] != "'":
            line = match.node.start_point[0] + 1
            self.stated.add(expr)
            self.exported.append(Bind(FILE_SCOPE, EXPORT + name, "=", expr, line))


def use_paths(text: str) -> list[tuple[str, str]]:
    """The paths of a Rust `use` tree, each with its alias or ""; `a::{b, c as d}` has two."""
    found: list[tuple[str, str]] = []
    prefixes = [""]
    current = ""
    for piece in _pieces(text):
        if piece == "{":
            prefixes.append(prefixes[-1] + current)
            current = ""
        elif piece in {"}", ","}:
            _keep(found, prefixes[-1] + current)
            current = ""
            if piece == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            current += piece
        if len(found) > _MAX_USES:
            break
    _keep(found, prefixes[-1] + current)
    return found


def _pieces(text: str) -> list[str]:
    for mark in "{},":
        text = text.replace(mark, f"\0{mark}\0")
    return [part for part in (piece.strip() for piece in text.split("\0")) if part]


def _keep(found: list[tuple[str, str]], text: str) -> None:
    path, _, alias = text.partition(" as ")
    path = "".join(path.split()).replace("::", ".").strip(".")
    if path and not text.endswith("::"):
        found.append((path, alias.strip()))

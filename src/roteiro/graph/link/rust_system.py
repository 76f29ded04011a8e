"""Rust's paths: crates, module files, inline modules, `use`, `crate`, `super`, `Self`.

Knows no edges. Thread: one linker, one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roteiro.graph.extract.facts import FILE_SCOPE, Import
from roteiro.graph.link.rules import Rules
from roteiro.graph.link.rust_modules import RustModules
from roteiro.graph.link.systems import System
from roteiro.graph.link.table import FileTable
from roteiro.graph.link.values import ONLY_EXTERNAL, ONLY_UNKNOWN, Value, Values

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator
    from roteiro.graph.link.world import World


class RustSystem(System):
    """Paths are walked from a crate's root, from the module at hand, or from a name in scope."""

    def __init__(self, world: World, evaluator: Evaluator, rules: Rules) -> None:
        super().__init__(world, evaluator, rules)
        self._modules = RustModules(p for p in world.headers if p.endswith(".rs"))

    def module(self, table: FileTable, row: Import) -> Value | None:
        """The module, or the type, that a `use` or `mod` walks to."""
        if row.module.startswith("mod:"):
            found = self._modules.child(table.path, row.module[4:])
            return None if found is None else ("m", found)
        if not row.module:
            return None
        values = self._walk(table, row.scope, row.module.split("."), row)
        return next((value for value in values if value[0] in {"m", "d"}), None)

    def imported(self, table: FileTable, row: Import) -> Values:
        """What a `use` brings."""
        if row.module.startswith("mod:"):
            module = self.module(table, row)
            return ONLY_EXTERNAL if module is None else (module,)
        if not row.module:
            return self._start(table, row.scope, row.name, row)
        module = self.module(table, row)
        if module is None:
            return ONLY_EXTERNAL
        return self.evaluator.classes.attribute(module, row.name)

    def head(self, table: FileTable, scope: int, head: str) -> Values | None:
        """`crate`, `super`, `self` outside of methods, `Self`."""
        if head == "crate":
            return (("m", self._modules.root(table.path)),)
        if head == "super":
            return self._outer(table, scope)
        if head == "Self":
            holder = self.evaluator.names.class_at(table, scope)
            return (("d", *holder, holder),) if holder is not None else ONLY_UNKNOWN
        if head == "self" and self.evaluator.names.class_at(table, scope) is None:
            return (self._here(table, scope),)
        return None

    def _walk(self, table: FileTable, scope: int, parts: list[str], row: Import) -> Values:
        values = self._start(table, scope, parts[0], row)
        for part in parts[1:]:
            if part == "super":
                values = tuple(self._above(value) for value in values)
            else:
                values = tuple(
                    inner for value in values for inner in self.evaluator.classes.attribute(value, part)
                )
        return values

    def _start(self, table: FileTable, scope: int, first: str, row: Import) -> Values:
        known = self.head(table, scope, first)
        if known is not None:
            return known
        entries = table.names.get(FILE_SCOPE, {}).get(first)
        entries = entries.without(row) if entries is not None else None
        if entries is not None:
            return self.evaluator.entries(table, entries, 0, None)
        crate = self._modules.crate(first)
        return ONLY_EXTERNAL if crate is None else (("m", crate),)

    def _here(self, table: FileTable, scope: int) -> Value:
        symbol = table.symbol(scope)
        while symbol != FILE_SCOPE:
            if table.defs[symbol].kind == "module":
                return ("d", table.path, symbol, None)
            symbol = table.symbol(table.defs[symbol].parent)
        return ("m", table.path)

    def _outer(self, table: FileTable, scope: int) -> Values:
        above = self._above(self._here(table, scope))
        return ONLY_UNKNOWN if above[0] == "?" else (above,)

    def _above(self, value: Value) -> Value:
        if value[0] == "d":
            table = self.world.table(value[1])
            return self._here(table, table.defs[value[2]].parent)
        parent = self._modules.parent(value[1]) if value[0] == "m" else None
        return ("?",) if parent is None else ("m", parent)

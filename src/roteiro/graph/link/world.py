"""The files of a tree as linking sees them: their tables, made when first asked for, and their modules.

Knows how a language's files find one another and nothing of expressions. Thread: one linker, one thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from roteiro.graph.extract.facts import FILE_SCOPE, Def, FileBody, FileHeader, Import
from roteiro.graph.link.python_modules import PythonModules
from roteiro.graph.link.table import Entry, FileTable
from roteiro.graph.link.values import (
    NOTHING,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    ClassRef,
    Value,
    Values,
)

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator


class World:
    """Every file's table and how files name one another."""

    def __init__(self, headers: Mapping[str, FileHeader]) -> None:
        self.headers = headers
        self._tables: dict[str, FileTable] = {}
        self._python: PythonModules | None = None
        self._stars: set[tuple[str, str]] = set()
        self._asked: set[tuple[str, str]] = set()
        self._member_values: dict[tuple[str, str], Values] = {}

    @property
    def python(self) -> PythonModules:
        """The tree's Python modules."""
        if self._python is None:
            self._python = PythonModules(p for p in self.headers if p.endswith((".py", ".pyi")))
        return self._python

    def table(self, path: str) -> FileTable:
        """The table of a file."""
        found = self._tables.get(path)
        if found is None:
            found = self._tables[path] = FileTable(path, self.headers[path], None)
        return found

    def open(self, path: str, header: FileHeader, body: FileBody) -> FileTable:
        """The table of the file that is being linked, its body's names included."""
        found = self._tables[path] = FileTable(path, header, body)
        return found

    def close(self, path: str) -> None:
        """Forget a file's body."""
        self._tables.pop(path, None)

    def holder(self, table: FileTable, row: Def) -> ClassRef | None:
        """The type that a method belongs to."""
        name = row.qualname.rpartition(".")[0]
        index = table.qualnames.get(name)
        return None if index is None else (table.path, index)

    def parts(self, holder: ClassRef) -> list[tuple[FileTable, str]]:
        """Where a type's members stand: its own file, and where else its language lets them be."""
        table = self.table(holder[0])
        return [(table, table.defs[holder[1]].qualname)]

    # -- constants -----------------------------------------------------------------------------------

    def constant(self, evaluator: Evaluator, table: FileTable, scope: int, name: str) -> Value | None:
        """The constant that a bare name means at a scope, in this file or imported from another."""
        while True:
            entries = table.names.get(scope, {}).get(name)
            if entries is not None:
                return self._constant_of(evaluator, table, entries)
            if scope == FILE_SCOPE:
                return None
            scope = table.parent(scope)

    def constant_member(self, evaluator: Evaluator, value: Value, name: str) -> Value | None:
        """The constant `name` of a module or type."""
        if value[0] == "m":
            table = self.table(value[1])
            entries = table.names.get(FILE_SCOPE, {}).get(name)
            return self._constant_of(evaluator, table, entries) if entries is not None else None
        if value[0] in {"d", "i"}:
            for holder in evaluator.classes.order((value[1], value[2])):
                table = self.table(holder[0])
                rows = table.members.get(table.defs[holder[1]].qualname, {}).get(name)
                if rows:
                    row = rows[0]
                    return ("d", holder[0], row, None) if table.defs[row].kind == "const" else None
        return None

    def _constant_of(self, evaluator: Evaluator, table: FileTable, entries: Sequence[Entry]) -> Value | None:
        for entry in entries:
            if isinstance(entry, int):
                return ("d", table.path, entry, None) if table.defs[entry].kind == "const" else None
            if isinstance(entry, Import) and entry.name and len(entries) == 1:
                found = self.python.find(table.path, entry.module)
                if found is None or found.endswith("/") or found == table.path:
                    return None
                return self.constant_member(evaluator, ("m", found), entry.name)
        return None

    # -- modules -----------------------------------------------------------------------------------

    def imported(self, evaluator: Evaluator, table: FileTable, row: Import) -> Values:
        """What an imported name stands for."""
        module = row.module.split(".", 1)[0] if "p" in row.flags else row.module
        found = self.python.find(table.path, module)
        if found is None:
            return ONLY_EXTERNAL
        if not row.name:
            return (self._module(found),)
        return self.module_member(evaluator, self._module(found), row.name)

    def import_targets(self, evaluator: Evaluator, table: FileTable, row: Import) -> list[Value]:
        """What an import leads to: the module's file, and what of it is imported."""
        found = self.python.find(table.path, row.module)
        if found is None:
            return []
        targets: list[Value] = [self._module(found)] if not found.endswith("/") else []
        if row.name and row.name != "*":
            constant = self.constant_member(evaluator, self._module(found), row.name)
            values = self.imported(evaluator, table, row) if constant is None else (constant,)
            targets += [value for value in values if value[0] in {"m", "d"}]
        return targets

    def module_member(self, evaluator: Evaluator, module: Value, name: str) -> Values:
        """What a module's `name` stands for: what it binds, else a submodule, else a starred import."""
        key = (module[1], name)
        known = self._member_values.get(key)
        if known is not None:
            return known
        if key in self._asked:  # modules that import the name from one another
            return ONLY_UNKNOWN
        self._asked.add(key)
        try:
            found = self._module_member(evaluator, module, name)
        finally:
            self._asked.discard(key)
        if not self._asked:
            self._member_values[key] = found
        return found

    def _module_member(self, evaluator: Evaluator, module: Value, name: str) -> Values:
        path = module[1]
        if module[0] == "m":
            table = self.table(path)
            entries = table.names.get(FILE_SCOPE, {}).get(name)
            if entries is not None:
                found = evaluator.entries(table, entries, 0, None)
                if found is not ONLY_UNKNOWN:
                    return found
        child = self.python.child(path, name)
        if child is not None:
            return (self._module(child),)
        if module[0] == "m":
            return self.starred(evaluator, self.table(path), name) or ONLY_UNKNOWN
        return ONLY_UNKNOWN

    def file_level(self, evaluator: Evaluator, table: FileTable, name: str) -> Values | None:
        """What a name means that no scope of the file binds, None where nothing is known of it."""
        return self.starred(evaluator, table, name) or None

    def starred(self, evaluator: Evaluator, table: FileTable, name: str) -> Values:
        """What a `from module import *` brings in under a name."""
        key = (table.path, name)
        if not table.stars or key in self._stars:
            return NOTHING
        self._stars.add(key)
        try:
            for row in reversed(table.stars):
                found = self.python.find(table.path, row.module)
                if found is None or found.endswith("/") or found == table.path:
                    continue
                source = self.table(found)
                if not _is_starred(source, name):
                    continue
                values = self.module_member(evaluator, ("m", found), name)
                if values is not ONLY_UNKNOWN:
                    return values
        finally:
            self._stars.discard(key)
        return NOTHING

    def _module(self, found: str) -> Value:
        return ("n", found) if found.endswith("/") else ("m", found)


def _is_starred(table: FileTable, name: str) -> bool:
    exports = table.header.exports
    return name in exports if exports is not None else not name.startswith("_")

"""The files of a tree as linking sees them: their tables, made when first asked for, and their systems.

Keeps what a module's name was found to mean, and guards against modules that import from one another in
a circle. Thread: one linker, one thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from roteiro.graph.extract.facts import FILE_SCOPE, Def, FileBody, FileHeader, Import
from roteiro.graph.link.packages import Packages
from roteiro.graph.link.rules import RULES
from roteiro.graph.link.rust_system import RustSystem
from roteiro.graph.link.survey import Survey
from roteiro.graph.link.systems import EcmaSystem, PackageSystem, PathSystem, PythonSystem, System
from roteiro.graph.link.table import Entries, FileTable
from roteiro.graph.link.values import CLASSES, ONLY_UNKNOWN, ClassRef, Value, Values

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator

_SYSTEMS: Final[Mapping[str, type[System]]] = {
    "python": PythonSystem,
    "ecma": EcmaSystem,
    "rust": RustSystem,
    "packages": PackageSystem,
    "paths": PathSystem,
}

# Definitions and binds in kept tables, some 700 bytes each with all that looks them up. A tree of many files
# needs the memory for its indexes.
_MAX_ROWS: Final = 50_000
_MAX_ROWS_OF_FEW: Final = 150_000
_FEW_FILES: Final = 2_500


class World:
    """Every file's table and how files name one another."""

    def __init__(self, headers: Mapping[str, FileHeader]) -> None:
        self.headers = headers
        self.survey = Survey(headers)
        self.packages = Packages(headers, self.survey)
        self.evaluator: Evaluator
        # How often a guard against circles cut something short: what was found meanwhile may be less
        # than the whole, and is not kept for others.
        self.cuts = 0
        self._tables: dict[str, FileTable] = {}
        self._rows = 0
        self._max_rows = _MAX_ROWS_OF_FEW if len(headers) <= _FEW_FILES else _MAX_ROWS
        self._closed: FileTable | None = None
        self._systems: dict[str, System] = {}
        self._by_lang: dict[str, System] = {}
        self._asked: set[tuple[str, str]] = set()
        self._members: dict[tuple[str, str], Values] = {}

    def system(self, table: FileTable) -> System:
        """The system of a file's language family."""
        lang = table.header.lang
        found = self._by_lang.get(lang)
        if found is None:
            found = self._by_lang[lang] = self._system(lang)
        return found

    def _system(self, lang: str) -> System:
        rules = RULES[lang]
        found = self._systems.get(rules.family)
        if found is None:
            kind = _SYSTEMS[rules.modules]
            found = self._systems[rules.family] = kind(self, self.evaluator, rules)
        return found

    def table(self, path: str) -> FileTable:
        """The table of a file."""
        found = self._tables.get(path)
        if found is None:
            header = self.headers[path]
            found = self._tables[path] = FileTable(path, header, None)
            self._rows += len(header.defs) + len(header.binds)
        return found

    def rest(self) -> bool:
        """Between two files: forget the tables if they are too many. Says whether they were."""
        if self._rows <= self._max_rows:
            return False
        self._tables.clear()
        self._rows = 0
        return True

    def open(self, path: str, header: FileHeader, body: FileBody) -> FileTable:
        """The table of the file that is being linked, its body's names included."""
        self._closed = self._tables.get(path)
        found = self._tables[path] = FileTable(path, header, body)
        return found

    def close(self, path: str) -> None:
        """Forget a file's body."""
        if self._closed is None:
            self._tables.pop(path, None)
        else:
            self._tables[path] = self._closed

    # -- types -------------------------------------------------------------------------------------

    def holder(self, table: FileTable, row: Def) -> ClassRef | None:
        """The type that a method belongs to, wherever in its package it is defined."""
        name = row.qualname.rpartition(".")[0]
        index = table.qualnames.get(name)
        if index is not None:
            return (table.path, index)
        if not table.rules.parts:
            return None
        rows = self.packages.of(table.path, table.header).qualnames.get(name, [])
        rows = [row for row in rows if self.table(row[0]).defs[row[1]].kind in CLASSES]
        return rows[0] if len(rows) == 1 else None

    def parts(self, holder: ClassRef) -> list[tuple[FileTable, str]]:
        """Where a type's members stand: its own file, and where else its language lets them be."""
        table = self.table(holder[0])
        qualname = table.defs[holder[1]].qualname
        found = [(table, qualname)]
        rules = table.rules
        if rules.parts:
            package = self.packages.of(table.path, table.header)
            for path in package.holders.get(qualname, ()):
                other = self.table(path)
                if path != holder[0] and (rules.reopened or qualname not in other.qualnames):
                    found.append((other, qualname))
        return found

    def definitions(self, rows: Sequence[tuple[str, int]]) -> Values:
        """Definitions as values, without constants."""
        return tuple(
            ("d", path, index, None) for path, index in rows if self.table(path).defs[index].kind != "const"
        )

    # -- modules -----------------------------------------------------------------------------------

    def imported(self, table: FileTable, row: Import) -> Values:
        """What an imported name stands for."""
        return self.system(table).imported(table, row)

    def module_member(self, module: Value, name: str) -> Values:
        """What a module's `name` stands for."""
        key = (module[1], name)
        known = self._members.get(key)
        if known is not None:
            return known
        if key in self._asked:  # modules that import the name from one another
            self.cuts += 1
            return ONLY_UNKNOWN
        self._asked.add(key)
        cuts = self.cuts
        try:
            found = self._system_of(module).member(module, name)
        finally:
            self._asked.discard(key)
        if self.cuts == cuts or not self._asked:
            self._members[key] = found
        return found

    def _system_of(self, module: Value) -> System:
        if module[0] == "m":
            return self.system(self.table(module[1]))
        family = module[1].partition(":")[0] if ":" in module[1] else "python"
        return self._system(next(name for name, row in RULES.items() if row.family == family))

    # -- constants ---------------------------------------------------------------------------------

    def constant(self, table: FileTable, scope: int, name: str) -> Value | None:
        """The constant that a bare name means at a scope, in this file or imported from another."""
        while True:
            entries = table.names.get(scope, {}).get(name)
            if entries is not None:
                return self._constant_of(table, entries)
            if scope == FILE_SCOPE:
                break
            scope = table.parent(scope)
        if table.rules.packages:
            rows = self.packages.of(table.path, table.header).names.get(name, [])
            if len(rows) == 1 and self.table(rows[0][0]).defs[rows[0][1]].kind == "const":
                return ("d", *rows[0], None)
        return None

    def constant_member(self, value: Value, name: str) -> Value | None:
        """The constant `name` of a module or type."""
        if value[0] == "m":
            table = self.table(value[1])
            entries = table.names.get(FILE_SCOPE, {}).get(name)
            return self._constant_of(table, entries) if entries is not None else None
        if value[0] in {"d", "i"}:
            for holder in self.evaluator.classes.order((value[1], value[2])):
                table = self.table(holder[0])
                rows = table.members.get(table.defs[holder[1]].qualname, {}).get(name)
                if rows:
                    row = rows[0]
                    return ("d", holder[0], row, None) if table.defs[row].kind == "const" else None
        return None

    def _constant_of(self, table: FileTable, entries: Entries) -> Value | None:
        if entries.rows:
            row = entries.rows[0]
            return ("d", table.path, row, None) if table.defs[row].kind == "const" else None
        if len(entries.imports) == 1 and not entries.binds and entries.imports[0].name:
            return self._imported_constant(table, entries.imports[0])
        return None

    def _imported_constant(self, table: FileTable, row: Import) -> Value | None:
        key = (table.path, f"const:{row.local}")
        if key in self._asked:
            self.cuts += 1
            return None
        self._asked.add(key)
        try:
            module = self.system(table).module(table, row)
            if module is None or module[1] == table.path:
                return None
            return self.constant_member(module, row.name)
        finally:
            self._asked.discard(key)

"""How the files of a language family reach one another's names: one system for each way.

A system answers what an import brings, what a module holds, and what a bare name means that no scope of
its file binds. Knows no edges. Thread: one linker, one thread.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from roteiro.graph.extract.facts import FILE_SCOPE, Import
from roteiro.graph.extract.imports import EXPORT
from roteiro.graph.link.file_modules import EcmaModules, PathModules
from roteiro.graph.link.python_modules import PythonModules
from roteiro.graph.link.rules import RULES, Rules
from roteiro.graph.link.table import FileTable
from roteiro.graph.link.values import (
    NOTHING,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    Value,
    Values,
)

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator
    from roteiro.graph.link.world import World

_MAX_SAME: Final = 6


class System:
    """What all ways have in common: files are modules that bind names."""

    local_stars = True
    """Whether a starred import also brings names into the importing file's own scope."""

    def __init__(self, world: World, evaluator: Evaluator, rules: Rules) -> None:
        self.world = world
        self.evaluator = evaluator
        self.rules = rules
        self._stars: set[tuple[str, str]] = set()

    def find(self, _importer: str, _module: str) -> str | None:
        """The file (or `folder/`) that a module's name means in an importer."""
        return None

    def child(self, _module: str, _name: str) -> str | None:
        """A module's submodule."""
        return None

    def module(self, table: FileTable, row: Import) -> Value | None:
        """The module that an import names, None for another code base's."""
        found = self.find(table.path, row.module)
        return None if found is None else _value(found)

    def imported(self, table: FileTable, row: Import) -> Values:
        """What an imported name stands for."""
        module = self.module(table, row)
        if module is None:
            return ONLY_EXTERNAL
        return (module,) if not row.name else self.world.module_member(module, row.name)

    def member(self, module: Value, name: str) -> Values:
        """What a module's `name` stands for."""
        if module[0] == "m":
            found = self.bound(self.world.table(module[1]), name)
            if found is not ONLY_UNKNOWN:
                return found
        child = self.child(module[1], name)
        if child is not None:
            return (_value(child),)
        if module[0] == "m":
            return self.starred(self.world.table(module[1]), name) or ONLY_UNKNOWN
        return ONLY_UNKNOWN

    def bound(self, table: FileTable, name: str) -> Values:
        """What a file itself binds at its own level."""
        entries = table.names.get(FILE_SCOPE, {}).get(name)
        return ONLY_UNKNOWN if entries is None else self.evaluator.entries(table, entries, 0, None)

    def file_level(self, table: FileTable, _scope: int, name: str) -> Values | None:
        """What a bare name means that no scope of its file binds; None where nothing is known."""
        return (self.starred(table, name) or None) if self.local_stars else None

    def head(self, _table: FileTable, _scope: int, _head: str) -> Values | None:
        """What a word of the language stands for at the head of an expression (`crate`)."""
        return None

    def starred(self, table: FileTable, name: str) -> Values:
        """What starred imports bring in under a name."""
        key = (table.path, name)
        if not table.stars:
            return NOTHING
        if key in self._stars:
            self.world.cuts += 1
            return NOTHING
        self._stars.add(key)
        try:
            for row in reversed(table.stars):
                module = self.module(table, row)
                if module is None or module == ("m", table.path):
                    continue
                if module[0] == "m" and not self.is_starred(self.world.table(module[1]), name):
                    continue
                values = self.world.module_member(module, name)
                if values is not ONLY_UNKNOWN:
                    return values
        finally:
            self._stars.discard(key)
        return NOTHING

    def is_starred(self, _table: FileTable, _name: str) -> bool:
        """Whether a file gives a name to those who import everything from it."""
        return True

    def targets(self, table: FileTable, row: Import) -> list[Value]:
        """What an import leads to: the module's file, and what of it is imported."""
        module = self.module(table, row)
        if module is None:
            return []
        found: list[Value] = [module] if module[0] == "m" else []
        if row.name and row.name != "*":
            constant = self.world.constant_member(module, row.name)
            values = self.imported(table, row) if constant is None else (constant,)
            found += [value for value in values if value[0] in {"m", "d"}]
        return found


class PythonSystem(System):
    """Modules by dotted names, packages with their submodules, `__all__`."""

    def __init__(self, world: World, evaluator: Evaluator, rules: Rules) -> None:
        super().__init__(world, evaluator, rules)
        self._modules = PythonModules(p for p in world.headers if p.endswith((".py", ".pyi")))

    def find(self, importer: str, module: str) -> str | None:
        """The file (or `folder/`) of a Python module."""
        return self._modules.find(importer, module)

    def child(self, module: str, name: str) -> str | None:
        """A package's submodule."""
        return self._modules.child(module, name)

    def imported(self, table: FileTable, row: Import) -> Values:
        """As for any system; `import a.b` binds `a`."""
        if "p" in row.flags:
            row = row._replace(module=row.module.split(".", 1)[0])
        return super().imported(table, row)

    def is_starred(self, table: FileTable, name: str) -> bool:
        """What `__all__` lists, else what has no leading underscore."""
        exports = table.header.exports
        return name in exports if exports is not None else not name.startswith("_")


class EcmaSystem(System):
    """ES modules and CommonJS: stated exports, defaults, re-exports."""

    local_stars = False

    def __init__(self, world: World, evaluator: Evaluator, rules: Rules) -> None:
        super().__init__(world, evaluator, rules)
        self._modules = EcmaModules(world.headers)

    def find(self, importer: str, module: str) -> str | None:
        """The file of a module."""
        found = self._modules.find(importer, module)
        return found if found is not None and self.world.headers[found].lang in RULES else None

    def imported(self, table: FileTable, row: Import) -> Values:
        """As for any system; a whole CommonJS module is what it assigns to `module.exports`."""
        module = self.module(table, row)
        if module is not None and not row.name:
            whole = self.bound(self.world.table(module[1]), f"{EXPORT}=")
            if whole is not ONLY_UNKNOWN and whole != NOTHING:
                return whole
        return super().imported(table, row)

    def member(self, module: Value, name: str) -> Values:
        """What is exported under a name, else what the file binds."""
        table = self.world.table(module[1])
        wanted = (f"{EXPORT}{name}", f"{EXPORT}=") if name == "default" else (f"{EXPORT}{name}", name)
        for stated in wanted:
            found = self.bound(table, stated)
            if found is not ONLY_UNKNOWN and found != NOTHING:
                return found
        return self.starred(table, name) or ONLY_UNKNOWN


class PathSystem(System):
    """C, C++, Ruby, Bash: files taken in by path, one namespace for the whole program."""

    def __init__(self, world: World, evaluator: Evaluator, rules: Rules) -> None:
        super().__init__(world, evaluator, rules)
        self._paths = world.survey.family(rules.family)
        self._modules = PathModules(self._paths, rules.suffixes)
        self._reached: dict[str, dict[str, int]] = {}
        self._binding: dict[str, list[str]] | None = None

    def find(self, importer: str, module: str) -> str | None:
        """The file taken in by a path; C++'s `using` names no file."""
        return self._modules.find(importer, module)

    def starred(self, table: FileTable, name: str) -> Values:
        """What the files taken in, directly or by one another, bind under a name; the nearest first."""
        paths = self._files_binding(name)
        if not paths:
            return NOTHING
        order = self._files_reached(table.path)
        for _, path in sorted((order[path], path) for path in paths if path in order):
            values = self.bound(self.world.table(path), name)
            if values is not ONLY_UNKNOWN and values != NOTHING:
                return values
        return NOTHING

    def _files_binding(self, name: str) -> list[str]:
        """The files that bind a name at their own level."""
        if self._binding is None:
            self._binding = {}
            for path in self._paths:
                header = self.world.headers[path]
                names = {row.qualname for row in header.defs if row.parent == FILE_SCOPE}
                names.update(bind.name for bind in header.binds if bind.scope == FILE_SCOPE)
                for bound in names:
                    self._binding.setdefault(bound.partition("~")[0], []).append(path)
        return self._binding.get(name, [])

    def _files_reached(self, start: str) -> dict[str, int]:
        """The files that one takes in, those of these included, with their distance; not itself."""
        found = self._reached.get(start)
        if found is None:
            found = self._reached[start] = {}
            waiting = deque([(start, 0)])
            seen = {start}
            while waiting:
                path, distance = waiting.popleft()
                for row in self.world.headers[path].imports:
                    target = self.find(path, row.module) if row.name == "*" else None
                    if target is not None and target not in seen:
                        seen.add(target)
                        found[target] = distance + 1
                        waiting.append((target, distance + 1))
        return found

    def file_level(self, table: FileTable, scope: int, name: str) -> Values | None:
        """What is taken in by path, then what the program defines under the enclosing namespaces."""
        found = self.starred(table, name)
        if found and found is not ONLY_UNKNOWN:
            return found
        if self.rules.packages != "global":
            return None
        return self.in_program(table, scope, name) or None

    def in_program(self, table: FileTable, scope: int, name: str) -> Values:
        """The program's definitions of a name, the innermost namespace's first."""
        package = self.world.packages.of(table.path, table.header)
        symbol = table.symbol(scope)
        prefix = table.defs[symbol].qualname if symbol >= 0 else ""
        prefixes = [*_outwards(prefix), *(row.module for row in table.stars)]
        for holder in prefixes:
            rows = package.qualnames.get(f"{holder}.{name}")
            if rows:
                return self.world.definitions(rows)
        rows = package.names.get(name, [])
        if self.rules.declared and not self._is_type(rows):
            return NOTHING  # without a prototype in sight it may be the C library's
        return self.world.definitions(rows) if len(rows) <= _MAX_SAME else NOTHING

    def declared(self, table: FileTable, name: str) -> Values:
        """The definitions that a prototype in a file announces."""
        rows = self.world.packages.of(table.path, table.header).names.get(name, [])
        return self.world.definitions(rows) if len(rows) <= _MAX_SAME else NOTHING

    def _is_type(self, rows: list[tuple[str, int]]) -> bool:
        return all(self.world.table(path).defs[index].kind not in {"fn", "const"} for path, index in rows)


class PackageSystem(System):
    """Go, Java, C#, PHP: packages of several files; imports name packages or what is in them."""

    def module(self, table: FileTable, row: Import) -> Value | None:
        """The package, or the type whose members are imported."""
        packages = self.world.packages
        family = self.rules.family
        if self.rules.packages == "folder":
            folder = packages.go_folder(row.module)
            return None if folder is None else ("n", f"{family}:{folder}")
        if packages.begins(family, row.module):
            return ("n", f"{family}:{row.module}")
        holder, _, name = row.module.rpartition(".")
        package = packages.named(family, holder)
        rows = package.names.get(name) if package is not None else None
        return ("d", *rows[0], None) if rows else None

    def imported(self, table: FileTable, row: Import) -> Values:
        """As for any system; the module may be a type."""
        module = self.module(table, row)
        if module is None:
            return ONLY_EXTERNAL
        if not row.name:
            return (module,)
        return self.evaluator.classes.attribute(module, row.name)

    def member(self, module: Value, name: str) -> Values:
        """What a package holds under a name, else the package that goes on with it."""
        family, _, package_name = module[1].partition(":")
        package = self.world.packages.named(family, package_name)
        rows = package.names.get(name) if package is not None else None
        if rows:
            return self.world.definitions(rows)
        longer = f"{package_name}.{name}"
        if self.rules.packages == "declared" and self.world.packages.begins(family, longer):
            return (("n", f"{family}:{longer}"),)
        return ONLY_UNKNOWN if package is not None else ONLY_EXTERNAL

    def file_level(self, table: FileTable, scope: int, name: str) -> Values | None:
        """The file's package, those around it, what it imports whole, and packages by full name."""
        package = table.header.package
        for holder in _outwards(package) if self.rules.packages == "declared" else [""]:
            found = self._in_package(table, holder, name)
            if found:
                return found
        if self.rules.global_functions or self.rules.packages == "folder":
            found = self._in_package(table, "", name)
            if found:
                return found
        found = self.starred(table, name)
        if found:
            return found
        if self.rules.packages == "declared" and self.world.packages.begins(self.rules.family, name):
            return (("n", f"{self.rules.family}:{name}"),)
        return None

    def _in_package(self, table: FileTable, name: str, wanted: str) -> Values:
        packages = self.world.packages
        if self.rules.packages == "folder":
            package = packages.of(table.path, table.header)
        else:
            package = packages.named(self.rules.family, name) or packages.of(table.path, table.header)
        rows = [row for row in package.names.get(wanted, []) if row[0] != table.path]
        return self.world.definitions(rows)

    def targets(self, table: FileTable, row: Import) -> list[Value]:
        """The files of an imported package, and what of it is imported."""
        module = self.module(table, row)
        if module is None:
            return []
        if row.name and row.name != "*":
            values = self.imported(table, row)
            found = [value for value in values if value[0] == "d"]
            return [*dict.fromkeys(("m", value[1]) for value in found), *found]
        return self._files(module)

    def _files(self, module: Value) -> list[Value]:
        if module[0] == "d":
            return [("m", module[1]), module]
        family, _, name = module[1].partition(":")
        package = self.world.packages.named(family, name)
        rows = package.names.values() if package is not None else ()
        return [("m", path) for path in sorted({path for row in rows for path, _ in row})]


def _value(found: str) -> Value:
    return ("n", found) if found.endswith("/") else ("m", found)


def _outwards(dotted: str) -> list[str]:
    """`a.b.c`, `a.b`, `a`."""
    found = []
    while dotted:
        found.append(dotted)
        dotted = dotted.rpartition(".")[0]
    return found

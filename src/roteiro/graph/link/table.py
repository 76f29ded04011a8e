"""One file's names, arranged for lookup: what each scope binds and what each type holds.

Built from a header, and from the body too for the file that is being linked. Knows no other file.
Thread: any, read-only once built.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Final

from roteiro.graph.extract.facts import FILE_SCOPE, Bind, FileBody, FileHeader, Import
from roteiro.graph.link.rules import RULES, Rules
from roteiro.graph.link.values import CLASSES

_NONE: Final[list[Any]] = []


class Entries:
    """What binds one name in one scope: definitions (indexes into `defs`), binds, imports."""

    __slots__ = ("binds", "imports", "rows")

    def __init__(self) -> None:
        # One shared empty list: most names have one thing of one kind, and there are 10^5 of names.
        self.rows: list[int] = _NONE
        self.binds: list[Bind] = _NONE
        self.imports: list[Import] = _NONE

    def without(self, row: Import) -> Entries | None:
        """The same without one import, None where nothing is left."""
        rest = Entries()
        rest.rows, rest.binds = self.rows, self.binds
        rest.imports = [entry for entry in self.imports if entry is not row]
        return rest if rest.rows or rest.binds or rest.imports else None


class FileTable:
    """The lookup form of one file.

    `names[scope][name]` is what binds a name in a scope, in source order within each kind;
    `members[qualname][name]` what the type of that qualified name holds, `attributes[...]` the binds of
    its fields, those set through `self` in its methods included. `scoped` are the names that anything
    but the file itself binds, `repeated` those that one scope binds more than once.
    """

    __slots__ = (
        "_lines", "attributes", "blocks", "defs", "header", "lang", "lexical", "members", "names",
        "path", "qualnames", "repeated", "rules", "scoped", "stars",
    )  # fmt: skip

    def __init__(self, path: str, header: FileHeader, body: FileBody | None) -> None:
        self.path = path
        self.header = header
        self.lang = header.lang
        self.rules: Rules = RULES[header.lang]
        self.lexical = self.rules.lexical
        self.defs = header.defs
        self.blocks = body.blocks if body is not None else ()
        self.names: dict[int, dict[str, Entries]] = {}
        self._lines: dict[str, list[int]] = {}
        self.members: dict[str, dict[str, list[int]]] = {}
        self.attributes: dict[str, dict[str, list[Bind]]] = {}
        self.qualnames: dict[str, int] = {}
        self.stars: list[Import] = []
        self.scoped: set[str] = set()
        self.repeated: set[str] = set()
        self._add_definitions()
        self._add_imports()
        self._add_binds(header.binds)
        if body is not None:
            self._add_binds(body.binds)

    def parent(self, scope: int) -> int:
        """The scope around a scope."""
        count = len(self.defs)
        if scope < count:
            parent = self.defs[scope].parent if scope >= 0 else FILE_SCOPE
        else:
            parent = self.blocks[scope - count] if scope - count < len(self.blocks) else FILE_SCOPE
        return parent

    def symbol(self, scope: int) -> int:
        """The innermost definition at a scope, -1 for the file."""
        count = len(self.defs)
        while scope >= count:
            scope = self.parent(scope)
        return scope

    def last_bound(self, name: str, line: int) -> int:
        """The last line up to `line` that binds a repeated name; 0 where none does.

        Two places between the same binds see the same of them, and are told by this number.
        """
        lines = self._lines.get(name)
        if lines is None:
            found = (names[name].binds for names in self.names.values() if name in names)
            lines = self._lines[name] = sorted({bind.line for binds in found for bind in binds})
        at = bisect_right(lines, line)
        return lines[at - 1] if at else 0

    def _entries(self, scope: int, name: str) -> Entries:
        names = self.names.get(scope)
        if names is None:
            names = self.names[scope] = {}
        found = names.get(name)
        if found is None:
            found = names[name] = Entries()
        return found

    def _add_definitions(self) -> None:
        constructors = self.header.lang in {"java", "csharp", "cpp"}
        defs = self.defs
        for index, row in enumerate(defs):
            qualname = row.qualname
            holder, _, name = qualname.rpartition(".")
            if "~" in name:
                name = name.split("~", 1)[0]
            self.qualnames[qualname] = index
            if constructors and name == holder.rpartition(".")[2]:
                continue  # a constructor is reached through its type
            for parameter in row.params:
                self.scoped.add(parameter[0])
            if row.parent != FILE_SCOPE:
                self.scoped.add(name)
            if not holder or (0 <= row.parent < index and defs[row.parent].qualname == holder):
                entries = self._entries(row.parent, name)
                entries.rows = [*entries.rows, index]
            if holder:
                members = self.members.get(holder)
                if members is None:
                    members = self.members[holder] = {}
                members.setdefault(name, []).append(index)

    def _add_imports(self) -> None:
        for row in self.header.imports:
            if row.name == "*":
                self.stars.append(row)
            else:
                entries = self._entries(row.scope, row.local)
                entries.imports = [*entries.imports, row]
                if row.scope != FILE_SCOPE:
                    self.scoped.add(row.local)

    def _add_binds(self, binds: tuple[Bind, ...]) -> None:
        defs = self.defs
        for bind in binds:
            scope, name = bind.scope, bind.name
            if "." in name:
                holder, _, name = name.rpartition(".")
                if scope != FILE_SCOPE:
                    holder = defs[scope].qualname.rpartition(".")[0] if scope < len(defs) else ""
            else:
                entries = self._entries(scope, name)
                if entries.binds or entries.rows or entries.imports:
                    self.repeated.add(name)
                if entries.binds:
                    entries.binds.append(bind)
                else:
                    entries.binds = [bind]
                if scope != FILE_SCOPE:
                    self.scoped.add(name)
                holder = ""
                if 0 <= scope < len(defs) and defs[scope].kind in CLASSES:
                    holder = defs[scope].qualname
            if holder:
                self.attributes.setdefault(holder, {}).setdefault(name, []).append(bind)

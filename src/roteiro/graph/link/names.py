"""What a bare name means at a place: outwards through the scopes, parameters and receivers included.

Knows scopes and leaves what binds a name to the evaluator. Thread: one linker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from roteiro.graph.extract.facts import FILE_SCOPE
from roteiro.graph.link.expressions import merged
from roteiro.graph.link.table import FileTable
from roteiro.graph.link.values import (
    CALLABLES,
    CLASSES,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    ClassRef,
    Values,
)

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator

_CLASS_FIRST: Final = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})


class Wanted(NamedTuple):
    """A name that is looked for: on which line (0: any), and through which type as the receiver."""

    name: str
    line: int
    self_type: ClassRef | None


class Names:
    """Looks names up."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def find(self, table: FileTable, scope: int, wanted: Wanted) -> Values:
        """What a bare name stands for at a scope."""
        rules = table.rules
        plain = not rules.implicit_members
        count = len(table.defs)
        current = scope
        while True:
            names = table.names.get(current)
            bound = names is not None and wanted.name in names
            # Most scopes bind nothing of the name, and are not looked at closer.
            if bound or not plain or (0 <= current < count and table.defs[current].params):
                found = self._in_scope(table, current, scope, wanted)
                if found is not None:
                    return found
            if current == FILE_SCOPE:
                break
            current = table.parent(current)
        found = self._evaluator.world.system(table).file_level(table, scope, wanted.name)
        if found is not None:
            return found
        return ONLY_EXTERNAL if wanted.name in rules.builtins else ONLY_UNKNOWN

    def _in_scope(self, table: FileTable, current: int, start: int, wanted: Wanted) -> Values | None:
        rules = table.rules
        defs = table.defs
        is_def = 0 <= current < len(defs)
        kind = defs[current].kind if is_def else ""
        if rules.implicit_members and kind == "method" and current == table.symbol(start):
            outer = self.class_at(table, current)
            if outer is not None and defs[current].parent != outer[1]:
                found = self._own_names(table, current, start, wanted)
                return (
                    found if found is not None else self._evaluator.classes.member(("i", *outer), wanted.name)
                )
        if kind in CLASSES:
            if rules.implicit_members:
                found = self._evaluator.classes.member(("i", table.path, current), wanted.name)
                if found is not None:
                    return found
            if current != start and not rules.class_scope:
                return None
        return self._own_names(table, current, start, wanted)

    def _own_names(self, table: FileTable, current: int, start: int, wanted: Wanted) -> Values | None:
        """What one scope itself binds: names, and a function's parameters."""
        name, line, self_type = wanted
        kind = table.defs[current].kind if 0 <= current < len(table.defs) else ""
        names = table.names.get(current)
        entries = names.get(name) if names is not None else None
        parameter = self._parameter(table, current, name, self_type) if kind in CALLABLES else None
        if entries is None:
            return parameter
        found = self._evaluator.entries(table, entries, line if current == start else 0, self_type)
        return found if parameter is None else merged((found, parameter))

    def _parameter(
        self, table: FileTable, scope: int, name: str, self_type: ClassRef | None
    ) -> Values | None:
        row = table.defs[scope]
        for position, (parameter, stated) in enumerate(row.params):
            if parameter != name:
                continue
            if position == 0 and row.kind == "method" and "s" not in row.flags:
                if stated and parameter not in {"self", "cls"}:
                    return self._evaluator.typed(table, row.parent, stated, self_type)
                return self.receiver(table, scope, self_type)
            if not stated:
                return ONLY_UNKNOWN
            return self._evaluator.typed(table, row.parent, stated, self_type)
        return None

    def receiver(self, table: FileTable, scope: int, self_type: ClassRef | None) -> Values:
        """The first parameter of a method with an explicit `self`."""
        if not table.rules.explicit_self:
            return ONLY_UNKNOWN
        row = table.defs[scope]
        holder = self_type or self.class_at(table, scope)
        if holder is None:
            return ONLY_UNKNOWN
        short = row.qualname.rpartition(".")[2]
        if "c" in row.flags or short in _CLASS_FIRST or row.params[0][0] in {"cls", "mcs", "mcls"}:
            return (("d", *holder, holder),)
        return (("i", *holder),)

    def class_at(self, table: FileTable, scope: int) -> ClassRef | None:
        """The type whose member the innermost method at `scope` is."""
        while scope != FILE_SCOPE:
            if scope < len(table.defs):
                row = table.defs[scope]
                if row.kind in CLASSES:
                    return table.path, scope
                if row.kind == "method":
                    return self._evaluator.world.holder(table, row)
            scope = table.parent(scope)
        return None

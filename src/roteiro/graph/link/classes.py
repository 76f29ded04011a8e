"""Members of modules, types and instances: along base classes, through `super`, properties included.

Knows the order in which bases are asked; leaves names and types to the evaluator. Thread: one linker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roteiro.graph.link.rules import Rules
from roteiro.graph.link.types import head_and_arguments
from roteiro.graph.link.values import (
    HOLDERS,
    NOTHING,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    ClassRef,
    Value,
    Values,
)
from roteiro.graph.link.world import World

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator

_MAX_BASES = 64


class Classes:
    """Looks members up."""

    def __init__(self, world: World, evaluator: Evaluator) -> None:
        self._world = world
        self._evaluator = evaluator
        self._orders: dict[ClassRef, tuple[ClassRef, ...]] = {}
        self._ordering: set[ClassRef] = set()

    def attribute(self, value: Value, name: str) -> Values:
        """What `value.name` stands for; a property is what it returns."""
        kind = value[0]
        if kind in {"m", "n"}:
            return self._world.module_member(value, name)
        if kind in {"d", "i", "s"}:
            found = self.member(value, name)
            if found is None:
                if kind == "d" and name == self._rules(value).construct:
                    return (value,)
                return self._absent(value)
            return self._read(found) if kind != "d" else found
        return (value,) if kind == "?" else ONLY_EXTERNAL

    def raw(self, value: Value, name: str) -> Values:
        """As `attribute`, but a property stays the definition that it is."""
        if value[0] in {"d", "i", "s"}:
            return self.member(value, name) or NOTHING
        return self.attribute(value, name)

    def member(self, value: Value, name: str) -> Values | None:
        """The member of a type or of an instance, None where no known type has it."""
        kind = value[0]
        if kind == "s":
            order = self.order((value[1], value[2]))[1:]
            receiver: ClassRef = value[3]
        else:
            if kind == "d" and not self._holds(value):
                return None
            receiver = (value[1], value[2])
            order = self.order(receiver)
        for holder in order:
            found = self._own(holder, name, receiver)
            if found is not None:
                return found
        return None

    def order(self, start: ClassRef) -> tuple[ClassRef, ...]:
        """The type and its bases in the order in which they are asked."""
        known = self._orders.get(start)
        if known is not None:
            if start in self._ordering:
                self._world.cuts += 1
            return known
        self._orders[start] = (start,)
        self._ordering.add(start)
        seen: dict[ClassRef, None] = {start: None}
        for base in self.bases(start):
            for holder in self.order(base):
                seen.pop(holder, None)
                seen[holder] = None
                if len(seen) > _MAX_BASES:
                    break
        seen.pop(start, None)
        found = (start, *seen)
        self._orders[start] = found
        self._ordering.discard(start)
        return found

    def bases(self, holder: ClassRef) -> list[ClassRef]:
        """The direct bases that are types of this repository."""
        table = self._world.table(holder[0])
        row = table.defs[holder[1]]
        found: dict[ClassRef, None] = {}
        for text in row.bases:
            head = head_and_arguments(text)[0]
            for value in self._evaluator.evaluate(table, row.parent, head):
                if value[0] != "d" or (value[1], value[2]) == holder:
                    continue
                if self._world.table(value[1]).defs[value[2]].kind in HOLDERS:
                    found[value[1], value[2]] = None
        return list(found)

    def _own(self, holder: ClassRef, name: str, receiver: ClassRef) -> Values | None:
        found: list[Value] = []
        said = False
        for table, qualname in self._world.parts(holder):
            rows = table.members.get(qualname, {}).get(name)
            if rows:
                found += self._evaluator.definitions(table, rows, receiver)
            for bind in table.attributes.get(qualname, {}).get(name, ()):
                said = True
                found += self._evaluator.bound(table, bind, receiver)
            said = said or bool(rows)
        if not said:
            return None
        return self._defined(tuple(dict.fromkeys(found))) or ONLY_UNKNOWN

    def _defined(self, found: Values) -> Values:
        """Without mere declarations where the definition is known too."""
        if len(found) < 2:
            return found
        flags = {v: self._world.table(v[1]).defs[v[2]].flags for v in found if v[0] == "d"}
        return tuple(v for v in found if "h" not in flags.get(v, "")) or found

    def _read(self, found: Values) -> Values:
        """Members as an instance gives them: a property's value instead of the property."""
        if not any(self._is_property(value) for value in found):
            return found
        values: dict[Value, None] = {}
        for value in found:
            inner = self._evaluator.returned(value) if self._is_property(value) else (value,)
            values.update(dict.fromkeys(inner))
        return tuple(values)

    def _is_property(self, value: Value) -> bool:
        return value[0] == "d" and "p" in self._world.table(value[1]).defs[value[2]].flags

    def _rules(self, value: Value) -> Rules:
        return self._world.table(value[1]).rules

    def _absent(self, value: Value) -> Values:
        """A member that no known base has: another code base's, or made at run time."""
        known = self._world.table(value[1]).defs[value[2]].kind in HOLDERS
        return ONLY_EXTERNAL if value[0] != "d" and known else ONLY_UNKNOWN

    def _holds(self, value: Value) -> bool:
        """Whether a definition has members: a type, a module, an object or a prototype."""
        table = self._world.table(value[1])
        row = table.defs[value[2]]
        return row.kind in HOLDERS or row.qualname in table.members

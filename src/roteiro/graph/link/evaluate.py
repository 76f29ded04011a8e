"""Works out what an expression stands for: names through scopes, then step by step.

Owns the memory of what was worked out. Guesses nothing: what cannot be known is `UNKNOWN`, what is
surely of another code base `EXTERNAL`. Thread: one linker, one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roteiro.graph.extract.facts import FILE_SCOPE, Bind
from roteiro.graph.link.classes import Classes
from roteiro.graph.link.elements import Elements
from roteiro.graph.link.expressions import merged, parse, settled
from roteiro.graph.link.names import Names, Wanted
from roteiro.graph.link.systems import PathSystem
from roteiro.graph.link.table import Entries, FileTable
from roteiro.graph.link.types import alternatives, head_and_arguments
from roteiro.graph.link.values import (
    CLASSES,
    NOTHING,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    ClassRef,
    Value,
    Values,
)
from roteiro.graph.link.world import World

_DEPTH: Final = 14
_MAX_KEPT: Final = 40_000  # results, some 300 bytes each
_BOUND_TO_SCOPE: Final = frozenset({"super", "this", "self", "cls", ""})


class Evaluator:
    """Resolves expressions over a `World` of files."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.evaluator = self
        self.classes = Classes(world, self)
        self.elements = Elements(self)
        self.names = Names(self)
        self._known: dict[tuple[object, ...], Values] = {}
        self._heads: dict[tuple[object, ...], Values] = {}
        self._steps: dict[tuple[Values, tuple[str, ...]], Values] = {}
        self._open: set[tuple[object, ...]] = set()
        self._depth = 0

    # -- expressions -------------------------------------------------------------------------------

    def evaluate(
        self, table: FileTable, scope: int, expr: str, *, line: int = 0, self_type: ClassRef | None = None
    ) -> Values:
        """What `expr`, written at `scope` of a file, may stand for."""
        several = "|" in expr
        if not several:
            head = parse(expr)[0]
            if line:
                line = table.last_bound(head, line) if head in table.repeated else 0
            if scope != FILE_SCOPE and widened(table, head):
                scope, self_type = FILE_SCOPE, None
        key = (table.path, scope, expr, line, self_type)
        found = self._known.get(key)
        if found is not None:
            return found
        if key in self._open or self._depth > _DEPTH:
            self.world.cuts += 1
            return ONLY_UNKNOWN
        self._open.add(key)
        self._depth += 1
        cuts = self.world.cuts
        try:
            if several:
                parts = expr.split("|")
                found = merged(self._chain(table, scope, part, line, self_type) for part in parts)
            else:
                found = self._chain(table, scope, expr, line, self_type)
        finally:
            self._open.discard(key)
            self._depth -= 1
        if self.world.cuts == cuts or not self._open:
            self._known[key] = found
        return found

    def rest(self) -> None:
        """Between two files: forget what only the last one's places meant, and too much of the others'."""
        self._heads.clear()
        for known in (self._known, self._steps):
            if len(known) > _MAX_KEPT:
                known.clear()

    def _chain(
        self, table: FileTable, scope: int, expr: str, line: int, self_type: ClassRef | None
    ) -> Values:
        head, steps = parse(expr)
        if not head or head[0] == "'":
            return ONLY_EXTERNAL if head != "'None" else NOTHING
        rules = table.rules
        current = None
        if head in rules.words or rules.modules == "rust":
            current = self._word(table, scope, head, steps, self_type)
        if current is None:
            current = self._head(table, scope, head, line, self_type)
        elif head in rules.super_names and rules.explicit_self:
            steps = steps[1:]  # the parentheses of `super()`
        if not steps or current is ONLY_EXTERNAL or current is ONLY_UNKNOWN:
            return current
        if len(current) > 1:
            return self._walked(current, steps)
        # From one value on, the steps mean the same wherever they are written.
        key = (current, steps)
        found = self._steps.get(key)
        if found is None:
            cuts = self.world.cuts
            found = self._walked(current, steps)
            if self.world.cuts == cuts:
                self._steps[key] = found
        return found

    def _walked(self, current: Values, steps: tuple[str, ...]) -> Values:
        for step in steps:
            if current is ONLY_EXTERNAL or current is ONLY_UNKNOWN:
                return current
            if len(current) == 1:
                current = settled(self.step(current[0], step))
            else:
                current = merged([self.step(value, step) for value in current])
        return current

    def _head(self, table: FileTable, scope: int, head: str, line: int, self_type: ClassRef | None) -> Values:
        """What the name at the head of an expression stands for: `os` of `os.path` and of `os.sep`."""
        key = (table.path, scope, head, line, self_type)
        found = self._heads.get(key)
        if found is None:
            cuts = self.world.cuts
            found = self.names.find(table, scope, Wanted(head, line, self_type))
            if self.world.cuts == cuts:
                self._heads[key] = found
        return found

    def _word(
        self, table: FileTable, scope: int, head: str, steps: tuple[str, ...],
        self_type: ClassRef | None,
    ) -> Values | None:  # fmt: skip
        """What a word of the language stands for at the head of an expression, None for a name."""
        rules = table.rules
        if rules.modules == "rust":
            found = self.world.system(table).head(table, scope, head)
            if found is not None:
                return found
        if head in rules.super_names and (steps[:1] == ("()",) or not rules.explicit_self):
            own = self.names.class_at(table, scope)
            return ONLY_UNKNOWN if own is None else (("s", *own, self_type or own),)
        if head not in rules.class_names and head not in rules.self_names:
            return None
        holder = self_type or self.names.class_at(table, scope)
        if holder is None:
            return ONLY_UNKNOWN
        return (("d", *holder, holder),) if head in rules.class_names else (("i", *holder),)

    def step(self, value: Value, step: str) -> Values:
        """What a value becomes by `.name`, `()` or `[]`."""
        if step == "()":
            return self.called(value)
        if step == "[]":
            return self.elements.element(value, "[]")
        return self.classes.attribute(value, step[1:])

    # -- what binds a name --------------------------------------------------------------------------

    def entries(self, table: FileTable, entries: Entries, line: int, self_type: ClassRef | None) -> Values:
        """What the things that bind one name in one scope stand for together."""
        found: list[Values] = []
        if entries.rows:
            found += [(value,) for value in self.definitions(table, entries.rows, None)]
        binds = entries.binds
        if len(binds) > 1 and line:
            binds = [bind for bind in binds if bind.line <= line] or binds
        for bind in binds:
            found.append(self.bound(table, bind, self_type))
        for row in entries.imports:
            found.append(self.world.imported(table, row))
        return merged(found) if len(found) != 1 else found[0]

    def definitions(self, table: FileTable, rows: Sequence[int], receiver: ClassRef | None) -> list[Value]:
        """The definitions of one name that may be in force.

        That is the last, and earlier ones that a conditional definition may not have replaced.
        """
        defs = table.defs
        holders = table.members
        rows = [row for row in rows if defs[row].kind != "const" or defs[row].qualname in holders]
        plain = [row for row in rows if "o" not in defs[row].flags] or rows[-1:]
        if plain and "p" in defs[plain[-1]].flags:
            plain = plain[:1]
        found: list[Value] = []
        for row in reversed(plain):
            found.append(("d", table.path, row, receiver))
            if "b" not in defs[row].flags:
                break
        return found

    def bound(self, table: FileTable, bind: Bind, self_type: ClassRef | None = None) -> Values:
        """What a bind gives its name."""
        kind = bind.kind
        if kind == "?":
            return ONLY_UNKNOWN
        if kind == "p":
            return self._declared(table, bind.name)
        if kind == ":":
            return self.typed(table, bind.scope, bind.expr, self_type)
        values = self.evaluate(table, bind.scope, bind.expr, line=bind.line, self_type=self_type)
        if kind == "=":
            return values
        if kind == "w":
            return merged(self.elements.entered(value) for value in values)
        return merged(self.elements.element(value, "f" if kind == "f" else "[]") for value in values)

    def _declared(self, table: FileTable, name: str) -> Values:
        """What a prototype announces, unless the file itself defines it."""
        system = self.world.system(table)
        entries = table.names.get(FILE_SCOPE, {}).get(name)
        if (entries is not None and entries.rows) or not isinstance(system, PathSystem):
            return NOTHING
        return system.declared(table, name) or ONLY_UNKNOWN

    # -- types and calls ---------------------------------------------------------------------------

    def typed(self, table: FileTable, scope: int, text: str, self_type: ClassRef | None = None) -> Values:
        """What an annotation says a value is."""
        found: list[Values] = []
        for part in alternatives(text):
            head, args = head_and_arguments(part)
            if head in {"None", "null", "nil", "undefined", "void"}:
                continue
            short = head.rpartition(".")[2]
            if head in {"Self", "typing.Self", "this", "static"}:
                holder = self_type or self.names.class_at(table, scope)
                found.append((("i", *holder),) if holder else ONLY_UNKNOWN)
            elif short in {"type", "Type"} and args:
                kinds = self.typed(table, scope, args[0], self_type)
                found.append(tuple(("d", v[1], v[2], None) for v in kinds if v[0] == "i") or ONLY_EXTERNAL)
            else:
                found.append(self._instances(table, scope, head, part))
        return merged(found)

    def _instances(self, table: FileTable, scope: int, head: str, part: str) -> Values:
        values = self.evaluate(table, scope, head) if head else ONLY_EXTERNAL
        found = tuple(
            ("i", value[1], value[2])
            for value in values
            if value[0] == "d" and self.world.table(value[1]).defs[value[2]].kind in CLASSES
        )
        return found or (("t", table.path, scope, part),)

    def called(self, value: Value) -> Values:
        """What calling a value gives."""
        kind = value[0]
        if kind == "d":
            return (("i", value[1], value[2]),) if self._constructs(value) else self.returned(value)
        if kind == "i":
            found = self.classes.member(value, "__call__")
            return merged(self.called(inner) for inner in found) if found else ONLY_UNKNOWN
        if kind == "t":
            head, args = head_and_arguments(value[3])
            if head.rpartition(".")[2] == "Callable" and args:
                return self.typed(self.world.table(value[1]), value[2], args[-1])
            return ONLY_EXTERNAL
        return (value,) if kind in {"x", "?"} else ONLY_UNKNOWN

    def _constructs(self, value: Value) -> bool:
        """Whether a call makes an instance: of a type, or by a function with a prototype."""
        table = self.world.table(value[1])
        row = table.defs[value[2]]
        prototype = table.rules.modules == "ecma" and row.qualname in table.members
        return row.kind in CLASSES or prototype

    def returned(self, value: Value) -> Values:
        """What a function gives back, as stated or as its return statements say."""
        _, path, index, receiver = value
        table = self.world.table(path)
        row = table.defs[index]
        if not row.returns:
            return ONLY_UNKNOWN
        if "i" not in row.flags:
            explicit = table.rules.explicit_self and row.kind == "method"
            if explicit and row.params and row.params[0][1] == row.returns:
                return self.names.receiver(table, index, receiver)  # `def open(self: T) -> T`
            return self.typed(table, row.parent, row.returns, receiver)
        if "g" in row.flags:
            return ONLY_UNKNOWN
        return self.evaluate(table, index, row.returns, self_type=receiver)


def widened(table: FileTable, head: str) -> bool:
    """Whether a name means the same everywhere in its file: worked out once, it serves all places."""
    return table.lexical and head not in table.scoped and head not in _BOUND_TO_SCOPE

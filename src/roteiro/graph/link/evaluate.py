"""Works out what an expression stands for: names through scopes, then step by step.

Owns the memory of what was worked out. Guesses nothing: what cannot be known is `UNKNOWN`, what is
surely of another code base `EXTERNAL`. Thread: one linker, one thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from roteiro.graph.extract.facts import FILE_SCOPE, Bind, Import
from roteiro.graph.link.classes import Classes
from roteiro.graph.link.rules import RULES, Rules
from roteiro.graph.link.systems import PathSystem
from roteiro.graph.link.table import Entry, FileTable
from roteiro.graph.link.types import alternatives, element, head_and_arguments
from roteiro.graph.link.values import (
    CALLABLES,
    CLASSES,
    EXTERNAL,
    NOTHING,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    UNKNOWN,
    ClassRef,
    Value,
    Values,
)
from roteiro.graph.link.world import World

_STEP: Final = re.compile(r"\.[^.()\[\]]+|\(\)|\[\]")
_HEAD: Final = re.compile(r"[^.()\[\]]+")
_DEPTH: Final = 14
_MAX_VALUES: Final = 8
_BOUND_TO_SCOPE: Final = frozenset({"super", "this", "self", "cls", ""})
_CLASS_FIRST: Final = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
_ENTERED: Final = ("Iterator", "Generator", "Iterable", "AbstractContextManager", "ContextManager")


@lru_cache(maxsize=131072)
def parse(expr: str) -> tuple[str, tuple[str, ...]]:
    """An expression without alternatives as its head and steps."""
    match = _HEAD.match(expr)
    if match is None:
        return "", ()
    return match[0], tuple(_STEP.findall(expr, match.end()))


class Evaluator:
    """Resolves expressions over a `World` of files."""

    def __init__(self, world: World) -> None:
        self.world = world
        world.evaluator = self
        self.classes = Classes(world, self)
        self._known: dict[tuple[object, ...], Values] = {}
        self._open: set[tuple[object, ...]] = set()
        self._depth = 0

    # -- expressions -------------------------------------------------------------------------------

    def evaluate(
        self, table: FileTable, scope: int, expr: str, *, line: int = 0, self_type: ClassRef | None = None
    ) -> Values:
        """What `expr`, written at `scope` of a file, may stand for."""
        scope, line, self_type = self._place(table, scope, expr, line, self_type)
        key = (table.path, scope, expr, line, self_type)
        found = self._known.get(key)
        if found is not None:
            return found
        if key in self._open or self._depth > _DEPTH:
            return ONLY_UNKNOWN
        self._open.add(key)
        self._depth += 1
        try:
            if "|" in expr:
                parts = expr.split("|")
                found = merged(self._chain(table, scope, part, line, self_type) for part in parts)
            else:
                found = self._chain(table, scope, expr, line, self_type)
        finally:
            self._open.discard(key)
            self._depth -= 1
        if not self._open:
            self._known[key] = found
        return found

    def _place(
        self, table: FileTable, scope: int, expr: str, line: int, self_type: ClassRef | None
    ) -> tuple[int, int, ClassRef | None]:
        """The place in its widest form, so that what was worked out once serves the whole file."""
        if "|" in expr:
            return scope, line, self_type
        head = parse(expr)[0]
        if head not in table.repeated:
            line = 0
        if scope != FILE_SCOPE and head not in table.scoped and head not in _BOUND_TO_SCOPE:
            if RULES[table.header.lang].lexical:
                return FILE_SCOPE, line, None
        return scope, line, self_type

    def _chain(
        self, table: FileTable, scope: int, expr: str, line: int, self_type: ClassRef | None
    ) -> Values:
        head, steps = parse(expr)
        if not head or head[0] == "'":
            return ONLY_EXTERNAL if head != "'None" else NOTHING
        rules = RULES[table.header.lang]
        special = (
            self.world.system(table).head(table, scope, head) if rules.family == "rust" else None
        )
        if special is not None:
            current: Values = special
        elif head in rules.super_names and (steps[:1] == ("()",) or not rules.explicit_self):
            holder = self_type or self.class_at(table, scope)
            current = (("s", *self.class_at(table, scope), holder),) if holder else ONLY_UNKNOWN
            steps = steps[1:] if steps[:1] == ("()",) and rules.explicit_self else steps
        elif head in rules.class_names:
            holder = self_type or self.class_at(table, scope)
            current = (("d", *holder, holder),) if holder else ONLY_UNKNOWN
        elif head in rules.self_names:
            holder = self_type or self.class_at(table, scope)
            current = (("i", *holder),) if holder else ONLY_UNKNOWN
        else:
            current = self.name(table, scope, head, line, self_type)
        for step in steps:
            if current is ONLY_EXTERNAL or current is ONLY_UNKNOWN:
                return current
            current = merged(self.step(value, step) for value in current)
        return current

    def step(self, value: Value, step: str) -> Values:
        """What a value becomes by `.name`, `()` or `[]`."""
        if step == "()":
            return self.called(value)
        if step == "[]":
            return self.element(value, "[]")
        return self.classes.attribute(value, step[1:])

    # -- names -------------------------------------------------------------------------------------

    def name(
        self, table: FileTable, scope: int, name: str, line: int = 0, self_type: ClassRef | None = None
    ) -> Values:
        """What a bare name stands for at a scope."""
        rules = RULES[table.header.lang]
        current = scope
        while True:
            found = self._in_scope(table, current, scope, name, line, self_type, rules)
            if found is not None:
                return found
            if current == FILE_SCOPE:
                break
            current = table.parent(current)
        found = self.world.system(table).file_level(table, scope, name)
        if found is not None:
            return found
        return ONLY_EXTERNAL if name in rules.builtins else ONLY_UNKNOWN

    def _in_scope(
        self, table: FileTable, current: int, start: int, name: str, line: int,
        self_type: ClassRef | None, rules: Rules,
    ) -> Values | None:  # fmt: skip
        defs = table.defs
        is_def = 0 <= current < len(defs)
        kind = defs[current].kind if is_def else ""
        if rules.implicit_members and kind == "method" and current == table.symbol(start):
            outer = self.class_at(table, current)
            if outer is not None and defs[current].parent != outer[1]:
                found = self._own_names(table, current, start, name, line, self_type)
                return found if found is not None else self.classes.member(("i", *outer), name)
        if kind in CLASSES:
            if rules.implicit_members:
                found = self.classes.member(("i", table.path, current), name)
                if found is not None:
                    return found
            if current != start and not rules.class_scope:
                return None
        return self._own_names(table, current, start, name, line, self_type)

    def _own_names(
        self, table: FileTable, current: int, start: int, name: str, line: int,
        self_type: ClassRef | None,
    ) -> Values | None:  # fmt: skip
        """What one scope itself binds: names, and a function's parameters."""
        kind = table.defs[current].kind if 0 <= current < len(table.defs) else ""
        names = table.names.get(current)
        entries = names.get(name) if names is not None else None
        parameter = self._parameter(table, current, name, self_type) if kind in CALLABLES else None
        if entries is None:
            return parameter
        found = self.entries(table, entries, line if current == start else 0, self_type)
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
                    return self.typed(table, row.parent, stated, self_type)
                return self._receiver(table, scope, self_type)
            if not stated:
                return ONLY_UNKNOWN
            return self.typed(table, row.parent, stated, self_type)
        return None

    def _receiver(self, table: FileTable, scope: int, self_type: ClassRef | None) -> Values:
        """The first parameter of a method with an explicit `self`."""
        if not RULES[table.header.lang].explicit_self:
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
                    return self.world.holder(table, row)
            scope = table.parent(scope)
        return None

    def entries(
        self, table: FileTable, entries: Sequence[Entry], line: int, self_type: ClassRef | None
    ) -> Values:
        """What the things that bind one name in one scope stand for together."""
        found: list[Values] = []
        rows = [entry for entry in entries if isinstance(entry, int)]
        found += [(value,) for value in self.definitions(table, rows, None)]
        binds = [entry for entry in entries if isinstance(entry, Bind)]
        if len(binds) > 1 and line:
            binds = [bind for bind in binds if bind.line <= line] or binds
        for entry in binds:
            found.append(self.bound(table, entry, self_type))
        for entry in entries:
            if isinstance(entry, Import):
                found.append(self.world.imported(table, entry))
        return merged(found) if len(found) != 1 else found[0]

    def definitions(self, table: FileTable, rows: Sequence[int], receiver: ClassRef | None) -> list[Value]:
        """The definitions of one name that may be the one in force: the last, and earlier ones that a
        conditional definition may not have replaced."""
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
        if bind.kind == "?":
            return ONLY_UNKNOWN
        if bind.kind == "p":
            return self._declared(table, bind.name)
        if bind.kind == ":":
            return self.typed(table, bind.scope, bind.expr, self_type)
        values = self.evaluate(table, bind.scope, bind.expr, line=bind.line, self_type=self_type)
        if bind.kind == "f":
            return merged(self.element(value, "f") for value in values)
        if bind.kind == "[":
            return merged(self.element(value, "[]") for value in values)
        if bind.kind == "w":
            return merged(self.entered(value) for value in values)
        return values

    def _declared(self, table: FileTable, name: str) -> Values:
        """What a prototype announces, unless the file itself defines it."""
        system = self.world.system(table)
        entries = table.names.get(FILE_SCOPE, {}).get(name, ())
        if any(isinstance(entry, int) for entry in entries) or not isinstance(system, PathSystem):
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
                holder = self_type or self.class_at(table, scope)
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
            row = self.world.table(value[1]).defs[value[2]]
            if row.kind in CLASSES:
                return (("i", value[1], value[2]),)
            table = self.world.table(value[1])
            if row.qualname in table.members and RULES[table.header.lang].modules == "ecma":
                return (("i", value[1], value[2]),)  # a constructor function with a prototype
            return self.returned(value)
        if kind == "i":
            found = self.classes.member(value, "__call__")
            return merged(self.called(inner) for inner in found) if found else ONLY_UNKNOWN
        if kind == "t":
            head, args = head_and_arguments(value[3])
            if head.rpartition(".")[2] == "Callable" and args:
                return self.typed(self.world.table(value[1]), value[2], args[-1])
            return ONLY_EXTERNAL
        return (value,) if kind in {"x", "?"} else ONLY_UNKNOWN

    def returned(self, value: Value) -> Values:
        """What a function gives back, as stated or as its return statements say."""
        _, path, index, receiver = value
        table = self.world.table(path)
        row = table.defs[index]
        if not row.returns:
            return ONLY_UNKNOWN
        if "i" not in row.flags:
            explicit = RULES[table.header.lang].explicit_self and row.kind == "method"
            if explicit and row.params and row.params[0][1] == row.returns:
                return self._receiver(table, index, receiver)  # `def open(self: T) -> T`
            return self.typed(table, row.parent, row.returns, receiver)
        if "g" in row.flags:
            return ONLY_UNKNOWN
        return self.evaluate(table, index, row.returns, self_type=receiver)

    def element(self, value: Value, step: str) -> Values:
        """What indexing (`[]`) or iterating over (`f`) a value gives."""
        kind = value[0]
        if kind == "t":
            text = element(value[3], step)
            return self.typed(self.world.table(value[1]), value[2], text) if text else ONLY_EXTERNAL
        if kind == "d":
            if self.world.table(value[1]).defs[value[2]].kind not in CLASSES:
                return ONLY_UNKNOWN
            return (value,) if step == "[]" else (("i", value[1], value[2]),)
        if kind == "i":
            return self._element_of_instance(value, step)
        return (value,)

    def _element_of_instance(self, value: Value, step: str) -> Values:
        if step == "[]":
            return self._result(value, "__getitem__")
        found: list[Values] = []
        for name in ("__iter__", "__aiter__"):
            for iterator in self._result(value, name):
                if iterator[0] == "t":
                    found.append(self.element(iterator, "f"))
                elif iterator[0] == "i":
                    found += [self._result(iterator, "__next__"), self._result(iterator, "__anext__")]
        return merged(found) or ONLY_UNKNOWN

    def entered(self, value: Value) -> Values:
        """What `with value as x` binds."""
        if value[0] == "i":
            found = merged(self._result(value, name) for name in ("__enter__", "__aenter__"))
            return found if any(inner[0] != "?" for inner in found) else (value,)
        if value[0] == "t":
            head, args = head_and_arguments(value[3])
            if args and head.rpartition(".")[2].removeprefix("Async").removeprefix("Abstract") in _ENTERED:
                return self.typed(self.world.table(value[1]), value[2], args[0])
            return ONLY_EXTERNAL
        return (value,)

    def _result(self, value: Value, method: str) -> Values:
        found = self.classes.member(value, method)
        return merged(self.called(inner) for inner in found) if found else NOTHING


def merged(parts: Iterable[Values]) -> Values:
    """All values of all parts, each once, bounded."""
    found: dict[Value, None] = {}
    for part in parts:
        for value in part:
            found[value] = None
    if len(found) == 1:
        only = next(iter(found))
        if only == EXTERNAL:
            return ONLY_EXTERNAL
        return ONLY_UNKNOWN if only == UNKNOWN else (only,)
    return tuple(found)[:_MAX_VALUES]

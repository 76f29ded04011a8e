"""Links one file at a time: its references become edges to the definitions they mean.

Owns what an edge is called and how sure it is. Finding values is the evaluator's, finding files the
world's. Thread: one linker, one thread; linkers in several processes may share nothing but headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roteiro.graph.extract.facts import (
    FILE_SCOPE,
    FileBody,
    FileHeader,
    Ref,
    symbol_key,
)
from roteiro.graph.link.authored import Authored
from roteiro.graph.link.changes import affected_files
from roteiro.graph.link.edges import EdgeRow, EdgeSet, edge_of
from roteiro.graph.link.evaluate import Evaluator, widened
from roteiro.graph.link.expressions import merged, parse
from roteiro.graph.link.rules import RULES
from roteiro.graph.link.survey import MAX_CANDIDATES
from roteiro.graph.link.table import FileTable
from roteiro.graph.link.types import head_and_arguments
from roteiro.graph.link.values import CALLABLES, HOLDERS, NOTHING, ONLY_UNKNOWN, Value, Values
from roteiro.graph.link.world import World
from roteiro.graph.model import Edge, EdgeKind

Mentions = Mapping[str, frozenset[str]] | Callable[[frozenset[str]], set[str]]

_GUESS: Final = 0.5
_KINDS: Final[Mapping[str, EdgeKind]] = {
    "c": "calls", "n": "calls", "r": "references", "t": "references",
}  # fmt: skip


_Resolved = tuple[list[str], float | None]
"""Targets, confidence."""
_UNRESOLVED: Final[_Resolved] = ([], None)


class Site(NamedTuple):
    """One reference that was resolved. `confidence` is None where it is sure."""

    source: str
    target: str
    ref: Ref
    confidence: float | None


class Linker:
    """Resolves files against the headers of the whole tree.

    `headers` may read lazily: a header is asked for when a reference leads to its file, and all of a
    language's only where members of unknown values must be looked up by name.
    """

    def __init__(self, headers: Mapping[str, FileHeader]) -> None:
        self._world = World(headers)
        self._evaluator = Evaluator(self._world)
        self._authored = Authored(headers, self._world.survey)
        self._keys: dict[str, dict[int, str]] = {}

    def resolve(self, path: str, header: FileHeader, body: FileBody) -> list[Edge]:
        """All edges that the text of one file makes, each (source, target, kind) once."""
        return [edge_of(path, row) for row in self.rows(path, header, body)]

    def rows(self, path: str, header: FileHeader, body: FileBody) -> list[EdgeRow]:
        """What `resolve` finds, as the store takes it."""
        authored = self._authored.rows(body.links)
        if header.lang not in RULES:
            return authored
        table = self._world.open(path, header, body)
        try:
            found = EdgeSet()
            self._structure(table, found)
            self._imports(table, found)
            self._bases(table, found)
            self._references(table, body.refs, found)
        finally:
            self._world.close(path)
            self._evaluator.rest()
            if self._world.rest():
                self._keys.clear()
        return found.rows() + authored

    def affected(
        self,
        old: Mapping[str, FileHeader | None],
        new: Mapping[str, FileHeader | None],
        mentions: Mentions,
    ) -> set[str]:
        """The files whose edges a change of headers may change, the changed files included.

        Args:
            old: the headers of the changed files as they were; None or absent for a new file.
            new: the same files' headers as they are; None or absent for a deleted file.
            mentions: every file's mentions, or a function from names to the files that mention any.
        """
        return affected_files(old, new, mentions, self._world.headers)

    def sites(self, path: str, header: FileHeader, body: FileBody) -> Iterator[Site]:
        """Every resolved reference of a file by itself, where `resolve` gives edges."""
        table = self._world.open(path, header, body)
        try:
            for ref in body.refs:
                targets, confidence = self._targets(table, ref)
                for target in targets:
                    key = self._key(target[1], target[2])
                    yield Site(self._source(table, ref.scope), key, ref, confidence)
        finally:
            self._world.close(path)

    # -- what the file alone says --------------------------------------------------------------------

    def _structure(self, table: FileTable, found: EdgeSet) -> None:
        own = f"file:{table.path}"
        for index, row in enumerate(table.defs):
            key = self._key(table.path, index)
            parent = table.symbol(row.parent)
            holder = own if parent < 0 else self._key(table.path, parent)
            if row.kind in CALLABLES and parent < 0:
                owner = self._world.holder(table, row)
                holder = holder if owner is None else self._key(*owner)
            found.add(holder, key, "contains", row.line)
            if parent < 0 and "x" in row.flags and "." not in row.qualname:
                found.add(own, key, "defines", row.line)

    def _imports(self, table: FileTable, found: EdgeSet) -> None:
        own = f"file:{table.path}"
        for row in table.header.imports:
            for target in self._world.system(table).targets(table, row):
                key = f"file:{target[1]}" if target[0] == "m" else self._key(target[1], target[2])
                if key != own:
                    found.add(own, key, "imports", row.line)

    def _bases(self, table: FileTable, found: EdgeSet) -> None:
        for index, row in enumerate(table.defs):
            for text in row.bases:
                head = head_and_arguments(text)[0]
                values = self._evaluator.evaluate(table, row.parent, head)
                targets = [v for v in values if v[0] == "d" and self._kind(v) in HOLDERS]
                confidence = None if len(targets) < 2 else round(1 / len(targets), 3)
                for target in targets:
                    key = self._key(target[1], target[2])
                    found.add(self._key(table.path, index), key, "inherits", row.line, confidence)

    # -- references ----------------------------------------------------------------------------------

    def _references(self, table: FileTable, refs: Sequence[Ref], found: EdgeSet) -> None:
        add = found.add
        sources: dict[int, str] = {}
        known: dict[Ref, _Resolved] = {}
        for ref in refs:
            place = _place(table, ref)
            resolved = known.get(place)
            if resolved is None:
                resolved = known[place] = self._resolved(table, place)
            targets, confidence = resolved
            if not targets:
                continue
            scope, letter, _, line = ref
            source = sources.get(scope)
            if source is None:
                source = sources[scope] = self._source(table, scope)
            kind = _KINDS[letter]
            for key in targets:
                if key != source or kind == "calls":  # a use of itself is none, a call of itself is
                    add(source, key, kind, line, confidence)

    def _resolved(self, table: FileTable, ref: Ref) -> _Resolved:
        """The keys of what a reference means."""
        targets, confidence = self._targets(table, ref)
        if not targets:
            return _UNRESOLVED
        return [self._key(target[1], target[2]) for target in targets[:MAX_CANDIDATES]], confidence

    def _targets(self, table: FileTable, ref: Ref) -> tuple[list[Value], float | None]:
        """What a reference means, with a confidence where that is not sure."""
        if ref.kind in "cn":
            values = self._evaluator.evaluate(table, ref.scope, ref.expr, line=ref.line)
            targets = self._called(values)
            if not targets and values is ONLY_UNKNOWN:
                targets = self._guess(table, ref)
                return targets, round(_GUESS / len(targets), 3) if targets else None
        else:
            targets = self._referred(table, ref)
        return targets, None if len(targets) < 2 else round(1 / len(targets), 3)

    def _source(self, table: FileTable, scope: int) -> str:
        symbol = table.symbol(scope)
        return f"file:{table.path}" if symbol < 0 else self._key(table.path, symbol)

    def _called(self, values: Values) -> list[Value]:
        targets: dict[tuple[str, int], Value] = {}
        for value in values:
            if value[0] == "s":
                for inner in self._constructors(value):
                    targets[inner[1], inner[2]] = inner
            elif value[0] == "i":
                for inner in self._evaluator.classes.member(value, "__call__") or NOTHING:
                    if inner[0] == "d":
                        targets[inner[1], inner[2]] = inner
            elif value[0] == "d":
                targets[value[1], value[2]] = value
        return list(targets.values())

    def _constructors(self, value: Value) -> list[Value]:
        """What `super(...)` calls: a base's constructor, else the base itself."""
        rules = self._world.table(value[1]).rules
        method = self._world.table(value[1]).defs[value[2]].qualname.rpartition(".")[2]
        for name in (rules.constructor, method):
            found = self._evaluator.classes.member(value, name) if name else None
            if found:
                return [inner for inner in found if inner[0] == "d"]
        bases = self._evaluator.classes.bases((value[1], value[2]))
        return [("d", *base, None) for base in bases[:1]]

    def _referred(self, table: FileTable, ref: Ref) -> list[Value]:
        """The definition that an expression names: a name, or a member, properties not read through."""
        found: dict[tuple[str, int], Value] = {}
        for part in ref.expr.split("|"):
            holder, _, member = part.rpartition(".")
            if member.endswith(("()", "[]")):
                continue
            constant = self._constant(table, ref.scope, part) if not holder else None
            if constant is not None:
                found[constant[1], constant[2]] = constant
                continue
            if holder:
                values = self._evaluator.evaluate(table, ref.scope, holder, line=ref.line)
                values = merged(self._members(value, member) for value in values)
            else:
                values = self._evaluator.evaluate(table, ref.scope, part, line=ref.line)
            for value in values:
                if value[0] == "d" and (self._named(value, member) or self._renamed(table, part)):
                    found[value[1], value[2]] = value
        return list(found.values())

    def _members(self, value: Value, member: str) -> Values:
        constant = self._world.constant_member(value, member)
        return (constant,) if constant is not None else self._evaluator.classes.raw(value, member)

    def _constant(self, table: FileTable, scope: int, name: str) -> Value | None:
        """The constant that a bare name means, in this file or imported from another."""
        return self._world.constant(table, scope, name)

    def _named(self, value: Value, name: str) -> bool:
        """Whether a value was reached by its own name, and not through a variable that holds it."""
        row = self._world.table(value[1]).defs[value[2]]
        return row.qualname.rpartition(".")[2].partition("~")[0] == name

    def _renamed(self, table: FileTable, name: str) -> bool:
        """Whether a name was imported under another name."""
        entries = table.names.get(FILE_SCOPE, {}).get(name)
        return entries is not None and bool(entries.imports)

    def _guess(self, table: FileTable, ref: Ref) -> list[Value]:
        """A member of a value nobody knows: every definition of that name may be meant."""
        head, steps = parse(ref.expr)
        rules = table.rules
        name = steps[-1][1:] if steps and steps[-1][0] == "." else "" if steps else head
        if name in rules.common_members or (not steps and not rules.declared):
            return []
        if not name or name.startswith("__"):
            return []
        rows = self._world.survey.called(rules.family, "method" if steps else "fn", name)
        return [("d", *row, None) for row in rows]

    # -- edges -----------------------------------------------------------------------------------------

    def _key(self, path: str, index: int) -> str:
        keys = self._keys.get(path)
        if keys is None:
            keys = self._keys[path] = {}
        found = keys.get(index)
        if found is None:
            header = self._world.table(path).header
            found = keys[index] = symbol_key(header.lang, path, header.defs[index].qualname)
        return found

    def _kind(self, value: Value) -> str:
        return self._world.table(value[1]).defs[value[2]].kind


def _place(table: FileTable, ref: Ref) -> Ref:
    """The reference at its widest place: equal ones mean the same.

    That is the file where no scope binds its head, and the last line that binds it instead of its own.
    """
    scope, letter, expr, line = ref
    if "|" in expr:
        return ref
    head = parse(expr)[0]
    line = table.last_bound(head, line) if head in table.repeated else 0
    if scope != FILE_SCOPE and widened(table, head):
        scope = FILE_SCOPE
    return _new(Ref, (scope, letter, expr, line))


_new: Final = tuple.__new__  # a tenth of the generated constructor's time

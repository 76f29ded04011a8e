"""What a value gives when it is indexed, iterated over or entered with `with`.

Knows the methods behind these and leaves names and types to the evaluator. Thread: one linker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roteiro.graph.link.expressions import merged
from roteiro.graph.link.types import element, head_and_arguments
from roteiro.graph.link.values import (
    CLASSES,
    NOTHING,
    ONLY_EXTERNAL,
    ONLY_UNKNOWN,
    Value,
    Values,
)

if TYPE_CHECKING:
    from roteiro.graph.link.evaluate import Evaluator

_ENTERED: Final = ("Iterator", "Generator", "Iterable", "ContextManager")


class Elements:
    """Takes values apart."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def element(self, value: Value, step: str) -> Values:
        """What indexing (`[]`) or iterating over (`f`) a value gives."""
        kind = value[0]
        if kind == "t":
            text = element(value[3], step)
            return (
                self._evaluator.typed(self._evaluator.world.table(value[1]), value[2], text)
                if text
                else ONLY_EXTERNAL
            )
        if kind == "d":
            if self._evaluator.world.table(value[1]).defs[value[2]].kind not in CLASSES:
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
                return self._evaluator.typed(self._evaluator.world.table(value[1]), value[2], args[0])
            return ONLY_EXTERNAL
        return (value,)

    def _result(self, value: Value, method: str) -> Values:
        found = self._evaluator.classes.member(value, method)
        return merged(self._evaluator.called(inner) for inner in found) if found else NOTHING

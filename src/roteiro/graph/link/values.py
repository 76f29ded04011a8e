"""What an expression can stand for while references are resolved.

Plain tuples with a letter first, because millions are made and compared. Knows no language. Thread: any.

- `("m", path)` a module, which is a file; `("n", name)` a namespace that is no single file
- `("d", path, index, receiver)` a definition itself; `receiver` is the class it was reached through
- `("s", path, index, receiver)` the bases of a type, as `super` means them
- `("i", path, index)` an instance of a class of this repository
- `("t", path, scope, text)` an instance of the type `text`, read at a scope, that is no such class
- `("x",)` something that is surely not of this repository
- `("?",)` something that nothing is known about
"""

from __future__ import annotations

from typing import Any, Final

Value = tuple[Any, ...]
Values = tuple[Value, ...]
ClassRef = tuple[str, int]

EXTERNAL: Final[Value] = ("x",)
UNKNOWN: Final[Value] = ("?",)
NOTHING: Final[Values] = ()
ONLY_EXTERNAL: Final[Values] = (EXTERNAL,)
ONLY_UNKNOWN: Final[Values] = (UNKNOWN,)

CLASSES: Final = frozenset({"class", "interface", "struct", "enum", "trait"})
HOLDERS: Final = CLASSES | {"module"}
CALLABLES: Final = frozenset({"fn", "method"})

"""What is open and what is defined while a file is walked: the builder's two small records.

Knows no queries. Thread: any.
"""

from __future__ import annotations

from roteiro.graph.extract.parsing import SyntaxNode


class Symbol:
    """One definition while it is being built, and what its node will say."""

    __slots__ = (
        "bases", "depth", "doc", "end", "end_line", "flags", "kind", "line", "name_at", "params",
        "parent", "parent_id", "qualname", "returns", "signature", "start",
    )  # fmt: skip

    def __init__(self, qualname: str, kind: str, parent: int, node: SyntaxNode) -> None:
        self.qualname = qualname
        self.kind = kind
        self.parent = parent
        self.start = node.start_byte
        self.end = node.end_byte
        self.line = node.start_point[0] + 1
        row, column = node.end_point
        self.end_line = row if column == 0 and row > node.start_point[0] else row + 1
        self.flags = ""
        self.params: list[tuple[str, str]] = []
        self.returns: list[str] = []
        self.bases: list[str] = []
        self.signature: str | None = None
        self.doc: str | None = None
        self.name_at = -1


class Scope:
    """An open scope: until which byte, its number, its symbol's number, and the names' prefix."""

    __slots__ = (
        "bound", "end", "kind", "number", "outer_names", "owner", "prefix",
        "takes_block",
    )  # fmt: skip

    def __init__(self, end: int, number: int, owner: int, prefix: str, kind: str) -> None:
        self.end = end
        self.number = number
        self.owner = owner
        self.prefix = prefix
        self.kind = kind
        self.outer_names: set[str] | None = None
        self.takes_block = False
        self.bound: set[bytes] = set()  # what a function binds itself: uses of it are no references

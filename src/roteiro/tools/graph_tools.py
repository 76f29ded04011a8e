"""The graph's queries as tools: `search`, `explain`, `path`, `debt`, `context`, `list_kind`.

Code meets text here: each result is compact, cites `path:line`, and is capped in tokens with what was
left out and how to narrow. The same registry serves the model, HTTP and MCP. Thread: any; calls block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from pydantic import Field

from roteiro.errors import AmbiguousName, GraphError, NodeNotFound, UsageError
from roteiro.graph.model import Node
from roteiro.graph.queries.context import context
from roteiro.graph.queries.debt import debt
from roteiro.graph.queries.explain import explain
from roteiro.graph.queries.listing import list_nodes
from roteiro.graph.queries.names import resolve_name
from roteiro.graph.queries.path import path
from roteiro.graph.queries.search import search
from roteiro.graph.queries.shapes import place
from roteiro.graph.store import GraphStore
from roteiro.tools import wording
from roteiro.tools.access import GraphAccess
from roteiro.tools.registry import Arguments, GraphTool, Registry, ToolResult
from roteiro.tools.scope import best_standing

# DESIGN: where no model is at hand, a token is 3.5 bytes of UTF-8.
BYTES_PER_TOKEN = 3.5
DEFAULT_RESULT_TOKENS = 800
_EDGE_ENDS = 12
_CANDIDATES = 200
PLACE = re.compile(r"[\w./+-]+\.\w+:\d+")

Category = Literal["todo", "fixme", "hack", "stub", "deferred"]
Kind = Literal[
    "file", "module", "class", "fn", "method", "const", "interface", "struct", "enum", "trait",
    "adr", "adr_section", "doc", "marker",
]  # fmt: skip


class SearchArguments(Arguments):
    """Arguments of `search`."""

    query: str = Field(min_length=1, description="Words or a name.")
    limit: int = Field(default=8, ge=1, le=50, description="The most hits.")


class ExplainArguments(Arguments):
    """Arguments of `explain`."""

    key: str = Field(min_length=1, description="A symbol's name, key, or path#name.")


class PathArguments(Arguments):
    """Arguments of `path`."""

    source: str = Field(alias="from", min_length=1, description="A symbol.")
    target: str = Field(alias="to", min_length=1, description="Another symbol.")


class DebtArguments(Arguments):
    """Arguments of `debt`."""

    categories: list[Category] = Field(default=[], description="Only these; empty is all.")


class ContextArguments(Arguments):
    """Arguments of `context`."""

    key: str = Field(min_length=1, description="A symbol or a question.")


class ListArguments(Arguments):
    """Arguments of `list_kind`."""

    kind: Kind = Field(description="The kind of node.")


def graph_registry(
    access: GraphAccess, *, ignore: Sequence[str] = (), result_tokens: int = DEFAULT_RESULT_TOKENS
) -> Registry:
    """The tools over one tree's graph.

    Args:
        access: the graph.
        ignore: globs whose debt is left out (`[debt] ignore`).
        result_tokens: the most tokens of one result, estimated.
    """
    tools = _GraphTools(access, ignore, result_tokens)
    return Registry(
        [
            GraphTool(
                name="search",
                description="Find functions, classes, decisions and docs by name or words.",
                arguments=SearchArguments,
                run=_guarded(tools.search),
            ),
            GraphTool(
                name="explain",
                description="What a symbol is, where it is, its signature, callers, callees and bases.",
                arguments=ExplainArguments,
                run=_guarded(tools.explain),
            ),
            GraphTool(
                name="path",
                description="How two symbols are connected, and what lies between them.",
                arguments=PathArguments,
                run=_guarded(tools.path),
            ),
            GraphTool(
                name="debt",
                description="TODO, FIXME, hacks, stubs and deferred work, with totals.",
                arguments=DebtArguments,
                run=_guarded(tools.debt),
            ),
            GraphTool(
                name="context",
                description="The source code of a symbol and its neighbours.",
                arguments=ContextArguments,
                run=_guarded(tools.context),
            ),
            GraphTool(
                name="list_kind",
                description="All nodes of one kind: class, fn, adr, file and so on.",
                arguments=ListArguments,
                run=_guarded(tools.list_kind),
            ),
        ]
    )


def meant(store: GraphStore, name: str) -> str:
    """The key of the one symbol of the sources that a name means, where only stubs and tests share it."""
    try:
        resolve_name(store, name)
    except AmbiguousName as error:
        nodes = store.nodes(list(store.node_ids(error.keys[:_CANDIDATES]).values())).values()
        best = best_standing(nodes)
        if len(best) == 1 and len(error.keys) <= _CANDIDATES:
            return best[0].key
    except NodeNotFound:
        pass
    return name


def tokens_of(text: str) -> int:
    """The estimated tokens of a text."""
    return int(len(text.encode()) / BYTES_PER_TOKEN) + 1


def capped(lines: Sequence[str], limit: int, narrow: str, *, total: int | None = None) -> str:
    """The lines that fit `limit` tokens, and how many more there are and how to see fewer.

    The first line always stands, cut if it must be. `total` counts more than are in `lines`.
    """
    kept: list[str] = []
    spent = 0
    for line in lines:
        spent += tokens_of(line)
        if spent > limit and kept:
            break
        room = int(limit * BYTES_PER_TOKEN)
        kept.append(line if spent <= limit else line.encode()[:room].decode(errors="ignore") + " ...")
    left = (len(lines) if total is None else total) - len(kept)
    if left > 0:
        kept.append(f"{left} more; {narrow}")
    return "\n".join(kept)


# ------------------------------------------------------------------------------------------------

A = TypeVar("A", bound=Arguments)


def _guarded(run: Any) -> Any:
    """What the graph cannot answer is an answer too."""

    def call(arguments: A) -> ToolResult:
        try:
            result: ToolResult = run(arguments)
        except (GraphError, UsageError) as error:
            return ToolResult(ok=False, found=False, code=error.code, text=error.sentence())
        return result

    return call


def _result(text: str, data: dict[str, Any], *, found: bool) -> ToolResult:
    places = tuple(dict.fromkeys(PLACE.findall(text)))
    return ToolResult(ok=True, text=text, data=data, found=found, places=places)


class _GraphTools:
    def __init__(self, access: GraphAccess, ignore: Sequence[str], limit: int) -> None:
        self._access = access
        self._ignore = ignore
        self._limit = limit

    def search(self, arguments: SearchArguments) -> ToolResult:
        found = search(self._access.store(), arguments.query, limit=arguments.limit)
        if not found.hits:
            text = f"Nothing in this repository matches {arguments.query!r}: 0 hits."
            return _result(text, found.to_json(), found=False)
        lines = [f"{found.total} hits for {arguments.query!r}, the best first:"]
        lines += [wording.hit(number, hit) for number, hit in enumerate(found.hits, 1)]
        text = capped(lines, self._limit, "narrow the query.", total=found.total + 1)
        return _result(text, found.to_json(), found=True)

    def explain(self, arguments: ExplainArguments) -> ToolResult:
        store = self._access.store()
        try:
            found = explain(store, meant(store, arguments.key), limit=_EDGE_ENDS)
        except AmbiguousName as error:
            return self._ambiguous(error)
        except NodeNotFound as error:
            return self._absent(error)
        text = capped(wording.explanation(found), self._limit, "ask for one of them by name.")
        return _result(text, found.to_json(), found=True)

    def path(self, arguments: PathArguments) -> ToolResult:
        store = self._access.store()
        try:
            found = path(store, meant(store, arguments.source), meant(store, arguments.target))
        except AmbiguousName as error:
            return self._ambiguous(error)
        except NodeNotFound as error:
            return self._absent(error)
        if not found.found:
            text = f"No connection from `{arguments.source}` to `{arguments.target}` was found."
            return _result(text, found.to_json(), found=False)
        text = capped(wording.connection(found), self._limit, "ask for a part of the way.")
        return _result(text, found.to_json(), found=True)

    def debt(self, arguments: DebtArguments) -> ToolResult:
        found = debt(self._access.store(), categories=arguments.categories, ignore=self._ignore)
        wanted = " or ".join(arguments.categories) or "debt"
        if not found.total:
            return _result(f"There are 0 {wanted} markers in this repository.", found.to_json(), found=False)
        counts = ", ".join(f"{count} {category}" for category, count in found.by_category.items() if count)
        files = list(dict.fromkeys(item.path for item in found.items))
        lines = [f"{found.total} {wanted} markers ({counts}) in {len(files)} files: {', '.join(files)}."]
        lines += [wording.marker(item) for item in found.items]
        return _result(capped(lines, self._limit, "name categories."), found.to_json(), found=True)

    def context(self, arguments: ContextArguments) -> ToolResult:
        try:
            store = self._access.store()
            found = context(store, meant(store, arguments.key), budget=self._limit)
        except AmbiguousName as error:
            return self._ambiguous(error)
        except NodeNotFound as error:
            return self._absent(error)
        if not found.blocks:
            return _result(f"No source was found for {arguments.key!r}.", found.to_json(), found=False)
        lines = [f"{block.header}\n{block.text}" for block in found.blocks]
        text = capped(lines, self._limit, "ask for a symbol.", total=len(lines) + found.left_out)
        return _result(text, found.to_json(), found=True)

    def list_kind(self, arguments: ListArguments) -> ToolResult:
        found = list_nodes(self._access.store(), arguments.kind)
        if not found.total:
            return _result(f"There are 0 nodes of kind {arguments.kind}.", found.to_json(), found=False)
        lines = [f"{found.total} nodes of kind {arguments.kind}:", *(_listed(node) for node in found.nodes)]
        text = capped(lines, self._limit, "search with words.")
        return _result(text, found.to_json(), found=True)

    def _ambiguous(self, error: AmbiguousName) -> ToolResult:
        lines = [f"{len(error.keys)} symbols bear that name; use one of these keys:", *error.keys]
        text = capped(lines, self._limit, "use path#name.")
        return ToolResult(ok=False, found=True, code=error.code, text=text)

    def _absent(self, error: NodeNotFound) -> ToolResult:
        return ToolResult(ok=False, found=False, code=error.code, text=error.sentence())


def _listed(node: Node) -> str:
    return f"`{wording.name_of(node)}` in {place(node)}"

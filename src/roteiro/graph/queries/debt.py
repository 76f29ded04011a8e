"""`debt` and `debt-density`: what people left for later, listed and by file.

An empty list means that no marker was found, not that there is no debt. Thread: any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from pathspec import GitIgnoreSpec

from roteiro.errors import UsageError
from roteiro.graph.model import MARKER_CATEGORIES, Marker
from roteiro.graph.queries.pages import checked_choice, checked_choices, checked_page, page
from roteiro.graph.queries.shapes import Json, envelope, marker_json
from roteiro.graph.store import GraphStore

Order: TypeAlias = Literal["density", "markers", "lines"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtList:
    """One page of markers; the counts are of all that passed the filters."""

    total: int
    by_category: dict[str, int]
    items: tuple[Marker, ...]

    def to_json(self) -> Json:
        """The promised shape."""
        return envelope(
            total=self.total,
            by_category=self.by_category,
            items=[marker_json(marker) for marker in self.items],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDebt:
    """The markers of one file against its length. `per_kloc` is markers per thousand lines."""

    path: str
    markers: int
    lines: int
    per_kloc: float
    by_category: dict[str, int]

    def to_json(self) -> Json:
        """The promised fields."""
        return {
            "path": self.path,
            "markers": self.markers,
            "lines": self.lines,
            "per_kloc": self.per_kloc,
            "by_category": self.by_category,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DebtDensity:
    """One page of the files that have markers; the totals are of all of them."""

    order: Order
    total: int
    total_markers: int
    items: tuple[FileDebt, ...]

    def to_json(self) -> Json:
        """The promised shape; `total` counts the files."""
        return envelope(
            order=self.order,
            total=self.total,
            total_markers=self.total_markers,
            items=[item.to_json() for item in self.items],
        )


def debt(
    store: GraphStore,
    *,
    categories: Collection[str] = (),
    ignore: Sequence[str] = (),
    path: str | None = None,
    limit: int = 0,
    offset: int = 0,
) -> DebtList:
    """List the markers, by path and line.

    Args:
        store: the graph.
        categories: only these; empty is all.
        ignore: globs of paths whose markers do not count (`[debt] ignore`).
        path: only markers in this file or folder.
        limit: the most markers; 0 is all.
        offset: how many to leave out.

    Raises:
        UsageError: an unknown category or a negative page.
    """
    checked_page(limit, offset)
    found = _markers(store, categories, ignore, path)
    return DebtList(
        total=len(found),
        by_category=_by_category(found),
        items=tuple(page(found, limit=limit, offset=offset)),
    )


def density(
    store: GraphStore,
    *,
    categories: Collection[str] = (),
    ignore: Sequence[str] = (),
    path: str | None = None,
    order: str = "density",
    min_lines: int = 0,
    limit: int = 0,
    offset: int = 0,
) -> DebtDensity:
    """Rank the files that have markers.

    Args:
        store: the graph.
        categories: only these; empty is all.
        ignore: globs of paths whose markers do not count (`[debt] ignore`).
        path: only this file or folder.
        order: what comes first: most markers a thousand lines, most markers, or the longest.
        min_lines: leave out files with fewer lines; a marker in ten lines is no hot spot.
        limit: the most files; 0 is all.
        offset: how many to leave out.

    Raises:
        UsageError: an unknown category or order, a negative page or `min_lines`.
    """
    checked_page(limit, offset)
    chosen = checked_choice(order, ORDERS, what="order")
    if min_lines < 0:
        raise UsageError(f"min-lines is {min_lines}; it cannot be negative.", param="min_lines")
    with store.snapshot():
        lengths = {file.path: file.lines for file in store.files()}
        markers = _markers(store, categories, ignore, path)
    by_path: dict[str, list[Marker]] = {}
    for marker in markers:
        if lengths.get(marker.path, 0) >= min_lines:
            by_path.setdefault(marker.path, []).append(marker)
    files = sorted((_file_debt(p, of, lengths.get(p, 0)) for p, of in by_path.items()), key=_KEYS[chosen])
    return DebtDensity(
        order=chosen,
        total=len(files),
        total_markers=sum(file.markers for file in files),
        items=tuple(page(files, limit=limit, offset=offset)),
    )


# --------------------------------------------------------------------------------------------------

_KEYS: dict[Order, Callable[[FileDebt], tuple[float, float, str]]] = {
    "density": lambda file: (-file.per_kloc, -file.markers, file.path),
    "markers": lambda file: (-file.markers, -file.per_kloc, file.path),
    "lines": lambda file: (-file.lines, -file.markers, file.path),
}


def _markers(
    store: GraphStore,
    categories: Collection[str],
    ignore: Sequence[str],
    path: str | None,
) -> list[Marker]:
    wanted = checked_choices(categories, MARKER_CATEGORIES, what="category")
    left_out = GitIgnoreSpec.from_lines(ignore)
    prefix = (path or "").strip("/").removeprefix("./")
    return [
        marker
        for marker in store.markers(categories=wanted)
        if not left_out.match_file(marker.path)
        and (prefix in ("", ".") or marker.path == prefix or marker.path.startswith(f"{prefix}/"))
    ]


def _by_category(markers: Iterable[Marker]) -> dict[str, int]:
    counted = Counter(marker.category for marker in markers)
    return {category: counted[category] for category in MARKER_CATEGORIES if counted[category]}


def _file_debt(path: str, markers: Sequence[Marker], lines: int) -> FileDebt:
    return FileDebt(
        path=path,
        markers=len(markers),
        lines=lines,
        per_kloc=round(1000 * len(markers) / lines, 2) if lines else 0.0,
        by_category=_by_category(markers),
    )

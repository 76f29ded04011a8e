"""Brings the graph of a tree up to date: scan, compare, extract, link, store.

Owns the order of these and what one sync reports. Everything is written in one transaction (or one
new file put in place at the end), so whoever reads sees the former graph or the new one, and a sync
that is killed leaves the former. Thread: any; one sync a tree at a time, across processes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roteiro.graph.compare import FACTS_VERSION, Plan, compare
from roteiro.graph.content import VANISHED
from roteiro.graph.extract.facts import FileHeader
from roteiro.graph.facts_map import Unpacked
from roteiro.graph.model import SCHEMA
from roteiro.graph.parcel import (
    Parcel,
    unpack_header,
    unpack_mentions,
)
from roteiro.graph.roots import Root, find_root
from roteiro.graph.scan import FileStat, list_files
from roteiro.graph.store.database import Unreadable, sync_lock
from roteiro.graph.store.rows import Skipped
from roteiro.graph.store.writer import GraphWriter

log = logging.getLogger("roteiro.graph")

WAIT_SECONDS: Final = 60.0

Progress = Callable[[str, int, int], None]
"""Told the stage (`extract`, `link`), how many files are done and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync found and did. `files` are all indexed files, `parsed` those read anew this time."""

    root: Path
    files: int
    parsed: int
    linked: int
    removed: int
    skipped: tuple[Skipped, ...]
    assets: int
    nodes: int
    edges: int
    languages: Mapping[str, int]
    seconds: float
    changed: bool

    def document(self) -> dict[str, object]:
        """The JSON that every front door shows."""
        return {
            "schema": SCHEMA,
            "root": str(self.root),
            "files": self.files,
            "parsed": self.parsed,
            "linked": self.linked,
            "removed": self.removed,
            "skipped": [{"path": item.path, "reason": item.reason} for item in self.skipped],
            "assets": self.assets,
            "nodes": self.nodes,
            "edges": self.edges,
            "languages": dict(self.languages),
            "seconds": round(self.seconds, 3),
        }


def sync(
    start: Path,
    *,
    force: bool = False,
    rebuild: bool = False,
    progress: Progress | None = None,
    wait_seconds: float = WAIT_SECONDS,
    jobs: int | None = None,
) -> SyncReport:
    """Build or update the graph of the tree that a path belongs to.

    Args:
        start: any folder or file of the tree.
        force: take `/` or the home folder for a tree.
        rebuild: read every file anew.
        progress: told how far it is.
        wait_seconds: how long to wait for another process that syncs the same tree.
        jobs: how many processes extract; by default as suits the work.

    Raises:
        RootRefused: the path does not exist or is not one to index unasked.
        StoreLocked: another process syncs this tree and did not finish in time.
        StoreTooNew: a newer Roteiro wrote the graph.
    """
    root = find_root(start, force=force)
    with sync_lock(root.store_path, wait_seconds=wait_seconds):
        run = _Run(root, rebuild=rebuild, progress=progress or _silent, jobs=jobs)
        if root.store_path.exists():
            try:
                return run.update(fresh=False)
            except Unreadable as error:
                log.warning("graph_rebuilt path=%s reason=%s", root.store_path, error.message)
        return run.update(fresh=True)


# --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Outcome:
    """What extraction came to. `disputed` are files whose key another file has, with the remark."""

    parsed: int = 0
    assets: int = 0
    disputed: dict[str, str] = field(default_factory=dict)


class _Run:
    """One sync, under the lock."""

    def __init__(self, root: Root, *, rebuild: bool, progress: Progress, jobs: int | None) -> None:
        self._root = root
        self._rebuild = rebuild
        self._progress = progress
        self._jobs = jobs
        self._started = time.monotonic()

    def update(self, *, fresh: bool) -> SyncReport:
        """Make the graph equal to the tree; `fresh` builds another file and puts it in place."""
        listing = list_files(self._root)
        with GraphWriter(self._root.store_path, fresh=fresh) as writer:
            if self._rebuild and not fresh:
                writer.check()
            known = writer.known_files()
            disputed = json.loads(writer.meta("disputed") or "{}")
            plan = compare(self._root.path, listing, known, disputed, rebuild=self._rebuild)
            going = [path for path in (*plan.changed, *plan.removed) if path in known]
            former = _headers(writer, going)
            writer.clear(going)
            outcome = self._extract(writer, plan)
            changed = fresh or bool(going or outcome.parsed)
            linked = self._link(writer, former, plan) if changed else 0
            for file in plan.touched:
                writer.touch(file.path, mtime=file.mtime, ctime=file.ctime)
            meta = {"left_out": json.dumps(plan.left_out)}
            if changed or plan.changed:
                meta["disputed"] = json.dumps(outcome.disputed)
            if changed:
                meta["synced_at"] = str(int(time.time()))
            writer.drop_dangling()
            report = self._report(writer, plan, outcome, linked=linked, changed=changed)
            writer.commit(meta, changed=changed)
        log.info(
            "graph_synced root=%s files=%d parsed=%d seconds=%.2f",
            report.root,
            report.files,
            report.parsed,
            report.seconds,
        )
        return report

    def _extract(self, writer: GraphWriter, plan: Plan) -> _Outcome:
        """Put the changed files, as far as they can be read."""
        outcome = _Outcome()
        if not plan.changed:
            return outcome
        # Imported where something changed: a look at an unchanged tree needs no workers.
        from roteiro.graph.pool import extract_all

        tasks = [(task, file.size) for task, file in plan.changed.values()]
        self._progress("extract", 0, len(tasks))
        for done, parcel in enumerate(extract_all(self._root.path, tasks, jobs=self._jobs), start=1):
            self._progress("extract", done, len(tasks))
            kept = _kept(parcel, plan.changed[parcel.path][1])
            if kept is None:
                continue
            taken = writer.put(kept, extractor=FACTS_VERSION)
            if taken:
                outcome.disputed[parcel.path] = f"another file is {taken[0]} already"
            outcome.parsed += parcel.state == "indexed"
            outcome.assets += parcel.state == "asset"
        return outcome

    def _link(self, writer: GraphWriter, former: dict[str, FileHeader], plan: Plan) -> int:
        """Resolve the references of the changed files and of those that a change can reach."""
        from roteiro.graph.link import Linker
        from roteiro.graph.pool import link_all

        headers = Unpacked(writer.headers(), unpack_header)
        linker = Linker(headers)
        paths = [path for path in plan.changed if path in headers]
        if len(paths) < len(headers):
            current = {path: headers[path] for path in paths}
            mentions = Unpacked(writer.mentions(), unpack_mentions)
            reached = linker.affected(former, current, mentions)
            reached |= _naming(_moved_keys(former, current), mentions)
            paths = sorted({*paths, *reached} & headers.keys())
        self._progress("link", 0, len(paths))
        bodies = writer.bodies(paths)
        linked = link_all(headers, bodies, len(paths), linker=linker, jobs=self._jobs)
        for done, (path, edges) in enumerate(linked, start=1):
            writer.put_links(path, edges)
            self._progress("link", done, len(paths))
        return len(paths)

    def _report(
        self, writer: GraphWriter, plan: Plan, outcome: _Outcome, *, linked: int, changed: bool
    ) -> SyncReport:
        languages, skipped = writer.languages(), writer.skipped()
        listed = [*skipped, *plan.left_out, *outcome.disputed.items()]
        nodes, edges = writer.totals()
        return SyncReport(
            root=self._root.path,
            files=sum(languages.values()),
            parsed=outcome.parsed,
            linked=linked,
            removed=len(plan.removed),
            skipped=tuple(Skipped(path=path, reason=why) for path, why in sorted(listed)),
            assets=plan.assets + outcome.assets,
            nodes=nodes,
            edges=edges,
            languages=languages,
            seconds=time.monotonic() - self._started,
            changed=changed,
        )


def _moved_keys(*sides: Mapping[str, FileHeader]) -> frozenset[str]:
    """Keys of documents that came or went, as links mention them."""
    before, after = ({key for header in side.values() for key in header.keys} for side in sides)
    return frozenset(before ^ after)


def _naming(names: frozenset[str], mentions: Mapping[str, frozenset[str]]) -> set[str]:
    if not names:
        return set()
    return {path for path, words in mentions.items() if not names.isdisjoint(words)}


def _headers(writer: GraphWriter, paths: list[str]) -> dict[str, FileHeader]:
    return {path: unpack_header(blob) for path, blob in writer.headers_of(paths)}


def _kept(parcel: Parcel, file: FileStat) -> Parcel | None:
    """What is stored of a parcel: a file that cannot be read is remembered as it was listed."""
    if parcel.state != "gone":
        return parcel
    if parcel.reason == VANISHED:
        return None
    return parcel._replace(state="skipped", size=file.size, mtime=file.mtime, ctime=file.ctime)


def _silent(stage: str, done: int, total: int) -> None:
    """Nobody watches."""

"""Keeps a graph up to date while files change.

Owns what may be a change (not our own store, nothing in trees that git ignores: these are not even
watched) and when to sync: once things have been quiet for a moment. Where the kernel's watches run out
or are not to be had, the tree is looked at now and then instead. Thread: the caller's; it blocks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Final

import watchfiles

from roteiro.errors import GraphError
from roteiro.graph.compare import differs
from roteiro.graph.extract import language_of
from roteiro.graph.freshness import is_stale
from roteiro.graph.roots import PLAIN_STORE_FOLDER, Root, find_root
from roteiro.graph.scan import list_files
from roteiro.graph.store import GraphStore
from roteiro.graph.sync import SyncReport, sync

log = logging.getLogger("roteiro.graph")

QUIET_MS: Final = 300  # an editor's save is several events, a branch switch is thousands
LONGEST_MS: Final = 2000
# Empty folders are not watched, network folders say nothing: so look now and then all the same.
LOOK_SECONDS: Final = 30.0
TURN_MS: Final = 1000
POLL_SECONDS: Final = 2.0
POLL_SHARE: Final = 100  # polling rests this many times as long as a look took

_OWN: Final = frozenset({PLAIN_STORE_FOLDER, ".git"})

Notice = Callable[[str], None]


def watch(
    start: Path,
    *,
    stop: threading.Event,
    notice: Notice,
    force: bool = False,
    poll: bool = False,
) -> Iterator[SyncReport]:
    """Sync whenever the tree changes, until `stop` is set. Yields what each sync did.

    Args:
        start: any folder of the tree, which has a graph.
        stop: ends it within a second.
        notice: told what the user should know (a fallback, a sync that has to be tried again).
        force: take `/` or the home folder for a tree.
        poll: do not ask the kernel for watches.
    """
    root = find_root(start, force=force)
    with GraphStore(root.path, root.store_path) as store:
        wakes = _polled(store, stop) if poll else _told(root, store, stop, notice)
        for _ in wakes:
            if stop.is_set():
                return
            report = _synced(root, store, force=force, notice=notice)
            if report is not None and report.changed:
                yield report


# --------------------------------------------------------------------------------------------------


def _synced(root: Root, store: GraphStore, *, force: bool, notice: Notice) -> SyncReport | None:
    """One sync if the tree has moved on. A tree in the middle of something is tried at the next change."""
    try:
        return sync(root.path, force=force) if is_stale(store) else None
    except GraphError as error:
        notice(f"not synced: {error.sentence()}")
        return None


def _told(root: Root, store: GraphStore, stop: threading.Event, notice: Notice) -> Iterator[None]:
    """A wake for every burst of changes that the kernel tells of."""
    while not stop.is_set():
        try:
            yield from _armed(root, stop)
        except (FileNotFoundError, NotADirectoryError):
            continue  # a folder went between the listing and the watch
        except (OSError, RuntimeError) as error:
            log.warning("watch_failed reason=%s fallback=polling", error)
            notice(f"cannot watch this tree ({error}); looking at it every few seconds instead")
            yield from _polled(store, stop)


def _armed(root: Root, stop: threading.Event) -> Iterator[None]:
    """Wakes while the set of folders stays the same."""
    folders = _folders(root)
    changes = watchfiles.watch(
        *folders,
        watch_filter=lambda _, path: _may_matter(path, root.path),
        debounce=LONGEST_MS,
        step=QUIET_MS,
        stop_event=stop,
        rust_timeout=TURN_MS,
        yield_on_timeout=True,
        recursive=False,
        ignore_permission_denied=True,
    )
    # The first turn looks too: what changed before the watches were there has told nobody.
    looked = -LOOK_SECONDS
    for found in changes:
        if not found and time.monotonic() - looked < LOOK_SECONDS:
            continue
        yield
        looked = time.monotonic()
        if _folders(root) != folders:
            return


def _polled(store: GraphStore, stop: threading.Event) -> Iterator[None]:
    """A wake whenever a look finds the tree changed."""
    root = find_root(store.root, force=True)
    rest = POLL_SECONDS
    while not stop.wait(rest):
        began = time.monotonic()
        if differs(root.path, list_files(root), store.known_files()):
            yield
        rest = max(POLL_SECONDS, POLL_SHARE * (time.monotonic() - began))


def _folders(root: Root) -> list[Path]:
    """The folders that hold the tree's files, and those above them."""
    found = {""}
    for file in list_files(root).files:
        folder = file.path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return [root.path / folder for folder in sorted(found)]


def _may_matter(path: str, root: Path) -> bool:
    """Whether a change at a path may be one of the graph; ignored files are told by the look that follows."""
    try:
        parts = PurePath(path).relative_to(root).parts
    except ValueError:
        return False
    if not parts or not _OWN.isdisjoint(parts):
        return False
    name = parts[-1]
    if name == ".gitignore" or "." not in name or language_of(name, b"") is not None:
        return True
    return Path(path).is_dir()

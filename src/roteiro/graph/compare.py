"""What changed since the last sync: by size and times first, by content where these leave doubt.

Reads files whose numbers moved and nothing else. Thread: any.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from roteiro import __version__
from roteiro.graph.content import read_raw, trusted_mtime
from roteiro.graph.extract import EXTRACTOR_VERSION, language_of
from roteiro.graph.extract.languages import suffix_of
from roteiro.graph.parcel import Task
from roteiro.graph.scan import FileStat, Listing
from roteiro.graph.store.rows import KnownFile

FACTS_VERSION = f"{__version__} {EXTRACTOR_VERSION}"
"""Facts and edges are used again only by the program and grammars that made them."""


@dataclass(slots=True, kw_only=True)
class Plan:
    """What a sync has to do. `touched` have new times and the old content; `assets` are counted only."""

    changed: dict[str, tuple[Task, FileStat]] = field(default_factory=dict)
    touched: list[FileStat] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    assets: int = 0


def compare(
    root: Path,
    listing: Listing,
    known: Mapping[str, KnownFile],
    disputed: Collection[str] = (),
    *,
    rebuild: bool = False,
) -> Plan:
    """Hold the tree against what the store knows of it.

    Args:
        root: the tree's root.
        listing: the tree as it is.
        known: the files of the last sync.
        disputed: files that get another chance whenever anything changes.
        rebuild: take every file for changed.
    """
    plan = Plan()
    languages = tree_languages(listing)
    sources = [file for file in listing.files if file.path in languages]
    for file in sources:
        former, lang = known.get(file.path), languages[file.path]
        if former is None or rebuild or not _is_current(former, lang):
            plan.changed[file.path] = (Task(file.path, lang), file)
        elif not _same_numbers(former, file):
            _compare_content(root, plan, former, file, lang)
        if former is not None and former.state == "asset" and file.path not in plan.changed:
            plan.assets += 1
    plan.assets += len(listing.files) - len(sources)
    plan.removed = sorted(known.keys() - languages.keys())
    plan.left_out = [(path, why) for path, why in listing.left_out if _is_of_interest(path)]
    if plan.changed or plan.removed:
        for file in sources:
            if file.path in disputed and file.path not in plan.changed:
                plan.changed[file.path] = (Task(file.path, languages[file.path]), file)
    return plan


def differs(root: Path, listing: Listing, known: Mapping[str, KnownFile]) -> bool:
    """Whether a sync would change anything; stops at the first file that says so."""
    languages = tree_languages(listing)
    if known.keys() - languages.keys():
        return True
    plan = Plan()
    for file in listing.files:
        lang = languages.get(file.path)
        if lang is None:
            continue
        former = known.get(file.path)
        if former is None or not _is_current(former, lang):
            return True
        if not _same_numbers(former, file):
            _compare_content(root, plan, former, file, lang)
            if plan.changed:
                return True
    return False


def tree_languages(listing: Listing) -> dict[str, str]:
    """The language of every file that may be source; "" where only its content can tell."""
    languages: dict[str, str] = {}
    for file in listing.files:
        found = language_of(file.path, b"")
        if found is not None:
            languages[file.path] = found
        elif file.size > 2 and not suffix_of(file.path):
            languages[file.path] = ""
    if "cpp" in languages.values():
        headers = [path for path, lang in languages.items() if lang == "c" and path.endswith(".h")]
        languages.update(dict.fromkeys(headers, "cpp"))
    return languages


# --------------------------------------------------------------------------------------------------


def _is_current(former: KnownFile, lang: str) -> bool:
    return former.extractor == FACTS_VERSION and (not lang or former.lang == lang)


def _same_numbers(former: KnownFile, file: FileStat) -> bool:
    # An older mtime is a change like a newer one: a revert may bring it. A ctime moves with every
    # write, even where a tool puts the mtime back.
    return (former.size, former.mtime, former.ctime) == (file.size, file.mtime, file.ctime)


def _compare_content(root: Path, plan: Plan, former: KnownFile, file: FileStat, lang: str) -> None:
    raw = read_raw(root, file.path)
    if isinstance(raw, str) or raw.digest() != former.hash:
        plan.changed[file.path] = (Task(file.path, lang), file)
        return
    mtime = trusted_mtime(raw.mtime)
    if (mtime, raw.ctime) != (former.mtime, former.ctime):
        plan.touched.append(FileStat(file.path, raw.size, mtime, raw.ctime))


def _is_of_interest(path: str) -> bool:
    """Folders, and files that would be indexed if they could: the rest are assets."""
    return path.endswith("/") or language_of(path, b"") is not None or "." not in path

"""How long the graph's queries take on a graph of 100,000 and more nodes, and what the view weighs.

    python benchmarks/graph_queries.py [--tree FOLDER] [--keep FOLDER] [--rounds 1]

Without --tree the Python files of the running interpreter's library and site-packages are copied to
a temporary folder (or --keep) and synced there. Prints a table, then one JSON line. Wall time is what
a user waits; CPU time is what the query costs when other work disturbs the machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from roteiro.errors import RoteiroError
from roteiro.graph.queries.context import context
from roteiro.graph.queries.explain import explain
from roteiro.graph.queries.path import path
from roteiro.graph.queries.search import search
from roteiro.graph.store import GraphStore, open_graph
from roteiro.graph.sync import sync
from roteiro.graph.view import LatestView

WANTED_NODES = 100_000
LIMITS_MS = {"search": 30.0, "explain": 15.0, "path": 150.0}
VIEW_LIMIT_MB = 300
QUESTIONS = (
    "where are redirects followed",
    "which function hides credential headers",
    "how does the scheduler pick the next task",
    "convert string to int",
    "retry on connection error",
    "load configuration from environment variables",
    "where is the encoding of a response detected",
    "class for socket connection pool",
    "open file", "parse http header", "get", "set value", "test", "self", "e", "__init__",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, help="a tree to sync and ask")
    parser.add_argument("--keep", type=Path, help="where to copy the library to, kept afterwards")
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    with _tree(chosen.tree, chosen.keep) as tree:
        report = sync(tree)
        size = f"{report.files} files, {report.nodes} nodes, {report.edges} edges"
        print(f"{size}, synced in {report.seconds:.1f} s", flush=True)
        with open_graph(tree) as store:
            results = measure(store, rounds=chosen.rounds)
    results |= {"nodes": report.nodes, "edges": report.edges, "files": report.files}
    print(json.dumps(results))
    return 0


def measure(store: GraphStore, *, rounds: int) -> dict[str, object]:
    """Ask everything warm: one round that does not count, then the counted ones."""
    chance = random.Random(7)
    nodes = [(name, key, number) for name, key, number in store.names()]
    keys = [key for _, key, _ in nodes]
    names = [name for name, _, _ in nodes if len(name) > 2]
    arriving = store.in_degrees([number for _, _, number in nodes])
    by_number = {number: key for _, key, number in nodes}
    hubs = [by_number[n] for n in sorted(arriving, key=lambda n: -arriving[n])[:10]]
    gc.collect()
    before = _resident_mb()
    started = time.perf_counter()
    latest = LatestView(store)
    view = latest.of(store.generation())
    fill_seconds = time.perf_counter() - started
    gc.collect()
    view_mb = _resident_mb() - before
    words = [name.replace("_", " ") for name in chance.sample(names, 60)]
    pairs = [tuple(chance.sample(keys, 2)) for _ in range(80)]
    asked: dict[str, list[Callable[[], object]]] = {
        "search": [lambda q=q: search(store, q) for q in [*QUESTIONS, *chance.sample(names, 60), *words]],
        "explain": [lambda k=k: explain(store, k) for k in [*hubs, *chance.sample(keys, 150)]],
        "path": [
            lambda p=p, d=d: path(store, *p, view=view, directed=d) for p in pairs for d in (False, True)
        ],
        "context": [lambda q=q: context(store, q) for q in [*chance.sample(keys, 60), *QUESTIONS[:8]]],
    }
    results: dict[str, object] = {"view_mb": round(view_mb, 1), "view_fill_s": round(fill_seconds, 2)}
    print(f"view: {view!r}, {view_mb:.0f} MB (limit {VIEW_LIMIT_MB}), filled in {fill_seconds:.1f} s")
    print(f"{'query':10}{'asked':>7}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}{'cpu p95':>9}{'limit':>8}")
    for name, questions in asked.items():
        wall, cpu = _times(questions, rounds)
        row = {
            "p50": _quantile(wall, 0.5),
            "p95": _quantile(wall, 0.95),
            "max": max(wall),
            "cpu_p95": _quantile(cpu, 0.95),
        }
        results[name] = {what: round(value, 2) for what, value in row.items()}
        limit = f"{LIMITS_MS[name]:.0f}" if name in LIMITS_MS else "-"
        print(f"{name:10}{len(wall):7}" + "".join(f"{value:9.1f}" for value in row.values()) + f"{limit:>8}")
    return results


def _times(questions: Sequence[Callable[[], object]], rounds: int) -> tuple[list[float], list[float]]:
    wall: list[float] = []
    cpu: list[float] = []
    for counted in [False] + [True] * rounds:
        for ask in questions:
            started, used = time.perf_counter(), time.process_time()
            with suppress(RoteiroError):  # an ambiguous or unknown name is an answer too
                ask()
            if counted:
                wall.append((time.perf_counter() - started) * 1e3)
                cpu.append((time.process_time() - used) * 1e3)
    return wall, cpu


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _resident_mb() -> float:
    """What the process holds now, where the system says so; else the most it ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


@contextmanager
def _tree(given: Path | None, keep: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as temporary:
        target = keep or Path(temporary)
        if not (target / "library").exists():
            _copy_library(target)
        yield target


def _copy_library(target: Path) -> None:
    """Python files, until about as many definitions as wanted are there."""
    found = 0
    for name in ("purelib", "stdlib"):
        root = Path(sysconfig.get_path(name))
        for source in sorted(root.rglob("*.py")):
            relative = source.relative_to(root)
            if name == "stdlib" and "site-packages" in relative.parts:
                continue
            text = source.read_bytes()
            found += text.count(b"def ") + text.count(b"class ") + 1
            copy = target / "library" / name / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            if found > WANTED_NODES * 1.1:
                return


if __name__ == "__main__":
    sys.exit(main())

"""How long a sync takes, beside what it cannot do without: parsing the same files on the same cores.

    python benchmarks/graph_sync.py                      # the running interpreter's standard library
    python benchmarks/graph_sync.py FOLDER --rounds 3

The tree is copied to a temporary folder first. Each round runs, one after the other, the bare parse and
capture of every file and a whole cold sync, both with as many processes; the ratio is of the best rounds.
Wall time on a busy machine says little: CPU seconds of all processes are printed beside it. Peak memory is
the sum of the resident sets of all processes. At the end a table, then one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

NO_COPY = ("site-packages", "__pycache__", ".git", ".roteiro", "*.pyc", "*.so")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(sysconfig.get_path("stdlib")))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="graph-sync-") as scratch:
        tree = Path(scratch) / "tree"
        ignored = shutil.ignore_patterns(*NO_COPY)
        shutil.copytree(options.folder, tree, symlinks=True, ignore=ignored)
        report(measure(tree, rounds=options.rounds, jobs=options.jobs))


def measure(tree: Path, *, rounds: int, jobs: int) -> dict[str, float]:
    files = sources(tree)
    found: dict[str, float] = {"files": len(files), "bytes": sum(size for _, _, size in files), "jobs": jobs}
    for _ in range(rounds):
        keep_best(found, "bare", timed(lambda: bare(tree, files, jobs)))
        shutil.rmtree(tree / ".roteiro", ignore_errors=True)
        keep_best(found, "cold", timed(lambda: roteiro_sync(tree)))
    found["ratio_wall"] = found["cold_wall"] / found["bare_wall"]
    found["ratio_cpu"] = found["cold_cpu"] / found["bare_cpu"]
    for _ in range(3):
        keep_best(found, "no_change", timed(lambda: roteiro_sync(tree)))
    edited = tree / next(path for path, lang, size in files if lang == "python" and 4000 < size < 40_000)
    text = edited.read_text()
    for turn in range(3):
        edited.write_text(f"{text}\n\ndef added_{turn}():\n    return {turn}\n")
        keep_best(found, "one_edit", timed(lambda: roteiro_sync(tree)))
    found["in_process_no_change"], found["in_process_one_edit"] = warm(tree, edited, text)
    if shutil.which("ctags"):
        command = ["ctags", "-R", "-f", str(tree.parent / "tags"), str(tree)]
        keep_best(found, "ctags", timed(lambda: subprocess.run(command, check=True)))
    return found


def sources(tree: Path) -> list[tuple[str, str, int]]:
    """(path, language, size) of every file that the sync would parse."""
    from roteiro.graph.compare import tree_languages
    from roteiro.graph.roots import Root
    from roteiro.graph.scan import list_files

    listing = list_files(Root(path=tree, git_dir=None))
    languages = tree_languages(listing)
    return [(f.path, languages[f.path], f.size) for f in listing.files if languages.get(f.path)]


def bare(tree: Path, files: list[tuple[str, str, int]], jobs: int) -> None:
    """Read, parse and run the capture query, nothing else."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        batches = [files[at : at + 24] for at in range(0, len(files), 24)]
        for _ in pool.map(bare_batch, [str(tree)] * len(batches), batches):
            pass


def bare_batch(root: str, batch: list[tuple[str, str, int]]) -> int:
    from tree_sitter import QueryCursor

    from roteiro.graph.extract.languages import LANGUAGES
    from roteiro.graph.extract.parsing import _machinery

    count = 0
    for path, lang, _ in batch:
        if lang in LANGUAGES:
            parser, query, _ = _machinery(lang)
            root_node = parser.parse(Path(root, path).read_bytes()).root_node
            count += len(QueryCursor(query, match_limit=4096).matches(root_node))
    return count


def roteiro_sync(tree: Path) -> None:
    command = [sys.executable, "-m", "roteiro", "sync", str(tree)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def warm(tree: Path, edited: Path, text: str) -> tuple[float, float]:
    """Seconds of a sync without a change and with one, in a process that is up."""
    from roteiro.graph.sync import sync

    sync(tree)
    still = min(sync(tree).seconds for _ in range(3))
    moved = []
    for turn in range(3):
        edited.write_text(f"{text}\n\ndef warm_{turn}():\n    return {turn}\n")
        moved.append(sync(tree).seconds)
    return still, min(moved)


def timed(run: Callable[[], object]) -> dict[str, float]:
    """Wall and CPU seconds of a run with its processes, and their peak memory in MB."""
    before, began = cpu(), time.perf_counter()
    with peak_memory() as peak:
        run()
    return {"wall": time.perf_counter() - began, "cpu": cpu() - before, "mb": peak[0] / 2**20}


def cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


class peak_memory:  # noqa: N801 (reads as a verb)
    """Samples the resident sets of this process's descendants."""

    def __enter__(self) -> list[int]:
        self.peak, self.over = [0], threading.Event()
        self.thread = threading.Thread(target=self.sample)
        self.thread.start()
        return self.peak

    def __exit__(self, *exc: object) -> None:
        self.over.set()
        self.thread.join()

    def sample(self) -> None:
        while not self.over.wait(0.05):
            self.peak[0] = max(self.peak[0], sum(map(resident, descendants(os.getpid()))))


def descendants(pid: int) -> Iterator[int]:
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text().split()
        except OSError:
            continue
        for child in children:
            yield int(child)
            yield from descendants(int(child))


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def keep_best(found: dict[str, float], name: str, run: dict[str, float]) -> None:
    for key, value in run.items():
        choose = max if key == "mb" else min
        found[f"{name}_{key}"] = choose(found.get(f"{name}_{key}", value), value)


def report(found: dict[str, float]) -> None:
    print(f"{found['files']:.0f} files, {found['bytes'] / 1e6:.1f} MB, {found['jobs']:.0f} processes")
    print(f"{'':12}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    for name in ("bare", "cold", "ctags", "no_change", "one_edit"):
        if f"{name}_wall" in found:
            row = (found[f"{name}_{key}"] for key in ("wall", "cpu", "mb"))
            print(f"{name:12}" + "".join(f"{value:9.2f}" for value in row))
    print(f"cold / bare: {found['ratio_wall']:.2f} by wall, {found['ratio_cpu']:.2f} by CPU")
    print(
        f"in a process that is up: no change {found['in_process_no_change']:.3f} s, "
        f"one edit {found['in_process_one_edit']:.3f} s"
    )
    print(json.dumps({key: round(value, 4) for key, value in found.items()}))


if __name__ == "__main__":
    main()

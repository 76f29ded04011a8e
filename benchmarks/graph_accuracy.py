"""How right the graph's `calls` are: against jedi for Python, against hand-checked lists elsewhere.

    python benchmarks/graph_accuracy.py httpx==0.28.1 starlette attrs     # downloads wheels
    python benchmarks/graph_accuracy.py --tree path/to/package            # a package at hand
    python benchmarks/graph_accuracy.py --checked                         # the hand-checked samples

For each call site jedi's `goto` names definitions; a site counts where one of them stands in the package.
Precision: of the sites where the graph has a `derived` edge to a definition, and jedi knows one, how many
agree. Recall: of the sites where jedi names a definition of the package, for how many the graph has it.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from roteiro.graph.extract import extract, language_of
from roteiro.graph.extract.facts import FileFacts
from roteiro.graph.link import Linker

CHECKED = Path(__file__).parent / "accuracy"


class Site(NamedTuple):
    path: str
    line: int
    column: int
    text: str


class Key(NamedTuple):
    """A definition by its name and lines; jedi's has one line, which must lie within ours."""

    path: str
    name: str
    line: int
    end: int

    def covers(self, other: Key) -> bool:
        return self[:2] == other[:2] and self.line <= other.line <= self.end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", help="requirements to download and compare")
    parser.add_argument("--tree", action="append", default=[], type=Path)
    parser.add_argument("--checked", action="store_true", help="the hand-checked samples")
    parser.add_argument("--verbose", action="store_true", help="print every miss")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trees = [*options.tree, *(_download(p, Path(folder)) for p in options.packages)]
        results = [compare(tree, verbose=options.verbose) for tree in trees]
    if options.checked:
        results += [check(sample) for sample in sorted(CHECKED.glob("*.json"))]
    return 0 if all(results) else 1


def _download(requirement: str, folder: Path) -> Path:
    target = folder / requirement.partition("=")[0]
    target.mkdir()
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(target), requirement]
    subprocess.run(command, check=True)
    wheel = next(target.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    wheel.unlink()
    return target


def facts_of(root: Path) -> dict[str, FileFacts]:
    found = {}
    for file in sorted(root.rglob("*")):
        if not file.is_file():
            continue
        path = file.relative_to(root).as_posix()
        data = file.read_bytes()
        lang = language_of(path, data[:256])
        if lang is not None and lang not in {"markdown", "rst"}:
            found[path] = extract(path, data, lang)
    return found


def compare(root: Path, *, verbose: bool) -> bool:
    """Print how the graph's calls and jedi's agree over a tree; whether the targets are met."""
    import jedi

    facts = {path: row for path, row in facts_of(root).items() if row.lang == "python"}
    start = time.perf_counter()
    ours, unsure = _our_calls(facts)
    linked = time.perf_counter() - start
    project = jedi.Project(root, sys_path=[str(root), *sys.path[1:]], load_unsafe_extensions=False)
    tally: Counter[str] = Counter()
    misses: Counter[str] = Counter()
    for path in facts:
        source = (root / path).read_text(encoding="utf-8", errors="replace")
        script = jedi.Script(source, path=root / path, project=project)
        for site in call_sites(path, source):
            theirs = _jedi_targets(script, site, root, facts)
            mine = ours.get((path, site.line, _last(site.text)), set())
            guess = unsure.get((path, site.line, _last(site.text)), set())
            kind = _judge(mine, guess, theirs)
            tally[kind] += 1
            if kind in {"missed", "wrong", "only inferred"}:
                why = f"{kind}: {_why(site)}"
                misses[why] += 1
                if verbose:
                    print(
                        f"  {why}  {path}:{site.line} {site.text} ours={_names(mine)} jedi={_names(theirs)}"
                    )
    agreed, wrong = tally["agreed"], tally["wrong"]
    missed = tally["missed"] + tally["only inferred"]
    precision = agreed / max(1, agreed + wrong)
    recall = agreed / max(1, agreed + wrong + missed)
    print(
        f"{root.name}: {len(facts)} files, {sum(tally.values())} sites, precision {precision:.3f}, "
        f"recall {recall:.3f} (linked in {linked:.2f} s)  {dict(tally)}"
    )
    for why, count in misses.most_common(12):
        print(f"    {count:5d}  {why}")
    return precision >= 0.95 and recall >= 0.85


def check(sample: Path) -> bool:
    """Print how the graph agrees with a sample of call sites that a person resolved by reading."""
    data = json.loads(sample.read_text())
    with tempfile.TemporaryDirectory() as folder:
        root = _unpacked(data["package"], Path(folder))
        facts = {
            path: row
            for path, row in facts_of(root).items()
            if row.lang == data["language"] and path.startswith(tuple(f"{f}/" for f in data["folders"]))
        }
    linker = Linker({path: row.header for path, row in facts.items()})
    found = {
        (path, site.ref.line, site.ref.expr): site.target.split(":", 2)[2]
        for path, row in facts.items()
        for site in linker.sites(path, row.header, row.body)
        if site.confidence is None
    }
    tally: Counter[str] = Counter()
    for site in data["sites"]:
        ours = found.get((site["path"], site["line"], site["call"]))
        kind = "agreed" if ours == site["target"] else "missed" if ours is None else "wrong"
        tally["outside, left open" if ours is site["target"] is None else kind] += 1
        if kind != "agreed":
            print(f"    {kind}: {site['path']}:{site['line']} {site['call']} is {site['target']}, not {ours}")
    agreed, wrong = tally["agreed"], tally["wrong"]
    precision = agreed / max(1, agreed + wrong)
    recall = agreed / max(1, agreed + wrong + tally["missed"])
    print(
        f"{sample.stem} ({data['language']}): {len(data['sites'])} checked sites, precision {precision:.3f}, "
        f"recall {recall:.3f}  {dict(tally)}"
    )
    return precision >= 0.95


def _unpacked(package: str, folder: Path) -> Path:
    registry, _, name = package.partition(":")
    if registry == "npm":
        subprocess.run(["npm", "pack", "--silent", name], cwd=folder, check=True, capture_output=True)
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", name]
        subprocess.run(command, cwd=folder, check=True)
    archive = next(path for path in folder.iterdir() if path.suffix in {".tgz", ".gz"})
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    archive.unlink()
    return next(path for path in folder.iterdir() if path.is_dir())


def _judge(mine: set[Key], guess: set[Key], theirs: set[Key] | None) -> str:
    if theirs is None:
        return "jedi knows nothing, we do" if mine else "neither"
    if not theirs:
        return "wrong" if mine else "outside"
    if mine:
        return "agreed" if _meet(mine, theirs) else "wrong"
    return "only inferred" if _meet(guess, theirs) else "missed"


def _meet(mine: set[Key], theirs: set[Key]) -> bool:
    return any(one.covers(other) for one in mine for other in theirs)


Calls = dict[tuple[str, int, str], set[Key]]


def _our_calls(facts: dict[str, FileFacts]) -> tuple[Calls, Calls]:
    """Our targets by path, line and the name that is called; derived and inferred apart."""
    spans = {node.key: node for row in facts.values() for node in row.nodes}
    linker = Linker({path: row.header for path, row in facts.items()})
    sure: Calls = {}
    unsure: Calls = {}
    for path, row in facts.items():
        for site in linker.sites(path, row.header, row.body):
            node = spans[site.target]
            calls = sure if site.confidence is None else unsure
            key = Key(node.path, node.name, node.line or 0, node.end_line or 0)
            if site.ref.kind == "c":
                calls.setdefault((path, site.ref.line, _last(site.ref.expr)), set()).add(key)
    return sure, unsure


def call_sites(path: str, source: str) -> Iterator[Site]:
    """Every call of a name or attribute, at the last name before the parentheses."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            yield Site(
                path, function.lineno, _chars(lines, function.lineno, function.col_offset), function.id
            )
        elif isinstance(function, ast.Attribute):
            line, end = function.end_lineno or function.lineno, function.end_col_offset or 0
            column = _chars(lines, line, end) - len(function.attr)
            yield Site(path, line, column, ast.unparse(function)[:120])


def _chars(lines: list[str], line: int, offset: int) -> int:
    return len(lines[line - 1].encode()[:offset].decode("utf-8", "replace"))


def _jedi_targets(script, site: Site, root: Path, facts: dict[str, FileFacts]) -> set[Key] | None:
    """The definitions jedi names within the package, empty if all are outside, None if it names none."""
    try:
        names = script.goto(site.line, site.column, follow_imports=True)
    except Exception:  # jedi fails on some code; such a site says nothing
        return None
    if not names:
        return None
    found = set()
    undecided = False
    for name in names:
        if name.type in {"function", "class"} and name.module_path is not None:
            path = Path(name.module_path)
            if path.is_relative_to(root) and path.relative_to(root).as_posix() in facts:
                found.add(Key(path.relative_to(root).as_posix(), name.name, name.line, name.line))
        elif name.type in {"statement", "param", "instance", "property"}:
            inferred = _inferred(name, root, facts)
            undecided = undecided or not inferred
            found |= inferred
    return None if not found and undecided else found


def _inferred(name, root: Path, facts: dict[str, FileFacts]) -> set[Key]:
    """What a variable that is called holds, as far as jedi can tell."""
    try:
        values = name.infer()
    except Exception:  # as above
        return set()
    found = set()
    for value in values:
        if value.type in {"function", "class"} and value.module_path is not None:
            path = Path(value.module_path)
            if path.is_relative_to(root) and path.relative_to(root).as_posix() in facts:
                found.add(Key(path.relative_to(root).as_posix(), value.name, value.line, value.line))
    return found


def _why(site: Site) -> str:
    text = site.text
    if text.startswith(("self.", "cls.")):
        return "self.x.y()" if text.count(".") > 1 else "self.x()"
    if text.startswith("super()"):
        return "super().x()"
    if "(" in text or "[" in text:
        return "f().x() or a[i].x()"
    return "name()" if "." not in text else "a.b()" if text.count(".") == 1 else "a.b.c()"


def _names(keys: set[Key] | None) -> list[str]:
    return sorted(f"{k.path}:{k.line} {k.name}" for k in keys or ())


def _last(text: str) -> str:
    return text.rpartition(".")[2]


if __name__ == "__main__":
    raise SystemExit(main())

"""Decision records are whole, and no text cites one that does not exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "docs" / "adr").glob("*.md"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_has_its_sections(path: Path):
    text = path.read_text("utf-8")
    number = path.name[:4]
    assert text.startswith(f"# ADR-{number}: ")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[:5] == ["Status", "Context", "Decision", "Consequences", "Evidence"]


def test_numbers_are_unique():
    numbers = [path.name[:4] for path in RECORDS]
    assert len(numbers) == len(set(numbers)) > 10


def test_every_cited_record_exists():
    listed = subprocess.run(
        ["git", "ls-files", "src", "docs", "benchmarks", "README.md", "config"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    known = {path.name[:4] for path in RECORDS}
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix not in {".py", ".md", ".toml", ".scm"} or not path.exists():
            continue
        cited = set(re.findall(r"ADR-(\d{4})", path.read_text("utf-8")))
        assert cited <= known, f"{name} cites {sorted(cited - known)}"

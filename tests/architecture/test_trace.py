"""docs/trace.md names only symbols that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = sorted(
    set(re.findall(r"`(src/[\w/]+\.py)::([\w.]+)`", (ROOT / "docs" / "trace.md").read_text("utf-8")))
)


def defined(path: Path) -> set[str]:
    """Qualified names of the classes, functions and methods of a file."""
    found: set[str] = set()

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(prefix + child.name)
                walk(child, f"{prefix}{child.name}.")

    walk(ast.parse(path.read_text("utf-8")), "")
    return found


@pytest.mark.parametrize(("path", "symbol"), PLACES)
def test_the_trace_names_what_is_there(path: str, symbol: str):
    assert symbol in defined(ROOT / path)


def test_the_trace_goes_from_the_route_to_the_decode_loop():
    files = [path for path, _ in PLACES]
    assert "src/roteiro/server/routes/chat.py" in files
    assert "src/roteiro/engine/decode.py" in files

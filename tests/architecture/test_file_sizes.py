"""A file is one thing, and a function is read without scrolling."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "roteiro"
FILES = sorted(SRC.rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_files_and_functions_are_small(path: Path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{node.name} has {lines} lines"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and path.name != "main.py":
            assert node.returns is not None, f"{node.name} has no return annotation"

"""Each foreign library enters through one door, and nothing else imports it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src" / "roteiro"

# Library to the files or folders (under src/roteiro) that may import it.
DOORS = {
    "llama_cpp": ("engine/llama",),
    "llguidance": ("engine/guidance.py",),
    "jinja2": ("chat/template",),
    "tree_sitter": ("graph/extract/parsing.py",),
    "sqlite3": ("graph/store",),
    "networkx": ("graph/view.py",),
    "fastapi": ("server",),
    "starlette": ("server",),
    "sse_starlette": ("server",),
    "uvicorn": ("server/serve.py",),
    "prometheus_client": ("server",),
    "mcp": ("mcp_server",),
    "typer": ("cli",),
    "rich": ("cli",),
    "watchfiles": ("graph/watch.py",),
    "pathspec": ("graph",),
    "markdown_it": ("graph/extract",),
    "tomli_w": ("config/editing.py",),
    "pydantic": ("server", "tools"),
    "httpx": ("modelstore", "cli"),
}


def imports(path: Path) -> set[str]:
    """Top-level names of every import in a file, wherever it stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def is_behind(path: Path, doors: tuple[str, ...]) -> bool:
    relative = path.relative_to(SRC).as_posix()
    return any(relative == door or relative.startswith((f"{door}/", f"{door}.py")) for door in doors)


FILES = sorted(SRC.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_a_foreign_library_is_imported_behind_its_door_only(path: Path):
    for name in imports(path):
        library = "tree_sitter" if name.startswith("tree_sitter") else name
        if library in DOORS:
            assert is_behind(path, DOORS[library]), f"{library} enters through {DOORS[library]}"


def test_every_door_is_used():
    used = set().union(*(imports(path) for path in FILES))
    used |= {"tree_sitter"} if any(name.startswith("tree_sitter") for name in used) else set()
    assert set(DOORS) <= used

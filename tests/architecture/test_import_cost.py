"""`roteiro --help` and the small commands import nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "fastapi",
    "starlette",
    "uvicorn",
    "llama_cpp",
    "llguidance",
    "networkx",
    "tree_sitter",
    "numpy",
    "jinja2",
    "httpx",
    "mcp",
)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["config", "--json"]])
def test_small_commands_stay_light(arguments: list[str]):
    code = (
        "import sys\n"
        f"sys.argv = ['roteiro', *{arguments!r}]\n"
        "from roteiro.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('HEAVY', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"

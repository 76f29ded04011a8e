"""Questions to a tree that moves on: the real sync, the stale notice, and `--sync`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fakes import sample_graph as s
from roteiro.cli.main import app

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in s.FILES.items():
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def asked(*arguments: str) -> dict[str, object]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    document: dict[str, object] = json.loads(result.stdout)
    return document


def test_sync_first_builds_the_graph_and_finds(tree: Path) -> None:
    assert run("search", "mask_secrets").exit_code == 3
    found = asked("search", "mask_secrets", "--sync")
    assert found["exact"] is True
    assert found["stale"] is False
    assert asked("search", "mask_secrets")["stale"] is False


def test_an_edit_is_noticed_said_and_taken_in_on_demand(tree: Path) -> None:
    run("list", "file", "--sync")
    source = tree / "pkg" / "transport.py"
    source.write_text(source.read_text(encoding="utf-8") + "\n\ndef reconnect():\n    pass\n")
    result = run("search", "reconnect")
    assert "the tree has changed since the last sync" in result.stderr
    assert asked("list", "fn")["stale"] is True
    assert asked("search", "reconnect", "--sync")["exact"] is True


def test_the_graph_of_real_files_answers_every_question(tree: Path) -> None:
    """What the sample's hand-made rows say is what the real pipeline finds."""
    run("list", "file", "--sync")
    explained = asked("explain", "Transport.handle")
    outgoing = [(end["kind"], end["node"]) for end in explained["outgoing"]]  # type: ignore[attr-defined]
    assert ("calls", s.CONNECT) in outgoing
    assert [item["category"] for item in asked("debt")["items"]][:2] == ["todo", "hack"]  # type: ignore[attr-defined]
    assert [node["key"] for node in asked("list", "adr")["nodes"]] == [s.ADR]  # type: ignore[attr-defined]
    hit = asked("search", "which function hides credentials in headers?")["hits"][0]  # type: ignore[index]
    assert hit["key"] == s.MASK


def test_a_process_of_its_own_prints_utf_8_whatever_the_locale(tree: Path) -> None:
    run("list", "file", "--sync")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    done = subprocess.run(
        [sys.executable, "-m", "roteiro", "explain", "Client", "--json"],
        cwd=tree, env=environment, capture_output=True, check=False, timeout=50,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("utf-8"))["node"]["key"] == s.CLIENT_KEY

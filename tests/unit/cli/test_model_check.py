"""`roteiro model check` on templates, GGUFs and ids, in text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from roteiro.cli.commands.model import app

TEMPLATES = Path(__file__).parents[2] / "assets" / "templates"
runner = CliRunner()


def test_a_template_that_states_tools():
    result = runner.invoke(app, ["check", str(TEMPLATES / "qwen3.jinja"), "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["ok"], found["dialect"], found["tools"], found["tools_stated"]) == (
        True,
        "hermes",
        "native",
        1,
    )
    assert found["reasoning"]["start"] == "<think>"
    assert found["context_length"] is None
    assert {tuple(sorted(probe)) for probe in found["probes"]} == {("detail", "name", "ok")}
    assert len(found["probes"]) == 15


def test_text_for_people():
    result = runner.invoke(app, ["check", str(TEMPLATES / "gemma2.jinja")])
    assert result.exit_code == 0
    assert "tools will work" in result.stdout
    assert "no, folded into the user's message" in result.stdout
    assert "1 (1 by the template)" in result.stdout


def test_a_template_whose_form_is_unknown(tmp_path: Path):
    path = tmp_path / "odd.jinja"
    path.write_text("{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}")
    result = runner.invoke(app, ["check", str(path), "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert not found["ok"]
    assert [probe["name"] for probe in found["probes"] if not probe["ok"]] == ["call_form"]


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("broken.jinja", b"{{ ((", 1),
        ("empty.jinja", b"", 2),
        ("broken.gguf", b"GGUF\x03\x00", 1),
        ("bytes.jinja", b"\xff\xfe{{ messages[0].content }}", 0),
    ],
)
def test_files_that_are_no_good(tmp_path: Path, name: str, content: bytes, code: int):
    (tmp_path / name).write_bytes(content)
    result = runner.invoke(app, ["check", str(tmp_path / name), "--json"])
    assert result.exit_code == code
    if code:
        assert json.loads(result.stderr)["error"]["message"]


@pytest.mark.parametrize(("subject", "code"), [("missing.jinja", 2), ("/", 2), ("no-such-model", 1)])
def test_subjects_that_are_not_there(subject: str, code: int):
    result = runner.invoke(app, ["check", subject])
    assert result.exit_code == code
    assert subject in result.stderr


@pytest.mark.model
def test_a_real_model(smollm2_path: Path):
    result = runner.invoke(app, ["check", str(smollm2_path), "--json"])
    found = json.loads(result.stdout)
    assert (result.exit_code, found["tools"], found["context_length"]) == (0, "preamble", 8192)

"""Files become a configuration, and what is wrong in them is named with file, line and key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roteiro.config import explain, load
from roteiro.errors import ConfigError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def user_file(isolated_home: Path) -> Path:
    (isolated_home / ".roteiro").mkdir()
    return isolated_home / ".roteiro" / "config.toml"


def test_the_nearest_project_file_up_to_the_work_tree_counts(project: Path):
    (project / "roteiro.toml").write_text("[serve]\nsessions = 2\n")
    assert load(cwd=project / "sub" / "deep").config.serve.sessions == 2
    (project / "sub" / "roteiro.toml").write_text("[serve]\nsessions = 3\n")
    assert load(cwd=project / "sub" / "deep").config.serve.sessions == 3


def test_a_file_above_the_work_tree_does_not_count(project: Path):
    inner = project / "sub"
    (inner / ".git").write_text("gitdir: elsewhere\n")
    (project / "roteiro.toml").write_text("[serve]\nsessions = 2\n")
    loaded = load(cwd=inner)
    assert loaded.config.serve.sessions == 4
    assert loaded.config.project_root == inner


def test_flags_win_over_files(project: Path, user_file: Path):
    user_file.write_text("[serve]\naddr = '127.0.0.1:1'\n")
    (project / "roteiro.toml").write_text("[serve]\naddr = '127.0.0.1:2'\n")
    loaded = load({"serve.addr": "0.0.0.0:3", "serve.sessions": None}, cwd=project)
    assert loaded.config.serve.addr == "0.0.0.0:3"
    assert [item.layer for item in loaded.entries["serve.addr"].overruled] == ["project", "user"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[serve]\nsessions = = 1\n", ["config.toml:2", "not valid TOML"]),
        ("[serve]\n\nsessions = 'many'\n", ["config.toml:3", "serve.sessions", "'many'"]),
        ("[serve]\nsessions = true\n", ["config.toml:2", "serve.sessions"]),
        ("serve = 3\n", ["config.toml:1", "[serve] must be a table"]),
        ("[serve]\naddr = '::1:80'\n", ["config.toml:2", "HOST:PORT"]),
        ("[serve]\naddr = 'unix:relative'\n", ["config.toml:2", "absolute"]),
        ("[serve]\nkeepalive_s = 0\n", ["config.toml:2", "above 0"]),
        ("[serve]\nrequest_timeout_s = nan\n", ["config.toml:2", "request_timeout_s"]),
        ("[mcp]\ntools = 'search'\n", ["config.toml:2", "mcp.tools"]),
        ("serve = {sessions = 0}\n", ["config.toml:1", "serve.sessions"]),
        ("[serve]\nthreads = -1\n", ["config.toml:2", '"auto"']),
    ],
)
def test_a_malformed_file_names_file_line_and_key(user_file: Path, tmp_path: Path, text: str, expected: list):
    user_file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(cwd=tmp_path)
    for part in expected:
        assert part in caught.value.message


def test_every_mistake_is_listed_at_once(user_file: Path, tmp_path: Path):
    user_file.write_text("[serve]\nsessions = 0\nqueue_limit = 'x'\n")
    with pytest.raises(ConfigError) as caught:
        load(cwd=tmp_path)
    assert len(caught.value.mistakes) == 2


def test_bytes_that_are_not_utf8_are_named_with_their_line(user_file: Path, tmp_path: Path):
    user_file.write_bytes(b"[serve]\naddr = '\xff'\n")
    with pytest.raises(ConfigError, match=r"config\.toml:2: not UTF-8"):
        load(cwd=tmp_path)


def test_an_unknown_key_is_a_warning_with_the_nearest_name(user_file: Path, tmp_path: Path):
    user_file.write_text("[serve]\nsesions = 3\n[sevre]\nx = 1\n")
    loaded = load(cwd=tmp_path)
    assert "config.toml:2: unknown key serve.sesions" in loaded.warnings[0]
    assert "serve.sessions" in loaded.warnings[0]
    assert "did you mean serve?" in loaded.warnings[1]


def test_a_project_that_oversteps_is_warned_about_with_its_line(project: Path):
    (project / "roteiro.toml").write_text(
        "[serve]\naddr = '0.0.0.0:80'\nallowed_origins = ['*']\n[store]\nallow_pull = true\n"
    )
    loaded = load(cwd=project)
    assert loaded.config.serve.addr == "127.0.0.1:8017"
    assert loaded.config.store.allow_pull is False
    assert len(loaded.warnings) == 3
    assert all("roteiro.toml:" in warning for warning in loaded.warnings)


def test_a_flag_of_the_wrong_kind_is_named_as_the_flag(tmp_path: Path):
    with pytest.raises(ConfigError, match="--keepalive-s must be a number of seconds above 0"):
        load({"serve.keepalive_s": 0}, cwd=tmp_path)


def test_the_json_of_config_has_the_promised_shape(project: Path):
    (project / "roteiro.toml").write_text("[store]\nallow_pull = true\n")
    keys = json.loads(json.dumps(explain.to_json(load(cwd=project).entries)))["keys"]
    row = next(row for row in keys if row["key"] == "store.allow_pull")
    assert row == {
        "key": "store.allow_pull",
        "value": False,
        "class": "capability",
        "origin": "default",
        "overruled": [
            {
                "layer": "project",
                "value": True,
                "why": "a project file may lower this capability, never raise it",
            }
        ],
    }
    budget = next(row for row in keys if row["key"] == "serve.memory_budget_mb")
    assert isinstance(budget["value"], int)

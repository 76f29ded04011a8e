"""`config set` writes what was asked, keeps a backup, and drops no comment unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from roteiro.config.editing import set_key
from roteiro.config.keys import KEYS
from roteiro.config.layers import read_file
from roteiro.errors import ConfigError, UsageError


def test_a_key_is_written_and_the_rest_kept_with_a_backup(tmp_path: Path):
    path = tmp_path / "config.toml"
    set_key(path, "user", "serve.sessions", "7")
    edit = set_key(path, "user", "models.generative", "a#b")
    assert edit.written
    assert read_file(path, "user").values == {"serve.sessions": 7, "models.generative": "a#b"}
    assert edit.backup
    assert read_file(edit.backup, "user").values == {"serve.sessions": 7}
    assert set_key(path, "user", "serve.tools", "false").written, "a # inside a string is no comment"


@pytest.mark.parametrize("text", ["# mine\n[serve]\nsessions = 2\n", "[serve]\nsessions = 2 # few\n"])
def test_a_file_with_comments_is_left_alone_unless_told(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_text(text)
    edit = set_key(path, "user", "serve.sessions", "7")
    assert not edit.written
    assert edit.line == "[serve]\nsessions = 7"
    assert path.read_text() == text
    assert set_key(path, "user", "serve.sessions", "7", rewrite=True).written
    assert read_file(path, "user").values == {"serve.sessions": 7}


def test_a_folder_that_cannot_be_written_is_an_error_that_names_the_file():
    with pytest.raises(ConfigError, match=r"/proc/nowhere/config\.toml cannot be written: No such file"):
        set_key(Path("/proc/nowhere/config.toml"), "user", "serve.sessions", "7")


def test_an_unknown_key_names_the_nearest(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        set_key(tmp_path / "c.toml", "user", "serve.session", "7")
    assert "serve.sessions" in caught.value.hint


@pytest.mark.parametrize(("key", "value"), [("serve.allowed_hosts", '["a"]'), ("serve.addr", "0.0.0.0:80")])
def test_a_project_file_is_not_given_what_it_may_not_set(tmp_path: Path, key: str, value: str):
    with pytest.raises(UsageError, match=key):
        set_key(tmp_path / "roteiro.toml", "project", key, value)
    assert not (tmp_path / "roteiro.toml").exists()


def test_a_wrong_value_and_a_broken_file_change_nothing(tmp_path: Path):
    path = tmp_path / "config.toml"
    with pytest.raises(ConfigError, match="whole number"):
        set_key(path, "user", "serve.sessions", "many")
    path.write_text("[serve\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        set_key(path, "user", "serve.sessions", "7")
    assert path.read_text() == "[serve\n"


def test_auto_and_all_are_written_as_words(tmp_path: Path):
    path = tmp_path / "config.toml"
    set_key(path, "user", "serve.threads", "auto")
    set_key(path, "user", "mcp.tools", "all")
    assert read_file(path, "user").values == {"serve.threads": None, "mcp.tools": None}
    assert len(KEYS) > 20

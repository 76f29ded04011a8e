"""Key files and the line that says where the server is; addresses are tested with real sockets elsewhere."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from fakes.served import make_runtime
from roteiro.errors import ConfigError
from roteiro.server.listen import Listening
from roteiro.server.serve import _announce, no_cut_requests, read_keys


def test_keys_are_lines_without_remarks(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# mine\n\n  one  \ntwo\n", encoding="utf-8")
    assert read_keys(file) == ("one", "two")
    assert read_keys(None) == ()


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n", b"\xff\xfe"])
def test_a_key_file_without_a_key_would_let_everybody_in(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "keys"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="api_key_file"):
        read_keys(file)


def told(folder: Path, listening: Listening, *, keyed: bool = False, models: bool = True) -> list[str]:
    runtime, _ = make_runtime(folder, models=models)
    lines: list[str] = []
    _announce(listening, runtime, lines.append, keyed=keyed)
    return lines


def test_loopback_needs_no_warning(tmp_path: Path) -> None:
    lines = told(tmp_path, Listening(sockets=(), url="http://127.0.0.1:1"))
    assert lines == [
        "Serving at http://127.0.0.1:1/v1 (Ctrl-C stops)",
        "Models: chat-model, embed-model",
    ]


def test_other_addresses_warn_also_with_a_key(tmp_path: Path) -> None:
    open_to_all = Listening(sockets=(), url="http://0.0.0.0:1", loopback=False)
    assert "without TLS" in told(tmp_path / "a", open_to_all)[1]
    assert "API key" in told(tmp_path / "b", open_to_all, keyed=True)[1]


def test_no_model_says_how_to_get_one(tmp_path: Path) -> None:
    lines = told(tmp_path, Listening(sockets=(), url="unix:/r.sock", path=Path("/r.sock")), models=False)
    assert lines[0].startswith("Serving at unix:/r.sock ")
    assert "roteiro model pull" in lines[1]


@pytest.mark.parametrize(("failure", "kept"), [(asyncio.CancelledError("stop"), False), (OSError("x"), True)])
def test_only_requests_that_the_stop_cut_off_leave_no_traceback(failure: BaseException, kept: bool) -> None:
    exc_info = (type(failure), failure, None)
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, "Exception", None, exc_info)
    assert no_cut_requests(record) is kept

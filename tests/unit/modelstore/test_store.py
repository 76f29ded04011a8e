"""The store: importing, ids, removing, verifying, noticing changes, and surviving damage."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fakes import gguf_files as g
from roteiro.errors import ConfigError, ModelFileInvalid, ModelNotFound, ModelUnusable, UsageError, UserError
from roteiro.modelstore import importing
from roteiro.modelstore.store import ModelStore


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "store")


def tiny(folder: Path, name: str = "Tiny.Q4_0.gguf", *, title: str = "Tiny", arch: str = "llama") -> Path:
    return g.model(arch, name=title).write(folder / name)


def test_an_empty_store_lists_nothing_and_creates_nothing(store: ModelStore) -> None:
    assert store.records() == ()
    assert store.default("generative", None) is None
    with pytest.raises(ModelNotFound, match="Installed: none"):
        store.get("x")
    assert not store.root.exists()


def test_import_links_and_records(store: ModelStore, tmp_path: Path) -> None:
    source = tiny(tmp_path)
    result = store.import_file(source)
    record = result.record
    assert (result.method, result.warnings) == ("hardlink", ())
    assert record.id == "tiny.q4_0"
    assert record.path.samefile(source)
    assert record.parts == (record.path,)
    assert record.size == record.identity.size == source.stat().st_size
    assert record.kind == "generative"
    # A second store object, as in another process, reads the same from disk.
    assert ModelStore(store.root).get("tiny.q4_0") == record


def test_the_same_bytes_again_report_the_id_that_is_there(store: ModelStore, tmp_path: Path) -> None:
    store.import_file(tiny(tmp_path))
    again = store.import_file(tiny(tmp_path, "other.gguf"), copy=True)
    assert (again.method, again.record.id) == ("present", "tiny.q4_0")
    named = store.import_file(tiny(tmp_path, "third.gguf"), model_id="third")
    assert named.record.id == "tiny.q4_0"
    assert "tiny.q4_0" in named.warnings[0]
    assert [folder.name for folder in (store.root / "files").iterdir()] == ["tiny.q4_0"]


def test_other_bytes_under_a_taken_name_get_a_number(store: ModelStore, tmp_path: Path) -> None:
    store.import_file(tiny(tmp_path / "a"))
    second = store.import_file(tiny(tmp_path / "b", title="B"))
    third = store.import_file(tiny(tmp_path / "c", title="C"))
    assert [second.record.id, third.record.id] == ["tiny.q4_0-2", "tiny.q4_0-3"]
    assert "'tiny.q4_0'" in second.warnings[0]


def test_an_explicit_id_is_exact_or_an_error(store: ModelStore, tmp_path: Path) -> None:
    assert store.import_file(tiny(tmp_path / "a"), model_id="mine").record.id == "mine"
    with pytest.raises(UsageError, match="belongs to another"):
        store.import_file(tiny(tmp_path / "b", title="B"), model_id="mine")
    for bad in ("Up", "../x", ".hidden", "a/b", "", "x" * 101):
        with pytest.raises(UsageError, match="cannot be a model id"):
            store.import_file(tiny(tmp_path / "b", title="B"), model_id=bad)
    assert len(store.records()) == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SmolLM2-135M.Q4_1.gguf", "smollm2-135m.q4_1"),
        ("Big Model (v2).GGUF", "big-model-v2"),
        ("Big-00002-of-00003.gguf", "big-00002-of-00003"),
        ("...gguf", "model"),
        ("Größe.gguf", "gr-e"),
    ],
)
def test_ids_come_from_file_names(store: ModelStore, tmp_path: Path, name: str, expected: str) -> None:
    from roteiro.modelstore.parts import default_id

    if "of-0" in name:
        assert default_id(name) == "big"
        return
    assert store.import_file(tiny(tmp_path, name)).record.id == expected


def test_copy_is_independent_of_the_source(store: ModelStore, tmp_path: Path) -> None:
    source = tiny(tmp_path)
    result = store.import_file(source, copy=True)
    assert result.method in {"copy", "reflink"}
    assert not result.record.path.samefile(source)
    source.write_bytes(b"changed")
    store.verify(result.record.id)


def test_a_link_across_file_systems_is_symbolic_and_warned_of(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(importing.os, "link", refuse)
    monkeypatch.setattr(importing, "_reflink", lambda *_: False)
    source = tiny(tmp_path)
    alias = tmp_path / "alias.gguf"
    alias.symlink_to(source)
    result = store.import_file(alias)
    assert result.method == "symlink"
    assert "--copy" in result.warnings[0]
    # Ours points at the file itself and survives the alias.
    alias.unlink()
    assert store.get("alias").path.resolve() == source
    store.remove("alias")
    assert source.exists()


def test_a_full_disk_leaves_nothing(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(importing, "_reflink", lambda *_: False)
    monkeypatch.setattr(importing.shutil, "copyfileobj", full)
    with pytest.raises(Exception, match="No space left"):
        store.import_file(tiny(tmp_path), copy=True)
    assert store.records() == ()
    assert list((store.root / "files").iterdir()) == []


def test_a_store_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the folder should be")
    store = ModelStore(tmp_path / "store")
    with pytest.raises(UserError, match=r"model store at .* cannot be used"):
        store.import_file(tiny(tmp_path))
    assert store.records() == ()


def test_a_name_that_is_no_text_is_replaced(store: ModelStore, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"M\xff\n.gguf")
    odd.write_bytes(g.model().data())
    record = store.import_file(odd).record
    assert (record.id, record.path.name) == ("m", "m.gguf")
    parts = [p.rename(p.with_name(p.name.replace("big", "gr\xf6\xdf"))) for p in g.split_model(tmp_path)]
    record = store.import_file(parts[0]).record
    assert [part.name for part in record.parts] == [f"gr-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    store.verify("gr")


def test_what_is_no_gguf_is_refused_and_leaves_nothing(store: ModelStore, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF nonsense")
    with pytest.raises(ModelFileInvalid):
        store.import_file(path)
    assert store.records() == ()


def test_any_part_of_a_split_model_takes_the_whole(store: ModelStore, tmp_path: Path) -> None:
    parts = g.split_model(tmp_path / "src")
    record = store.import_file(parts[1]).record
    assert record.id == "big"
    assert [part.name for part in record.parts] == [part.name for part in parts]
    assert record.path == record.parts[0]
    assert record.size == sum(part.stat().st_size for part in parts)
    assert record.header.split_count == 3
    store.verify("big")
    record.parts[2].write_bytes(record.parts[2].read_bytes() + b"x")
    with pytest.raises(ModelUnusable, match="changed"):
        store.verify("big")


def test_a_missing_or_foreign_part_is_an_error(store: ModelStore, tmp_path: Path) -> None:
    parts = g.split_model(tmp_path / "src")
    parts[2].unlink()
    with pytest.raises(ModelFileInvalid, match=r"big-00003-of-00003\.gguf is not beside it"):
        store.import_file(parts[0])
    parts[2].write_bytes(parts[1].read_bytes())
    with pytest.raises(ModelFileInvalid, match="part 2 of 3"):
        store.import_file(parts[0])
    other = g.GgufFile(tensors=[g.Tensor(name=f"x.{n}") for n in range(2)])
    other.set("split.no", 2, 2).set("split.count", 2, 3).write(parts[2])
    with pytest.raises(ModelFileInvalid, match="4 tensors instead of 3"):
        store.import_file(parts[0])
    renamed = parts[0].rename(tmp_path / "renamed.gguf")
    with pytest.raises(ModelFileInvalid, match="its name does not say so"):
        store.import_file(renamed)
    assert store.records() == ()


def test_remove_deletes_ours_and_not_the_source(store: ModelStore, tmp_path: Path) -> None:
    source = tiny(tmp_path)
    record = store.import_file(source).record
    store.remove(record.id)
    assert source.exists()
    assert not record.path.exists()
    assert store.records() == ()
    with pytest.raises(ModelNotFound):
        store.remove(record.id)


def test_default_takes_the_configured_or_the_first_of_the_kind(store: ModelStore, tmp_path: Path) -> None:
    store.import_file(tiny(tmp_path, "embed.gguf", arch="bert"))
    store.import_file(tiny(tmp_path, "b.gguf", title="B"))
    store.import_file(tiny(tmp_path, "a.gguf", title="A"))
    assert store.default("generative", None).id == "b"
    assert store.default("generative", "a").id == "a"
    assert store.default("embedding", None).id == "embed"
    with pytest.raises(ConfigError, match=r"\[models\] generative is 'absent', which is not installed"):
        store.default("generative", "absent")
    with pytest.raises(ConfigError, match=r"\[models\] generative is 'embed', .* kind embedding"):
        store.default("generative", "embed")


def test_an_unchanged_file_is_the_same_record(store: ModelStore, tmp_path: Path) -> None:
    record = store.import_file(tiny(tmp_path)).record
    assert store.refresh_if_changed(record) is record


def test_a_touched_file_keeps_its_hash_and_gets_the_new_time(store: ModelStore, tmp_path: Path) -> None:
    record = store.import_file(tiny(tmp_path)).record
    os.utime(record.path, ns=(1, 10**18))
    fresh = store.refresh_if_changed(record)
    assert fresh.identity.mtime_ns == 10**18
    assert fresh.identity.sha256 == record.identity.sha256
    assert ModelStore(store.root).get(record.id) == fresh


def test_a_changed_file_is_read_anew(store: ModelStore, tmp_path: Path) -> None:
    record = store.import_file(tiny(tmp_path)).record
    record.path.write_bytes(g.model(name="Another").data())
    fresh = store.refresh_if_changed(record)
    assert fresh.header.name == "Another"
    assert fresh.identity.sha256 != record.identity.sha256
    assert store.get(record.id) == fresh


def test_a_spoiled_file_is_unusable_and_a_vanished_one_not_found(store: ModelStore, tmp_path: Path) -> None:
    record = store.import_file(tiny(tmp_path)).record
    record.path.write_bytes(b"GGUF, but cut")
    with pytest.raises(ModelUnusable, match="cannot be used any more"):
        store.refresh_if_changed(record)
    record.path.unlink()
    with pytest.raises(ModelNotFound):
        store.refresh_if_changed(record)
    with pytest.raises(ModelNotFound):
        store.get(record.id)
    assert store.records() == ()
    assert [missing.id for missing in store.missing()] == [record.id]
    assert store.remove(record.id).id == record.id
    assert store.missing() == ()


@pytest.mark.anyio
async def test_current_is_get_and_refresh_off_the_loop(store: ModelStore, tmp_path: Path) -> None:
    record = store.import_file(tiny(tmp_path)).record
    assert await store.current(record.id) == record
    assert await store.records_async() == (record,)
    record.path.write_bytes(g.model(name="Another").data())
    assert (await store.current(record.id)).header.name == "Another"
    assert (await store.refresh_if_changed_async(record)).header.name == "Another"

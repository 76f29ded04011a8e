"""Probing in a child: what each ending means, how long it holds, and that callers share one child."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from fakes import children
from fakes import gguf_files as g
from roteiro.errors import MissingExtra, ModelUnusable
from roteiro.modelstore import probe as probe_module
from roteiro.modelstore import verdicts
from roteiro.modelstore.probe import ChildProbe
from roteiro.modelstore.store import ModelStore


def make(tmp_path: Path, child: ChildProbe) -> ModelStore:
    store = ModelStore(tmp_path / "store", probe=child)
    if not store.records():
        store.import_file(g.model().write(tmp_path / "m.gguf"))
    return store


def test_an_accepted_model_is_remembered(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    store = make(tmp_path, children.counting(counter))
    record = store.get("m")
    assert store.probe_verdict(record) is None
    verdict = store.ensure_probed(record)
    assert (verdict.ok, verdict.facts) == (True, {"n_vocab": 8})
    again = ModelStore(store.root, probe=children.counting(counter))
    assert again.ensure_probed(again.get("m")) == verdict
    assert counter.read_text() == "x"
    again.ensure_probed(again.get("m"), again=True)
    assert counter.read_text() == "xx"


@pytest.mark.parametrize(
    ("code", "words", "final"),
    [
        (children.REFUSES, r"unknown architecture\.$", True),
        (children.ABORTS, r"ended the process \(SIGABRT\): ops.cpp:4: GGML_ASSERT\(n > 0\) failed", True),
        (children.KILLED, r"ended the process \(SIGKILL\)", False),
        (children.FAILS, "status 1: no such module", False),
        (children.SILENT, "it gave no answer", False),
    ],
)
@pytest.mark.anyio
async def test_every_other_ending_is_a_refusal_with_its_reason(
    tmp_path: Path, code: str, words: str, final: bool
) -> None:
    store = make(tmp_path, children.probe(code))
    record = store.get("m")
    with pytest.raises(ModelUnusable, match=words) as caught:
        store.ensure_probed(record)
    assert caught.value.details["final"] is final
    assert store.probe_verdict(record).ok is False
    with pytest.raises(ModelUnusable, match=words):
        await store.ensure_probed_async(record, again=True)


@pytest.mark.anyio
async def test_a_child_that_hangs_is_ended(tmp_path: Path) -> None:
    store = make(tmp_path, children.probe(children.HANGS, timeout_s=0.5))
    record = store.get("m")
    began = time.monotonic()
    with pytest.raises(ModelUnusable, match="did not answer"):
        store.ensure_probed(record)
    with pytest.raises(ModelUnusable, match="did not answer"):
        await store.ensure_probed_async(record, again=True)
    assert time.monotonic() - began < 10


def test_what_may_be_the_machines_fault_is_asked_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make(tmp_path, children.probe(children.KILLED))
    record = store.get("m")
    with pytest.raises(ModelUnusable):
        store.ensure_probed(record)
    assert store.probe_verdict(record) is not None
    # It is not written: another process asks for itself.
    other = ModelStore(store.root, probe=children.probe(children.ACCEPTS))
    assert other.ensure_probed(record).ok
    monkeypatch.setattr(verdicts, "RETRY_SECONDS", 0.0)
    assert store.ensure_probed(record).ok


def test_another_engine_is_asked_again(tmp_path: Path) -> None:
    store = make(tmp_path, children.probe(children.REFUSES, engine="fake 1"))
    with pytest.raises(ModelUnusable):
        store.ensure_probed(store.get("m"))
    newer = ModelStore(store.root, probe=children.probe(children.ACCEPTS, engine="fake 2"))
    assert newer.ensure_probed(newer.get("m")).ok


def test_changed_bytes_are_probed_anew_and_touched_ones_are_not(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    store = make(tmp_path, children.counting(counter))
    record = store.get("m")
    store.ensure_probed(record)
    record.path.touch()
    record = store.refresh_if_changed(record)
    store.ensure_probed(record)
    assert counter.read_text() == "x"
    record.path.write_bytes(g.model(name="New").data())
    record = store.refresh_if_changed(record)
    assert store.probe_verdict(record) is None
    store.ensure_probed(record)
    assert counter.read_text() == "xx"


def test_the_child_gets_no_backtrace_and_the_file(tmp_path: Path) -> None:
    assert (
        make(tmp_path, children.probe(children.SAYS_BACKTRACE))
        .ensure_probed(ModelStore(tmp_path / "store").get("m"))
        .ok
    )


@pytest.mark.anyio
async def test_callers_at_once_share_one_child(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    store = make(tmp_path, children.counting(counter))
    record = store.get("m")
    verdicts_found = await asyncio.gather(*(store.ensure_probed_async(record) for _ in range(5)))
    assert all(verdict.ok for verdict in verdicts_found)
    assert counter.read_text() == "x"


@pytest.mark.anyio
async def test_a_caller_that_leaves_ends_the_child(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    code = f"import time; time.sleep(1.0); open({str(mark)!r}, 'w')"
    store = make(tmp_path, children.probe(code))
    task = asyncio.create_task(store.ensure_probed_async(store.get("m")))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(1.2)
    assert not mark.exists()


def test_without_the_engine_the_extra_is_named_and_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_module, "ENGINE_MODULE", "no_such_engine_module")
    store = make(tmp_path, ChildProbe())
    with pytest.raises(MissingExtra, match="llama"):
        store.ensure_probed(store.get("m"))
    assert store.probe_verdict(store.get("m")) is None


def test_a_verdict_that_cannot_be_written_is_still_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = tmp_path / "count"
    store = make(tmp_path, children.counting(counter))

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(store._folders, "keep_verdict", refuse)
    record = store.get("m")
    store.ensure_probed(record)
    store.ensure_probed(record)
    assert counter.read_text() == "x"


@pytest.mark.anyio
async def test_probing_and_looking_up_never_block_the_loop(tmp_path: Path) -> None:
    from blockbuster import blockbuster_ctx

    store = make(tmp_path, children.probe(children.ACCEPTS))
    with blockbuster_ctx("roteiro"):
        record = await store.current("m")
        assert (await store.ensure_probed_async(record)).ok
        assert (await store.ensure_probed_async(record, again=True)).ok
        await store.records_async()
        await store.refresh_if_changed_async(record)

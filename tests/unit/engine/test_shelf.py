"""The prefix cache on disk: there after a restart, exact or not used, bounded, and its owner's alone."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.engines import MIB, make_engine, make_record, say
from fakes.waiting import until
from roteiro.engine.backend import MemoryKind
from roteiro.engine.engine import Engine
from roteiro.engine.saving import identity_of
from roteiro.engine.scripted import Behaviour, ScriptedBackend
from roteiro.engine.shelf import Shelf
from roteiro.engine.snapshots import SnapshotStore
from roteiro.modelstore.record import ModelRecord

pytestmark = pytest.mark.anyio

PREAMBLE = "You are a helpful agent with many tools. " * 20
BUILD = "library 1"


def tokens(start: int, count: int = 600) -> list[int]:
    return list(range(start, start + count))


def shelf_in(folder: Path, *, budget: int = MIB, build: str = BUILD) -> Shelf:
    return Shelf(folder, budget=budget, build=build)


def kept(folder: Path, *, data: bytes = b"state" * 100, **fields: Any) -> Path:
    """One file on a shelf."""
    shelf = shelf_in(folder, **fields)
    shelf.keep("model", tokens(0), data, "preamble")
    shelf.close()
    (path,) = folder.iterdir()
    return path


def serving(tmp_path: Path, **fields: Any) -> tuple[Engine, ScriptedBackend]:
    fields = {"sessions": 1, "prefix_cache_bytes": MIB, "prefix_disk_bytes": MIB, **fields}
    return make_engine(prefix_folder=tmp_path / "prefixes", **fields)


async def learn(engine: Engine, record: ModelRecord, *questions: str) -> None:
    """Two conversations with one preamble."""
    for question in questions or ("first question", "second question"):
        await say(engine, record, PREAMBLE + question, id_slot=0)


def settle(shelf: Shelf) -> None:
    """Wait until what was handed in is written."""
    shelf._writer.submit(lambda: None).result(10)


@pytest.mark.parametrize("memory", ["attention", "swa", "recurrent", "hybrid"])
async def test_a_learned_preamble_is_there_after_a_restart(tmp_path: Path, memory: MemoryKind) -> None:
    record = make_record(tmp_path, window=2048)
    engine, _ = serving(tmp_path, behaviour=Behaviour(memory=memory))
    await learn(engine, record)
    await engine.aclose()
    engine, backend = serving(tmp_path, behaviour=Behaviour(memory=memory))
    end = await say(engine, record, PREAMBLE + "a third question")
    assert end.timings.cache_n == len(PREAMBLE)
    assert "preamble snapshot" in end.reuse_note
    assert backend.prompts[-1] == PREAMBLE + "a third question"
    await engine.aclose()


@pytest.mark.parametrize("memory", ["attention", "recurrent"])
async def test_a_conversation_goes_on_after_a_restart(tmp_path: Path, memory: MemoryKind) -> None:
    record = make_record(tmp_path)
    engine, _ = serving(tmp_path, behaviour=Behaviour(memory=memory))
    prompt = "a" * 700
    await say(engine, record, prompt)
    await engine.aclose()
    engine, backend = serving(tmp_path, behaviour=Behaviour(memory=memory))
    # Rendered otherwise than the model wrote it: up to where it opens nothing is lost.
    longer = f"{prompt}another answer<|im_end|>more"
    end = await say(engine, record, longer)
    assert end.timings.cache_n == (700 if memory == "attention" else 700 - 4)
    assert backend.prompts[-1] == longer
    await engine.aclose()


@pytest.mark.parametrize(("memory", "files"), [("attention", 1), ("swa", 0), ("recurrent", 0), ("hybrid", 0)])
async def test_only_memory_that_can_be_cut_is_cut_at_the_stop(
    tmp_path: Path, memory: MemoryKind, files: int
) -> None:
    """A sliding window may have left the place behind: what is there then is not the whole state."""
    record = make_record(tmp_path)
    engine, _ = serving(tmp_path, behaviour=Behaviour(memory=memory))
    await say(engine, record, "a" * 700)
    engine._snapshots.forget(identity_of(record))  # what was saved before the answer was driven out
    await engine.aclose()
    assert len(list((tmp_path / "prefixes").glob("*.prefix"))) == files


async def test_a_killed_server_leaves_its_preambles(tmp_path: Path) -> None:
    record = make_record(tmp_path, window=2048)
    engine, _ = serving(tmp_path)
    await learn(engine, record)
    deadline = time.monotonic() + 10
    while not list((tmp_path / "prefixes").glob("*.preamble.prefix")):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    # Not closed: another server begins with what is there.
    other, _ = serving(tmp_path)
    end = await say(other, record, PREAMBLE + "a third question")
    assert end.timings.cache_n == len(PREAMBLE)
    await other.aclose()
    await engine.aclose()


def test_a_state_is_written_when_nobody_waits(tmp_path: Path) -> None:
    busy = True
    looks: list[bool] = []

    def still() -> bool:
        looks.append(busy)
        return not busy

    shelf = Shelf(tmp_path, budget=MIB, build="build", still=still)
    shelf.keep("model", tokens(0), b"state", "preamble")
    until(lambda: len(looks) >= 3)
    assert not list(tmp_path.iterdir())
    busy = False
    settle(shelf)
    assert len(list(tmp_path.iterdir())) == 1
    # More than one look: between two requests of an agent it is still as well.
    assert looks.count(False) == 2
    busy = True
    shelf.keep("model", tokens(1000), b"state", "turn")
    shelf.close()
    assert len(list(tmp_path.iterdir())) == 2


async def test_a_changed_model_file_finds_nothing(tmp_path: Path) -> None:
    record = make_record(tmp_path)
    engine, _ = serving(tmp_path)
    await say(engine, record, "a" * 700)
    await engine.aclose()
    engine, _ = serving(tmp_path)
    end = await say(engine, make_record(tmp_path, size=65 * MIB), "a" * 700 + "more")
    assert end.timings.cache_n == 0
    await engine.aclose()


async def test_a_damaged_file_is_not_used_and_goes(tmp_path: Path) -> None:
    record = make_record(tmp_path)
    engine, _ = serving(tmp_path)
    await say(engine, record, "a" * 700)
    await engine.aclose()
    (path,) = (tmp_path / "prefixes").iterdir()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    engine, backend = serving(tmp_path)
    end = await say(engine, record, "a" * 700 + "more")
    assert end.timings.cache_n == 0
    assert backend.prompts[-1] == "a" * 700 + "more"
    await engine.aclose()
    assert not path.exists()


async def test_behind_a_damaged_file_the_next_best_is_found(tmp_path: Path) -> None:
    record = make_record(tmp_path, window=2048)
    engine, _ = serving(tmp_path)
    await learn(engine, record, "first question " * 10, "second question " * 10)
    await engine.aclose()
    turns = list((tmp_path / "prefixes").glob("*.turn.prefix"))
    assert turns
    for turn in turns:
        turn.write_bytes(turn.read_bytes()[:-1] + b"?")
    engine, _ = serving(tmp_path)
    end = await say(engine, record, PREAMBLE + "second question " * 10 + "and more")
    assert end.timings.cache_n == len(PREAMBLE)
    assert "preamble snapshot" in end.reuse_note
    await engine.aclose()


def test_no_damage_is_taken_for_a_state(tmp_path: Path) -> None:
    whole = kept(tmp_path / "made").read_bytes()
    name = next((tmp_path / "made").iterdir()).name
    chance = random.Random(7)
    damages = [whole[:length] for length in (0, 1, 20, 200, len(whole) - 1)]
    damages += [whole + b"x", b"x" + whole, bytes(len(whole)), whole[:17] + b"{}\n" + whole[17:]]
    for _ in range(300):
        at = chance.randrange(len(whole))
        damages.append(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
    for number, damage in enumerate(damages):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_bytes(damage)
        shelf = shelf_in(folder)
        found = shelf.find("model", tokens(0, 700), longer_than=0)
        assert found is None or shelf.load(found) is None, damage
        shelf.close()


def test_only_longer_proper_prefixes_of_the_same_file_are_found(tmp_path: Path) -> None:
    kept(tmp_path)
    shelf = shelf_in(tmp_path)
    assert shelf.find("model", tokens(0), longer_than=0) is None
    assert shelf.find("other", tokens(0, 700), longer_than=0) is None
    assert shelf.find("model", tokens(1, 700), longer_than=0) is None
    assert shelf.find("model", tokens(0, 700), longer_than=600) is None
    found = shelf.find("model", tokens(0, 700), longer_than=599)
    assert found is not None
    assert shelf.load(found) == b"state" * 100
    shelf.close()


def test_what_another_build_wrote_goes(tmp_path: Path) -> None:
    path = kept(tmp_path)
    shelf = shelf_in(tmp_path, build="library 2")
    assert shelf.find("model", tokens(0, 700), longer_than=0) is None
    assert not path.exists()
    shelf.close()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = kept(tmp_path / "prefixes")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_budget_holds_and_turns_go_first(tmp_path: Path) -> None:
    shelf = shelf_in(tmp_path, budget=10_000)
    shelf.keep("model", tokens(0), bytes(1000), "preamble")
    for start in range(10_000, 60_000, 10_000):
        shelf.keep("model", tokens(start), bytes(1000), "turn")
    shelf.keep("model", tokens(90_000), bytes(20_000), "turn")
    shelf.close()
    files = list(tmp_path.iterdir())
    assert sum(path.stat().st_size for path in files) <= 10_000
    assert [path.name.split(".")[1] for path in files].count("preamble") == 1
    assert len(files) == 2
    again = shelf_in(tmp_path)
    assert again.find("model", tokens(50_000, 700), longer_than=0) is not None
    again.close()


def test_a_turn_replaces_the_one_it_goes_on_from(tmp_path: Path) -> None:
    shelf = shelf_in(tmp_path)
    shelf.keep("model", tokens(0, 600), b"short", "turn")
    shelf.keep("model", tokens(0, 700), b"long", "turn")
    shelf.close()
    again = shelf_in(tmp_path)
    found = again.find("model", tokens(0, 800), longer_than=0)
    assert found is not None
    assert len(found.tokens) == 700
    assert len(list(tmp_path.iterdir())) == 1
    again.close()


def test_what_was_evicted_is_written_again(tmp_path: Path) -> None:
    shelf = shelf_in(tmp_path, budget=10_000)
    shelf.keep("model", tokens(0), bytes(1000), "turn")
    for start in (10_000, 20_000, 30_000):
        shelf.keep("model", tokens(start), bytes(1000), "preamble")
    settle(shelf)
    assert shelf.find("model", tokens(0, 700), longer_than=0) is None
    shelf.keep("model", tokens(0), bytes(1000), "preamble")
    settle(shelf)
    assert shelf.find("model", tokens(0, 700), longer_than=0) is not None
    shelf.close()


def test_what_could_not_be_written_is_neither_found_nor_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "prefixes"
    folder.write_text("in the way")
    shelf = shelf_in(folder)
    shelf.keep("model", tokens(0), b"state", "preamble")
    settle(shelf)
    assert shelf.find("model", tokens(0, 700), longer_than=0) is None
    folder.unlink()
    shelf.keep("model", tokens(0), b"state", "preamble")
    settle(shelf)
    assert shelf.find("model", tokens(0, 700), longer_than=0) is not None
    shelf.close()


def test_a_turn_goes_only_once_the_one_that_replaces_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = shelf_in(tmp_path)
    shelf.keep("model", tokens(0, 600), b"short", "turn")
    settle(shelf)

    def full(**_fields: Any) -> Any:
        raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr("roteiro.engine.shelf.tempfile.mkstemp", full)
    shelf.keep("model", tokens(0, 700), b"long", "turn")
    settle(shelf)
    found = shelf.find("model", tokens(0, 800), longer_than=0)
    assert found is not None
    assert shelf.load(found) == b"short"
    shelf.close()


def test_what_is_used_in_memory_is_not_the_first_to_go(tmp_path: Path) -> None:
    shelf = shelf_in(tmp_path, budget=12_000)
    for start in (0, 10_000):
        shelf.keep("model", tokens(start), bytes(1000), "turn")
    settle(shelf)
    for number, path in enumerate(sorted(tmp_path.iterdir())):
        os.utime(path, (number, number))
    store = SnapshotStore(MIB, shelf)
    store.add("model", tokens(0), bytes(1000), "turn", 1.0)
    assert store.find("model", tokens(0, 700), 2.0) is not None
    shelf.keep("model", tokens(20_000), bytes(3000), "turn")
    settle(shelf)
    assert shelf.find("model", tokens(0, 700), longer_than=0) is not None
    assert shelf.find("model", tokens(10_000, 700), longer_than=0) is None
    shelf.close()


def test_nothing_is_read_that_is_shorter_than_what_is_live(tmp_path: Path) -> None:
    path = kept(tmp_path)
    shelf = shelf_in(tmp_path)
    store = SnapshotStore(MIB, shelf)
    assert shelf.find("model", tokens(0, 700), longer_than=0) is not None
    path.write_bytes(b"damaged: whoever reads it removes it")
    assert store.find("model", tokens(0, 700), 1.0, longer_than=600) is None
    settle(shelf)
    assert path.exists()
    assert store.find("model", tokens(0, 700), 1.0, longer_than=599) is None
    store.close()
    assert not path.exists()


def test_a_lowered_budget_holds_from_the_start(tmp_path: Path) -> None:
    shelf = shelf_in(tmp_path)
    for start in range(0, 50_000, 10_000):
        shelf.keep("model", tokens(start), bytes(1000), "turn")
    shelf.close()
    lowered = shelf_in(tmp_path, budget=8000)
    lowered.find("model", tokens(0), longer_than=0)
    lowered.close()
    assert 0 < sum(path.stat().st_size for path in tmp_path.iterdir()) <= 8000


def test_odd_things_in_the_folder_stop_nobody(tmp_path: Path) -> None:
    path = kept(tmp_path)
    whole = path.read_bytes()
    os.mkfifo(tmp_path / "pipe.turn.prefix")
    (tmp_path / "folder.turn.prefix").mkdir()
    (tmp_path / "link.turn.prefix").symlink_to("/dev/zero")
    for number, count in enumerate((b"Infinity", b"-1", b"1e400", b"[]", b"99999999999")):
        odd = whole.replace(b'"tokens": 600', b'"tokens": ' + count)
        (tmp_path / f"{number}.turn.prefix").write_bytes(odd)
    huge = tmp_path / "huge.turn.prefix"
    huge.write_bytes(whole.replace(b'"size": 500', b'"size": 50000000000'))
    os.truncate(huge, len(whole) - 500 + 50_000_000_000 + 8)
    shelf = shelf_in(tmp_path)
    found = shelf.find("model", tokens(0, 700), longer_than=0)
    assert found is not None
    assert found.path == path
    shelf.close()


def test_what_was_being_written_is_left_for_a_while(tmp_path: Path) -> None:
    young, old = tmp_path / "a.part", tmp_path / "b.part"
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    (tmp_path / "notes.txt").write_text("mine")
    shelf = shelf_in(tmp_path)
    shelf.find("model", tokens(0), longer_than=0)
    shelf.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.part", "notes.txt"]


def test_a_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "file").write_text("in the way")
    shelf = shelf_in(tmp_path / "file" / "prefixes")
    shelf.keep("model", tokens(0), b"state", "preamble")
    shelf.close()
    assert "prefix not kept on disk" in caplog.text

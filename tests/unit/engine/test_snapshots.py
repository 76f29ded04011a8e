"""The prefix cache: what it keeps, what it drops, and that a restore is whole or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fakes.engines import MIB, make_engine, make_record, say
from roteiro.engine.backend import MemoryKind, State
from roteiro.engine.scripted import Behaviour
from roteiro.engine.snapshots import FLOOR_TOKENS, SnapshotStore

pytestmark = pytest.mark.anyio

PREAMBLE = "You are a helpful agent with many tools. " * 20


def tokens(start: int, count: int = FLOOR_TOKENS) -> list[int]:
    return list(range(start, start + count))


def test_only_whole_proper_prefixes_of_the_same_file_are_found() -> None:
    store = SnapshotStore(MIB)
    store.add("file", tokens(0), b"state", "turn", 1.0)
    assert store.find("file", tokens(0), 2.0) is None
    assert store.find("file", tokens(0, 400), 2.0) is None
    assert store.find("other", tokens(0, 600), 2.0) is None
    found = store.find("file", tokens(0, 600), 2.0)
    assert found is not None
    assert (found.snapshot.data, found.keep) == (b"state", FLOOR_TOKENS)


def test_memory_that_can_be_cut_serves_what_a_prompt_shares_with_it() -> None:
    store = SnapshotStore(MIB)
    store.add("file", tokens(0, 2000), b"long", "turn", 1.0)
    store.add("file", [*tokens(0, 600), *tokens(9000, 100)], b"short", "turn", 2.0)

    def served(prompt: list[int], longer_than: int = 0) -> tuple[State, int] | None:
        found = store.find("file", prompt, 3.0, longer_than=longer_than, longest_cut=2000)
        return None if found is None else (found.snapshot.data, found.keep)

    # The one that shares most; of two that share as much, the one that is quicker to bring in.
    assert served([*tokens(0, 1000), 1]) == (b"long", 1000)
    assert served([*tokens(0, 600), 1]) == (b"short", 600)
    assert served([*tokens(0, 600), 1], longer_than=600) is None
    assert served(tokens(0, 600)) == (b"short", 599)
    assert served(tokens(0, 2000)) == (b"long", 1999)
    # For a quarter of it none is brought in.
    assert served([*tokens(0, 175), 1]) == (b"short", 175)
    assert served([*tokens(0, 174), 1]) is None
    assert served(tokens(1, 600)) is None
    # One that is too long to be brought in serves only where nothing is cut off.
    short = store.find("file", [*tokens(0, 1000), 1], 3.0, longest_cut=1999)
    assert short is not None
    assert (short.snapshot.data, short.keep) == (b"short", 600)
    whole = store.find("file", tokens(0, 2001), 3.0, longest_cut=1999)
    assert whole is not None
    assert whole.keep == 2000
    assert store.find("file", [*tokens(0, 600), 1], 3.0) is None


def test_a_turn_that_holds_little_more_becomes_the_preamble() -> None:
    store = SnapshotStore(MIB)
    store.add("file", tokens(0, 1000), b"turn", "turn", 1.0)
    assert not store.promote("file", tokens(0, 799), 2.0)
    assert not store.promote("file", tokens(1, 900), 2.0)
    assert not store.promote("other", tokens(0, 900), 2.0)
    assert store.promote("file", tokens(0, 800), 2.0)
    store.add("file", tokens(0, 1100), b"later", "turn", 3.0)
    assert repr(store).startswith("<SnapshotStore 1 preambles, 1 turns")


def test_a_promoted_turn_counts_as_used() -> None:
    entry = 1000 + 8 * 600
    store = SnapshotStore(2 * entry)
    store.add("file", tokens(0, 600), bytes(1000), "turn", 1.0)
    store.add("file", tokens(9000, 600), bytes(1000), "preamble", 2.0)
    assert store.promote("file", tokens(0, 590), 3.0)
    store.add("file", tokens(20_000, 600), bytes(1000), "preamble", 4.0)
    assert store.stand_in("file", tokens(0, 600), 5.0, cut=False) is not None
    assert store.stand_in("file", tokens(9000, 600), 5.0, cut=False) is None


def test_what_is_not_kept_drops_nothing() -> None:
    entry = 1000 + 8 * 600
    store = SnapshotStore(2 * entry)
    store.add("file", tokens(0, 600), bytes(1000), "preamble", 1.0)
    store.add("file", tokens(9000, 600), bytes(1000), "turn", 2.0)
    # It goes on from the turn and is larger than what the preamble leaves.
    assert not store.add("file", tokens(9000, 700), bytes(1000), "turn", 3.0)
    assert not store.add("file", tokens(30_000, 600), bytes(1000), "turn", 3.0, spare=True)
    assert repr(store).startswith("<SnapshotStore 1 preambles, 1 turns")
    assert store.add("file", tokens(9000, 650), bytes(600), "turn", 3.0, spare=True)
    assert store.add("file", tokens(30_000, 600), bytes(1000), "turn", 3.0)
    assert store.find("file", tokens(9000, 700), 4.0) is None


def test_short_and_known_prefixes_are_not_wanted() -> None:
    store = SnapshotStore(MIB)
    assert not store.wants("file", tokens(0, FLOOR_TOKENS - 1))
    assert store.wants("file", tokens(0))
    store.add("file", tokens(0), b"", "turn", 1.0)
    assert not store.wants("file", tokens(0))
    assert not SnapshotStore(0).wants("file", tokens(0))


def test_a_longer_turn_replaces_the_one_it_extends_but_no_preamble() -> None:
    store = SnapshotStore(MIB)
    store.add("file", tokens(0, 600), b"p", "preamble", 1.0)
    store.add("file", tokens(0, 700), b"t", "turn", 2.0)
    store.add("file", tokens(0, 800), b"t", "turn", 3.0)
    assert repr(store).startswith("<SnapshotStore 1 preambles, 1 turns")


def test_turns_go_before_preambles_and_bytes_are_accounted_once() -> None:
    entry = 1000 + 8 * 600
    store = SnapshotStore(3 * entry)
    store.add("file", tokens(0, 600), bytes(1000), "preamble", 1.0)
    store.add("file", tokens(10_000, 600), bytes(1000), "turn", 2.0)
    store.add("file", tokens(20_000, 600), bytes(1000), "turn", 3.0)
    store.add("file", tokens(30_000, 600), bytes(1000), "turn", 4.0)
    assert store.held == 3 * entry
    assert store.find("file", tokens(0, 700), 5.0) is not None
    assert store.find("file", tokens(10_000, 700), 5.0) is None
    for start in (40_000, 50_000, 60_000):
        assert store.add("file", tokens(start, 600), bytes(1000), "preamble", 6.0)
    # Only preambles are left: a turn does not drive one out.
    assert not store.add("file", tokens(70_000, 600), bytes(1000), "turn", 7.0)
    assert not store.add("file", tokens(0), bytes(10 * entry), "turn", 8.0)
    store.forget("file")
    assert (store.held, len(store)) == (0, 0)


def test_a_boundary_is_learned_once_and_not_from_a_repeated_prompt() -> None:
    store = SnapshotStore(MIB)
    first, second = [*tokens(0), *tokens(5000, 50)], [*tokens(0), *tokens(7000, 50)]
    assert store.boundary("file", first, declared=0, held=0) == 0
    assert store.boundary("file", first, declared=0, held=0) == 0
    assert store.boundary("file", second, declared=0, held=0) == FLOOR_TOKENS
    assert store.boundary("file", second, declared=0, held=FLOOR_TOKENS + 1) == 0
    store.add("file", tokens(0), b"", "preamble", 1.0)
    third = [*tokens(0), *tokens(9000, 50)]
    assert store.boundary("file", third, declared=0, held=0) == 0
    assert store.boundary("new", [*tokens(100, 600), 1] * 2, declared=600, held=0) == 600


@pytest.mark.parametrize("memory", ["attention", "swa", "recurrent", "hybrid"])
async def test_a_new_conversation_restores_the_learned_preamble(tmp_path: Path, memory: MemoryKind) -> None:
    engine, backend = make_engine(behaviour=Behaviour(memory=memory), sessions=1, prefix_cache_bytes=MIB)
    record = make_record(tmp_path, window=2048)
    for question in ("first question", "second question"):
        await say(engine, record, PREAMBLE + question, id_slot=0)
    backend.reply("right")
    end = await say(engine, record, PREAMBLE + "a third question", id_slot=0)
    assert end.timings.cache_n == len(PREAMBLE)
    assert backend.prompts[-1] == PREAMBLE + "a third question"
    assert engine.state().snapshots > 0
    await engine.aclose()


@pytest.mark.parametrize("memory", ["attention", "recurrent"])
async def test_a_session_that_was_overwritten_comes_back(tmp_path: Path, memory: MemoryKind) -> None:
    engine, _ = make_engine(
        ["answer"] * 3, behaviour=Behaviour(memory=memory), sessions=1, prefix_cache_bytes=MIB
    )
    record = make_record(tmp_path)
    await say(engine, record, "a" * 700)
    await say(engine, record, "b" * 700)
    end = await say(engine, record, "a" * 700 + "answer<|im_end|>more")
    assert (end.timings.cache_n, end.timings.prompt_n) == (706, 5)
    assert "turn snapshot" in end.reuse_note
    await engine.aclose()


async def test_a_session_evicted_for_room_comes_back_after_the_model_was_unloaded(
    tmp_path: Path,
) -> None:
    engine, backend = make_engine(["answer"] * 9, prefix_cache_bytes=MIB, memory_budget_bytes=70 * MIB)
    one, two = make_record(tmp_path, "one"), make_record(tmp_path, "two")
    await say(engine, one, "a" * 700)
    await say(engine, two, "b" * 700)
    end = await say(engine, one, "a" * 700 + "answer<|im_end|>more")
    assert end.timings.cache_n == 706
    assert backend.loads == 3
    await engine.aclose()


async def test_a_snapshot_that_cannot_be_restored_is_dropped_and_the_answer_is_right(
    tmp_path: Path,
) -> None:
    behaviour = Behaviour()
    engine, backend = make_engine(behaviour=behaviour, sessions=1, prefix_cache_bytes=MIB)
    record = make_record(tmp_path)
    await say(engine, record, "a" * 700)
    await say(engine, record, "b" * 700)
    behaviour.refuse_restore = True
    prompt = "a" * 700 + "Hello from the scripted model.<|im_end|>more"
    end = await say(engine, record, prompt)
    assert end.timings.cache_n == 0
    assert backend.prompts[-1] == prompt
    await engine.aclose()


async def test_without_a_budget_nothing_is_saved(tmp_path: Path) -> None:
    engine, _ = make_engine(sessions=1)
    record = make_record(tmp_path)
    for text in ("a" * 700, "b" * 700, "a" * 700):
        end = await say(engine, record, text)
    assert end.timings.cache_n == 0
    assert engine.state().snapshot_bytes == 0
    await engine.aclose()


async def test_sleep_keeps_what_the_prefix_cache_may_hold(tmp_path: Path) -> None:
    engine, _ = make_engine(["answer"], sleep_idle_s=0.02, prefix_cache_bytes=MIB)
    record = make_record(tmp_path)
    await say(engine, record, "a" * 700)
    for _ in range(200):
        if engine.state().sleeping:
            break
        await asyncio.sleep(0.01)
    end = await say(engine, record, "a" * 700 + "answer<|im_end|>more")
    assert end.timings.cache_n == 706
    await engine.aclose()

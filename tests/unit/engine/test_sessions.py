"""Which tokens are evaluated again: sessions, pins, forks, and the numbers that tell of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fakes.engines import MIB, ask, collect, finished, make_engine, make_record, say, text_of
from roteiro.engine.backend import MemoryKind, ModelFacts
from roteiro.engine.scripted import Behaviour, Reply
from roteiro.engine.session import Session, choose_session, common_prefix

pytestmark = pytest.mark.anyio

CONVERSATIONS = ("alpha first. ", "bravo second. ", "gamma third. ", "delta fourth. ")


def test_the_common_prefix_is_found_at_every_length() -> None:
    for length in (*range(300), 1000, 5000):
        left = [*range(length), -1, *range(700)]
        assert common_prefix(left, (*range(length), -2)) == length
        assert common_prefix((*range(length), -2, *range(700)), left) == length
        assert common_prefix(left, left[:length]) == length
    assert common_prefix([1, 2], [1, 2, 3]) == 2
    assert common_prefix([], [1]) == 0


def test_an_empty_slot_is_taken_before_a_used_one() -> None:
    facts = ModelFacts(n_ctx_train=10, n_embd=1, memory="attention")
    sessions = [Session(slot=0, tokens=[1], last_used=1.0), Session(slot=1, last_used=2.0)]
    assert choose_session(sessions, [5, 6], facts, pinned=-1).session.slot == 1
    assert choose_session(sessions, [5, 6], facts, pinned=2).session.slot == 0


async def test_the_next_turn_evaluates_only_what_is_new(tmp_path: Path) -> None:
    engine, _ = make_engine(["one", "two"])
    record = make_record(tmp_path)
    first = await say(engine, record, "question")
    assert (first.timings.cache_n, first.timings.prompt_n) == (0, 8)
    # The generated text counts as held; the end token was sampled but never evaluated.
    second = await say(engine, record, "questionone<|im_end|>more")
    assert (second.timings.cache_n, second.timings.prompt_n) == (11, 5)
    await engine.aclose()


async def test_the_same_prompt_again_evaluates_one_token(tmp_path: Path) -> None:
    engine, _ = make_engine()
    record = make_record(tmp_path)
    await say(engine, record, "x" * 77)
    end = await say(engine, record, "x" * 77)
    assert (end.timings.cache_n, end.timings.prompt_n) == (76, 1)
    await engine.aclose()


@pytest.mark.parametrize("count", [2, 4])
async def test_conversations_that_take_turns_each_keep_their_own(tmp_path: Path, count: int) -> None:
    engine, _ = make_engine([Reply(text="answer", match=name) for name in CONVERSATIONS])
    record = make_record(tmp_path)
    preamble = "the same system prompt for all of them, long enough to be worth copying. "
    histories = [preamble + name for name in CONVERSATIONS[:count]]
    for turn in range(3):
        for index, history in enumerate(histories):
            end = await say(engine, record, history)
            held = len(history.encode())
            if turn:
                # The end token is one token, and four bytes of new question follow it.
                assert end.timings.prompt_n == 5, (turn, index, end)
            elif index:
                assert end.timings.cache_n == len(preamble), end
                assert "copied" in end.reuse_note
            assert end.timings.cache_n + end.timings.prompt_n <= held
            histories[index] = f"{history}answer<|im_end|>more"
    slots = {session.id for session in engine.state().models[0].sessions if session.tokens}
    assert len(slots) == count
    await engine.aclose()


async def test_a_rewritten_answer_stays_in_its_own_session(tmp_path: Path) -> None:
    engine, _ = make_engine(["<think>long thought</think>answer", "next"])
    record = make_record(tmp_path)
    await say(engine, record, "a question that is long enough")
    end = await say(engine, record, "a question that is long enoughanswer<|im_end|>go on")
    assert (end.slot, end.timings.cache_n) == (0, 30)
    assert sum(1 for one in engine.state().models[0].sessions if one.tokens) == 1
    await engine.aclose()


async def test_a_pinned_session_is_used_and_numbers_wrap(tmp_path: Path) -> None:
    engine, _ = make_engine(sessions=2)
    record = make_record(tmp_path)
    assert (await say(engine, record, "first", id_slot=1)).slot == 1
    assert (await say(engine, record, "other", id_slot=0)).slot == 0
    again = await say(engine, record, "first", id_slot=3)
    assert (again.slot, again.timings.cache_n) == (1, 4)
    await engine.aclose()


async def test_a_pin_to_another_slot_copies_the_live_state(tmp_path: Path) -> None:
    engine, _ = make_engine()
    record = make_record(tmp_path)
    await say(engine, record, "y" * 50, id_slot=0)
    end = await say(engine, record, "y" * 50 + "z", id_slot=1)
    assert (end.slot, end.timings.cache_n) == (1, 50)
    again = await say(engine, record, "y" * 50, id_slot=0)
    assert again.timings.cache_n == 49
    await engine.aclose()


@pytest.mark.parametrize("cache", [0, 64 * MIB])
@pytest.mark.parametrize("memory", ["attention", "swa"])
async def test_what_is_shared_with_a_long_session_is_copied_alone(
    tmp_path: Path, memory: MemoryKind, cache: int
) -> None:
    behaviour = Behaviour(memory=memory, n_swa=20_000)
    engine, _ = make_engine(behaviour=behaviour, prefix_cache_bytes=cache)
    record = make_record(tmp_path, window=20_000)
    await say(engine, record, "p" * 300 + "x" * 15_000, id_slot=0)
    end = await say(engine, record, "p" * 300 + "another", id_slot=1)
    sessions = engine.state().models[0].sessions
    if memory == "attention":
        assert end.timings.cache_n == 300
        assert sessions[1].allocated < 15_000 < sessions[0].allocated
    else:
        # All of it would have to be copied before it is cut.
        assert (end.timings.cache_n, end.reuse_note) == (
            0,
            "shares 300 tokens with a session too long to copy",
        )
    again = await say(engine, record, "p" * 300 + "x" * 15_000, id_slot=0)
    assert again.timings.prompt_n == 1
    await engine.aclose()


@pytest.mark.parametrize("memory", ["attention", "swa", "recurrent"])
@pytest.mark.parametrize("cache", [0, MIB])
async def test_a_budget_for_one_session_serves_conversations_that_share(
    tmp_path: Path, memory: MemoryKind, cache: int
) -> None:
    behaviour = Behaviour(memory=memory, n_swa=2000)
    # The weights and one context of 4,096 tokens fit, two contexts do not.
    engine, backend = make_engine(behaviour=behaviour, memory_budget_bytes=70 * MIB, prefix_cache_bytes=cache)
    record = make_record(tmp_path)
    shared = "a system prompt that both of them have. "
    await say(engine, record, shared + "first")
    for slot, question in ((-1, "second"), (2, "third")):
        end = await say(engine, record, shared + question, id_slot=slot)
        assert end.timings.cache_n == (0 if memory == "recurrent" else len(shared))
        assert backend.prompts[-1] == shared + question
        assert sum(one.tokens > 0 for one in engine.state().models[0].sessions) == 1
    await engine.aclose()


async def test_a_long_prompt_is_there_for_the_next_conversation(tmp_path: Path) -> None:
    engine, backend = make_engine(prefix_cache_bytes=MIB)
    record = make_record(tmp_path)
    await say(engine, record, "p" * 600 + "a first question")
    second = await say(engine, record, "p" * 600 + "the second question")
    assert second.reuse_note == "restored 600 tokens (turn snapshot)"
    third = await say(engine, record, "p" * 600 + "one more question")
    assert third.reuse_note == "restored 600 tokens (preamble snapshot)"
    assert (third.timings.cache_n, third.timings.prompt_n, backend.saves) == (600, 17, 1)
    assert backend.prompts[-2:] == ["p" * 600 + "the second question", "p" * 600 + "one more question"]
    await engine.aclose()


async def test_a_long_prompt_drives_nothing_out_of_the_prefix_cache(tmp_path: Path) -> None:
    engine, backend = make_engine(prefix_cache_bytes=2 * MIB)
    record = make_record(tmp_path)
    # The record's keys and values take 1 KiB a token: what is estimated before it is copied.
    await say(engine, record, "p" * 1000, id_slot=0)
    assert (backend.saves, engine.state().snapshots) == (1, 1)
    await say(engine, record, "q" * 2040, id_slot=1)
    assert (backend.saves, engine.state().snapshots) == (1, 1)
    await engine.aclose()


@pytest.mark.parametrize("limit", [{"max_context_tokens": 8192}, {"memory_budget_bytes": 74 * MIB}])
async def test_a_state_too_long_for_window_or_budget_is_left_alone(
    tmp_path: Path, limit: dict[str, int]
) -> None:
    folder = tmp_path / "prefixes"
    cache: dict[str, Any] = {
        "prefix_cache_bytes": 64 * MIB,
        "prefix_disk_bytes": 64 * MIB,
        "prefix_folder": folder,
    }
    record = make_record(tmp_path, window=20_000)
    engine, _ = make_engine(**cache)
    await say(engine, record, "p" * 15_000)
    await engine.aclose()
    asked = "p" * 5000 + "another"
    engine, backend = make_engine(**cache, **limit)
    end = await say(engine, record, asked, max_tokens=16)
    assert (end.timings.cache_n, backend.prompts) == (0, [asked])
    await engine.aclose()
    engine, backend = make_engine(**cache)
    end = await say(engine, record, "p" * 15_000 + "more", max_tokens=16)
    assert end.timings.cache_n == 15_000
    await engine.aclose()


@pytest.mark.parametrize("refused", [False, True])
async def test_a_copy_is_also_what_is_kept_of_a_preamble(tmp_path: Path, refused: bool) -> None:
    """A session that grew in short turns, so that its prompt was not saved."""
    behaviour = Behaviour()
    engine, backend = make_engine(["1", "2"], behaviour=behaviour, prefix_cache_bytes=MIB)
    record = make_record(tmp_path)
    for length in (400, 800):
        await say(engine, record, "p" * length, id_slot=0)
    assert backend.saves == 0
    behaviour.refuse_restore = refused
    second = await say(engine, record, "p" * 600 + "the second question", id_slot=1)
    if refused:
        # Saved when it had been evaluated, then.
        assert (second.timings.cache_n, second.reuse_note) == (0, "the shared prefix could not be copied")
    else:
        assert (second.timings.cache_n, second.reuse_note) == (600, "copied 600 tokens from slot 0")
    behaviour.refuse_restore = False
    saves = backend.saves
    third = await say(engine, record, "p" * 600 + "one more question")
    assert third.reuse_note == "restored 600 tokens (preamble snapshot)"
    assert backend.prompts[-1] == "p" * 600 + "one more question"
    assert backend.saves == saves
    await engine.aclose()


async def test_cache_prompt_false_evaluates_all_and_keeps_nothing(tmp_path: Path) -> None:
    engine, _ = make_engine(prefix_cache_bytes=MIB)
    record = make_record(tmp_path)
    await say(engine, record, "z" * 600, id_slot=0)
    end = await say(engine, record, "z" * 600, cache_prompt=False, id_slot=0)
    assert (end.timings.cache_n, end.timings.prompt_n) == (0, 600)
    assert engine.state().models[0].sessions[0].tokens == 0
    await engine.aclose()


async def test_recurrent_memory_only_appends(tmp_path: Path) -> None:
    engine, _ = make_engine(["one", "two", "three"], behaviour=Behaviour(memory="recurrent"))
    record = make_record(tmp_path)
    await say(engine, record, "question")
    appended = await say(engine, record, "questionone<|im_end|>more")
    assert appended.timings.cache_n == 11
    diverged = await say(engine, record, "question two")
    assert (diverged.timings.cache_n, diverged.kind) == (0, "end")
    await engine.aclose()


async def test_a_sliding_window_is_cut_only_where_its_cells_are(tmp_path: Path) -> None:
    behaviour = Behaviour(memory="swa", n_swa=20)
    engine, _ = make_engine(["x" * 4] * 4, behaviour=behaviour, sessions=1)
    record = make_record(tmp_path)
    prompt = "w" * 100
    await say(engine, record, prompt)
    near = await say(engine, record, prompt + "y")
    assert near.timings.cache_n == 100
    far = await say(engine, record, prompt[:50] + "q" * 50)
    assert far.timings.cache_n == 0
    await engine.aclose()


async def test_a_larger_request_takes_the_session_along(tmp_path: Path) -> None:
    engine, _ = make_engine()
    record = make_record(tmp_path, window=20000)
    await say(engine, record, "v" * 500, max_tokens=10)
    end = await say(engine, record, "v" * 501, max_tokens=8000)
    assert end.timings.cache_n == 500
    assert engine.state().models[0].sessions[0].allocated >= 8501
    await engine.aclose()


async def test_a_refused_state_copy_starts_over_and_answers_right(tmp_path: Path) -> None:
    engine, _ = make_engine(["fine"] * 3, behaviour=Behaviour(refuse_restore=True))
    record = make_record(tmp_path)
    await say(engine, record, "shared prefix that is long enough: a", id_slot=0)
    events = await collect(engine, record, ask("shared prefix that is long enough: b", id_slot=1))
    assert finished(events).timings.cache_n == 0
    assert text_of(events) == "fine"
    await engine.aclose()


async def test_kept_sessions_go_first_when_room_is_needed(tmp_path: Path) -> None:
    # A context of 4,096 tokens takes 4 MiB here; there is room for two beside the weights.
    engine, backend = make_engine(memory_budget_bytes=73 * MIB, behaviour=Behaviour())
    record = make_record(tmp_path)
    for name in CONVERSATIONS:
        await say(engine, record, name * 20)
        assert engine.state().used_bytes <= 73 * MIB
    kept = [one.id for one in engine.state().models[0].sessions if one.allocated]
    assert kept == [2, 3]
    assert backend.loads == 1
    await engine.aclose()

"""Tokens of parts that are kept: the same as those made anew, and bounded."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest

from fakes.engines import make_engine, make_record
from roteiro.engine.scripted import encode
from roteiro.engine.vocabulary import KeptParts, VocabularyHandle

pytestmark = pytest.mark.anyio


def tokenised(handle: VocabularyHandle, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are handed to the library from now on."""
    said: list[str] = []
    tokenize = handle._vocabulary.tokenize

    def counted(text: str, **fields: bool) -> tuple[int, ...]:
        said.append(text)
        return tokenize(text, **fields)

    monkeypatch.setattr(handle._vocabulary, "tokenize", counted)
    return said


async def test_what_is_known_is_not_tokenised_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, _ = make_engine()
    handle = await engine.vocabulary(make_record(tmp_path))
    said = tokenised(handle, monkeypatch)
    first = [("<s>", True), ("system", False), ("<s>", True), ("<s>", False)]
    whole = tuple(token for text, _ in first[:3] for token in encode(text))
    assert (await handle.tokenize_parts(first))[: len(whole)] == whole
    # The same text as a control token and as plain text are two parts.
    assert said.count("<s>") == 2
    said.clear()
    again = await handle.tokenize_parts([*first, ("more", False)])
    assert again == (*await handle.tokenize_parts(first), *encode("more"))
    assert said == ["more"]
    await engine.aclose()


async def test_each_message_of_a_prompt_is_known_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = make_engine()
    handle = await engine.vocabulary(make_record(tmp_path))
    said = tokenised(handle, monkeypatch)
    turns = ["<|im_start|>system\nYou help.<|im_end|>\n", "<|im_start|>user\nHi<|im_end|>\n"]
    await handle.tokenize_parts([("".join(turns), True)])
    said.clear()
    prompt = "".join([turns[0], "<|im_start|>user\nBye<|im_end|>\n", "<|im_start|>assistant\n"])
    assert await handle.tokenize_parts([(prompt, True)]) == encode(prompt)
    assert said == ["<|im_start|>user\nBye", "<|im_start|>assistant\n"]
    await engine.aclose()


async def test_parts_come_out_as_if_each_was_tokenised_alone(tmp_path: Path) -> None:
    engine, _ = make_engine()
    handle = await engine.vocabulary(make_record(tmp_path))
    handle._kept = KeptParts(2000)
    rng = random.Random(5)
    texts = ["", "a", "<|im_end|>", "x" * 30, "y" * 50, "é and <s>", "plain"]
    for _ in range(300):
        parts = [(rng.choice(texts), rng.random() < 0.5) for _ in range(rng.randint(0, 6))]
        alone = [await handle.tokenize(text, parse_special=special) for text, special in parts]
        assert await handle.tokenize_parts(parts) == tuple(token for one in alone for token in one)
        assert handle._kept.held <= 2000
    await engine.aclose()


def test_what_was_used_last_stays() -> None:
    kept = KeptParts(1100)  # two short parts
    kept.add(("four", False), (1,))
    one = kept.held
    kept.add(("five", False), (2,))
    assert kept.get(("four", False)) == (1,)
    kept.add(("six6", False), (3,))
    assert (kept.get(("four", False)), kept.get(("five", False)), kept.held) == ((1,), None, 2 * one)
    kept.add(("six6", False), (3,))
    kept.add(("too long" * 200, False), (4,))
    kept.add(("ten", False), (5,) * 30)
    assert (len(kept), kept.held) == (2, 2 * one)


def test_small_parts_take_no_more_than_they_may() -> None:
    kept = KeptParts(2**20)
    tracemalloc.start()
    for number in range(20_000):
        kept.add((f"part {number} \u4f60\u597d", False), tuple(range(number + 1000, number + 1006)))
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept.held <= 2**20
    assert taken < 1.2 * 2**20

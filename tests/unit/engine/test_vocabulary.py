"""Tokens of parts that are kept: the same as those made anew, and bounded."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fakes.engines import make_engine, make_record
from roteiro.engine.scripted import encode
from roteiro.engine.vocabulary import KeptParts

pytestmark = pytest.mark.anyio


async def test_what_is_known_is_not_tokenised_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, _ = make_engine()
    handle = await engine.vocabulary(make_record(tmp_path))
    said: list[str] = []
    tokenize = handle._vocabulary.tokenize

    def counted(text: str, **fields: bool) -> tuple[int, ...]:
        said.append(text)
        return tokenize(text, **fields)

    monkeypatch.setattr(handle._vocabulary, "tokenize", counted)
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


async def test_parts_come_out_as_if_each_was_tokenised_alone(tmp_path: Path) -> None:
    engine, _ = make_engine()
    handle = await engine.vocabulary(make_record(tmp_path))
    handle._kept = KeptParts(40)
    rng = random.Random(5)
    texts = ["", "a", "<|im_end|>", "x" * 30, "y" * 50, "é and <s>", "plain"]
    for _ in range(300):
        parts = [(rng.choice(texts), rng.random() < 0.5) for _ in range(rng.randint(0, 6))]
        alone = [await handle.tokenize(text, parse_special=special) for text, special in parts]
        assert await handle.tokenize_parts(parts) == tuple(token for one in alone for token in one)
        assert handle._kept.characters <= 40
    await engine.aclose()


def test_what_was_used_last_stays() -> None:
    kept = KeptParts(10)
    kept.add(("four", False), (1,))
    kept.add(("five5", False), (2,))
    assert kept.get(("four", False)) == (1,)
    kept.add(("six66", False), (3,))
    assert (kept.get(("four", False)), kept.get(("five5", False)), kept.characters) == ((1,), None, 9)
    kept.add(("six66", False), (3,))
    kept.add(("too long to keep", False), (4,))
    assert (len(kept), kept.characters) == (2, 9)

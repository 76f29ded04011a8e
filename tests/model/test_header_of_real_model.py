"""The header reader on the real SmolLM2."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from roteiro.modelstore.gguf import read_header
from roteiro.modelstore.gguf_facts import kind_of

pytestmark = pytest.mark.model


def test_the_facts_of_smollm2(smollm2_path: Path) -> None:
    header = read_header(smollm2_path)
    assert (header.architecture, header.quantization) == ("llama", "Q4_1")
    assert (header.context_length, header.vocabulary_size) == (8192, 49152)
    assert (header.embedding_length, header.tensor_count) == (576, 272)
    assert (header.bos_token_id, header.eos_token_id, header.add_bos) == (1, 2, False)
    assert "<|im_start|>" in header.chat_templates["default"]
    assert kind_of(header) == "generative"


def test_reading_it_takes_milliseconds(smollm2_path: Path) -> None:
    best = min(_seconds(smollm2_path) for _ in range(5))
    # 23 ms on two busy cores; the reference reader takes seconds.
    assert best < 0.5


def _seconds(path: Path) -> float:
    began = time.perf_counter()
    read_header(path)
    return time.perf_counter() - began

from __future__ import annotations

from pathlib import Path

import pytest

from roteiro.chat.delimiters import find_reasoning
from roteiro.chat.template import load_template

TEMPLATES = Path(__file__).parents[2] / "assets" / "templates"


def load(name: str):
    return load_template((TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8"), bos_token="<s>")


@pytest.mark.parametrize(
    ("name", "end_text"),
    [
        ("qwen3", "\n</think>\n\n"),
        ("glm-4.5", "</think>\n"),
        ("glm-4.7", "</think>"),
        ("deepseek-v3.1", "</think>"),
        ("deepseek-r1", "\n</think>\n\n"),
        ("magistral", "[/THINK]"),
        ("gpt-oss", "<|end|><|start|>assistant<|channel|>final<|message|>"),
        ("command-r7b", "<|END_THINKING|><|START_RESPONSE|>"),
        ("hunyuan", "\n</think>\n<answer>\n"),
        ("ernie-4.5-thinking", "\n</think>\n\n<response>\n"),
        ("apriel", "\n[BEGIN FINAL RESPONSE]\n"),
    ],
)
def test_the_end_is_what_the_template_writes_when_the_turn_is_replayed(name: str, end_text: str):
    assert find_reasoning(load(name)).end_text == end_text


@pytest.mark.parametrize(
    ("name", "switch"), [("qwen3", True), ("glm-4.5", True), ("deepseek-v3.1", True), ("deepseek-r1", False)]
)
def test_whether_thinking_can_be_switched(name: str, switch: bool):
    assert find_reasoning(load(name)).switch is switch


def test_markers_may_be_known_from_the_vocabulary_alone():
    chatml = load("chatml")
    assert find_reasoning(chatml) is None
    assert find_reasoning(chatml, {"<think>"}) is None
    found = find_reasoning(chatml, {"<think>", "</think>"})
    assert (found.start, found.end, found.end_text, found.opened) == (
        "<think>",
        "</think>",
        "\n</think>\n\n",
        False,
    )


def test_an_answers_own_block():
    assert find_reasoning(load("granite-3.3")).answer_block == ("<response>", "</response>")
    assert find_reasoning(load("hunyuan")).answer_block == ("<answer>", "</answer>")
    assert find_reasoning(load("qwen3")).answer_block is None

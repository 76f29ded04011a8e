"""Every template of a family that renders tools is proved; the others get the preamble."""

from __future__ import annotations

from pathlib import Path

import pytest

from roteiro.chat.detect import detect
from roteiro.chat.template import load_template

TEMPLATES = Path(__file__).parents[2] / "assets" / "templates"

# Dialect, how tools are stated, thought markers (start, opened by the template).
EXPECTED: dict[str, tuple[str, str, tuple[str, bool] | None]] = {
    "apriel": ("tool_calls_array", "native", ("Here are my reasoning steps:", True)),
    "lfm2.5": ("lfm2.5", "native", ("<think>", False)),
    "mistral-small-3.1": ("mistral_array", "native", None),
    "nemotron-last-turn": ("nemotron", "native", ("<think>", True)),
    "phi-4-mini-marked": ("phi4", "native", None),
    "apertus": ("apertus", "native", ("<|inner_prefix|>", False)),
    "chatml": ("hermes", "preamble", None),
    "command-r-plus": ("command_r", "native", None),
    "command-r7b": ("command_r7b", "native", ("<|START_THINKING|>", False)),
    "deepseek-r1": ("deepseek_v3", "native", ("<think>", True)),
    "deepseek-v3": ("deepseek_v3", "preamble", None),
    "deepseek-v3.1": ("deepseek_v3.1", "native", ("<think>", True)),
    "ernie-4.5-thinking": ("hermes", "native", ("<think>", True)),
    "exaone-4": ("hermes", "native", ("<think>", True)),
    "falcon3": ("hermes", "native", None),
    "function-gemma": ("function_gemma", "native", None),
    "functionary-3.1": ("function_tag", "native", None),
    "functionary-3.2": ("functionary_v3.2", "native", None),
    "gemma2": ("hermes", "preamble", None),
    "gemma3": ("hermes", "preamble", None),
    "gemma4": ("gemma4", "native", ("<|channel>thought", False)),
    "glm-4.5": ("glm", "native", ("<think>", False)),
    "glm-4.7": ("glm", "native", ("<think>", True)),
    "gpt-oss": ("harmony", "native", ("<|channel|>analysis<|message|>", False)),
    "granite-3.1": ("granite", "native", ("<think>", False)),
    "granite-3.3": ("granite", "native", ("<think>", False)),
    "granite-4": ("hermes", "native", None),
    "hermes-3-default": ("hermes", "preamble", None),
    "hermes-3-tool-use": ("hermes", "native", None),
    "hunyuan": ("tool_calls_array", "native", ("<think>", False)),
    "internlm3": ("hermes", "preamble", None),
    "kimi-k2": ("kimi_k2", "native", None),
    "lfm2": ("lfm2", "native", None),
    "llama3-plain": ("hermes", "preamble", None),
    "llama3.1": ("llama3", "native", None),
    "llama3.2": ("llama3", "native", None),
    "llama4": ("pythonic", "native", None),
    "magistral": ("mistral", "native", ("[THINK]", False)),
    "minimax-m1": ("minimax_m1", "native", None),
    "minimax-m2": ("minimax_m2", "native", ("<think>", True)),
    "mistral-v11": ("mistral", "native", None),
    "mistral-v11-ids": ("mistral", "native", None),
    "mistral-v3": ("mistral_array", "native", None),
    "mistral-v7": ("mistral_array", "native", None),
    "nemotron-nano-v2": ("nemotron", "native", ("<think>", True)),
    "olmo2": ("hermes", "preamble", None),
    "olmo3": ("olmo3", "native", ("<think>", True)),
    "phi-3": ("hermes", "preamble", None),
    "phi-4": ("hermes", "preamble", None),
    "phi-4-mini": ("phi4", "preamble", None),
    "phi-4-mini-tools": ("functools", "native", None),
    "qwen2.5": ("hermes", "native", None),
    "qwen3": ("hermes", "native", ("<think>", False)),
    "qwen3-coder": ("qwen3_coder", "native", None),
    "qwen3-thinking": ("hermes", "native", ("<think>", True)),
    "seed-oss": ("seed_oss", "native", ("<seed:think>", False)),
    "smollm3": ("hermes", "native", ("<think>", False)),
    "xlam-2": ("bare_json", "native", None),
    "kimi-k2-queue": ("kimi_k2", "native", None),
    "kimi-k2.5": ("kimi_k2", "native", ("<think>", True)),
    "glm-4-0414": ("glm4", "native", None),
    "glm-words": ("glm", "native", None),
    "llama4-json": ("llama4", "native", None),
    "hyperclova": ("hyperclova", "native", None),
    "lfm2.5-plain": ("lfm2.5", "native", None),
    "firefunction-2": ("functools", "native", None),
    "pythonic-unquoted": ("pythonic", "native", None),
    "hermes-strict-types": ("hermes", "native", None),
    "hermes-no-nulls": ("hermes", "native", None),
    "function-gemma-system": ("function_gemma", "native", None),
    "phi-4-mini-unmarked": ("functools", "native", None),
    "zephyr": ("hermes", "preamble", None),
}


def load(name: str):
    text = (TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")
    return load_template(text, bos_token="<s>", eos_token="</s>")


def test_every_template_is_expected():
    assert {path.stem for path in TEMPLATES.glob("*.jinja")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_templates_are_proved(name: str):
    detection = detect(load(name))
    dialect, tools, reasoning = EXPECTED[name]
    found = detection.reasoning
    assert [v for v in detection.probes if not v.ok] == []
    assert (detection.ok, detection.dialect.name, detection.tools) == (True, dialect, tools)
    assert (found and (found.start, found.opened)) == reasoning
    assert detection.tools_stated >= 1
    assert detection.reading[0] is detection.dialect


def details(name: str) -> dict[str, str]:
    return {verdict.name: verdict.detail for verdict in detect(load(name)).probes if verdict.detail}


def test_a_type_that_a_template_cannot_print_is_no_fault_of_the_call_form():
    assert details("hermes-strict-types") == {
        "null": "the template cannot state this parameter's type; it can write the call"
    }


def test_nulls_that_a_template_leaves_out_are_told():
    assert details("hermes-no-nulls") == {"null": "the template leaves out what is null"}


def test_a_template_that_spoils_calls_does_not_write_them():
    found = detect(load("pythonic-unquoted"))
    assert found.own_calls
    spoilt = details("pythonic-unquoted")
    assert {"string", "quotes", "newlines"} <= spoilt.keys()
    assert "Roteiro writes the call itself" in spoilt["string"]
    assert not detect(load("qwen2.5")).own_calls


def test_markers_in_the_vocabulary_choose_the_preambles_form():
    plain = load("mistral-v7")
    assert detect(plain).dialect.name == "mistral_array"
    chatml = load("chatml")
    found = detect(chatml, special_tokens={"[TOOL_CALLS]", "<s>"})
    assert (found.tools, found.dialect.name, found.ok) == ("preamble", "mistral", True)


def test_an_unknown_call_form_is_not_ok():
    template = load_template(
        "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}{% for m in messages %}{{ m.role }}: {{ m.content }}"
        "{% for c in m.tool_calls or [] %}@@{{ c.function.name }}@@{{ c.function.arguments | tojson }}@@{% endfor %}"
        "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
    )
    found = detect(template)
    assert not found.ok
    assert found.tools == "preamble"
    assert found.warnings
    assert [verdict.name for verdict in found.probes if not verdict.ok] == ["call_form"]


def test_a_template_that_renders_nothing_is_not_ok():
    found = detect(load_template('{{ raise_exception("no") }}'))
    assert (found.ok, found.tools) == (False, "none")


def test_a_template_that_runs_away_is_not_ok():
    found = detect(load_template("{{ 'a' * 10 ** 10 }}"))
    assert (found.ok, found.tools) == (False, "none")


def test_two_bos_are_counted():
    assert (
        detect(load_template("{{ bos_token }}<s>{{ messages[0].content }}", bos_token="<s>")).bos_count == 2
    )

"""What the fields of a chat body mean, alone and together."""

from __future__ import annotations

import math
from typing import Any

import pytest

from roteiro.conversation.request import ChatRequest, ToolChoice
from roteiro.errors import InvalidRequest, RoteiroError
from roteiro.server.json_body import validate
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.chat_request import Caller, check_tool_bytes, to_chat_request

USER = [{"role": "user", "content": "hi"}]
T1 = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


def request(**fields: Any) -> ChatRequest:
    body = validate(ChatCompletionBody, {"messages": USER, **fields})
    return to_chat_request(body, Caller(completion_id="chatcmpl-1", client="127.0.0.1"))


def refused(**fields: Any) -> RoteiroError:
    with pytest.raises(RoteiroError) as caught:
        request(**fields)
    return caught.value


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens", "n_predict"])
@pytest.mark.parametrize(("value", "meant"), [(None, None), (-1, None), (1, 1), (5.0, 5), (10**9, 10**9)])
def test_limits(field: str, value: Any, meant: int | None) -> None:
    assert request(**{field: value}).max_tokens == meant


def test_an_absent_limit_is_to_the_end_of_the_window() -> None:
    assert request().max_tokens is None


@pytest.mark.parametrize("value", [0, -2, 1.5, "5", True, [], 1e300])
def test_nonsense_limits_are_refused(value: Any) -> None:
    assert refused(max_tokens=value).param == "max_tokens"


def test_two_limits_may_agree_and_not_differ() -> None:
    assert request(max_tokens=5, max_completion_tokens=5).max_tokens == 5
    assert request(max_tokens=5, max_completion_tokens=None).max_tokens == 5
    assert "contradict" in refused(max_tokens=5, max_completion_tokens=6).message
    assert "contradict" in refused(max_tokens=-1, n_predict=6).message


@pytest.mark.parametrize(
    ("stop", "meant"),
    [(None, ()), ("a", ("a",)), (["a", "", "b", "a"], ("a", "b")), ("", ()), ([], ())],
)
def test_stops(stop: Any, meant: tuple[str, ...]) -> None:
    assert request(stop=stop).stop == meant


@pytest.mark.parametrize("stop", [["x"] * 65, ["x" * 1025], [1], 3])
def test_unusable_stops_are_refused(stop: Any) -> None:
    assert refused(stop=stop).param.startswith("stop")


def test_too_many_stops_are_told_so_and_not_that_a_string_is_wanted() -> None:
    assert "at most 64 items" in refused(stop=["x"] * 65).message


@pytest.mark.parametrize(
    ("seed", "meant"),
    [(None, None), (-1, None), (2**32 - 1, None), (0, 0), (42, 42), (2**32 - 2, 2**32 - 2)],
)
def test_seeds(seed: Any, meant: int | None) -> None:
    assert request(seed=seed).sampling.seed == meant


@pytest.mark.parametrize("seed", [2**32, 2**63, -5, 2**64 - 1])
def test_large_and_negative_seeds_stay_seeds(seed: int) -> None:
    meant = request(seed=seed).sampling.seed
    assert meant is not None
    assert 0 <= meant < 2**32 - 1


def test_sampling_is_passed_on_and_null_is_absent() -> None:
    sampling = request(temperature=0, top_k=-1, top_p=None, min_p=0.1, ignore_eos=True).sampling
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0, 0, None)
    assert (sampling.min_p, sampling.ignore_eos) == (0.1, True)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", -0.1),
        ("temperature", "0.5"),
        ("temperature", True),
        ("top_p", 1.1),
        ("min_p", -1),
        ("top_k", -2),
        ("repeat_penalty", 0),
        ("repeat_last_n", -1),
        ("presence_penalty", 1000),
        ("n", 0),
        ("n", 9),
        ("seed", 2**64),
        ("seed", "x"),
        ("stream", "yes"),
        ("top_logprobs", 21),
        ("id_slot", -2),
        ("logprobs", 3),
        ("reasoning_format", "zap"),
        ("chat_template_kwargs", []),
    ],
)
def test_values_out_of_range_or_of_another_type_are_refused(field: str, value: Any) -> None:
    assert refused(**{field: value}).param == field


@pytest.mark.parametrize(
    ("bias", "ids", "texts"),
    [
        ({"15": -100, "7": 2.5}, {15: -100, 7: 2.5}, {}),
        ({" the": False}, {}, {" the": -math.inf}),
        ([[15, -1], ["he", 3]], {15: -1}, {"he": 3}),
        ([[15, False]], {15: -math.inf}, {}),
        ({}, {}, {}),
        (None, {}, {}),
    ],
)
def test_the_forms_of_logit_bias(bias: Any, ids: Any, texts: Any) -> None:
    made = request(logit_bias=bias)
    assert (made.sampling.logit_bias, made.logit_bias_text) == (ids, texts)


@pytest.mark.parametrize(
    "bias", [{"1": True}, {"1": "x"}, [[1]], [[1, 2, 3]], [1], [[None, 1]], [[-1, 1]], 5]
)
def test_other_forms_of_logit_bias_are_refused(bias: Any) -> None:
    assert refused(logit_bias=bias).param.startswith("logit_bias")


def test_logprobs() -> None:
    assert request().sampling.top_logprobs is None
    assert request(logprobs=True).sampling.top_logprobs == 0
    assert request(logprobs=True, top_logprobs=3).sampling.top_logprobs == 3
    assert request(logprobs=False, top_logprobs=None).sampling.top_logprobs is None
    assert refused(top_logprobs=3).param == "top_logprobs"


@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        (None, ToolChoice()),
        ("auto", ToolChoice()),
        ("none", ToolChoice(mode="none")),
        ("required", ToolChoice(mode="required")),
        (
            {"type": "function", "function": {"name": "search"}},
            ToolChoice(mode="named", name="search"),
        ),
        ({"type": "function", "name": "search"}, ToolChoice(mode="named", name="search")),
    ],
)
def test_tool_choice(choice: Any, meant: ToolChoice) -> None:
    assert request(tools=[T1], tool_choice=choice).tool_choice == meant


@pytest.mark.parametrize(
    "choice",
    [
        "sometimes",
        {},
        {"type": "zap"},
        {"type": "function"},
        {"type": "function", "function": {"name": "nope"}},
    ],
)
def test_unusable_tool_choices_are_refused(choice: Any) -> None:
    assert refused(tools=[T1], tool_choice=choice).param == "tool_choice"


def test_a_choice_that_needs_tools_is_refused_without_them() -> None:
    assert refused(tool_choice="required").param == "tool_choice"
    assert request(tools=[], tool_choice="none").tool_choice.mode == "none"
    assert request(tools=None, tool_choice="auto").tools == ()


def test_tools_are_converted() -> None:
    (tool,) = request(tools=[T1]).tools
    assert (tool.name, tool.description, tool.parameters) == ("search", "", {"type": "object"})
    (bare,) = request(tools=[{"type": "function", "function": {"name": "f"}}]).tools
    assert bare.parameters == {}


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "custom", "custom": {"name": "x"}}],
        [{"type": "function"}],
        [{"type": "function", "function": {}}],
        [{"type": "function", "function": {"name": "a b"}}],
        [{"type": "function", "function": {"name": ""}}],
        [{"type": "function", "function": {"name": "x" * 129}}],
        [{"type": "function", "function": {"name": "f", "parameters": []}}],
        [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}],
        [T1, T1],
        [T1] * 129,
        [3],
        "search",
    ],
)
def test_unusable_tools_are_refused(tools: Any) -> None:
    assert refused(tools=tools).param.startswith("tools")


def test_the_bound_on_tools_names_its_key() -> None:
    check_tool_bytes([T1], 200)
    check_tool_bytes([], 0)
    check_tool_bytes(None, 0)
    with pytest.raises(InvalidRequest, match="max_client_tool_bytes") as caught:
        check_tool_bytes([T1], 10)
    assert caught.value.details["max_client_tool_bytes"] == 10
    with pytest.raises(InvalidRequest):
        check_tool_bytes([T1], 0)
    # Bytes, not characters, of the compact form.
    check_tool_bytes(["é"], 6)
    with pytest.raises(InvalidRequest):
        check_tool_bytes(["é"], 5)


@pytest.mark.parametrize(
    ("form", "kind", "schema"),
    [
        (None, "text", None),
        ({"type": "text"}, "text", None),
        ({"type": "json_object"}, "json_object", None),
        ({"type": "json_object", "schema": SCHEMA}, "json_object", SCHEMA),
        ({"type": "json_schema", "json_schema": {"name": "r", "schema": SCHEMA}}, "json_schema", SCHEMA),
        ({"type": "json_schema", "schema": SCHEMA}, "json_schema", SCHEMA),
        ({"type": "json_schema", "json_schema": {"schema": True}}, "json_schema", True),
    ],
)
def test_response_formats(form: Any, kind: str, schema: Any) -> None:
    made = request(response_format=form).response_format
    assert (made.kind, made.schema) == (kind, schema)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"type": "sound"},
        {"type": 123},
        {"type": "json_object", "schema": 123},
        {"type": "json_schema"},
        {"type": "json_schema", "json_schema": {}},
        {"type": "json_schema", "json_schema": {"schema": "x"}},
        "json",
    ],
)
def test_unusable_response_formats_are_refused(form: Any) -> None:
    assert refused(response_format=form).param.startswith("response_format")


def test_a_top_level_json_schema_is_the_same() -> None:
    assert request(json_schema=SCHEMA).response_format.schema == SCHEMA
    assert refused(json_schema=SCHEMA, response_format={"type": "json_object"}).param == "json_schema"


def test_reasoning() -> None:
    made = request(
        reasoning_effort="low",
        thinking_budget_tokens=5,
        reasoning_budget_message="enough",
        reasoning_control=True,
        reasoning_format="none",
    ).reasoning
    assert (made.effort, made.budget_tokens, made.budget_message) == ("low", 5, "enough")
    assert made.control
    assert made.in_content
    assert request(reasoning_budget_tokens=-1).reasoning.budget_tokens is None
    assert request(reasoning_budget_tokens=0).reasoning.budget_tokens == 0
    assert refused(reasoning_budget_tokens=1, thinking_budget_tokens=2)


def test_enable_thinking_is_a_boolean_wherever_it_stands() -> None:
    assert request(enable_thinking=False).template_kwargs == {"enable_thinking": False}
    assert refused(chat_template_kwargs={"enable_thinking": "false"})
    assert refused(chat_template_kwargs={"enable_thinking": True}, enable_thinking=False)


def test_continuing_the_last_message() -> None:
    last = [*USER, {"role": "assistant", "content": "It is"}]
    assert request(messages=last).prefill
    assert request(messages=last, continue_final_message=True, add_generation_prompt=False).prefill
    assert not request(messages=last, continue_final_message=False).prefill
    assert refused(messages=last, continue_final_message=True, add_generation_prompt=True)
    assert refused(messages=last, continue_final_message="reasoning_content")
    assert refused(continue_final_message=True).param == "continue_final_message"
    assert refused(add_generation_prompt=False).param == "add_generation_prompt"


def test_cache_and_slots() -> None:
    made = request(cache_prompt=False, id_slot=2, timings_per_token=True, model="m")
    assert (made.cache_prompt, made.id_slot, made.timings_per_token) == (False, 2, True)
    assert made.model == "m"
    made = request(cache_prompt=None, model="")
    assert (made.cache_prompt, made.id_slot, made.model) == (True, -1, None)

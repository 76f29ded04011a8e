"""From a chat body to the conversation's `ChatRequest`: what the fields mean together.

Pure; thread: any. Nothing of JSON or of the body passes beyond this module.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roteiro.conversation.request import (
    ChatRequest,
    ReasoningOptions,
    ResponseFormat,
    ToolChoice,
)
from roteiro.engine.request import SamplingParams
from roteiro.errors import InvalidRequest
from roteiro.server.wire.chat_body import ChatCompletionBody, WireResponseFormat
from roteiro.server.wire.messages import to_messages, to_tools

RANDOM_SEEDS = frozenset({-1, 2**32 - 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What the request's surroundings add: its id, who asks, and the bound on its tools."""

    completion_id: str
    client: str = ""
    max_tool_bytes: int = 32768


def to_chat_request(body: ChatCompletionBody, caller: Caller) -> ChatRequest:
    """Convert a validated body.

    Raises:
        InvalidRequest: fields that contradict each other, or whose value means nothing.
        UnsupportedParameter: a message holds what is not text.
    """
    by_id, by_text = _logit_bias(body.logit_bias)
    tools = to_tools(body.tools or ())
    return ChatRequest(
        id=caller.completion_id,
        model=body.model or None,
        messages=to_messages(body.messages),
        tools=tools,
        tool_choice=_tool_choice(body.tool_choice, frozenset(tool.name for tool in tools)),
        parallel_tool_calls=body.parallel_tool_calls,
        response_format=_response_format(body),
        sampling=_sampling(body, by_id),
        logit_bias_text=by_text,
        max_tokens=_max_tokens(body),
        stop=_stops(body.stop),
        reasoning=_reasoning(body),
        template_kwargs=_template_kwargs(body),
        prefill=_prefill(body),
        cache_prompt=body.cache_prompt is not False,
        id_slot=-1 if body.id_slot is None else body.id_slot,
        timings_per_token=body.timings_per_token is True,
        client=caller.client or body.user or "",
    )


def check_tool_bytes(tools: Any, limit: int) -> None:
    """Bound the client's `tools` as it was sent, in bytes of compact UTF-8 JSON.

    Raises:
        InvalidRequest: naming the configuration key that sets the bound.
    """
    if not tools:
        return
    text = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    size = len(text.encode())
    if size > limit:
        raise InvalidRequest(
            f"The tools array takes {size} bytes, and [serve] max_client_tool_bytes allows {limit}.",
            hint="Send fewer tools, or have whoever runs this server raise the key.",
            param="tools",
            details={"tool_bytes": size, "max_client_tool_bytes": limit},
        )


# ---------------------------------------------------------------------------------------------------


def _max_tokens(body: ChatCompletionBody) -> int | None:
    given = {
        name: value
        for name in ("max_tokens", "max_completion_tokens", "n_predict")
        if (value := getattr(body, name)) is not None
    }
    if len(set(given.values())) > 1:
        said = ", ".join(f"{name}={value}" for name, value in given.items())
        raise InvalidRequest(f"The limits contradict each other: {said}.", param=next(iter(given)))
    for name, value in given.items():
        if value == 0:
            raise InvalidRequest(
                f"{name} is 0, which asks for no answer; send at least 1, or -1 for the rest of the window.",
                param=name,
            )
        return None if value == -1 else int(value)
    return None


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    stops = [stop] if isinstance(stop, str) else stop or []
    return tuple(dict.fromkeys(text for text in stops if text))


def _sampling(body: ChatCompletionBody, bias: Mapping[int, float]) -> SamplingParams:
    if body.top_logprobs is not None and body.logprobs is not True:
        raise InvalidRequest("top_logprobs needs logprobs to be true.", param="top_logprobs")
    return SamplingParams(
        temperature=body.temperature,
        top_k=0 if body.top_k == -1 else body.top_k,
        top_p=body.top_p,
        min_p=body.min_p,
        typical_p=body.typical_p,
        repeat_last_n=body.repeat_last_n,
        repeat_penalty=body.repeat_penalty,
        presence_penalty=body.presence_penalty,
        frequency_penalty=body.frequency_penalty,
        seed=_seed(body.seed),
        logit_bias=bias,
        ignore_eos=body.ignore_eos is True,
        top_logprobs=(body.top_logprobs or 0) if body.logprobs else None,
    )


def _seed(seed: int | None) -> int | None:
    if seed is None or seed in RANDOM_SEEDS:
        return None
    # The last number of 32 bits means random to llama.cpp, so it is kept free.
    return seed % (2**32 - 1) if seed >= 2**32 - 1 or seed < 0 else seed


def _logit_bias(
    bias: dict[str, Any] | list[Any] | None,
) -> tuple[dict[int, float], dict[str, float]]:
    """The four forms: object or pairs, each by token id or by text."""
    by_id: dict[int, float] = {}
    by_text: dict[str, float] = {}
    for key, value in _bias_pairs(bias):
        amount = -math.inf if value is False else value
        if isinstance(amount, bool) or not isinstance(amount, int | float):
            raise InvalidRequest(
                f"logit_bias of {key!r} is {value!r}; a number or false is needed.",
                param="logit_bias",
            )
        if isinstance(key, int) or (key.isascii() and key.isdigit() and len(key) < 11):
            by_id[int(key)] = float(amount)
        else:
            by_text[key] = float(amount)
    return by_id, by_text


def _bias_pairs(bias: dict[str, Any] | list[Any] | None) -> list[tuple[int | str, Any]]:
    if bias is None:
        return []
    if isinstance(bias, dict):
        return list(bias.items())
    pairs: list[tuple[int | str, Any]] = []
    for i, pair in enumerate(bias):
        usable = isinstance(pair, list) and len(pair) == 2 and type(pair[0]) in (int, str)
        if not usable or (type(pair[0]) is int and pair[0] < 0):
            raise InvalidRequest(
                f"logit_bias[{i}] is not a pair of a token id or a text and a bias.",
                param=f"logit_bias[{i}]",
            )
        pairs.append((pair[0], pair[1]))
    return pairs


def _tool_choice(choice: str | dict[str, Any] | None, declared: frozenset[str]) -> ToolChoice:
    if choice is None or choice == "auto":
        return ToolChoice()
    if choice == "none":
        return ToolChoice(mode="none")
    if choice == "required":
        if not declared:
            raise InvalidRequest(
                "tool_choice is 'required', but the request has no tools.", param="tool_choice"
            )
        return ToolChoice(mode="required")
    name = _chosen_name(choice)
    if name not in declared:
        known = ", ".join(sorted(declared)) or "none"
        raise InvalidRequest(
            f"tool_choice names {name!r}, which is not among the tools ({known}).",
            param="tool_choice",
        )
    return ToolChoice(mode="named", name=name)


def _chosen_name(choice: str | dict[str, Any]) -> str:
    if isinstance(choice, dict) and choice.get("type") == "function":
        function = choice.get("function", choice)
        name = function.get("name") if isinstance(function, dict) else None
        if isinstance(name, str):
            return name
    raise InvalidRequest(
        f"tool_choice is {json.dumps(choice)[:80]}; send 'auto', 'none', 'required' or "
        '{"type": "function", "function": {"name": ...}}.',
        param="tool_choice",
    )


def _response_format(body: ChatCompletionBody) -> ResponseFormat:
    form = body.response_format
    if body.json_schema is not None:
        if form is not None and form.type != "text":
            raise InvalidRequest(
                "json_schema and response_format are both given; send one of them.",
                param="json_schema",
            )
        return ResponseFormat(kind="json_schema", schema=body.json_schema)
    if form is None or form.type == "text":
        return ResponseFormat()
    schema = _schema(form)
    if form.type == "json_schema" and schema is None:
        raise InvalidRequest(
            "response_format is of type 'json_schema' and has no schema.",
            param="response_format.json_schema.schema",
        )
    return ResponseFormat(kind=form.type, schema=schema)


def _schema(form: WireResponseFormat) -> Any:
    inside = form.json_schema.schema_ if form.json_schema is not None else None
    return form.schema_ if inside is None else inside


def _reasoning(body: ChatCompletionBody) -> ReasoningOptions:
    budgets = {body.reasoning_budget_tokens, body.thinking_budget_tokens} - {None}
    if len(budgets) > 1:
        raise InvalidRequest(
            "reasoning_budget_tokens and thinking_budget_tokens differ; send one of them.",
            param="reasoning_budget_tokens",
        )
    budget = next(iter(budgets), None)
    return ReasoningOptions(
        effort=body.reasoning_effort or None,
        budget_tokens=None if budget == -1 else budget,
        budget_message=body.reasoning_budget_message or "",
        control=body.reasoning_control is True,
        in_content=body.reasoning_format == "none",
    )


def _template_kwargs(body: ChatCompletionBody) -> dict[str, Any]:
    kwargs = dict(body.chat_template_kwargs or {})
    thinking = kwargs.get("enable_thinking", True)
    if not isinstance(thinking, bool):
        raise InvalidRequest(
            f"chat_template_kwargs.enable_thinking is {thinking!r}; true or false is needed.",
            param="chat_template_kwargs.enable_thinking",
        )
    wanted = body.enable_thinking
    if wanted is not None and kwargs.setdefault("enable_thinking", wanted) != wanted:
        raise InvalidRequest(
            "enable_thinking and chat_template_kwargs.enable_thinking differ.",
            param="enable_thinking",
        )
    return kwargs


def _prefill(body: ChatCompletionBody) -> bool:
    """Whether a trailing assistant message is continued; absent means yes, as llama-server does."""
    last = body.messages[-1].role
    if body.continue_final_message:
        if body.add_generation_prompt:
            raise InvalidRequest(
                "continue_final_message and add_generation_prompt exclude each other.",
                param="continue_final_message",
            )
        if body.continue_final_message == "reasoning_content":
            raise InvalidRequest(
                "A thought cannot be continued; continue_final_message takes true or 'content'.",
                param="continue_final_message",
            )
        if last != "assistant":
            raise InvalidRequest(
                f"continue_final_message needs a last assistant message; it is of role {last!r}.",
                param="continue_final_message",
            )
        return True
    if body.add_generation_prompt is False and last != "assistant":
        raise InvalidRequest(
            "add_generation_prompt is false, so nothing would mark the answer's beginning.",
            hint="It may be false where the last message is an assistant's to be continued.",
            param="add_generation_prompt",
        )
    return body.continue_final_message is None

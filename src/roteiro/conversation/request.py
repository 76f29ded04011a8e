"""A chat request as the conversation layer takes it: checked values, no JSON of any wire.

Built by a front door (`server/wire/chat_request.py`, `cli/commands/chat.py`). Immutable; thread: any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from roteiro.chat.messages import Message, Tool
from roteiro.engine.request import SamplingParams


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolChoice:
    """What the client wants: `auto`, `none`, `required`, or `named` with the function's name."""

    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFormat:
    """How the answer must look. `schema` is a JSON Schema for `json_schema`, optional for `json_object`."""

    kind: Literal["text", "json_object", "json_schema"] = "text"
    schema: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningOptions:
    """How the model may think.

    `effort`: "none" switches thinking off where the template can; other text goes to the template.
    `budget_tokens`: most tokens of one thought, None for no limit, 0 ends it at once.
    `budget_message`: text forced before the thought's end when the budget is reached.
    `control`: True lets `Conversation.end_reasoning(id)` end it.
    `in_content`: True leaves thoughts, delimiters included, in the content.
    """

    effort: str | None = None
    budget_tokens: int | None = None
    budget_message: str = ""
    control: bool = False
    in_content: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One chat completion.

    Attributes:
        id: the completion's id, `chatcmpl-...`; unique in this process.
        model: an installed model's id, or None for the configured default.
        messages: at least one.
        tools: the client's tools; () when the request carries none.
        max_tokens: most tokens of the answer; None to the end of the window.
        stop: strings that end the answer.
        logit_bias_text: biases given by text; each token of the text gets the bias.
        template_kwargs: extra variables for the chat template.
        prefill: whether a trailing assistant message is continued instead of answered.
        client: who asks, for fair queueing (an address, an API key's digest).
    """

    id: str
    model: str | None
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = field(default_factory=ToolChoice)
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat = field(default_factory=ResponseFormat)
    sampling: SamplingParams = field(default_factory=SamplingParams)
    logit_bias_text: Mapping[str, float] = field(default_factory=dict)
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    prefill: bool = True
    cache_prompt: bool = True
    id_slot: int = -1
    timings_per_token: bool = False
    client: str = ""

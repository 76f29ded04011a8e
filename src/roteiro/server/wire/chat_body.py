"""The chat completion body as JSON: its fields and their ranges, nothing of their meaning.

Every field is a `supported` row of `wire/parameters.py` and the other way round; a test holds it. Any field
may be null, which means not given. Pure; thread: any.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from roteiro.server.wire.fields import Bool, Float, Int, Penalty, Text, Unit, WireModel

MAX_STOPS = 64
MAX_CHOICES = 8

Count = Annotated[Int, Field(ge=-1, lt=2**63)]


class StreamOptions(WireModel):
    """`stream_options`."""

    include_usage: Bool | None = None


class WireFunctionCall(WireModel):
    """A call's function. llama-server's clients may send the arguments as an object."""

    name: Annotated[Text, Field(min_length=1)]
    arguments: Text | dict[str, Any] | None = None


class WireToolCall(WireModel):
    """A call in an assistant message of the history."""

    id: Text | None = None
    type: Literal["function"] = "function"
    function: WireFunctionCall


class WireMessage(WireModel):
    """One message in any of its legal shapes; `wire/messages.py` says which those are."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Text | list[dict[str, Any]] | None = None
    name: Text | None = None
    reasoning_content: Text | None = None
    reasoning: Text | None = None
    refusal: Text | None = None
    tool_calls: list[WireToolCall] | None = None
    tool_call_id: Text | None = None
    function_call: dict[str, Any] | None = None
    audio: dict[str, Any] | None = None


class WireFunction(WireModel):
    """A function that may be called."""

    name: Annotated[Text, Field(pattern=r"^[A-Za-z0-9_.:/-]{1,128}$")]
    description: Text | None = None
    parameters: dict[str, Any] | None = None
    strict: Bool | None = None


class WireTool(WireModel):
    """An entry of `tools`."""

    type: Literal["function"]
    function: WireFunction


class WireJsonSchema(WireModel):
    """The envelope of a `json_schema` response format."""

    name: Text | None = None
    strict: Bool | None = None
    schema_: dict[str, Any] | Bool | None = Field(default=None, alias="schema")


class WireResponseFormat(WireModel):
    """`response_format`. A schema may also stand beside the type, as some clients write it."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: WireJsonSchema | None = None
    schema_: dict[str, Any] | Bool | None = Field(default=None, alias="schema")


class ChatCompletionBody(WireModel):
    """`POST /v1/chat/completions`."""

    model: Text | None = None
    messages: Annotated[list[WireMessage], Field(min_length=1)]
    stream: Bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[Int, Field(ge=1, le=MAX_CHOICES)] | None = None
    user: Text | None = None

    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    n_predict: Count | None = None
    stop: Text | Annotated[list[Text], Field(max_length=MAX_STOPS)] | None = None
    ignore_eos: Bool | None = None

    temperature: Annotated[Float, Field(ge=0, le=100)] | None = None
    top_p: Unit | None = None
    top_k: Annotated[Int, Field(ge=-1, lt=2**31)] | None = None
    min_p: Unit | None = None
    typical_p: Unit | None = None
    seed: Annotated[Int, Field(ge=-(2**63), lt=2**64)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repeat_penalty: Annotated[Float, Field(gt=0, le=100)] | None = None
    repeat_last_n: Annotated[Int, Field(ge=0, lt=2**31)] | None = None
    logit_bias: dict[str, Any] | list[Any] | None = None
    logprobs: Bool | None = None
    top_logprobs: Annotated[Int, Field(ge=0, le=20)] | None = None

    tools: Annotated[list[WireTool], Field(max_length=128)] | None = None
    tool_choice: Text | dict[str, Any] | None = None
    parallel_tool_calls: Bool | None = None
    response_format: WireResponseFormat | None = None
    json_schema: dict[str, Any] | Bool | None = None

    reasoning_effort: Text | None = None
    reasoning_format: Literal["none", "auto", "deepseek"] | None = None
    reasoning_control: Bool | None = None
    reasoning_budget_tokens: Count | None = None
    thinking_budget_tokens: Count | None = None
    reasoning_budget_message: Text | None = None
    enable_thinking: Bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: Bool | None = None
    continue_final_message: Bool | Literal["content", "reasoning_content"] | None = None

    cache_prompt: Bool | None = None
    id_slot: Annotated[Int, Field(ge=-1, lt=2**31)] | None = None
    return_progress: Bool | None = None
    timings_per_token: Bool | None = None
    sse_ping_interval: Annotated[Float, Field(ge=-1, le=3600)] | None = None

    @field_validator("stop")
    @classmethod
    def _short_stops(cls, value: str | list[str] | None) -> str | list[str] | None:
        for stop in [value] if isinstance(value, str) else value or []:
            if len(stop) > 1024:
                raise ValueError("a stop string may have 1024 characters at most")
        return value

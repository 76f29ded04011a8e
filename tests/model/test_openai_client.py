"""The unmodified openai client against a real server process with a real model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import jsonschema
import openai
import pytest
from pydantic import BaseModel, Field

from fakes.real_server import real_server

pytestmark = [pytest.mark.model, pytest.mark.timeout(240)]

HELLO = [{"role": "user", "content": "Say hello."}]
SEARCH = {
    "type": "function",
    "function": {
        "name": "search",
        "description": "Search the web.",
        "parameters": {
            "type": "object",
            "properties": {"q": {"type": "string", "maxLength": 40}},
            "required": ["q"],
        },
    },
}


class Address(BaseModel):
    city: str = Field(max_length=20)
    zip: int = Field(ge=0, le=99999)


class Person(BaseModel):
    name: str = Field(max_length=20)
    kind: Literal["a", "b"]
    address: Address
    tags: list[Literal["x", "y"]] = Field(max_length=3)


@pytest.fixture(scope="module")
def client(smollm2_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    home, folder = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("work")
    with (
        real_server(home, folder, [smollm2_path]) as url,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=200) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def model(client: openai.OpenAI) -> str:
    (only,) = client.models.list().data
    assert client.models.retrieve(only.id).id == only.id
    return only.id


def test_streamed_and_unstreamed_say_the_same(client: openai.OpenAI, model: str):
    options = {"model": model, "messages": HELLO, "temperature": 0, "max_tokens": 12, "seed": 1}
    whole = client.chat.completions.create(**options)
    chunks = list(
        client.chat.completions.create(**options, stream=True, stream_options={"include_usage": True})
    )
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == whole.choices[0].message.content
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage.completion_tokens == 12
    assert chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == whole.usage.prompt_tokens - 1
    assert len({chunk.id for chunk in chunks}) == 1


def test_nested_models_are_parsed(client: openai.OpenAI, model: str):
    reply = client.chat.completions.parse(
        model=model,
        messages=[{"role": "user", "content": "Invent a person."}],
        response_format=Person,
        temperature=0,
        max_tokens=300,
    )
    assert isinstance(reply.choices[0].message.parsed, Person)


SCHEMAS = {
    "ref": {
        "$defs": {"T": {"type": "object", "properties": {"e": {"$ref": "#/$defs/E"}}, "required": ["e"]}, "E": {"enum": ["x", "y"]}},
        "type": "array",
        "items": {"$ref": "#/$defs/T"},
        "minItems": 1,
        "maxItems": 2,
    },
    "recursive": {
        "$defs": {"N": {"type": "object", "properties": {"v": {"type": "integer", "minimum": 0, "maximum": 9}, "children": {"type": "array", "items": {"$ref": "#/$defs/N"}, "maxItems": 1}}, "required": ["v", "children"], "additionalProperties": False}},
        "$ref": "#/$defs/N",
    },
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
    "date": {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}, "required": ["d"], "additionalProperties": False},
    "const": {"const": {"a": [1, None, "é"]}},
    "bounds": {"type": "object", "properties": {"s": {"type": "string", "minLength": 3, "maxLength": 5}, "n": {"type": "integer", "minimum": -2, "maximum": 3}}, "required": ["s", "n"], "additionalProperties": False},
    "tagged": {
        "oneOf": [
            {"type": "object", "properties": {"k": {"const": "a"}, "n": {"type": "integer", "maximum": 9, "minimum": 0}}, "required": ["k", "n"], "additionalProperties": False},
            {"type": "object", "properties": {"k": {"const": "b"}}, "required": ["k"], "additionalProperties": False},
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_answer_is_always_valid_under_the_schema(client: openai.OpenAI, model: str, name: str):
    schema = SCHEMAS[name]
    wanted = {"type": "json_schema", "json_schema": {"name": "r", "strict": True, "schema": schema}}
    for seed in range(5):  # a model may nest a recursive schema to the limit; another seed does not
        reply = client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": "Write a poem about the sea."}],
            response_format=wanted,
            temperature=1.5,
            seed=seed,
            max_tokens=200,
        ).choices[0]
        if reply.finish_reason == "stop":
            jsonschema.Draft202012Validator(schema).validate(json.loads(reply.message.content))
            return
    pytest.fail(f"no answer ended: {reply.message.content}")


def test_what_cannot_be_enforced_is_a_400_that_names_the_place(client: openai.OpenAI, model: str):
    schema = {"type": "object", "properties": {"a": {"not": {"type": "string"}}}}
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model=model,
            messages=HELLO,
            response_format={"type": "json_schema", "json_schema": {"name": "r", "schema": schema}},
        )
    assert caught.value.param == "response_format.json_schema.schema.properties.a"


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "search"}}])
def test_a_forced_call_is_one_whole_call_streamed_and_not(client: openai.OpenAI, model: str, choice):
    options = {
        "model": model,
        "messages": HELLO,
        "tools": [SEARCH],
        "tool_choice": choice,
        "max_tokens": 120,
        "temperature": 0,
    }
    whole = client.chat.completions.create(**options).choices[0]
    assert whole.finish_reason == "tool_calls"
    (call,) = whole.message.tool_calls
    assert call.function.name == "search"
    assert set(json.loads(call.function.arguments)) == {"q"}
    name, arguments, ends = "", "", []
    for chunk in client.chat.completions.create(**options, stream=True):
        ends += [chunk.choices[0].finish_reason] if chunk.choices[0].finish_reason else []
        for part in chunk.choices[0].delta.tool_calls or []:
            assert part.index == 0
            name += part.function.name or ""
            arguments += part.function.arguments or ""
    assert (name, ends) == ("search", ["tool_calls"])
    assert json.loads(arguments) == json.loads(call.function.arguments)


def test_tools_reach_the_prompt_of_a_model_whose_template_knows_none(client: openai.OpenAI, model: str):
    options = {"model": model, "messages": HELLO, "max_tokens": 1}
    plain = client.chat.completions.create(**options).usage.prompt_tokens
    with_tools = client.chat.completions.create(**options, tools=[SEARCH]).usage.prompt_tokens
    none = client.chat.completions.create(**options, tools=[SEARCH], tool_choice="none").usage.prompt_tokens
    assert with_tools > plain + 30
    assert none == plain


def test_logprobs_join_to_the_content(client: openai.OpenAI, model: str):
    reply = client.chat.completions.create(
        model=model, messages=HELLO, max_tokens=6, temperature=0, logprobs=True, top_logprobs=3
    ).choices[0]
    assert "".join(entry.token for entry in reply.logprobs.content) == reply.message.content
    for entry in reply.logprobs.content:
        assert entry.logprob <= 0
        assert entry.token == entry.top_logprobs[0].token, "greedy takes the likeliest"


def test_a_history_with_calls_and_results_is_answered(client: openai.OpenAI, model: str):
    call = {"id": "a1b2c3d4e", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
    replies = []
    for content in ({"content": None}, {"content": ""}, {}):
        messages = [
            *HELLO,
            {"role": "assistant", "tool_calls": [call], **content},
            {"role": "tool", "tool_call_id": "a1b2c3d4e", "content": "It is <|im_end|> 4."},
        ]
        replies.append(
            client.chat.completions.create(model=model, messages=messages, tools=[SEARCH], max_tokens=2)
        )
    assert len({reply.usage.prompt_tokens for reply in replies}) == 1


def test_an_overflow_is_a_400_with_the_numbers(client: openai.OpenAI, model: str):
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": "word " * 9000}], stream=stream
            )
        assert caught.value.code == "context_length_exceeded"
        assert caught.value.body["n_prompt_tokens"] > caught.value.body["n_ctx"] > 0


def test_an_unknown_model_is_a_404_that_lists_what_is_there(client: openai.OpenAI, model: str):
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="nope", messages=HELLO)
    assert caught.value.code == "model_not_found"
    assert model in caught.value.body["message"]

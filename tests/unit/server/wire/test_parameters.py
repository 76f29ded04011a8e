"""The parameter table: equal to the request model, to the docs, and obeyed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roteiro.errors import UnsupportedParameter
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.parameters import (
    BY_NAME,
    PARAMETERS,
    refuse_unsupported,
    table_markdown,
    unknown_fields,
)

DOCS = Path(__file__).parents[4] / "docs" / "http-api.md"


def test_supported_rows_are_exactly_the_fields_of_the_body() -> None:
    supported = {row.name for row in PARAMETERS if row.status == "supported"}
    assert supported == set(ChatCompletionBody.model_fields)


def test_every_name_has_one_row() -> None:
    assert len(BY_NAME) == len(PARAMETERS)


def test_the_docs_show_the_table() -> None:
    text = DOCS.read_text(encoding="utf-8")
    begin, end = "<!-- parameters: begin -->\n", "\n<!-- parameters: end -->"
    assert text.partition(begin)[2].partition(end)[0] == table_markdown()


@pytest.mark.parametrize("row", PARAMETERS, ids=lambda row: row.name)
def test_null_never_trips_a_refusal(row: Any) -> None:
    refuse_unsupported({row.name: None})


@pytest.mark.parametrize(
    "body",
    [
        {"store": False},
        {"modalities": ["text"]},
        {"verbosity": "medium"},
        {"functions": []},
        {"function_call": "none"},
        {"top_n_sigma": -1},
        {"xtc_probability": 0.0},
        {"mirostat": 0},
        {"grammar": ""},
        {"t_max_predict_ms": -1},
        {"parse_tool_calls": True},
        {"repetition_penalty": 1.0},
        {"adaptive_target": -1},
        {"options": {}},
        {"service_tier": "auto", "metadata": {"a": "b"}, "prediction": {}},
        {"something_new": 3},
    ],
)
def test_explicit_defaults_and_dropped_fields_are_taken(body: dict[str, Any]) -> None:
    refuse_unsupported(body)


@pytest.mark.parametrize(
    "body",
    [
        {"store": True},
        {"store": 0},
        {"modalities": ["text", "audio"]},
        {"grammar": 'root ::= "a"'},
        {"functions": [{}]},
        {"mirostat": 2},
        {"mirostat": False},
        {"adaptive_target": 0},
        {"guided_json": {}},
        {"parse_tool_calls": 1},
        {"web_search_options": {}},
        {"prompt": "x"},
    ],
)
def test_what_would_be_untrue_is_refused_by_name(body: dict[str, Any]) -> None:
    (name,) = body
    with pytest.raises(UnsupportedParameter, match=name) as caught:
        refuse_unsupported(body)
    assert caught.value.param == name


def test_unknown_fields_are_told_apart_from_dropped_ones() -> None:
    assert unknown_fields({"model": 1, "metadata": 2, "zap": 3}) == ("zap",)

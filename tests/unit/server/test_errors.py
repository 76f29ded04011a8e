"""The error table: every leaf has a row, and bodies are OpenAI error objects."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Iterator

import pytest
from starlette.exceptions import HTTPException

from roteiro import errors
from roteiro.server.errors import ROWS, encode, problem, row_of, shell_problem


def leaves(kind: type[errors.RoteiroError]) -> Iterator[type[errors.RoteiroError]]:
    # Other packages may have subclasses of their own; the nearest row is theirs.
    children = [child for child in kind.__subclasses__() if child.__module__ == "roteiro.errors"]
    if not children:
        yield kind
    for child in children:
        yield from leaves(child)


LEAVES = list(leaves(errors.RoteiroError))


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.__name__)
def test_every_leaf_has_a_row_of_its_own(leaf: type[errors.RoteiroError]) -> None:
    assert leaf in ROWS


def test_the_table_names_no_class_that_is_not_a_leaf() -> None:
    assert set(LEAVES) == set(ROWS)


def test_a_mistake_of_the_client_is_never_a_5xx() -> None:
    for kind in (
        errors.InvalidRequest,
        errors.UnsupportedParameter,
        errors.ContextOverflow,
        errors.TemplateError,
        errors.ModelNotFound,
        errors.ModelUnusable,
        errors.ModelTooLarge,
        errors.NodeNotFound,
    ):
        assert 400 <= row_of(kind).status < 500


def test_overflow_carries_the_numbers_and_both_names() -> None:
    embedded = errors.ContextOverflow(prompt_tokens=600, n_ctx=512, input_index=1)
    assert embedded.param == "input"
    assert embedded.message.startswith("input[1] has 600 tokens;")
    assert "conversation" not in embedded.hint
    assert "max_tokens" not in embedded.hint
    error = errors.ContextOverflow(prompt_tokens=600, n_ctx=512, max_tokens=9)
    told = problem(error, request_id="r")
    assert told.status == 400
    assert told.body["code"] == "context_length_exceeded"
    assert told.body["type"] == "exceed_context_size_error"
    assert (told.body["n_prompt_tokens"], told.body["n_ctx"]) == (600, 512)
    assert "exceeds the available context size" in told.body["message"]


def test_an_unknown_model_is_404_and_lists_what_is_installed() -> None:
    told = problem(errors.ModelNotFound("nope", ["a", "b"]), request_id="r")
    assert (told.status, told.body["code"], told.body["param"]) == (404, "model_not_found", "model")
    assert "a, b" in told.body["message"]


def test_a_full_queue_says_when_to_retry() -> None:
    told = problem(errors.Busy("The queue is full.", retry_after_s=3), request_id="r")
    assert (told.status, told.headers["Retry-After"]) == (503, "3")
    assert "x-should-retry" not in told.headers


def test_a_missing_extra_tells_sdks_not_to_retry() -> None:
    told = problem(errors.MissingExtra("llama", "Chatting"), request_id="r")
    assert (told.status, told.headers["x-should-retry"]) == (501, "false")


def test_an_unknown_exception_is_logged_and_only_its_id_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR, logger="roteiro.server"):
        told = problem(ZeroDivisionError("secret path /home/x"), request_id="req-1")
    assert told.status == 500
    assert "secret" not in json.dumps(told.body)
    assert told.body["request_id"] == "req-1"
    assert "request=req-1" in caplog.text
    assert "secret path" in caplog.text


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 413, 415, 500, 418])
def test_the_shells_own_errors_have_the_four_keys(status: int) -> None:
    body = shell_problem(status, "Something.").body
    assert list(body) == ["message", "type", "param", "code"]


def test_starlettes_errors_keep_status_and_headers() -> None:
    told = problem(HTTPException(405, headers={"Allow": "GET"}), request_id="r")
    assert (told.status, told.headers["Allow"]) == (405, "GET")
    assert told.body["code"] == "method_not_allowed"


def test_encode_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode({"x": float("nan")})


def test_every_leaf_can_be_told() -> None:
    made = {
        errors.ConfigError: lambda: errors.ConfigError(["x"]),
        errors.ModelNotFound: lambda: errors.ModelNotFound("m", []),
        errors.MissingExtra: lambda: errors.MissingExtra("llama", "It"),
        errors.ContextOverflow: lambda: errors.ContextOverflow(prompt_tokens=1, n_ctx=1),
        errors.ModelTooLarge: lambda: errors.ModelTooLarge("m", needed=2, budget=1),
        errors.AmbiguousName: lambda: errors.AmbiguousName("n", ["a", "b"]),
        errors.EngineClosed: errors.EngineClosed,
        errors.NodeNotFound: lambda: errors.NodeNotFound("n"),
    }
    for leaf in LEAVES:
        error = made.get(leaf, lambda leaf=leaf: leaf("what happened"))()
        told = problem(error, request_id="r")
        assert told.body["message"]
        assert told.body["code"] == leaf.code
        assert ("Retry-After" in told.headers) == (told.status == 503)
        assert told.response().headers["content-type"] == "application/json; charset=utf-8"


def test_the_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    doc = inspect.getdoc(errors) or ""
    assert all(leaf.__name__ in doc for leaf in LEAVES)

"""Models, embeddings, introspection, tokenizer and control over HTTP; the shape of every error."""

from __future__ import annotations

import base64
import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest

from fakes.conversations import THINKING_TEMPLATE
from fakes.served import CHAT, EMBEDDER, HELLO, admit_all, client_of, make_runtime
from roteiro.engine.absent import AbsentBackend
from roteiro.engine.scripted import SPECIALS
from roteiro.runtime import build_runtime

pytestmark = pytest.mark.anyio

ERROR_KEYS = {"message", "type", "param", "code"}


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/", "/models", "/models/"])
async def test_models_are_listed_with_their_window(tmp_path: Path, path: str) -> None:
    runtime, _ = make_runtime(tmp_path, max_context_tokens=1000)
    async with client_of(runtime) as client:
        body = (await client.get(path)).json()
    assert body["object"] == "list"
    chat, embed = body["data"]
    assert (chat["id"], chat["object"], chat["owned_by"]) == (CHAT, "model", "roteiro")
    assert (chat["context_length"], chat["meta"]["n_ctx"]) == (1000, 1000)
    assert chat["meta"]["n_ctx_train"] == 4096
    assert chat["meta"]["vocab_type"] == 2
    assert (embed["id"], embed["kind"]) == (EMBEDDER, "embedding")


@pytest.mark.parametrize("path", [f"/v1/models/{CHAT}", f"/models/{CHAT}"])
async def test_one_model_by_id(tmp_path: Path, path: str) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        assert (await client.get(path)).json()["id"] == CHAT


@pytest.mark.parametrize("name", ["nope", "a/b", "hf:a/b:c", "a%2Fb", ".."])
async def test_an_unknown_model_is_404(tmp_path: Path, name: str) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        reply = await client.get(f"/v1/models/{name}")
    assert reply.status_code == 404
    assert set(reply.json()["error"]) >= ERROR_KEYS


async def test_only_served_models_are_listed(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, models=True)
    narrowed, _ = make_runtime(tmp_path, models=False)
    narrowed.catalog._names = (EMBEDDER,)
    async with client_of(narrowed) as client:
        ids = [m["id"] for m in (await client.get("/v1/models")).json()["data"]]
        assert (await client.get(f"/v1/models/{CHAT}")).status_code == 404
    await runtime.aclose()
    assert ids == [EMBEDDER]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nope", 404),
        ("GET", "/", 404),
        ("POST", "/v1/nope", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/models", 405),
        ("PUT", "/v1/embeddings", 405),
        ("GET", "/docs", 404),
        ("OPTIONS", "/v1/models", 405),
    ],
)
async def test_paths_and_methods_that_are_not_here(
    tmp_path: Path, method: str, path: str, status: int
) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        reply = await client.request(method, path)
    assert reply.status_code == status
    assert set(reply.json()) == {"error"}
    assert set(reply.json()["error"]) >= ERROR_KEYS


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/embeddings", "/tokenize"])
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"3", b'"x"', b"\xff", b'{"a":NaN}', b'{"messages":"\\ud800"}']
)
async def test_bodies_that_are_no_request(tmp_path: Path, path: str, raw: bytes) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        reply = await client.post(path, content=raw, headers={"Content-Type": "application/json"})
    assert reply.status_code == 400
    assert set(reply.json()["error"]) >= ERROR_KEYS


async def test_the_client_s_own_request_id_is_kept_when_it_is_plain(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        kept = await client.get("/health", headers={"X-Request-Id": "abc-1.2"})
        made = await client.get("/health", headers={"X-Request-Id": "a b\x7f"})
    assert kept.headers["x-request-id"] == "abc-1.2"
    assert made.headers["x-request-id"].startswith("req-")


async def test_an_unexpected_exception_tells_only_its_id(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, _ = make_runtime(tmp_path)

    def broken() -> None:
        raise ZeroDivisionError("secret")

    runtime.engine.state = broken
    async with client_of(runtime) as client:
        reply = await client.get("/metrics")
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert reply.json()["error"]["request_id"] == reply.headers["x-request-id"]
    assert "secret" in caplog.text


# --- embeddings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "count"), [("a", 1), (["a", "b"], 2), ([1, 2], 1), ([[1, 2], [3]], 2)])
async def test_embeddings_of_every_kind_of_input(tmp_path: Path, given: Any, count: int) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        reply = await client.post("/v1/embeddings", json={"input": given, "model": EMBEDDER})
    assert reply.status_code == 200
    body = reply.json()
    assert (body["object"], body["model"]) == ("list", EMBEDDER)
    assert [item["index"] for item in body["data"]] == list(range(count))
    for item in body["data"]:
        assert math.isclose(math.fsum(v * v for v in item["embedding"]), 1, rel_tol=1e-5)
    assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"] > 0


async def test_base64_is_the_same_numbers(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        plain = (await client.post("/v1/embeddings", json={"input": ["a", "bc"]})).json()
        coded = (
            await client.post("/v1/embeddings", json={"input": ["a", "bc"], "encoding_format": "base64"})
        ).json()
    for one, other in zip(plain["data"], coded["data"], strict=True):
        data = base64.b64decode(other["embedding"])
        assert list(struct.unpack(f"<{len(data) // 4}f", data)) == one["embedding"]


@pytest.mark.parametrize(
    "fields",
    [
        {"input": ""},
        {"input": []},
        {"input": [""]},
        {"input": True},
        {"input": None},
        {},
        {"input": ["a", 1]},
        {"input": ["a", [1]]},
        {"input": [[]]},
        {"input": [-1]},
        {"input": [10**6]},
        {"input": [1.5]},
        {"input": {"a": 1}},
        {"input": "a", "encoding_format": "hex"},
        {"input": "a", "encoding_format": 1},
        {"input": "a", "dimensions": 4},
        {"input": "x" * 5000},
        {"input": ["x"] * 2049},
    ],
)
async def test_unusable_embeddings_requests_are_a_400(tmp_path: Path, fields: Any) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        reply = await client.post("/v1/embeddings", json=fields)
    assert reply.status_code == 400, reply.text
    assert set(reply.json()["error"]) >= ERROR_KEYS


# --- introspection -----------------------------------------------------------------------------------


async def test_props_tell_window_template_and_slots(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, template="a\r\nb\rc\n\n", sessions=3)
    async with client_of(runtime) as client:
        props = (await client.get("/props")).json()
        named = (await client.get("/props", params={"model": EMBEDDER})).json()
        unknown = await client.get("/props", params={"model": "nope"})
    assert props["default_generation_settings"]["n_ctx"] == 4096
    assert props["default_generation_settings"]["params"]["top_k"] == 40
    assert (props["total_slots"], props["model_alias"]) == (3, CHAT)
    # Clients hash this text: line feeds only, and one newline less at the end.
    assert props["chat_template"] == "a\nb\nc\n"
    assert (props["bos_token"], props["eos_token"]) == ("<s>", "<|im_end|>")
    assert props["is_sleeping"] is False
    assert props["chat_template_caps"]["supports_tools"] is False
    assert props["model_path"].endswith(".gguf")
    assert named["model_alias"] == EMBEDDER
    assert unknown.status_code == 404


async def test_slots_before_and_after_a_request(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, sessions=2)
    async with client_of(runtime) as client:
        fresh = (await client.get("/slots")).json()
        usage = (await client.post("/v1/chat/completions", json={"messages": HELLO})).json()["usage"]
        reply = await client.get("/slots")
        free = await client.get("/slots", params={"fail_on_no_slot": 1})
    assert [slot["id"] for slot in fresh] == [0, 1]
    assert all(slot["n_ctx"] == 4096 and not slot["is_processing"] for slot in fresh)
    assert all("next_token" not in slot for slot in fresh)
    used = reply.json()[0]
    assert used["n_prompt_tokens"] == usage["prompt_tokens"]
    assert used["next_token"][0]["n_remain"] == -1
    assert used["is_processing"] is False
    assert reply.headers["x-roteiro-queued"] == "0"
    assert free.status_code == 200


async def test_metrics_sum_what_was_answered(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    totals = {"prompt": 0, "cached": 0, "predicted": 0}
    async with client_of(runtime) as client:
        for _ in range(2):
            body = (await client.post("/v1/chat/completions", json={"messages": HELLO})).json()
            totals["prompt"] += body["timings"]["prompt_n"]
            totals["cached"] += body["timings"]["cache_n"]
            totals["predicted"] += body["timings"]["predicted_n"]
        reply = await client.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert int(reply.headers["process-start-time-unix"]) > 0
    values = {
        line.split()[0]: float(line.split()[1])
        for line in reply.text.splitlines()
        if not line.startswith("#")
    }
    assert values["llamacpp:prompt_tokens_total"] == totals["prompt"]
    assert values["llamacpp:prompt_tokens_cached_total"] == totals["cached"]
    assert values["llamacpp:tokens_predicted_total"] == totals["predicted"]
    assert values["llamacpp:requests_processing"] == 0
    for name in (
        "prompt_seconds_total",
        "tokens_predicted_seconds_total",
        "n_decode_total",
        "n_tokens_max",
        "prompt_tokens_seconds",
        "predicted_tokens_seconds",
        "requests_deferred",
        "n_busy_slots_per_decode",
    ):
        assert f"llamacpp:{name}" in values
        assert f"# HELP llamacpp:{name}" in reply.text
        assert f"# TYPE llamacpp:{name}" in reply.text


async def test_tokens_go_both_ways(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    text = "What is <|im_end|> 漢?"
    async with client_of(runtime) as client:

        async def tokens(**fields: Any) -> list[Any]:
            return (await client.post("/tokenize", json=fields)).json()["tokens"]

        special = await tokens(content=text)
        plain = await tokens(content=text, parse_special=False)
        assert 256 + SPECIALS.index("<|im_end|>") in special
        assert len(plain) == len(text.encode())
        assert (await tokens(content="a", add_special=True))[0] == 256 + SPECIALS.index("<s>")
        assert await tokens(content=["a", 98, "c"]) == [97, 98, 99]
        assert await tokens() == []
        pieces = await tokens(content="é", with_pieces=True)
        assert pieces == [{"id": 0xC3, "piece": [0xC3]}, {"id": 0xA9, "piece": [0xA9]}]
        back = await client.post("/detokenize", json={"tokens": special})
        assert back.json() == {"content": text}
        assert (await client.post("/detokenize", json={})).json() == {"content": ""}
        for bad in ({"content": 5}, {"content": ["a", 10**9]}, {"content": [None]}):
            assert (await client.post("/tokenize", json=bad)).status_code == 400
        for bad in ({"tokens": [10**9]}, {"tokens": [-1]}, {"tokens": "x"}):
            assert (await client.post("/detokenize", json=bad)).status_code == 400
    assert runtime.engine.state().counters.loads == 0


async def test_the_rendered_prompt_and_its_length(tmp_path: Path) -> None:
    runtime, backend = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        prompt = (await client.post("/apply-template", json={"messages": HELLO})).json()["prompt"]
        counts = [
            (await client.post(path, json={"messages": HELLO})).json()
            for path in (
                "/v1/chat/completions/input_tokens",
                "/chat/completions/input_tokens",
            )
        ]
        usage = (await client.post("/v1/chat/completions", json={"messages": HELLO})).json()["usage"]
    assert prompt == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert backend.prompts == [prompt]
    expected = {"object": "response.input_tokens", "input_tokens": usage["prompt_tokens"]}
    assert counts == [expected, expected]


# --- control -----------------------------------------------------------------------------------------


async def test_models_are_loaded_and_unloaded(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)

    async with client_of(runtime) as client:

        async def post(what: str, model: Any = CHAT) -> tuple[int, Any]:
            reply = await client.post(f"/models/{what}", json={"model": model})
            return reply.status_code, reply.json()

        assert await post("load") == (200, {"success": True})
        status = (await client.get(f"/v1/models/{CHAT}")).json()["status"]["value"]
        assert status == "loaded"
        assert await post("unload") == (200, {"success": True})
        assert (await post("unload"))[0] == 400
        assert (await post("load", "nope"))[0] == 404
        assert (await post("unload", "nope"))[0] == 404
        assert (await post("load", 5))[0] == 400
        assert (await post("load", ""))[0] == 400


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"id": "", "action": "reasoning_end"}, 400),
        ({"id": "x"}, 400),
        ({"id": "x", "action": "stop"}, 400),
        ({"id": "chatcmpl-unknown", "action": "reasoning_end"}, 200),
    ],
)
async def test_control_of_what_is_not_there(tmp_path: Path, body: Any, status: int) -> None:
    runtime, _ = make_runtime(tmp_path, template=THINKING_TEMPLATE)
    async with client_of(runtime) as client:
        reply = await client.post("/v1/chat/completions/control", json=body)
    assert reply.status_code == status
    if status == 200:
        assert reply.json()["success"] is False
        assert reply.json()["message"]


async def test_the_openapi_document_has_every_route_and_body(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime) as client:
        document = (await client.get("/openapi.json")).json()
    assert "/v1/chat/completions" in document["paths"]
    properties = document["components"]["schemas"]["ChatCompletionBody"]["properties"]
    assert {"messages", "tools", "id_slot", "return_progress"} <= set(properties)
    text = json.dumps(document)
    refs = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert refs <= set(document["components"]["schemas"])


async def test_keys_guard_everything_but_health(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    async with client_of(runtime, keys=["k"]) as client:
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/v1/models")).status_code == 401
        assert (await client.get("/v1/models", headers={"X-Api-Key": "k"})).status_code == 200


async def test_props_of_a_model_with_a_broken_template_still_answer(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path, template="{% broken\n")
    async with client_of(runtime) as client:
        reply = await client.get("/props")
        chat = await client.post("/v1/chat/completions", json={"messages": HELLO})
    assert reply.json()["chat_template"] == "{% broken"
    assert chat.status_code == 400
    assert chat.json()["error"]["code"] == "template_error"


async def test_without_the_engine_everything_says_what_brings_it(tmp_path: Path) -> None:
    runtime, _ = make_runtime(tmp_path)
    absent = build_runtime(runtime.config, backend=AbsentBackend(), admit=admit_all)
    await runtime.aclose()
    async with client_of(absent) as client:
        assert (await client.get("/v1/models")).status_code == 200
        assert (await client.get("/props")).status_code == 200
        assert (await client.get("/slots")).status_code == 200
        for path, body in (
            ("/v1/chat/completions", {"messages": HELLO}),
            ("/v1/chat/completions", {"messages": HELLO, "stream": True}),
            ("/v1/embeddings", {"input": "a"}),
            ("/tokenize", {"content": "a"}),
        ):
            reply = await client.post(path, json=body)
            assert reply.status_code == 501, path
            assert "roteiro[llama]" in reply.json()["error"]["message"]
            assert reply.headers["x-should-retry"] == "false"


async def test_warming_reads_the_vocabulary_and_no_weights(tmp_path: Path) -> None:
    runtime, backend = make_runtime(tmp_path)
    await runtime.warm()
    assert backend.open["vocabulary"] == 1
    assert backend.loads == 0
    async with client_of(runtime) as client:
        body = {"messages": [{"role": "user", "content": "hi"}]}
        assert (await client.post("/v1/chat/completions", json=body)).status_code == 200
    assert backend.loads == 1


@pytest.mark.parametrize("models", [True, False])
async def test_warming_leaves_a_fault_to_the_request_that_meets_it(tmp_path: Path, models: bool) -> None:
    runtime, _ = make_runtime(tmp_path, template="{% broken", models=models)
    await runtime.warm()
    async with client_of(runtime) as client:
        body = {"messages": [{"role": "user", "content": "hi"}]}
        reply = await client.post("/v1/chat/completions", json=body)
    assert reply.status_code == (400 if models else 404)
    assert set(reply.json()["error"]) >= ERROR_KEYS

"""Ask mode as a user meets it: over HTTP, streamed and not, and on the terminal, with a scripted model."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import roteiro.runtime
from fakes.ask_tree import ask_tree
from fakes.served import admit_all, client_of, events_of, make_runtime, text_of
from roteiro.cli.main import app
from roteiro.conversation.ask import AskOptions
from roteiro.engine.scripted import Behaviour, Reply, ScriptedBackend

URL = "/v1/chat/completions"
ASKED = {"messages": [{"role": "user", "content": "Who calls _frame?"}], "max_tokens": 200}
ABSENT = {"messages": [{"role": "user", "content": "Where is the class GiftCard defined?"}]}
ANSWER = "`Client._dispatch` calls it."
CALL = '<tool_call>\n{"name": "explain", "arguments": {"key": "_frame"}}\n</tool_call>'


def runtime_of(folder: Path, replies: list[Reply | str], **fields: Any):
    ask_tree(folder).close()
    return make_runtime(folder, replies, **fields)


class TestHttp:
    pytestmark = pytest.mark.anyio

    async def test_an_answer_rests_on_facts_and_says_so(self, tmp_path):
        runtime, backend = runtime_of(tmp_path, [ANSWER])
        async with client_of(runtime) as client:
            body = (await client.post(URL, json=ASKED)).json()
        assert body["choices"][0]["message"] == {"role": "assistant", "content": ANSWER}
        assert body["choices"][0]["finish_reason"] == "stop"
        assert body["roteiro"]["sources"] == ["shop/client.py:30", "shop/client.py:43"]
        assert "Facts from the repository:" in backend.prompts[0]

    async def test_a_stream_says_the_same_and_reports_in_its_last_chunk(self, tmp_path):
        runtime, _ = runtime_of(tmp_path, [ANSWER, ANSWER])
        async with client_of(runtime) as client:
            body = (await client.post(URL, json=ASKED)).json()
            events = events_of((await client.post(URL, json={**ASKED, "stream": True})).text)
        assert text_of(events) == ANSWER
        (report,) = [event["roteiro"] for event in events if isinstance(event, dict) and "roteiro" in event]
        assert report["sources"] == body["roteiro"]["sources"]

    async def test_what_does_not_exist_is_answered_at_once(self, tmp_path):
        runtime, backend = runtime_of(tmp_path, ["never"])
        async with client_of(runtime) as client:
            body = (await client.post(URL, json=ABSENT)).json()
            events = events_of((await client.post(URL, json={**ABSENT, "stream": True})).text)
        said = body["choices"][0]["message"]["content"]
        assert said.startswith("There is no `GiftCard` in this repository")
        assert text_of(events) == said
        assert body["roteiro"]["answered_by"] == "graph"
        assert body["usage"]["total_tokens"] == 0
        assert backend.prompts == []

    async def test_switched_off_it_is_plain(self, tmp_path):
        runtime, backend = runtime_of(tmp_path, [ANSWER], tools=False)
        async with client_of(runtime) as client:
            body = (await client.post(URL, json=ASKED)).json()
        assert "roteiro" not in body
        assert "Facts" not in backend.prompts[0]

    async def test_a_loops_calls_are_reported_and_never_shown(self, tmp_path, monkeypatch):
        monkeypatch.setattr(roteiro.runtime, "AskOptions", lambda: AskOptions(strategy="loop"))
        runtime, _ = runtime_of(tmp_path, [CALL, ANSWER, CALL, ANSWER], window=32768)
        async with client_of(runtime) as client:
            body = (await client.post(URL, json=ASKED)).json()
            raw = (await client.post(URL, json={**ASKED, "stream": True})).text
        assert body["choices"][0]["message"] == {"role": "assistant", "content": ANSWER}
        (call,) = body["roteiro"]["rounds"][0]["calls"]
        assert (call["name"], call["ok"]) == ("explain", True)
        assert text_of(events_of(raw)) == ANSWER
        assert "tool_calls" not in raw.replace('"calls"', "")

    async def test_a_slow_answer_keeps_the_stream_alive(self, tmp_path):
        behaviour = Behaviour(load_delay_s=1.5, n_ctx_train=4096)
        runtime, _ = runtime_of(tmp_path, [ANSWER], behaviour=behaviour, keepalive_s=1)
        async with client_of(runtime) as client:
            text = (await client.post(URL, json={**ASKED, "stream": True})).text
        assert any(line.startswith(":") for line in text.splitlines())
        assert text_of(events_of(text)) == ANSWER


class TestTerminal:
    @pytest.fixture
    def ask(self, tmp_path, monkeypatch):
        runtime, _ = runtime_of(tmp_path, [])
        assert runtime.models
        monkeypatch.chdir(tmp_path)

        def run(*words: str, replies: tuple[str, ...] = (ANSWER,), expect: int = 0) -> Result:
            backend = ScriptedBackend(list(replies), behaviour=Behaviour(n_ctx_train=4096))
            build = functools.partial(BUILD, backend=backend, admit=admit_all)
            monkeypatch.setattr(roteiro.runtime, "build_runtime", build)
            result = CliRunner().invoke(app, ["ask", *words])
            assert result.exit_code == expect, result.output
            return result

        return run

    def test_the_answer_and_what_it_rests_on(self, ask):
        result = ask("Who calls _frame?")
        assert result.stdout.strip() == ANSWER
        assert "looked up: shop/client.py:30, shop/client.py:43" in result.stderr.replace("\n", " ")

    def test_calls_are_shown_as_they_happen(self, ask):
        result = ask("Who calls _frame?", "--strategy", "loop", replies=(CALL, ANSWER))
        assert result.stdout.strip() == ANSWER
        assert 'explain({"key": "_frame"})' in result.stderr.replace("\n", " ")

    def test_json_holds_the_report(self, ask):
        answer = json.loads(ask("Who calls _frame?", "--json").stdout)
        assert (answer["answer"], answer["strategy"], answer["stale"]) == (ANSWER, "brief", False)
        assert answer["sources"] == ["shop/client.py:30", "shop/client.py:43"]

    def test_a_stale_graph_is_told_and_brought_up_to_date(self, ask, tmp_path):
        client = tmp_path / "shop" / "client.py"
        client.write_text(client.read_text() + "\n\ndef _late() -> bytes:\n    return _frame('x', 1)\n")
        result = ask("Who calls _frame?")
        assert "the tree has changed since the last sync" in result.stderr.replace("\n", " ")
        again = json.loads(ask("Who calls _frame?", "--sync", "--json").stdout)
        assert "shop/client.py:58" in again["sources"]
        assert again["stale"] is False

    @pytest.mark.parametrize(
        ("words", "said"),
        [((" ",), "There is no question."), (("Why?", "--strategy", "luck"), "There is no strategy 'luck'.")],
    )
    def test_bad_use_is_told(self, ask, words, said):
        result = ask(*words, expect=2)
        assert said in result.stderr

    def test_without_a_graph_it_says_what_to_do(self, tmp_path, monkeypatch):
        (tmp_path / ".git").mkdir()
        monkeypatch.chdir(tmp_path)
        result = CliRunner().invoke(app, ["ask", "Why?"])
        assert result.exit_code == 3
        assert "roteiro sync" in result.stderr


BUILD = roteiro.runtime.build_runtime

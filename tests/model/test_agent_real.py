"""An agent's harness against a real server and a real model: what it echoes is held, to the token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.harness import URL, Agent
from fakes.real_server import real_server

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]


# High temperature: the model cuts its text into tokens as a tokenizer never would.
# Short arguments: a call that a limit cuts has no whole arguments to send back.
PICK = {
    "type": "function",
    "function": {
        "name": "pick",
        "description": "Pick a file.",
        "parameters": {
            "type": "object",
            "properties": {"file": {"enum": ["a.py", "b.py"]}, "why": {"type": "string", "maxLength": 8}},
            "required": ["file", "why"],
            "additionalProperties": False,
        },
    },
}
WILD = {"temperature": 1.6, "top_k": 0, "top_p": 1, "min_p": 0, "max_tokens": 20}


@pytest.fixture(scope="module")
def client(smollm2_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home, folder = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("work")
    with (
        real_server(home, folder, [smollm2_path]) as url,
        httpx.Client(base_url=url, timeout=200, trust_env=False) as client,
    ):
        yield client


def test_six_wild_turns_sent_back_evaluate_only_what_is_new(client: httpx.Client) -> None:
    agent = Agent(client, system="You write odd things.", fields=WILD)
    held = 0
    for turn in range(6):
        said = agent.ask(f"Say something odd, number {turn}.", seed=turn)
        assert said.cached == held
        held = said.held


def test_calls_sent_back_evaluate_only_what_is_new(client: httpx.Client) -> None:
    agent = Agent(client, tools=[PICK], fields={"temperature": 1, "max_tokens": 80})
    held = 0
    for turn in range(3):
        called = agent.ask(f"Pick the file number {turn}.", tool_choice="required", seed=turn)
        assert called.finish == "tool_calls"
        if turn:
            assert called.cached == held
        answered = agent.ask("It is picked.", seed=turn)
        # The end of a forced call is forced as well, and may have been evaluated.
        assert called.held <= answered.cached <= called.held + 1
        held = answered.held


def test_two_agents_in_turn_and_a_third_that_leaves(client: httpx.Client) -> None:
    agents = [Agent(client, system=f"You are agent {n}. " * 20, fields={"max_tokens": 8}) for n in range(2)]
    held = [0, 0]
    for turn in range(3):
        for number, agent in enumerate(agents):
            said = agent.ask(f"Turn {turn}, go on.")
            if turn:
                assert said.cached == held[number]
            held[number] = said.held
        body = Agent(client).body(messages=[{"role": "user", "content": f"{turn} is my number. " * 60}])
        with client.stream("POST", URL, json=body) as reply:
            lines = reply.iter_lines()  # held: httpx closes a response whose reader is collected
            next(lines)

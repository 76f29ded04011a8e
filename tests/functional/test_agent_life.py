"""What agents live from, over a real socket: only new tokens are evaluated, and the numbers say so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fakes.conversations import THINKING_TEMPLATE
from fakes.harness import TOOLS, URL, Agent
from fakes.served import CHAT, Served, serving
from roteiro.engine.scripted import Behaviour, Reply

# About 700 tokens of the scripted vocabulary: above the floor from which prefixes are kept.
SYSTEM = "You are careful. " + "Read before you write, and test what you wrote. " * 14
CALL = '<tool_call>\n{"name": "search", "arguments": {"q":"a"}}\n</tool_call>'
# The history's thoughts are rendered, as templates do for agents.
THOUGHTFUL = THINKING_TEMPLATE.replace(
    "+ (m.content or '')",
    "+ ('<think>\\n' + m.reasoning_content + '\\n</think>\\n\\n' if m.reasoning_content else '') "
    "+ (m.content or '')",
)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path, window=16_384) as one:
        yield one


def numbers(client: httpx.Client) -> dict[str, float]:
    lines = client.get("/metrics").text.splitlines()
    return {name: float(value) for name, value in (line.split() for line in lines if line[0] != "#")}


def test_ten_turns_of_calls_and_answers_evaluate_only_what_is_new(served: Served) -> None:
    with served.client() as client:
        agent = Agent(client, system=SYSTEM, tools=TOOLS)
        held = 0
        for turn in range(10):
            served.backend.reply("  Let me look.\n\n" + CALL)
            served.backend.reply(f"  Answer {turn}. \n")
            called = agent.ask(f"question {turn}")
            assert called.finish == "tool_calls"
            assert called.cached == held
            answered = agent.ask("result " * 5)
            assert answered.finish == "stop"
            assert answered.cached == called.held
            assert answered.evaluated < 120
            held = answered.held


def test_a_streamed_thought_sent_back_is_held(tmp_path: Path) -> None:
    replies = ["\n\nhm, look \n</think>\n\n\n" + CALL, "so it is\n</think>\n\nYes.", "</think>\n\nBye."]
    with serving(tmp_path, replies, template=THOUGHTFUL) as served, served.client() as client:
        agent = Agent(client, tools=TOOLS)
        first = agent.ask("hello")
        assert first.message["reasoning_content"] == "hm, look"
        second = agent.ask("found")
        assert second.cached == first.held
        third = agent.ask("thanks")
        assert third.cached == second.held


def test_a_thought_cut_short_by_its_budget_is_held_too(tmp_path: Path) -> None:
    thought = Reply(text="on and on " * 20 + "\n</think>\n\nYes.", match="hello")
    with serving(tmp_path, [thought, "done"], template=THOUGHTFUL) as served, served.client() as client:
        agent = Agent(client)
        first = agent.ask("hello", reasoning_budget_tokens=20, reasoning_budget_message=" Enough.")
        assert first.message["reasoning_content"].startswith("on and on on and on ")
        assert first.message["reasoning_content"].endswith("Enough.")
        assert len(first.message["reasoning_content"]) < 40
        second = agent.ask("more")
        assert second.cached == first.held, "what was forced is what stands in memory"


@pytest.mark.parametrize("count", [2, 4])
def test_agents_that_take_turns_each_evaluate_only_what_is_new(served: Served, count: int) -> None:
    with served.client() as client:
        agents = [Agent(client, system=SYSTEM, tools=TOOLS) for _ in range(count)]
        held = [0] * count
        for turn in range(4):
            for number, agent in enumerate(agents):
                said = agent.ask(f"{number} asks for the {turn}th time about something of its own")
                if turn:
                    assert said.cached == held[number]
                elif number:
                    assert said.evaluated < 100, "the preamble came from another session"
                held[number] = said.held


def test_more_agents_than_sessions_come_back_from_the_prefix_cache(tmp_path: Path) -> None:
    with (
        serving(tmp_path, window=16_384, sessions=2, prefix_cache_mb=64) as served,
        served.client() as client,
    ):
        agents = [Agent(client, system=SYSTEM, tools=TOOLS) for _ in range(5)]
        held = [0] * len(agents)
        for turn in range(3):
            for number, agent in enumerate(agents):
                said = agent.ask(f"{number} asks for the {turn}th time about something of its own")
                if turn:
                    assert said.cached == held[number]
                held[number] = said.held


def test_without_a_prefix_cache_the_shared_preamble_is_all_that_is_left(tmp_path: Path) -> None:
    with serving(tmp_path, window=16_384, sessions=1) as served, served.client() as client:
        agents = [Agent(client, system=SYSTEM) for _ in range(2)]
        first = [agent.ask(f"{n} asks about something of its own") for n, agent in enumerate(agents)]
        assert first[1].cached > len(SYSTEM), "the live session shares it"
        again = agents[0].ask("and again")
        assert len(SYSTEM) < again.cached < first[0].held


def test_a_preamble_outlives_the_sessions_that_taught_it(tmp_path: Path) -> None:
    with (
        serving(tmp_path, window=16_384, sessions=1, prefix_cache_mb=64) as served,
        served.client() as client,
    ):
        # Learned from the second prompt that has it, saved while the third is evaluated.
        for number in range(3):
            Agent(client, system=SYSTEM).ask(f"{number} asks about something of its own")
        Agent(client).ask("z" * 5000)
        assert served.runtime.engine.state().snapshots >= 1
        late = Agent(client, system=SYSTEM).ask("one who comes late asks as well")
        assert late.cached >= len(SYSTEM)
        assert late.evaluated < 100


def test_a_preamble_below_the_floor_is_not_kept(tmp_path: Path) -> None:
    with serving(tmp_path, sessions=1, prefix_cache_mb=64) as served, served.client() as client:
        for number in range(4):
            Agent(client, system="Be short.").ask(f"{number} asks " + "x" * 40)
        assert served.runtime.engine.state().snapshots == 0


def test_a_pinned_slot_is_used_and_told(served: Served) -> None:
    with served.client() as client:
        agents = [Agent(client, system=SYSTEM, fields={"id_slot": slot}) for slot in (3, 1)]
        held = [agent.ask(f"{n} asks about its own").held for n, agent in enumerate(agents)]
        for number, agent in enumerate(agents):
            assert agent.ask("more").cached == held[number]
        used = {slot["id"]: slot.get("n_held", 0) for slot in client.get("/slots").json()}
        assert [slot for slot, tokens in used.items() if tokens] == [1, 3]


def test_two_agents_on_one_pinned_slot_come_back_from_the_prefix_cache(tmp_path: Path) -> None:
    with serving(tmp_path, window=16_384, prefix_cache_mb=64) as served, served.client() as client:
        agents = [Agent(client, system=SYSTEM, fields={"id_slot": 0}) for _ in range(2)]
        held = [0, 0]
        for turn in range(4):
            for number, agent in enumerate(agents):
                said = agent.ask(f"{number} asks for the {turn}th time about something of its own")
                if turn:
                    assert said.cached == held[number]
                held[number] = said.held


def test_a_conversation_that_is_pinned_elsewhere_takes_its_state_along(served: Served) -> None:
    with served.client() as client:
        agent = Agent(client, system=SYSTEM, fields={"id_slot": 0})
        held = agent.ask("hello").held
        agent.fields["id_slot"] = 2
        assert agent.ask("more").cached == held


@pytest.mark.parametrize(("cache_mb", "kept"), [(64, True), (0, False)])
def test_after_an_unload_the_prefix_cache_is_what_is_left(tmp_path: Path, cache_mb: int, kept: bool) -> None:
    with serving(tmp_path, window=16_384, prefix_cache_mb=cache_mb) as served, served.client() as client:
        agent = Agent(client, system=SYSTEM, tools=TOOLS)
        held = agent.ask("hello").held
        assert client.post("/models/unload", json={"model": CHAT}).status_code == 200
        assert served.runtime.engine.state().used_bytes == 0
        assert agent.ask("more").cached == (held if kept else 0)


def test_another_list_of_tools_starts_over_and_the_old_one_is_still_there(served: Served) -> None:
    with served.client() as client:
        agent = Agent(client, system=SYSTEM, tools=TOOLS[:3])
        held = agent.ask("hello").held
        agent.tools = TOOLS
        assert agent.ask("more").cached < 1000 < held
        agent.tools = TOOLS[:3]
        del agent.messages[-2:]
        assert agent.ask("and on").cached == held


def test_cache_prompt_false_evaluates_all_and_disturbs_nobody(served: Served) -> None:
    with served.client() as client:
        agent = Agent(client, system=SYSTEM)
        held = agent.ask("hello").held
        alone = Agent(client, system=SYSTEM).ask("hello", cache_prompt=False)
        assert alone.cached == 0
        assert agent.ask("more").cached == held


def test_a_client_that_left_in_mid_prefill_finds_what_was_evaluated(tmp_path: Path) -> None:
    behaviour = Behaviour(batch_delay_s=0.1, n_batch=32, n_ctx_train=4096)
    with serving(tmp_path, behaviour=behaviour) as served, served.client() as client:
        agent = Agent(client)
        agent.messages.append({"role": "user", "content": "y" * 1000})
        with client.stream("POST", URL, json=agent.body()) as reply:
            for line in reply.iter_lines():
                if line.startswith("data: ") and json.loads(line[6:])["prompt_progress"]["processed"] >= 96:
                    break
        while any(slot["is_processing"] for slot in served.slots()):
            pass
        behaviour.batch_delay_s = 0.0
        back = agent.go_on()
        assert back.cached >= 96
        assert back.cached % 32 == 0


def test_the_metrics_sum_what_the_replies_said(served: Served) -> None:
    with served.client() as client:
        agent = Agent(client, system=SYSTEM, tools=TOOLS)
        turns = [agent.ask(f"turn {turn}") for turn in range(5)]
        told = numbers(client)
    assert told["llamacpp:prompt_tokens_total"] == sum(turn.evaluated for turn in turns)
    assert told["llamacpp:prompt_tokens_cached_total"] == sum(turn.cached for turn in turns)
    assert told["llamacpp:tokens_predicted_total"] == sum(turn.timings["predicted_n"] for turn in turns)
    assert told["roteiro:requests_total"] == 5
    assert told["llamacpp:requests_processing"] == told["llamacpp:requests_deferred"] == 0


def test_timings_count_every_token_while_it_streams(served: Served) -> None:
    with served.client() as client:
        turn = Agent(client).ask("hello", timings_per_token=True)
    counts = [chunk["timings"]["predicted_n"] for chunk in turn.events if "timings" in chunk]
    assert counts == sorted(counts)
    assert counts[0] == 0, "beside the prompt's progress"
    assert counts[-1] == turn.timings["predicted_n"]
    said = [
        chunk for chunk in turn.events if chunk["choices"] and chunk["choices"][0]["delta"].get("content")
    ]
    assert all(
        sum(chunk["timings"][key] for key in ("cache_n", "prompt_n")) == turn.usage["prompt_tokens"]
        for chunk in said
    )


@pytest.mark.parametrize("memory", ["swa", "recurrent", "hybrid"])
def test_memory_that_cannot_be_cut_appends_and_else_starts_over(tmp_path: Path, memory: str) -> None:
    behaviour = Behaviour(memory=memory, n_swa=64, n_ctx_train=16_384)  # type: ignore[arg-type]
    with (
        serving(tmp_path, behaviour=behaviour, window=16_384, prefix_cache_mb=64) as served,
        served.client() as client,
    ):
        agent = Agent(client, system=SYSTEM, tools=TOOLS)
        held = 0
        for turn in range(4):
            served.backend.reply("  Hm. \n")
            said = agent.ask(f"turn {turn}")
            assert said.cached == held
            held = said.held
        agent.messages[2]["content"] = "something else was asked"
        edited = agent.ask("and now?")
        assert edited.cached < held
        assert edited.finish == "stop"

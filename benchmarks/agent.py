"""An agent's life on one model: what of each prompt is evaluated, and how long the first word takes.

    python -m benchmarks agent [--model FILE.gguf]
    python -m benchmarks agent --llama-server PATH            # the same against llama-server
    python -m benchmarks agent --only conversation --only leaves

Every assistant message is sent back exactly as it was streamed. Calls are forced on every other request of
the conversation, so that a model of any size makes some. Token counts do not depend on the machine's load;
times do. At the end a table, then one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import Json, Served, chat, llama_server, roteiro
from benchmarks.processes import default_model

WINDOW = 8192
DISK_MB = 1024
ANSWER_TOKENS = 24
# Enough for a whole call: one that a limit cuts cannot be sent back.
CALL_TOKENS = 64
Start = Callable[[], Any]
"""Starts a server; used in a `with`."""
FILES = ["src/app.py", "src/store.py", "src/wire.py", "tests/test_app.py", "README.md"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request of a scenario."""

    server: str
    scenario: str
    step: str
    prompt: int
    cached: int
    evaluated: int
    first_ms: float
    said_ms: float
    prompt_ms: float


class Agent:
    """One conversation that keeps its history as a harness does."""

    def __init__(self, served: Served, rows: list[Row], scenario: str, **fields: Any) -> None:
        self.messages: list[Json] = [{"role": "system", "content": preamble()}]
        self.tools = tools()
        self._served = served
        self._rows = rows
        self._scenario = scenario
        self._fields = fields

    def moved_to(self, served: Served) -> None:
        """Go on with another server."""
        self._served = served

    def ask(self, step: str, text: str, **fields: Any) -> None:
        self.messages.append({"role": "user", "content": text})
        self.turn(step, **fields)

    def result(self, step: str, text: str) -> None:
        """Answer the calls of the last message, and let the model go on.

        One that made none is told the same in the words that a template would put around it.
        """
        calls = self.messages[-1].get("tool_calls") or []
        for call in calls:
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        if not calls:
            wrapped = f"<tool_response>\n{text}\n</tool_response>"
            self.messages.append({"role": "user", "content": wrapped})
        self.turn(step, max_tokens=CALL_TOKENS)

    def turn(self, step: str, **fields: Any) -> None:
        fields = {"max_tokens": ANSWER_TOKENS, "tools": self.tools, **self._fields, **fields}
        reply = chat(self._served, self.messages, **fields)
        self.messages.append(reply.message)
        self._rows.append(
            Row(
                server=self._served.name,
                scenario=self._scenario,
                step=step,
                prompt=reply.cached + reply.evaluated,
                cached=reply.cached,
                evaluated=reply.evaluated,
                first_ms=round(reply.first_ms, 1),
                said_ms=round(reply.said_ms, 1),
                prompt_ms=round(reply.timings["prompt_ms"], 1),
            )
        )
        print(f"{self._scenario} {step}: {reply.cached} {reply.evaluated}", file=sys.stderr)


def conversation(served: Served, rows: list[Row]) -> None:
    """Ten turns of question, call, result, answer."""
    agent = Agent(served, rows, "conversation")
    for turn in range(1, 11):
        text = f"Question {turn}: what does {FILES[turn % len(FILES)]} do? Look it up first."
        agent.ask(f"{turn} call", text, tool_choice="required", max_tokens=CALL_TOKENS)
        agent.result(
            f"{turn} answer", f"File {turn}: it defines handler_{turn}, which writes {turn * 7} rows."
        )


def interleaved(count: int) -> Callable[[Served, list[Row]], None]:
    """Conversations with one preamble that take turns."""

    def run(served: Served, rows: list[Row]) -> None:
        agents = [Agent(served, rows, f"interleaved {count}") for _ in range(count)]
        for turn in range(1, 5):
            for number, agent in enumerate(agents):
                text = (
                    f"Agent {number}, turn {turn}: say what you would do about module {number * 10 + turn}."
                )
                agent.ask(f"{turn}.{number}", text)

    return run


def pinned(served: Served, rows: list[Row]) -> None:
    """Two conversations, each pinned to a slot."""
    agents = [Agent(served, rows, "pinned", id_slot=slot) for slot in (2, 3)]
    for turn in range(1, 4):
        for number, agent in enumerate(agents):
            agent.ask(f"{turn}.{number}", f"Pinned {number}, turn {turn}: name one risk.")


def changed_tools(served: Served, rows: list[Row]) -> None:
    """A tool is added in mid-session, and taken away again."""
    agent = Agent(served, rows, "changed tools")
    agent.ask("1", "Name one thing to check first.")
    agent.ask("2", "And a second one.")
    before = agent.tools
    agent.tools = [*before, tool("deploy", "Deploy the service to a stage.")]
    agent.ask("3 one more tool", "And a third one.")
    agent.ask("4", "And a fourth one.")
    agent.tools = before
    agent.ask("5 as before", "And a fifth one.")


def restart(start: Start, rows: list[Row]) -> None:
    """Two conversations, the server is stopped and started, then a new one, and one of the two goes on."""
    with start() as served:
        first, second = (Agent(served, rows, "restart") for _ in range(2))
        first.ask("before 1", "Say what you would look at first in this project, and why.")
        second.ask("before 2", "Name the one test that you would write before all others.")
    with start() as served:
        Agent(served, rows, "restart").ask(
            "new conversation", "How would you find out who calls a function here?"
        )
        first.moved_to(served)
        first.ask("goes on", "And what would you look at after that?")


def leaves(served: Served, rows: list[Row]) -> None:
    """A client leaves in mid-prefill; when is the slot idle, and what is kept for it when it comes back?"""
    agent = Agent(served, rows, "leaves")
    agent.messages[0]["content"] = "This preamble is shared with nobody. " + preamble()
    agent.messages.append({"role": "user", "content": "Say something."})
    idle = leave_in_prefill(served, agent)
    agent.turn(f"comes back (idle after {idle:.0f} ms)")


def leave_in_prefill(served: Served, agent: Agent) -> float:
    """Close the connection at the first batch of the prompt; milliseconds until no slot is at work."""
    body = {"model": served.model, "messages": agent.messages, "tools": agent.tools, "stream": True}
    body |= {"return_progress": True, "max_tokens": ANSWER_TOKENS}
    with served.client() as client, client.stream("POST", "/v1/chat/completions", json=body) as response:
        for line in response.iter_lines():
            if '"prompt_progress"' in line and _begun(line):
                break
    left = time.perf_counter()
    while any(slot["is_processing"] for slot in served.slots()):
        time.sleep(0.01)
    return (time.perf_counter() - left) * 1000


def preamble() -> str:
    """About 2,000 tokens of instructions, as agents have them."""
    rule = (
        "Rule {n}: before you change {f}, read it, state what you expect, run the tests of section {n}, and "
    )
    rule += "report the result in plain words; never guess a name, a path or a number that you have not seen."
    return "You are a careful engineer.\n" + "\n".join(
        rule.format(n=number, f=FILES[number % len(FILES)]) for number in range(1, 41)
    )


def tools() -> list[Json]:
    names = ["read_file", "list_folder", "search_code", "run_tests", "git_log", "write_note"]
    return [tool(name, f"Use {name.replace('_', ' ')} on one of the files of the project.") for name in names]


def tool(name: str, description: str) -> Json:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "enum": FILES, "description": "The file."},
            "depth": {"type": "integer", "enum": [1, 2, 3], "description": "How far to look."},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


SCENARIOS: dict[str, Callable[[Served, list[Row]], None]] = {
    "conversation": conversation,
    "interleaved-2": interleaved(2),
    "interleaved-4": interleaved(4),
    "interleaved-6": interleaved(6),
    "pinned": pinned,
    "changed-tools": changed_tools,
    "leaves": leaves,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--llama-server", type=Path, help="path of a llama-server to compare with")
    parser.add_argument("--only", action="append", choices=[*SCENARIOS, "restart"], help="repeatable")
    parser.add_argument("--threads", type=int, default=max(1, len(os.sched_getaffinity(0))))
    parser.add_argument("--keep-logs", type=Path)
    options = parser.parse_args()
    names = options.only or [*SCENARIOS, "restart"]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="agent-") as scratch:
        folder = options.keep_logs or Path(scratch)
        for number, name in enumerate(names):
            order = list(servers(options))
            # A machine changes its speed within minutes: the two run next to each other, in turns first.
            for start in order if number % 2 else reversed(order):
                scenario(name, start, rows, folder)
    report(rows)


def servers(options: argparse.Namespace) -> Iterator[Callable[[Path], Any]]:
    path, threads = options.model.resolve(), options.threads
    yield lambda folder: roteiro(path, folder, threads=threads, disk_mb=DISK_MB)
    if options.llama_server:
        yield lambda folder: llama_server(options.llama_server, path, folder, threads=threads, window=WINDOW)


def scenario(name: str, start: Callable[[Path], Any], rows: list[Row], folder: Path) -> None:
    """One scenario on a fresh server with a folder of its own."""
    own = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))
    print(name, file=sys.stderr)
    if name == "restart":
        restart(partial(start, own), rows)
        return
    with start(own) as served:
        SCENARIOS[name](served, rows)


def report(rows: list[Row]) -> None:
    servers_seen = sorted({row.server for row in rows}, reverse=True)
    steps = list(dict.fromkeys((row.scenario, _plain(row.step)) for row in rows))
    by_key = {(row.server, row.scenario, _plain(row.step)): row for row in rows}
    head = "".join(f" | {name:>14}: prompt cached evaluated first ms" for name in servers_seen)
    print(f"{'scenario':<15} {'step':<18}{head}")
    for scenario, step in steps:
        found = [by_key.get((name, scenario, step)) for name in servers_seen]
        cells = "".join(f" | {_cell(row)}" for row in found)
        print(f"{scenario:<15} {step:<18}{cells}{_verdict(found)}")
    notes = [f"{row.server}: {row.step}" for row in rows if row.scenario == "leaves"]
    print("\n".join(notes))
    print(json.dumps({"rows": [asdict(row) for row in rows], **_verdicts(by_key, steps)}))


# ---------------------------------------------------------------------------------------------------


def _begun(line: str) -> bool:
    progress = json.loads(line.removeprefix("data: "))["prompt_progress"]
    return bool(progress["processed"] > progress["cache"])


def _plain(step: str) -> str:
    return step.partition(" (")[0]


def _cell(row: Row | None) -> str:
    if row is None:
        return f"{'':>46}"
    return f"{row.prompt:>22} {row.cached:>6} {row.evaluated:>9} {row.first_ms:>8.0f}"


def _verdict(found: list[Row | None]) -> str:
    if len(found) < 2 or found[0] is None or found[1] is None:
        return ""
    mine, theirs = found[0].evaluated, found[1].evaluated
    return "" if mine == theirs else f"  {mine - theirs:+d}"


def _verdicts(by_key: dict[tuple[str, str, str], Row], steps: list[tuple[str, str]]) -> Json:
    """The steps at which more was evaluated than by the peer, and the times where as much was."""
    worse, ratios = [], {}
    for step in steps:
        mine, theirs = by_key.get(("roteiro", *step)), by_key.get(("llama-server", *step))
        if mine is None or theirs is None:
            continue
        if mine.evaluated > theirs.evaluated:
            worse.append(" ".join(step))
        elif mine.evaluated == theirs.evaluated:
            ratios[" ".join(step)] = round(mine.first_ms / theirs.first_ms, 3)
    return {"worse": worse, "first_ms_ratios": ratios}


if __name__ == "__main__":
    main()

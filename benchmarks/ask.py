"""Answers about a repository: how many are right, by model, strategy and kind of question.

    python -m benchmarks ask REPOSITORY SET.jsonl [--model ID ...] [--strategy brief ...] [--kind where ...]
    python -m benchmarks ask REPOSITORY SET.jsonl --no-model        # only: does the briefing hold the answer

A set has one question a line: {"id", "kind", "question", "gold"}; `gold` is a list of groups, each a list of
alternatives, and an answer is right when it has one of every group. The repository is synced first.
Strategies: brief, loop, guided, brief+loop, and plain (the model alone). A table, then one line of JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from roteiro.chat.events import TextDelta
from roteiro.chat.messages import Message
from roteiro.config import load_config
from roteiro.conversation.ask import AskOptions
from roteiro.conversation.events import AnswerFinished, Delta
from roteiro.conversation.request import ChatRequest
from roteiro.engine.request import SamplingParams
from roteiro.runtime import Runtime, build_runtime
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import Briefer

PLAIN = "plain"
STRATEGIES = ("brief", "loop", "guided", "brief+loop", PLAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One answer."""

    model: str
    strategy: str
    id: str
    kind: str
    right: bool
    answer: str
    seconds: float
    prompt_tokens: int
    completion_tokens: int


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("set", type=Path)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--strategy", action="append", default=[], choices=STRATEGIES)
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--limit", type=int, default=0, help="only so many questions of each kind")
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--no-model", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="print every answer")
    options = parser.parse_args(arguments)
    subprocess.run([sys.executable, "-m", "roteiro", "sync", "--json"], cwd=options.repository, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    items = chosen(questions(options.set), options.kind, options.limit)
    rows = retrieved(options.repository, items) if options.no_model else asyncio.run(asked(options, items))
    report(rows)


def questions(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def chosen(items: list[dict[str, Any]], kinds: list[str], limit: int) -> list[dict[str, Any]]:
    taken: dict[str, int] = {}
    kept = []
    for item in items:
        taken[item["kind"]] = taken.get(item["kind"], 0) + 1
        if (not kinds or item["kind"] in kinds) and (not limit or taken[item["kind"]] <= limit):
            kept.append(item)
    return kept


# -- asking --------------------------------------------------------------------------------------


def retrieved(repository: Path, items: Iterable[dict[str, Any]]) -> list[Row]:
    """Whether what Roteiro looks up holds the answer."""
    briefer = Briefer(GraphAccess(repository))
    rows = []
    for item in items:
        began = time.perf_counter()
        briefing = briefer.brief(item["question"])
        text = briefing.refusal or "\n".join(briefing.facts)
        right = is_right(item["gold"], text)
        rows.append(
            Row(model="-", strategy="facts", id=item["id"], kind=item["kind"], right=right, answer=text,
                seconds=time.perf_counter() - began, prompt_tokens=0, completion_tokens=0)
        )  # fmt: skip
        if not right:
            print(f"-   {item['id']}: {item['question']}\n{text}\n")
    return rows


async def asked(options: argparse.Namespace, items: list[dict[str, Any]]) -> list[Row]:
    rows = []
    for strategy in options.strategy or ["brief"]:
        async with runtime_of(options, strategy) as runtime:
            for model in options.model or [None]:
                for item in items:
                    row = await ask(runtime, strategy, model, item, options.max_tokens)
                    rows.append(row)
                    print(f"{'ok ' if row.right else '-  '} {strategy:<10} {row.id:<24} {row.seconds:6.1f} s")
                    if options.verbose:
                        print(f"      {row.answer}")
                    sys.stdout.flush()
    return rows


@asynccontextmanager
async def runtime_of(options: argparse.Namespace, strategy: str) -> AsyncIterator[Runtime]:
    cli: dict[str, Any] = {"serve.tools": strategy != PLAIN}
    if options.threads:
        cli["serve.threads"] = options.threads
    config = load_config(cli, cwd=options.repository)
    how = AskOptions() if strategy == PLAIN else AskOptions(strategy=strategy)
    runtime = build_runtime(config, ask_options=how)
    try:
        yield runtime
    finally:
        await runtime.aclose()


async def ask(
    runtime: Runtime, strategy: str, model: str | None, item: dict[str, Any], max_tokens: int
) -> Row:
    request = ChatRequest(
        id=f"chatcmpl-{item['id']}",
        model=model,
        messages=(Message(role="user", content=item["question"]),),
        max_tokens=max_tokens,
        sampling=SamplingParams(temperature=0),
    )
    began = time.perf_counter()
    text, end = "", None
    async for event in runtime.conversation.answer(request):
        if isinstance(event, Delta) and isinstance(event.event, TextDelta):
            text += event.event.text
        elif isinstance(event, AnswerFinished):
            end = event
    rounds = (end.roteiro or {}).get("rounds", []) if end else []
    return Row(
        model=end.model if end else "",
        strategy=strategy,
        id=item["id"],
        kind=item["kind"],
        right=is_right(item["gold"], text),
        answer=text,
        seconds=time.perf_counter() - began,
        prompt_tokens=sum(r["prompt_tokens"] for r in rounds) or (end.usage.prompt_tokens if end else 0),
        completion_tokens=sum(r["completion_tokens"] for r in rounds)
        or (end.usage.completion_tokens if end else 0),
    )


# -- judging -------------------------------------------------------------------------------------


def is_right(gold: list[list[str]], answer: str) -> bool:
    """Whether one alternative of every group stands in the answer as a word of its own."""
    said = plain(answer)
    return all(any(stands(plain(alternative), said) for alternative in group) for group in gold)


def plain(text: str) -> str:
    text = text.replace("`", "").replace("\\_", "_").replace("\u2019", "'")
    return " ".join(text.lower().split())


def stands(wanted: str, said: str) -> bool:
    before = r"(?<![\w.])v?" if wanted[:1].isdigit() else r"(?<!\w)" if wanted[:1].isalpha() else ""
    after = r"(?![\w]|\.\d)" if wanted[-1:].isalnum() else ""
    return re.search(before + re.escape(wanted) + after, said) is not None


def report(rows: list[Row]) -> None:
    kinds = list(dict.fromkeys(row.kind for row in rows))
    print(f"\n{'model':<40} {'strategy':<11}" + "".join(f"{kind:>11}" for kind in kinds)
          + f"{'all':>10}{'s':>8}{'prompt':>8}{'answer':>8}")  # fmt: skip
    totals = []
    for model, strategy in dict.fromkeys((row.model, row.strategy) for row in rows):
        own = [row for row in rows if (row.model, row.strategy) == (model, strategy)]
        by_kind = {kind: [row.right for row in own if row.kind == kind] for kind in kinds}
        totals.append(
            {
                "model": model,
                "strategy": strategy,
                "right": sum(row.right for row in own),
                "of": len(own),
                "by_kind": {kind: [sum(right), len(right)] for kind, right in by_kind.items()},
                "mean_seconds": round(mean(row.seconds for row in own), 3),
                "mean_prompt_tokens": round(mean(row.prompt_tokens for row in own), 1),
                "mean_completion_tokens": round(mean(row.completion_tokens for row in own), 1),
            }
        )
        cells = "".join(f"{f'{sum(right)}/{len(right)}':>11}" for right in by_kind.values())
        total = totals[-1]
        print(f"{model:<40} {strategy:<11}{cells}{total['right']:>6}/{total['of']:<3}"
              f"{total['mean_seconds']:>8.2f}{total['mean_prompt_tokens']:>8.0f}"
              f"{total['mean_completion_tokens']:>8.0f}")  # fmt: skip
    print(json.dumps({"totals": totals, "rows": [asdict(row) for row in rows]}))


if __name__ == "__main__":
    main()

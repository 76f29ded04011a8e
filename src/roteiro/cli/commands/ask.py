"""`roteiro ask`: a question about this repository, answered by an installed model from the graph.

What is looked up is shown on standard error as it happens, the answer on standard output, and the places it
rests on after it.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import typer

from roteiro.cli import output
from roteiro.cli.graph import SYNC_OPTION, opened
from roteiro.config import load_config
from roteiro.errors import UsageError

if TYPE_CHECKING:
    from roteiro.conversation.events import AnswerEvent
    from roteiro.runtime import Runtime

app = typer.Typer(help="Ask a question about this repository.", add_completion=False, rich_markup_mode=None)


@app.command()
def ask(
    *,
    question: str = typer.Argument(help="The question, in quotes."),
    model: str | None = typer.Option(None, help="Id of an installed model."),
    max_tokens: int = typer.Option(400, min=1, help="Most tokens of the answer."),
    strategy: str | None = typer.Option(
        None,
        help="How the model is helped: brief (look up first), loop (it calls tools), guided, brief+loop.",
    ),
    sync_first: bool = SYNC_OPTION,
    as_json: bool = typer.Option(False, "--json", help="Print the answer with its sources as JSON."),
) -> None:
    """Look the question up in the code graph, and let the model answer from what was found."""
    with output.command_errors(json=as_json):
        if not question.strip():
            raise UsageError("There is no question.", hint='roteiro ask "Who calls parse_header?"')
        with opened(sync_first=sync_first, as_json=as_json) as graph:
            stale = graph.stale
        runtime = _runtime(strategy)
        runtime.catalog.check()
        show = _Show(quiet=as_json, stale=stale)
        asyncio.run(_ask(runtime, question, model, max_tokens, show))


# ------------------------------------------------------------------------------------------------


def _runtime(strategy: str | None) -> Runtime:
    from roteiro.conversation.ask import STRATEGIES, AskOptions
    from roteiro.runtime import build_runtime

    known = {name: name for name in STRATEGIES}
    if strategy is not None and strategy not in known:
        raise UsageError(
            f"There is no strategy {strategy!r}.", hint=f"Use {', '.join(known)}.", param="strategy"
        )
    options = AskOptions() if strategy is None else AskOptions(strategy=known[strategy])
    return build_runtime(load_config({"serve.tools": True}), ask_options=options)


async def _ask(runtime: Runtime, question: str, model: str | None, max_tokens: int, show: _Show) -> None:
    from roteiro.chat.messages import Message
    from roteiro.conversation.request import ChatRequest
    from roteiro.engine.request import SamplingParams

    request = ChatRequest(
        id=f"chatcmpl-{secrets.token_hex(16)}",
        model=model,
        messages=(Message(role="user", content=question),),
        max_tokens=max_tokens,
        # The answer stands in the facts; there is nothing to vary.
        sampling=SamplingParams(temperature=0),
    )
    try:
        async with aclosing(runtime.conversation.answer(request)) as answer:
            async for event in answer:
                show.event(event)
    finally:
        await runtime.aclose()
    show.end()


class _Show:
    """Prints an answer as it comes, or all of it as JSON at the end."""

    def __init__(self, *, quiet: bool, stale: bool) -> None:
        self._quiet = quiet
        self._stale = stale
        self._text: list[str] = []
        self._report: dict[str, Any] = {}
        self._model = ""

    def event(self, event: AnswerEvent) -> None:
        from roteiro.chat.events import TextDelta
        from roteiro.conversation.events import AnswerFinished, Delta, RoundFinished
        from roteiro.engine.request import Loading

        match event:
            case Loading():
                self._remark(f"loading {event.model} ...")
            case RoundFinished():
                for run in event.runs:
                    self._remark(
                        f"{run.name}({run.arguments}) -> {run.result_tokens} tokens, {run.ms:.0f} ms"
                    )
            case Delta(event=TextDelta(text=text)):
                self._text.append(text)
                if not self._quiet:
                    output.stdout().print(text, end="", markup=False)
            case AnswerFinished():
                self._report, self._model = event.roteiro or {}, event.model

    def end(self) -> None:
        if self._quiet:
            answer = {"answer": "".join(self._text), "model": self._model, **self._report}
            output.print_json({**answer, "stale": self._stale})
            return
        output.stdout().print()
        if sources := self._report.get("sources"):
            output.notice(f"looked up: {', '.join(sources)}")

    def _remark(self, text: str) -> None:
        if not self._quiet:
            output.notice(text)

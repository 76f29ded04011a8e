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
from roteiro.config import load_config
from roteiro.errors import NoGraph, UsageError

if TYPE_CHECKING:
    from roteiro.conversation.events import AnswerEvent
    from roteiro.runtime import Runtime

app = typer.Typer(help="Ask a question about this repository.", rich_markup_mode=None)


@app.command()
def ask(
    *,
    question: str = typer.Argument(help="The question, in quotes."),
    model: str | None = typer.Option(None, help="Id of an installed model."),
    max_tokens: int = typer.Option(400, min=1, help="Most tokens of the answer."),
    as_json: bool = typer.Option(False, "--json", help="Print the answer with its sources as JSON."),
) -> None:
    """Look the question up in the code graph, and let the model answer from what was found."""
    with output.command_errors(json=as_json):
        if not question.strip():
            raise UsageError("There is no question.", hint='roteiro ask "Who calls parse_header?"')
        config = load_config({"serve.tools": True})
        from roteiro.runtime import build_runtime

        runtime = build_runtime(config)
        if not runtime.graph.available():
            raise NoGraph("This work tree has no graph yet.", hint="Run `roteiro sync` first.")
        runtime.catalog.check()
        asyncio.run(_ask(runtime, question, model, max_tokens, as_json=as_json))


# ------------------------------------------------------------------------------------------------


async def _ask(runtime: Runtime, question: str, model: str | None, max_tokens: int, *, as_json: bool) -> None:
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
    show = _Show(quiet=as_json)
    try:
        async with aclosing(runtime.conversation.answer(request)) as answer:
            async for event in answer:
                show.event(event)
    finally:
        await runtime.aclose()
    show.end(as_json=as_json)


class _Show:
    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
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

    def end(self, *, as_json: bool) -> None:
        if as_json:
            answer = {"answer": "".join(self._text), "model": self._model, **self._report}
            output.print_json(answer)
            return
        output.stdout().print()
        if sources := self._report.get("sources"):
            output.notice(f"looked up: {', '.join(sources)}")

    def _remark(self, text: str) -> None:
        if not self._quiet:
            output.notice(text)

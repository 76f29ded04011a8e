"""Ask mode: the served model answers from the code graph.

Roteiro looks the question up first and puts the few facts that answer it beside it (`tools.briefing`); what
does not exist, it says itself. A strategy may also hand the model the tools and run the calls it makes,
within a budget of rounds, tokens and time. The client sees one assistant message. Thread: event loop; the
graph is asked in worker threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from roteiro.chat.events import TextDelta
from roteiro.conversation import ask_prompt
from roteiro.conversation.ask_plan import STRATEGIES, AskOptions, Plan, plan_of
from roteiro.conversation.ask_report import AskReport
from roteiro.conversation.ask_rounds import NO_ANSWER, AskedQuestion
from roteiro.conversation.events import AnswerEvent, AnswerFinished, Delta, Usage
from roteiro.conversation.profile import Profile
from roteiro.conversation.request import ChatRequest
from roteiro.conversation.turn import Prompt
from roteiro.engine.engine import Engine
from roteiro.engine.request import Timings
from roteiro.errors import GraphError
from roteiro.tools.access import GraphAccess
from roteiro.tools.briefing import Briefer, Briefing
from roteiro.tools.registry import Registry

__all__ = ["NO_ANSWER", "STRATEGIES", "Ask", "AskOptions"]

log = logging.getLogger("roteiro.ask")


class Ask:
    """See the module's docstring.

    Args:
        engine: makes tokens.
        access: the graph.
        registry: the tools over it.
        briefer: looks questions up.
        options: the strategy and its budgets.
    """

    def __init__(
        self,
        engine: Engine,
        access: GraphAccess,
        registry: Registry,
        briefer: Briefer,
        options: AskOptions,
    ) -> None:
        self._engine = engine
        self._access = access
        self._registry = registry
        self._briefer = briefer
        self.options = options

    async def available(self) -> bool:
        """Whether there is a graph to answer from."""
        return await asyncio.to_thread(self._access.available)

    async def prompt(self, profile: Profile, request: ChatRequest) -> Prompt:
        """The first round's prompt."""
        asked = self._asked(profile, request)
        messages, _ = await asked.messages((await self._brief(request, asked.plan)).facts)
        return await asked.prompt(messages)

    async def answer(self, profile: Profile, request: ChatRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Look the question up, then let the model answer, round by round."""
        asked = self._asked(profile, request)
        report = AskReport(strategy=asked.plan.strategy)
        briefing = await self._brief(request, asked.plan)
        report.lookup_ms = report.seconds * 1000
        if briefing.refusal is not None:
            report.sources = briefing.places
            yield Delta(event=TextDelta(text=briefing.refusal))
            yield _without_model(profile, report)
            return
        messages, told = await asked.messages(briefing.facts)
        report.facts, report.sources = told, briefing.places if told else ()
        async with aclosing(asked.rounds(messages, report)) as events:
            async for event in events:
                yield event

    # ---------------------------------------------------------------------------------------------

    def _asked(self, profile: Profile, request: ChatRequest) -> AskedQuestion:
        window = self._engine.window(profile.record)
        return AskedQuestion(
            engine=self._engine,
            registry=self._registry,
            options=self.options,
            plan=plan_of(self.options, window=window, max_tokens=request.max_tokens),
            profile=profile,
            request=request,
        )

    async def _brief(self, request: ChatRequest, plan: Plan) -> Briefing:
        """The facts for the question; a graph that cannot be read leaves the model without, and is logged."""
        asked = ask_prompt.last_question(request.messages)
        if not plan.strategy.startswith("brief") or asked is None:
            return Briefing()
        try:
            return await asyncio.to_thread(
                self._briefer.brief,
                asked.text,
                asked=asked.before,
                answered=asked.answered,
                max_tokens=plan.fact_tokens,
            )
        except GraphError as error:
            log.warning("no facts were looked up: %s", error.sentence())
            return Briefing()


def _without_model(profile: Profile, report: AskReport) -> AnswerFinished:
    """The end of an answer that Roteiro gave itself: no token was evaluated."""
    return AnswerFinished(
        finish_reason="stop",
        usage=Usage(prompt_tokens=0, completion_tokens=0, cached_tokens=0),
        timings=Timings(),
        model=profile.record.id,
        roteiro=report.to_json(answered_by="graph"),
    )

"""One question answered: the prompt with its facts, and the rounds of calls until there is an answer.

Everything that is added is fitted into the window; the user's own text never gives way. What a tool cannot
do is data for the model. Thread: event loop; tools run in worker threads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from roteiro.chat.events import TextDelta
from roteiro.chat.messages import Message, Tool, ToolCall
from roteiro.conversation import ask_prompt
from roteiro.conversation.ask_plan import LEAST_RESULT_TOKENS, AskOptions, Plan
from roteiro.conversation.ask_report import AskReport
from roteiro.conversation.constraints import Rules
from roteiro.conversation.events import AnswerEvent, AnswerFinished, Delta, RoundFinished, ToolRun
from roteiro.conversation.held_text import HeldText
from roteiro.conversation.profile import Profile
from roteiro.conversation.request import ChatRequest, ToolChoice
from roteiro.conversation.turn import Prompt, Turn, TurnFinished
from roteiro.engine.engine import Engine
from roteiro.tools.graph_tools import capped, tokens_of
from roteiro.tools.registry import Registry, ToolResult

NO_ANSWER = "The model reached no answer with what it looked up."
# The pseudo-tool by which a model that must decide says that it has enough.
ANSWER = Tool(name="answer", description="Answer the question now.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """One request in Ask mode.

    Attributes:
        engine: makes tokens.
        registry: the tools.
        options: the budgets.
        plan: what the window leaves room for.
        profile: the model.
        request: what the client sent.
    """

    engine: Engine
    registry: Registry
    options: AskOptions
    plan: Plan
    profile: Profile
    request: ChatRequest

    async def messages(self, facts: Sequence[str]) -> tuple[tuple[Message, ...], int]:
        """The conversation with what is added to it, and how many facts it holds.

        Where the window has no room for all facts the last ones go, never the user's own text.
        """
        while True:
            messages = _added(self.request.messages, facts, tools=self.plan.tools)
            if not facts or await self._fits(messages):
                return messages, len(facts)
            facts = facts[: len(facts) // 2]

    async def prompt(self, messages: tuple[Message, ...]) -> Prompt:
        """The first round's prompt."""
        return await self._turn(messages, last=not self.plan.tools).prompt()

    async def rounds(
        self, messages: tuple[Message, ...], report: AskReport
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Generate, run calls, feed back, until there is an answer."""
        number, last = 0, not self.plan.tools
        while True:
            stated = ask_prompt.told_to_answer(messages) if number and last else messages
            held = HeldText(release_at_once=last, tools=self.plan.tools)
            finished: TurnFinished | None = None
            async with aclosing(self._turn(stated, last=last).take()) as events:
                async for event in events:
                    if isinstance(event, TurnFinished):
                        finished = event
                    else:
                        for passed in held.receive(event):
                            yield passed
            assert finished is not None
            ran = [] if last else [await self._run(call) for call in finished.calls]
            runs = tuple(run for run, _ in ran if run.name != ANSWER.name)
            report.add_round(finished, runs, _places(result for _, result in ran))
            if held.is_call and not last and finished.kind != "length":
                number, last = number + 1, True  # a call that nobody could read: it is asked to answer
                continue
            if not ran:
                unread = held.is_call
                for passed in () if unread else held.release():
                    yield passed
                if unread or not finished.content:
                    yield Delta(event=TextDelta(text=NO_ANSWER))
                yield self._end(finished, report)
                return
            number += 1
            yield RoundFinished(number=number, runs=runs)
            longer = await self._fed_back(messages, finished, [result.text for _, result in ran])
            decided = any(run.name == ANSWER.name for run, _ in ran)
            last = decided or longer is None or self._is_over(finished, number, report)
            messages = longer or messages

    # ---------------------------------------------------------------------------------------------

    async def _fits(self, messages: tuple[Message, ...]) -> bool:
        surely = sum(_size(message) for message in messages)
        if not self.plan.tools and surely + self.plan.reserve + 64 * len(messages) < self.plan.window:
            return True  # a token is a byte at least
        prompt = await self.prompt(messages)
        return len(prompt.tokens) + self.plan.reserve <= self.plan.window

    async def _fed_back(
        self, messages: tuple[Message, ...], turn: TurnFinished, texts: list[str]
    ) -> tuple[Message, ...] | None:
        """The conversation with a round's calls and results, cut until they fit; None where they cannot."""
        limit = self.plan.result_tokens(turn, len(texts))
        while limit >= LEAST_RESULT_TOKENS:
            longer = _continued(messages, turn, [_cut(text, limit) for text in texts])
            if await self._fits(ask_prompt.told_to_answer(longer)):
                return longer
            limit //= 2
        return None

    def _turn(self, messages: tuple[Message, ...], *, last: bool) -> Turn:
        tools: tuple[Tool, ...] = self.registry.declarations() if self.plan.tools else ()
        guided = self.plan.strategy == "guided"
        if guided:
            tools = (*tools, ANSWER)
        rules = Rules(tools=tools)
        if guided and not last:
            rules = Rules(tools=tools, choice=ToolChoice(mode="required"), several=False)
        return Turn(self.engine, self.profile, self.request, messages=messages, tools=tools, rules=rules)

    def _is_over(self, turn: TurnFinished, number: int, report: AskReport) -> bool:
        options = self.options
        late = report.seconds > options.max_seconds
        spent = report.result_tokens > options.max_result_tokens
        return number >= options.max_rounds or late or spent or self.plan.is_full(turn)

    async def _run(self, call: ToolCall) -> tuple[ToolRun, ToolResult]:
        """Run one call; what fails is a result that says so."""
        began = time.perf_counter()
        if call.name == ANSWER.name:
            result = ToolResult(ok=True, text="Answer now.")
        else:
            result = await asyncio.to_thread(self.registry.call, call.name, call.arguments)
        run = ToolRun(
            name=call.name,
            arguments=call.arguments,
            ok=result.ok,
            result_tokens=tokens_of(result.text),
            ms=(time.perf_counter() - began) * 1000,
        )
        return run, result

    def _end(self, turn: TurnFinished, report: AskReport) -> AnswerFinished:
        return AnswerFinished(
            finish_reason="length" if turn.kind == "length" else "stop",
            usage=turn.usage,
            timings=turn.timings,
            model=self.profile.record.id,
            roteiro=report.to_json(),
            reuse_note=turn.reuse_note,
        )


# ------------------------------------------------------------------------------------------------


def _added(messages: tuple[Message, ...], facts: Sequence[str], *, tools: bool) -> tuple[Message, ...]:
    if tools:
        messages = ask_prompt.with_instruction(messages, ask_prompt.WITH_TOOLS)
    elif facts:
        messages = ask_prompt.with_instruction(messages, ask_prompt.INSTRUCTION)
    return ask_prompt.with_facts(messages, facts)


def _size(message: Message) -> int:
    texts = [message.content, message.reasoning_content, *(call.arguments for call in message.tool_calls)]
    return sum(len(text.encode()) for text in texts if text)


def _cut(text: str, limit: int) -> str:
    return text if tokens_of(text) <= limit else capped(text.split("\n"), limit, "ask for less.")


def _places(results: Iterable[ToolResult]) -> tuple[str, ...]:
    return tuple(place for result in results for place in result.places)


def _continued(messages: tuple[Message, ...], turn: TurnFinished, texts: list[str]) -> tuple[Message, ...]:
    """The conversation with the round's calls and their results."""
    results = [
        Message(role="tool", name=call.name, tool_call_id=call.id, content=text)
        for call, text in zip(turn.calls, texts, strict=True)
    ]
    return (*messages, turn.message(), *results)

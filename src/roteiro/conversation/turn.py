"""One turn: render the prompt, generate, and read what the model writes. Text meets tokens here.

A turn yields the engine's own events (queued, loading, progress), `Delta`s, and at its end `TurnFinished`.
It runs no tool and knows no round. Thread: event loop.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.events import (
    ChatEvent,
    ReasoningDelta,
    TextDelta,
    ToolCallArguments,
    ToolCallBroken,
    ToolCallEnd,
    ToolCallStart,
)
from roteiro.chat.messages import Message, Tool, ToolCall
from roteiro.chat.parser import ChatParser
from roteiro.chat.rendering import RenderedPrompt, RenderOptions, render
from roteiro.conversation.constraints import Rules, build
from roteiro.conversation.echo import Written, read_turn
from roteiro.conversation.events import Delta, LogprobEntry, Usage
from roteiro.conversation.profile import Profile
from roteiro.conversation.request import ChatRequest
from roteiro.conversation.thought_limit import ThoughtLimit
from roteiro.engine.engine import Engine
from roteiro.engine.request import (
    FinishKind,
    GenerationFinished,
    GenerationRequest,
    Loading,
    PromptProgress,
    Queued,
    SamplingParams,
    Timings,
    TokenChunk,
    TokenLogprob,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A turn's prompt as text and as tokens."""

    rendered: RenderedPrompt
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """A turn is over: what it said, thought and called, and what it cost.

    `broken` is the raw text of a call that was not proved whole; it is neither answer nor call. `cut` is that
    call as far as a client that streams has seen it, where the limit cut it.
    """

    kind: FinishKind
    content: str
    reasoning: str
    calls: tuple[ToolCall, ...]
    broken: str
    cut: ToolCall | None
    usage: Usage
    timings: Timings
    reuse_note: str

    def message(self) -> Message:
        """The turn as a message of the conversation that goes on."""
        return Message(
            role="assistant",
            content=self.content or None,
            reasoning_content=self.reasoning or None,
            tool_calls=self.calls,
        )

    def streamed(self) -> Message:
        """The message as a client that streams has it: with the beginning of a call that the limit cut."""
        message = self.message()
        return replace(message, tool_calls=(*self.calls, self.cut)) if self.cut else message


TurnEvent = Queued | Loading | PromptProgress | Delta | TurnFinished


@dataclass(slots=True, kw_only=True)
class _Said:
    """What the parser has said so far in a turn."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    starts: dict[int, ToolCallStart] = field(default_factory=dict)
    fragments: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    broken: str = ""
    cut: ToolCall | None = None

    def add(self, event: ChatEvent) -> None:
        match event:
            case TextDelta():
                self.content.append(event.text)
            case ReasoningDelta():
                self.reasoning.append(event.text)
            case ToolCallStart():
                self.starts[event.index] = event
                self.fragments.clear()
            case ToolCallArguments():
                self.fragments.append(event.fragment)
            case ToolCallEnd():
                start = self.starts[event.index]
                self.calls.append(ToolCall(id=start.id, name=start.name, arguments=event.arguments))
            case ToolCallBroken():
                self.broken = event.raw
                if (begun := self.starts.get(event.index)) is not None:
                    self.cut = ToolCall(id=begun.id, name=begun.name, arguments="".join(self.fragments))


class Turn:
    """One generation of one request.

    Args:
        engine: makes the tokens.
        profile: the model.
        request: sampling, limits, stops; its `messages` and `tools` are replaced by the ones below.
        messages: the conversation so far.
        tools: stated to the model and looked for in its answer.
        rules: what the answer is held to.
        banned: tokens that must not come, because they begin a call and none is wanted.
    """

    def __init__(
        self,
        engine: Engine,
        profile: Profile,
        request: ChatRequest,
        *,
        messages: tuple[Message, ...],
        tools: tuple[Tool, ...],
        rules: Rules,
        banned: tuple[int, ...] = (),
    ) -> None:
        self._engine = engine
        self._profile = profile
        self._request = request
        self._messages = messages
        self._tools = tools
        self._rules = rules
        self._banned = banned
        self.limit: ThoughtLimit | None = None

    @property
    def controllable(self) -> bool:
        """Whether the client may end this turn's thought."""
        return self._request.reasoning.control

    async def prompt(self) -> Prompt:
        """Render and tokenise.

        Raises:
            TemplateError, InvalidRequest: the conversation cannot be rendered.
        """
        facts = self._profile.vocabulary.facts
        options = RenderOptions(
            dialect=self._profile.detection.dialect,
            native_tools=self._profile.detection.tools == "native",
            own_calls=self._profile.detection.own_calls,
            reasoning=self._profile.reasoning,
            special_tokens=facts.special_texts,
            bos_text=facts.bos_text,
            add_bos=facts.add_bos,
            reasoning_effort=self._request.reasoning.effort,
            template_variables=self._request.template_kwargs,
            continue_final_message=None if self._request.prefill else False,
        )
        rendered = await render(self._profile.template, self._messages, self._tools, options)
        profile = self._profile
        known = profile.echoes.find(rendered.parts, self._messages, profile.turn_ends)
        if known is None:
            return Prompt(rendered=rendered, tokens=await profile.vocabulary.tokenize_parts(rendered.parts))
        rest = await profile.vocabulary.tokenize_parts(known.rest)
        return Prompt(rendered=rendered, tokens=(*known.tokens, *rest))

    async def take(self) -> AsyncGenerator[TurnEvent, None]:
        """Generate. Close it (`aclosing`) to stop the engine at the next token or batch.

        Raises:
            ContextOverflow, ModelTooLarge, Busy, ...: as the engine, before anything was generated.
        """
        prompt = await self.prompt()
        open_thought = prompt.rendered.reasoning_open
        self.limit = await self._thought_limit(open_thought=open_thought)
        constraint = await build(
            self._rules, self._profile, thought_open=open_thought, thinking=self._may_think()
        )
        generation = self._engine.generate(
            self._profile.record,
            GenerationRequest(
                prompt=prompt.tokens,
                max_tokens=self._request.max_tokens,
                sampling=await self._sampling(),
                constraint=constraint,
                forced=self.limit,
                cache_prompt=self._request.cache_prompt,
                id_slot=self._request.id_slot,
                timings_per_token=self._request.timings_per_token,
                client=self._request.client,
            ),
        )
        reading = _Reading(self._parser(prompt.rendered), calls=not self._banned)
        async with aclosing(generation):
            async for event in generation:
                match event:
                    case TokenChunk():
                        for delta in reading.chunk(event):
                            yield delta
                        if reading.parser.stopped:
                            generation.stop()
                    case GenerationFinished():
                        for delta in reading.finish(event):
                            yield delta
                        finished = reading.finished(event, len(prompt.tokens))
                        self._remember(prompt, reading, finished)
                        yield finished
                    case _:
                        yield event

    # ---------------------------------------------------------------------------------------------

    def _parser(self, prompt: RenderedPrompt) -> ChatParser:
        return ChatParser(stops=self._request.stop, **self._form(prompt))

    def _form(self, prompt: RenderedPrompt) -> dict[str, Any]:
        hidden = self._request.reasoning.in_content
        return {
            "reasoning": None if hidden else self._profile.reasoning,
            "dialects": self._read_dialects(),
            "tools": self._tools,
            "generation_prompt_opened_reasoning": prompt.reasoning_open,
            "already_written": prompt.opener,
        }

    def _read_dialects(self) -> tuple[Dialect, ...]:
        """Where no call is wanted, JSON without a marker is an answer in JSON, not a call to be dropped."""
        own = self._profile.detection.dialect
        return (own,) if self._banned and own is not None else self._profile.dialects

    def _remember(self, prompt: Prompt, reading: _Reading, end: TurnFinished) -> None:
        """Keep how the model wrote this turn, for when its message comes back."""
        if end.kind == "stopped" or prompt.rendered.prefill or not reading.tokens:
            # The client has not seen all that was written, or sends it back joined to what it began.
            return
        parser = partial(ChatParser, **self._form(prompt.rendered))
        text = "".join(reading.text)
        read = read_turn(parser(), text)
        if read.cut and end.cut is None:
            return  # a call that is broken otherwise: what the client has of it stands nowhere
        ends = self._profile.vocabulary.facts.end_tokens
        self._profile.echoes.remember(
            Written(
                parts=prompt.rendered.parts,
                tokens=prompt.tokens,
                answer=tuple(token for token in reading.tokens if token not in ends),
                text=text,
                read=read,
                parser=parser,
                number=sum(message.role == "assistant" for message in self._messages),
                message=end.streamed(),
            )
        )

    def _may_think(self) -> bool:
        off = self._request.template_kwargs.get("enable_thinking") is False
        return not off and self._request.reasoning.effort != "none"

    async def _sampling(self) -> SamplingParams:
        """The request's sampling, with biases given by text turned into biases of tokens, and the bans."""
        sampling = self._request.sampling
        if not (self._request.logit_bias_text or self._banned):
            return sampling
        bias: dict[int, float] = dict(sampling.logit_bias)
        for text, value in self._request.logit_bias_text.items():
            for token in await self._profile.vocabulary.tokenize(text, parse_special=False):
                bias.setdefault(token, value)
        bias.update(dict.fromkeys(self._banned, -math.inf))
        return replace(sampling, logit_bias=bias)

    async def _thought_limit(self, *, open_thought: bool) -> ThoughtLimit | None:
        reasoning, wanted = self._profile.reasoning, self._request.reasoning
        if reasoning is None or not (wanted.control or wanted.budget_tokens is not None):
            return None
        message = [(wanted.budget_message, False)] if wanted.budget_message else []
        ending = await self._profile.vocabulary.tokenize_parts([*message, (reasoning.end_text, True)])
        return ThoughtLimit(
            start=reasoning.start.encode(),
            end=reasoning.end.encode(),
            is_open=open_thought,
            budget=wanted.budget_tokens,
            ending=ending,
            token_bytes=self._profile.token_bytes,
        )


class _Reading:
    """Folds token chunks into deltas, and keeps what was said for the end."""

    def __init__(self, parser: ChatParser, *, calls: bool) -> None:
        self.parser = parser
        self._calls = calls
        self._said = _Said()
        self._logprobs: list[LogprobEntry] = []
        self._reasoning_tokens = 0
        self.tokens: list[int] = []
        self.text: list[str] = []

    def chunk(self, chunk: TokenChunk) -> list[Delta]:
        if chunk.logprob is not None:
            self._logprobs.append(_entry(chunk.logprob, chunk.top_logprobs))
        self._reasoning_tokens += self.parser.in_reasoning
        self.tokens.append(chunk.token)
        self.text.append(chunk.text)
        return self._deltas(self.parser.receive_text(chunk.text), chunk.timings)

    def finish(self, event: GenerationFinished) -> list[Delta]:
        self.text.append(event.text)
        events = self.parser.receive_text(event.text) if event.text else []
        return self._deltas([*events, *self.parser.finish(event.kind)], None)

    def finished(self, event: GenerationFinished, prompt_tokens: int) -> TurnFinished:
        said = self._said
        return TurnFinished(
            kind=event.kind,
            content="".join(said.content),
            reasoning="".join(said.reasoning),
            calls=tuple(said.calls),
            broken=said.broken,
            cut=said.cut if event.kind == "length" else None,
            usage=Usage(
                prompt_tokens=prompt_tokens,
                completion_tokens=event.timings.predicted_n,
                cached_tokens=event.timings.cache_n,
                reasoning_tokens=self._reasoning_tokens,
            ),
            timings=event.timings,
            reuse_note=event.reuse_note,
        )

    def _deltas(self, events: list[ChatEvent], timings: Timings | None) -> list[Delta]:
        deltas = []
        for event in events:
            if not self._calls and not isinstance(event, TextDelta | ReasoningDelta):
                continue
            self._said.add(event)
            if isinstance(event, TextDelta):
                deltas.append(Delta(event=event, logprobs=tuple(self._logprobs)))
                self._logprobs.clear()
            elif isinstance(event, ReasoningDelta | ToolCallStart | ToolCallArguments | ToolCallEnd):
                self._logprobs.clear()
                deltas.append(Delta(event=event))
        if deltas and timings is not None:
            deltas[-1] = replace(deltas[-1], timings=timings)
        return deltas


def _entry(chosen: TokenLogprob, top: tuple[TokenLogprob, ...]) -> LogprobEntry:
    return replace(_plain_entry(chosen), top=tuple(_plain_entry(item) for item in top))


def _plain_entry(item: TokenLogprob) -> LogprobEntry:
    return LogprobEntry(
        token=item.data.decode(errors="replace"), id=item.token, data=item.data, logprob=item.logprob
    )

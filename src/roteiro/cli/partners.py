"""Who `roteiro chat` talks to: a running server over HTTP, or a model in this process.

Both take a conversation and hand over pieces of the answer as they come. Ctrl-C in the middle stops the
work on the other side. Thread: the main thread.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import httpx

from roteiro.chat.events import ReasoningDelta, TextDelta
from roteiro.chat.messages import Message
from roteiro.config.schema import Config
from roteiro.conversation.events import Delta
from roteiro.conversation.request import ChatRequest
from roteiro.engine.request import SamplingParams
from roteiro.errors import UsageError
from roteiro.runtime import build_runtime

Kind = Literal["content", "reasoning"]
Show = Callable[[Kind, str], None]

CONNECT_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is asked of every answer; None leaves it to the other side."""

    model: str | None = None
    max_tokens: int | None = None
    temperature: float | None = None


class Partner(Protocol):
    """Answers conversations."""

    name: str

    def answer(self, messages: Sequence[Message], show: Show) -> None:
        """Answer, handing over each piece; Ctrl-C raises KeyboardInterrupt with the work stopped."""

    def close(self) -> None:
        """Give everything back; idempotent."""


class HttpPartner:
    """A running server.

    Args:
        url: its base URL, or `unix:/path.sock`.
        wishes: what is asked of every answer.
        key: its API key, if it wants one.
    """

    def __init__(self, url: str, wishes: Wishes, *, key: str | None = None) -> None:
        self.name = url
        self._wishes = wishes
        transport, base = None, url
        if url.startswith("unix:"):
            transport, base = httpx.HTTPTransport(uds=url.removeprefix("unix:")), "http://localhost"
        self._client = httpx.Client(
            base_url=base,
            transport=transport,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            # A model may think for long; the server's comments show that it is there.
            timeout=httpx.Timeout(CONNECT_SECONDS, read=120),
            trust_env=False,
        )

    def is_there(self) -> bool:
        """Whether a server answers."""
        try:
            return self._client.get("/health", timeout=CONNECT_SECONDS).status_code == 200
        except httpx.HTTPError:
            return False

    def answer(self, messages: Sequence[Message], show: Show) -> None:
        """See `Partner`."""
        body = _body(messages, self._wishes)
        try:
            with self._client.stream("POST", "/v1/chat/completions", json=body) as reply:
                if reply.status_code != 200:
                    raise UsageError(_told(reply.read()))
                for event in _events(reply.iter_lines()):
                    _show_event(event, show)
        except httpx.HTTPError as error:
            raise UsageError(
                f"The server at {self.name} did not answer: {error}.",
                hint="Is `roteiro serve` running?",
            ) from error

    def close(self) -> None:
        """See `Partner`."""
        self._client.close()


class LocalPartner:
    """A model in this process."""

    def __init__(self, config: Config, wishes: Wishes) -> None:
        self._wishes = wishes
        self._runtime = build_runtime(config)
        self._runtime.catalog.check()
        self._runner = asyncio.Runner()
        self._closed = False
        self.name = "this process"

    def answer(self, messages: Sequence[Message], show: Show) -> None:
        """See `Partner`."""
        # The runner turns Ctrl-C into a cancellation, so that the engine is stopped before we go on.
        self._runner.run(self._answer(messages, show))

    def close(self) -> None:
        """See `Partner`."""
        if not self._closed:
            self._closed = True
            self._runner.run(self._runtime.aclose())
            self._runner.close()

    async def _answer(self, messages: Sequence[Message], show: Show) -> None:
        request = ChatRequest(
            id=f"chatcmpl-{secrets.token_hex(16)}",
            model=self._wishes.model,
            messages=tuple(messages),
            max_tokens=self._wishes.max_tokens,
            sampling=SamplingParams(temperature=self._wishes.temperature),
        )
        async with aclosing(self._runtime.conversation.answer(request)) as answer:
            async for event in answer:
                if not isinstance(event, Delta):
                    continue
                if isinstance(event.event, TextDelta):
                    show("content", event.event.text)
                elif isinstance(event.event, ReasoningDelta):
                    show("reasoning", event.event.text)


# ------------------------------------------------------------------------------------------------


def _body(messages: Sequence[Message], wishes: Wishes) -> dict[str, Any]:
    turns = [
        {"role": message.role, "content": message.content or ""}
        | ({"reasoning_content": message.reasoning_content} if message.reasoning_content else {})
        for message in messages
    ]
    return {
        "messages": turns,
        "stream": True,
        "model": wishes.model,
        "max_tokens": wishes.max_tokens,
        "temperature": wishes.temperature,
    }


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


def _show_event(event: dict[str, Any], show: Show) -> None:
    if "error" in event:
        raise UsageError(str(event["error"].get("message", "The answer failed.")))
    for choice in event.get("choices", ()):
        delta = choice["delta"]
        if delta.get("reasoning_content"):
            show("reasoning", delta["reasoning_content"])
        if delta.get("content"):
            show("content", delta["content"])


def _told(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"The server refused without a reason: {body[:200]!r}"

"""A chat request as it was read: the body, what it means, and what was ignored of it.

Shared by every route that takes a chat body. Thread: event loop.
"""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
import string
from dataclasses import dataclass

from starlette.requests import Request

from roteiro.conversation.request import ChatRequest
from roteiro.errors import InvalidRequest
from roteiro.server.deps import client_of, limits_of
from roteiro.server.json_body import read_json, validate
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.chat_request import Caller, check_tool_bytes, to_chat_request
from roteiro.server.wire.parameters import refuse_unsupported, unknown_fields

IGNORED_HEADER = "X-Roteiro-Ignored-Fields"

_ID_LETTERS = string.ascii_letters + string.digits
# A header may not hold just any text; the names that matter are spelt plainly.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_MOST_NAMES = 10
# What a template puts around a message or a tool, and before all of them.
_FRAME_TOKENS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """One chat body, read. `ignored` are the names of fields that nothing here knows."""

    body: ChatCompletionBody
    request: ChatRequest
    ignored: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the reply: which fields of the request were ignored."""
        names = [name for name in self.ignored if _PLAIN_NAME.fullmatch(name)][:_MOST_NAMES]
        return {IGNORED_HEADER: ", ".join(names)} if names else {}

    def fits_surely(self, window: int) -> bool:
        """Whether the prompt cannot be longer than a window: a token is at least a byte."""
        request = self.request
        texts = [json.dumps(dict(tool.parameters)) + tool.description for tool in request.tools]
        for message in request.messages:
            texts += [message.content or "", message.reasoning_content or ""]
            texts += [call.arguments for call in message.tool_calls]
        frame = _FRAME_TOKENS * (1 + len(request.messages) + len(request.tools))
        return frame + sum(len(text.encode()) for text in texts) + (request.max_tokens or 0) < window

    def with_model(self, model_id: str) -> ChatCall:
        """The same with the model that it means."""
        return dataclasses.replace(self, request=dataclasses.replace(self.request, model=model_id))


async def read_chat_call(request: Request) -> ChatCall:
    """Read, check and convert the body of a chat request.

    Raises:
        InvalidRequest: the body is not JSON, or a field cannot be used.
        UnsupportedParameter: a field asks for what would be silently untrue.
    """
    raw = await read_json(request)
    if not isinstance(raw, dict):
        raise InvalidRequest("The request body is not a JSON object.")
    refuse_unsupported(raw)
    check_tool_bytes(raw.get("tools"), limits_of(request).max_client_tool_bytes)
    body = validate(ChatCompletionBody, raw)
    caller = Caller(completion_id=_completion_id(), client=client_of(request, body.user))
    return ChatCall(body=body, request=to_chat_request(body, caller), ignored=unknown_fields(raw))


def _completion_id() -> str:
    return "chatcmpl-" + "".join(secrets.choice(_ID_LETTERS) for _ in range(32))

"""A conversation over the scripted backend, for tests of everything above the engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fakes.engines import make_engine, make_record
from roteiro.chat.messages import Message
from roteiro.conversation.events import AnswerFinished, Delta
from roteiro.conversation.loop import AskMode, Conversation
from roteiro.conversation.profile import Profiles
from roteiro.conversation.request import ChatRequest
from roteiro.engine.engine import Engine
from roteiro.engine.scripted import Behaviour, Reply, ScriptedBackend
from roteiro.errors import ModelNotFound
from roteiro.modelstore.record import ModelRecord

HERMES_TEMPLATE = """{%- if tools %}{{ '<|im_start|>system\\n# Tools\\n<tools>' }}
{%- for tool in tools %}{{ '\\n' + tool | tojson }}{% endfor %}
{{- '\\n</tools>\\nFor each call write:\\n<tool_call>\\n{"name": N, "arguments": A}\\n</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for m in messages %}
{%- if m.role == 'tool' %}{{ '<|im_start|>user\\n<tool_response>\\n' + m.content + '\\n</tool_response><|im_end|>\\n' }}
{%- else %}{{ '<|im_start|>' + m.role + '\\n' + (m.content or '') }}
{%- for c in m.tool_calls or [] %}
{{- '\\n<tool_call>\\n{"name": "' + c.function.name + '", "arguments": ' + c.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}{{ '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

THINKING_TEMPLATE = HERMES_TEMPLATE.replace(
    "'<|im_start|>assistant\\n' }}{% endif %}", "'<|im_start|>assistant\\n<think>\\n' }}{% endif %}"
)


class OneModel:
    """A catalog with one model."""

    def __init__(self, record: ModelRecord) -> None:
        self.record = record

    async def choose(self, model_id: str | None, kind: str) -> ModelRecord:
        if model_id not in (None, self.record.id):
            raise ModelNotFound(model_id, [self.record.id])
        return self.record


def make_conversation(
    folder: Path,
    replies: Sequence[Reply | str] = (),
    *,
    template: str = HERMES_TEMPLATE,
    behaviour: Behaviour | None = None,
    ask: AskMode | None = None,
) -> tuple[Conversation, Engine, ScriptedBackend]:
    engine, backend = make_engine(replies, behaviour=behaviour)
    plain = make_record(folder)
    header = plain.header.__class__(
        **{name: getattr(plain.header, name) for name in plain.header.__slots__}
        | {"chat_templates": {"default": template}}
    )
    record = plain.__class__(**{name: getattr(plain, name) for name in plain.__slots__} | {"header": header})
    catalog = OneModel(record)
    return Conversation(engine, catalog, Profiles(engine), ask), engine, backend


def user(text: str = "hello", **fields) -> ChatRequest:
    return ChatRequest(
        **{"id": "chatcmpl-1", "model": None, "messages": (Message(role="user", content=text),)} | fields
    )


async def events_of(conversation: Conversation, request: ChatRequest) -> list:
    return [event async for event in conversation.answer(request)]


def deltas(events: Sequence) -> list:
    """The parser's events."""
    return [event.event for event in events if isinstance(event, Delta)]


def end_of(events: Sequence) -> AnswerFinished:
    assert isinstance(events[-1], AnswerFinished)
    return events[-1]

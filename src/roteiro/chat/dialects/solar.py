"""Solar Open: each call between `<|tool_call:begin|>` and `<|tool_call:end|>`, with an id and a name."""

from __future__ import annotations

import secrets
import string

from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.dialects.sections import Section, section_dialect
from roteiro.chat.dialects.source import Source, Steps
from roteiro.chat.dialects.tag_calls import read_name

_NAME, _ARGUMENTS = "<|tool_call:name|>", "<|tool_call:args|>"
_ALPHABET = string.ascii_lowercase + string.digits
_ID_LENGTH = 10  # what its prompt tells the model to write


def ten_lowercase() -> str:
    """A call id as Solar writes them."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))


def _read_head(source: Source) -> Steps[tuple[str, str | None]]:
    call_id = yield from read_name(source)
    yield from source.expect(_NAME)
    name = yield from read_name(source)
    yield from source.expect(_ARGUMENTS)
    return name, call_id


def _write_head(call: ParsedCall, position: int) -> str:
    return f"{call.id or f'call{position:06d}'}{_NAME}{call.name}{_ARGUMENTS}"


# `<|calls|>`, which ends the list, ends the turn: it may never be seen.
SOLAR = section_dialect(
    "solar",
    Section(
        opener="<|tool_calls|>",
        closer="",
        begin="<|tool_call:begin|>",
        end="<|tool_call:end|>",
        each_proved=True,
        read_head=_read_head,
        write_head=_write_head,
        aliases=("<|begin|>assistant<|tool_calls|>",),
    ),
    call_id=ten_lowercase,
)

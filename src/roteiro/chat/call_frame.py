"""What stands around a call's arguments in a dialect, found by rendering a call and looking.

A dialect whose renderer writes the arguments as JSON can be held to a schema by a grammar: literal text,
JSON, literal text. The others (XML values, Python literals) have no frame here. Pure; thread: any.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from roteiro.chat.dialects.dialect import Dialect, ParsedCall

# Arguments no renderer would write by itself.
_PROBE = '{"roteiro_probe": "roteiro_value"}'
_WRITTEN = re.compile(r'\{\s*"roteiro_probe"\s*:\s*"roteiro_value"\s*\}')


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """The literal text around one tool's arguments.

    Attributes:
        before: what a turn's first call begins with, up to its arguments.
        between: what follows an earlier call's arguments, up to this tool's arguments; None where the
            dialect cannot write two calls in a turn.
        after: what follows the last call's arguments.
    """

    before: str
    between: str | None
    after: str


def call_frame(dialect: Dialect, name: str) -> CallFrame | None:
    """The frame of a call to `name`, or None when the dialect does not write arguments as JSON."""
    call = ParsedCall(name=name, arguments=_PROBE)
    one = _WRITTEN.split(dialect.render([call]))
    if len(one) != 2:
        return None
    two = _WRITTEN.split(dialect.render([call, call]))
    between = two[1] if len(two) == 3 and two[0] == one[0] and two[2] == one[1] else None
    return CallFrame(before=one[0], between=between, after=one[1])

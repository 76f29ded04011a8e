"""Writes the grammars that hold a turn to tool calls or to a JSON Schema, in llguidance's Lark.

Text meets tokens here: a marker that is one special token in the vocabulary is written as that token, so
that the model writes calls as it was trained to. Pure; thread: any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roteiro.chat.call_frame import CallFrame
from roteiro.chat.messages import Tool
from roteiro.conversation.schemas import enforceable
from roteiro.engine.guidance import json_term

# White space that models write between a thought and what follows it.
_LEAD = "lead: /[ \\n]{0,3}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedTool:
    """A tool with the text around its arguments in the dialect that is used."""

    tool: Tool
    frame: CallFrame


def tool_schema(tool: Tool, index: int) -> object:
    """The arguments' schema as it is enforced; a tool without parameters takes none.

    Raises:
        InvalidRequest: a part of it cannot be enforced; the message names the part.
    """
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}, "additionalProperties": False}
    parameters.setdefault("type", "object")
    return enforceable(parameters, param=f"tools[{index}].function.parameters", close=True)


def calls_grammar(
    tools: Sequence[FramedTool],
    schemas: Mapping[str, object],
    specials: Mapping[str, int],
    *,
    several: bool,
    written: str = "",
    after_thought: bool = False,
) -> str:
    """One call, or one and more, to any of `tools`.

    Args:
        tools: with frames; they share the dialect.
        schemas: each tool's enforced schema by name.
        specials: token ids of special texts.
        several: whether a turn may hold more than one call.
        written: what of the first call's marker has been written already.
        after_thought: white space may come first.
    """
    lines = [*_start("calls", lead=after_thought)]
    many = several and all(item.frame.between is not None for item in tools)
    first, further = [], []
    for number, item in enumerate(tools):
        lines.append(f"args_{number}: {json_term(schemas[item.tool.name])}")
        before = item.frame.before.removeprefix(written)
        first.append(f"({_literal(before, specials)} args_{number})")
        if many:
            further.append(f"({_literal(item.frame.between or '', specials)} args_{number})")
    lines.append("first: " + " | ".join(first))
    after = _literal(tools[0].frame.after, specials)
    if many:
        lines.append("further: " + " | ".join(further))
        lines.append(f"calls: first further* {after}")
    else:
        lines.append(f"calls: first {after}")
    return "\n".join(lines) + "\n"


def schema_grammar(schema: object, *, after_thought: bool = False) -> str:
    """JSON text that is valid under `schema`, and nothing else."""
    return "\n".join([*_start("value", lead=after_thought), f"value: {json_term(schema)}"]) + "\n"


def either_grammar(calls: str, schema: object) -> str:
    """What `calls` takes, or JSON text that is valid under `schema`."""
    start, rest = calls.split("\n", 1)
    either = start.replace("calls", "(calls | value)")
    return f"{either}\nvalue: {json_term(schema)}\n{rest}"


def special_texts_in(texts: Sequence[str], specials: Sequence[str]) -> list[str]:
    """Those of `specials` that occur in `texts`."""
    return [special for special in specials if special and any(special in text for text in texts)]


# ------------------------------------------------------------------------------------------------


def _start(rule: str, *, lead: bool) -> list[str]:
    return [f"start: lead {rule}", _LEAD] if lead else [f"start: {rule}"]


def _literal(text: str, specials: Mapping[str, int]) -> str:
    """Lark for exactly this text, special tokens as themselves; nothing for no text."""
    if not text:
        return ""
    if not specials:
        return json.dumps(text, ensure_ascii=False)
    pattern = "|".join(re.escape(special) for special in sorted(specials, key=len, reverse=True))
    terms = []
    for piece in re.split(f"({pattern})", text):
        if piece in specials:
            terms.append(f"<[{specials[piece]}]>")
        elif piece:
            terms.append(json.dumps(piece, ensure_ascii=False))
    return " ".join(terms)

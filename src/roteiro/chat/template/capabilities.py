"""What a template can do, found by rendering small conversations through it and looking for what went in.

Reads the template's text only for the names of fields that no probe can discover. Thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from roteiro.chat.template.budget import Budget
from roteiro.chat.template.sandbox import TemplateRunaway
from roteiro.errors import TemplateError

CallIds = Literal["any", "nine", "function"]
RenderProbe = Callable[
    [Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]] | None, Mapping[str, Any], Budget], str
]

# All probes of one template together.
PROBE_SECONDS = 5.0

_SYSTEM = "Zsystemz words."
_USER = "Zuserz words."
_REPLY = "Zreplyz words."
_RESULT = "Zresultz words."
_THOUGHT = "Zthoughtz words."
_TOOL = "zlookupz"
_DESCRIPTION = "Zdescriptionz of a tool."
_KEY, _VALUE = "zkeyz", "zvaluez"
_LONG_ID = "call_0123456789abcdefzz"
_IDS = {"any": _LONG_ID, "nine": "abcdEF12", "short": "a"}

PROBE_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": _TOOL,
        "description": _DESCRIPTION,
        "parameters": {
            "type": "object",
            "properties": {_KEY: {"type": "string", "description": "A key."}},
            "required": [_KEY],
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a template takes.

    Attributes:
        string_content, typed_content: content as a text, as a list of parts.
        system_role: a leading system message reaches the prompt.
        late_system: one after the first message does too, where it stands.
        repeated_roles: two user messages in a row are taken.
        assistant_first: a conversation may begin with an assistant message.
        tools: tools reach the prompt through the template.
        tools_stated: how often it states each.
        tools_need_system: they do only where there is a system message.
        tool_calls: calls in history reach the prompt.
        tool_results: so do tool messages.
        plain_results: they do after an assistant message that holds its calls as text, too.
        parallel_tool_calls: so does a second call of one turn.
        object_arguments: arguments are wanted as an object, not as JSON text.
        empty_content: what an assistant turn without text has as content, "" or None.
        text_with_calls: text beside calls reaches the prompt.
        call_ids: ids it takes: any, nine alphanumerics, or `functions.NAME:INDEX`.
        reasoning: `reasoning_content` of a turn that is still going on reaches the prompt.
        old_reasoning: that of turns before the last question does too.
        thinking_switch: `enable_thinking` changes the prompt.
        effort: `reasoning_effort` changes it.
        thinking_field, tool_plan_field: the text names these keys of an assistant message.
        one_text_with_calls: beside calls it takes a thought or a text, and refuses both.
    """

    string_content: bool = True
    typed_content: bool = False
    system_role: bool = False
    late_system: bool = False
    repeated_roles: bool = False
    assistant_first: bool = False
    tools: bool = False
    tools_stated: int = 0
    tools_need_system: bool = False
    tool_calls: bool = False
    tool_results: bool = False
    plain_results: bool = False
    parallel_tool_calls: bool = False
    object_arguments: bool = True
    empty_content: Literal[""] | None = ""
    text_with_calls: bool = True
    call_ids: CallIds = "any"
    reasoning: bool = False
    old_reasoning: bool = False
    thinking_switch: bool = False
    effort: bool = False
    thinking_field: bool = False
    tool_plan_field: bool = False
    one_text_with_calls: bool = False

    def as_props(self) -> dict[str, bool]:
        """The map that `/props` shows as `chat_template_caps`."""
        return {
            "supports_string_content": self.string_content,
            "supports_typed_content": self.typed_content,
            "supports_tools": self.tools,
            "supports_tool_calls": self.tool_calls,
            "supports_parallel_tool_calls": self.parallel_tool_calls,
            "supports_system_role": self.system_role,
            "supports_preserve_reasoning": self.old_reasoning,
            "supports_reasoning_effort": self.effort,
            "supports_object_arguments": self.object_arguments,
        }


def find_capabilities(render: RenderProbe, source: str) -> Capabilities:
    """Probe a template. Never raises: what fails is a capability it lacks."""
    probe = _Probe(render)
    plain = [_user(_USER)]
    parts = _takes_parts(render)
    as_text = probe.shows(plain, _USER) or probe.shows(plain, _USER, tools=True)
    typed = parts and not as_text
    probe.typed = typed
    calls = _find_calls(probe, source)
    kept = _find_reasoning_kept(probe, source)
    user, reply = _user(_USER), _assistant(_REPLY)
    return Capabilities(
        string_content=not typed,
        typed_content=parts,
        system_role=probe.shows([_system(_SYSTEM), user], _SYSTEM, _USER),
        late_system=probe.shows([user, reply, _system(_SYSTEM), _user("More.")], _SYSTEM, _REPLY),
        repeated_roles=probe.shows([user, _user("Zsecondz.")], _USER, "Zsecondz."),
        assistant_first=probe.shows([reply, user], _REPLY, _USER),
        **_find_tools(probe),
        plain_results=probe.shows([user, reply, _CALL_SHAPES[0].result()], _REPLY, _RESULT, tools=True),
        thinking_switch=_reacts_to_switch(probe),
        effort=probe.text([user], reasoning_effort="low") != probe.text([user], reasoning_effort="high"),
        thinking_field=_names(source, "thinking"),
        tool_plan_field=_names(source, "tool_plan"),
        **calls,
        reasoning=kept[0],
        old_reasoning=kept[1],
    )


def _find_tools(probe: _Probe) -> dict[str, Any]:
    """Whether and how often tools are stated, and whether it takes a system message for that."""
    user = _user(_USER)
    for leading in ([], [_system(_SYSTEM)]):
        text = probe.text([*leading, user], tools=True)
        if _TOOL in text and _KEY in text:
            return {
                "tools": True,
                "tools_stated": text.count(_DESCRIPTION),
                "tools_need_system": bool(leading),
            }
    return {"tools": False}


def _reacts_to_switch(probe: _Probe) -> bool:
    """By either of the names that published templates give the switch."""
    on = probe.text([_user(_USER)], enable_thinking=True, thinking=True)
    return on != probe.text([_user(_USER)], enable_thinking=False, thinking=False)


class _Probe:
    """Renders probe conversations; a failure is the empty text. A template that runs away is given up."""

    def __init__(self, render: RenderProbe) -> None:
        self._render = render
        self._budget = Budget(PROBE_SECONDS)
        self._gone = False
        self.typed = False

    def text(self, messages: Sequence[Mapping[str, Any]], *, tools: bool = False, **variables: object) -> str:
        if self._gone:
            return ""
        shaped = [_with_parts(message) for message in messages] if self.typed else messages
        try:
            return self._render(shaped, [PROBE_TOOL] if tools else None, variables, self._budget)
        except TemplateRunaway:
            self._gone = True
        except TemplateError:
            pass
        return ""

    def shows(self, messages: Sequence[Mapping[str, Any]], *needles: str, tools: bool = False) -> bool:
        text = self.text(messages, tools=tools)
        return all(needle in text for needle in needles)


@dataclass(frozen=True, slots=True)
class _CallShape:
    """One way to write a call into history."""

    ids: CallIds | Literal["short"]
    empty: Literal[""] | None
    as_object: bool

    def turn(self, *names: str, content: str = "") -> dict[str, Any]:
        """An assistant turn that calls each of `names`."""
        calls = [self._call(name, number) for number, name in enumerate(names)]
        return {"role": "assistant", "content": content or self.empty, "tool_calls": calls}

    def result(self) -> dict[str, Any]:
        """The result of the first call."""
        return {
            "role": "tool",
            "name": _TOOL,
            "tool_call_id": self._call_id(0),
            "content": _RESULT,
        }

    def _call(self, name: str, number: int) -> dict[str, Any]:
        arguments = {_KEY: _VALUE}
        shaped = arguments if self.as_object else json.dumps(arguments)
        return {
            "id": self._call_id(number),
            "type": "function",
            "function": {"name": name, "arguments": shaped},
        }

    def _call_id(self, number: int) -> str:
        return f"{_IDS[self.ids]}{number}"


_CALL_SHAPES: tuple[_CallShape, ...] = tuple(
    _CallShape(ids, empty, as_object)
    for ids in get_args(CallIds)[:2]
    for empty in ("", None)
    for as_object in (True, False)
)


def _find_calls(probe: _Probe, source: str) -> dict[str, Any]:
    """How calls must be shaped so that name, key and value come out as they went in."""
    user = _user(_USER)
    for shape in _CALL_SHAPES:
        turn = shape.turn(_TOOL)
        histories = ([user, turn], [user, turn, shape.result()])
        if any(_call_is_right(probe, probe.text(history, tools=True)) for history in histories):
            return _call_details(probe, source, _with_safe_ids(probe, shape))
    return {"tool_calls": False, "tool_results": False}


def _with_safe_ids(probe: _Probe, shape: _CallShape) -> _CallShape:
    """Some templates take long ids and refuse short ones; nine characters suit them."""
    short = replace(shape, ids="short")
    if shape.ids == "any" and not probe.text([_user(_USER), short.turn(_TOOL), short.result()]):
        return replace(shape, ids="nine")
    return shape


def _call_is_right(probe: _Probe, text: str) -> bool:
    """The arguments stand there as JSON, XML or bare values, not as a Python or doubly quoted text."""
    stated = probe.text([_user(_USER)], tools=True)
    wrong = (f"{{'{_KEY}'", f'\\"{_KEY}')
    return (
        _VALUE in text
        and text.count(_KEY) > stated.count(_KEY)
        and all(text.count(form) <= stated.count(form) for form in wrong)
    )


def _call_details(probe: _Probe, source: str, shape: _CallShape) -> dict[str, Any]:
    user, turn, result = _user(_USER), shape.turn(_TOOL), shape.result()
    spoken = shape.turn(_TOOL, content=_REPLY)
    if _names(source, "tool_plan"):
        spoken["tool_plan"] = _REPLY
    found = probe.text([user, turn, result], tools=True)
    # Without the result, which bears the function's name too.
    alone = probe.text([user, turn], tools=True) or found
    named = alone.count(_TOOL) > probe.text([user], tools=True).count(_TOOL)
    by_function = shape.ids == "any" and not named and _LONG_ID in alone
    thinking = {**spoken, "thinking": _THOUGHT, "reasoning_content": _THOUGHT}
    several = probe.shows([user, shape.turn(_TOOL, "zsecondz"), result], "zsecondz", tools=True)
    return {
        "tool_calls": True,
        "tool_results": _RESULT in found,
        "parallel_tool_calls": several or by_function,
        "object_arguments": shape.as_object,
        "empty_content": shape.empty,
        "text_with_calls": probe.shows([user, spoken, result], _REPLY, _VALUE, tools=True),
        "call_ids": "function" if by_function else shape.ids,
        "one_text_with_calls": not probe.text([user, thinking, result], tools=True),
    }


def _find_reasoning_kept(probe: _Probe, source: str) -> tuple[bool, bool]:
    """In a turn that is still going on, and in one before the last question."""
    user = _user(_USER)
    thought = {**_assistant(_REPLY), "reasoning_content": _THOUGHT}
    if _names(source, "thinking"):
        thought["thinking"] = _THOUGHT
    return (
        probe.shows([user, thought], _THOUGHT),
        probe.shows([user, thought, _user("More.")], _THOUGHT),
    )


def _takes_parts(render: RenderProbe) -> bool:
    probe = _Probe(render)
    probe.typed = True
    text = probe.text([_user(_USER)])
    return _USER in text and "'type'" not in text and '"type"' not in text


def _names(source: str, field: str) -> bool:
    return any(
        form in source
        for form in (f".{field} ", f".{field}\n", f".{field}|", f".{field}}}", f"'{field}'", f'"{field}"')
    )


def _with_parts(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, str):
        return dict(message)
    return {**message, "content": [{"type": "text", "text": content}] if content else []}


def _system(text: str) -> dict[str, Any]:
    return {"role": "system", "content": text}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}

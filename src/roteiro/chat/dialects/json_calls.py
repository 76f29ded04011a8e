"""Calls written as JSON objects with a name and arguments, one by one or in an array.

Families differ in the names of the keys and in what stands around the object; that is a `CallShape` and
the dialect's own markers. Knows no family. Thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from roteiro.chat.dialects.dialect import ParsedCall
from roteiro.chat.dialects.json_scan import is_object_text, read_string, read_value, scan_value
from roteiro.chat.dialects.region import Calls
from roteiro.chat.dialects.source import Malformed, Source, Steps, drop


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShape:
    """How a family spells a call's keys; the first of each is what it writes, the others are understood.

    Attributes:
        name_keys, argument_keys, id_keys: the spellings.
        guarded: True where nothing but the object marks a call, so that an answer in JSON must not be
            taken for one: the arguments must be there, other keys than a call's are not accepted, and
            the call is opened when its arguments begin and not before.
        declared_only: refuse names of no declared tool.
    """

    name_keys: tuple[str, ...] = ("name", "tool_name")
    argument_keys: tuple[str, ...] = ("arguments", "parameters")
    id_keys: tuple[str, ...] = ()
    guarded: bool = False
    declared_only: bool = False


NAME_ARGUMENTS = CallShape()
NAME_PARAMETERS = CallShape(argument_keys=("parameters", "arguments"))

# A call's own keys besides name and arguments, as OpenAI's objects have them.
_FRAME_KEYS = frozenset({"id", "type", "tool_call_id", "index"})


def read_call(source: Source, calls: Calls, shape: CallShape) -> Steps[None]:
    """Read one call object. It is left open: only what follows can prove it whole.

    Raises:
        Malformed: it is no JSON object, or not one that is a call.
    """
    draft = _Draft(calls, shape)
    yield from _read_members(source, draft, nested=False)
    draft.finish()


def read_call_array(source: Source, calls: Calls, shape: CallShape) -> Steps[None]:
    """Read an array of call objects. All but the last are closed; the last is left open.

    Raises:
        Malformed: it is no array, is empty, or has an element that is no call.
    """
    yield from source.expect("[")
    while True:
        yield from source.token()
        yield from read_call(source, calls, shape)
        separator = yield from source.token()
        source.take(1)
        if separator == "]":
            return
        if separator != ",":
            raise Malformed
        calls.close()
        calls.begin()
        calls.recognise()


def read_calls(source: Source, calls: Calls, shape: CallShape) -> Steps[None]:
    """Read one call object or an array of them, whichever stands here.

    Raises:
        Malformed: it is neither.
    """
    reader = read_call_array if (yield from source.token()) == "[" else read_call
    yield from reader(source, calls, shape)


def write_call(call: ParsedCall, shape: CallShape, **frame: object) -> str:
    """One call object as the family writes it; `frame` are further members that come first."""
    members = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in frame.items()]
    members.append(f"{json.dumps(shape.name_keys[0])}: {json.dumps(call.name, ensure_ascii=False)}")
    members.append(f"{json.dumps(shape.argument_keys[0])}: {call.arguments}")
    return "{" + ", ".join(members) + "}"


def write_call_array(calls: Sequence[ParsedCall], shape: CallShape) -> str:
    """An array of call objects as the family writes it."""
    return "[" + ", ".join(write_call(call, shape) for call in calls) + "]"


# ---------------------------------------------------------------------------


class _Draft:
    """One call while its members arrive, in whatever order."""

    def __init__(self, calls: Calls, shape: CallShape) -> None:
        self._calls = calls
        self.shape = shape
        self._name: str | None = None
        self._id: str | None = None
        self._held: list[str] = []
        self._opened = False
        self._has_arguments = False

    def name(self, name: str) -> None:
        if self._name is not None:
            raise Malformed
        if self.shape.declared_only and name not in self._calls.tools:
            raise Malformed
        self._name = name
        if not self.shape.guarded or self._has_arguments:
            self._open()

    def identify(self, call_id: object) -> None:
        if not isinstance(call_id, str) or not call_id or not call_id.isprintable():
            return  # null, a number: not an id that a history could carry
        self._id = call_id
        if self._opened:
            self._calls.identify(self._id)

    def begin_arguments(self) -> None:
        if self._has_arguments:
            raise Malformed
        self._has_arguments = True
        if self._name is not None and not self._opened:
            self._open()

    def write(self, fragment: str) -> None:
        if self._opened:
            self._calls.write(fragment)
        else:
            self._held.append(fragment)

    def finish(self) -> None:
        if not self._has_arguments:
            if self.shape.guarded:
                raise Malformed
            self.begin_arguments()
            self.write("{}")
        if not self._opened:
            raise Malformed

    def _open(self) -> None:
        self._calls.open(self._name or "", self._id)
        self._opened = True
        for fragment in self._held:
            self._calls.write(fragment)
        self._held.clear()


def _read_members(source: Source, draft: _Draft, *, nested: bool) -> Steps[None]:
    yield from source.expect("{")
    if (yield from source.token()) == "}":
        raise Malformed
    while True:
        yield from source.token()
        key = yield from read_string(source)
        yield from source.token()
        yield from source.expect(":")
        value_begins = yield from source.token()
        yield from _read_member(source, draft, key, value_begins, nested=nested)
        separator = yield from source.token()
        source.take(1)
        if separator == "}":
            return
        if separator != ",":
            raise Malformed


def _read_member(source: Source, draft: _Draft, key: str, value_begins: str, *, nested: bool) -> Steps[None]:
    shape = draft.shape
    if key in shape.name_keys or (key == "function" and value_begins == '"'):
        draft.name((yield from read_string(source)))
    elif key in shape.argument_keys:
        yield from _read_arguments(source, draft, value_begins)
    elif key == "function" and value_begins == "{" and not nested:
        yield from _read_members(source, draft, nested=True)
    elif key in shape.id_keys:
        draft.identify((yield from read_value(source)))
    elif shape.guarded and key not in _FRAME_KEYS:
        raise Malformed
    else:
        yield from scan_value(source, drop)


def _read_arguments(source: Source, draft: _Draft, value_begins: str) -> Steps[None]:
    """An object as it comes; a string that holds one (templates that encode twice) once it is whole."""
    if value_begins == "{":
        draft.begin_arguments()
        yield from scan_value(source, draft.write)
        return
    value: Any = yield from read_value(source)
    text = "{}" if value is None or value == "" else value
    if not isinstance(text, str) or not is_object_text(text):
        raise Malformed
    draft.begin_arguments()
    draft.write(text.strip())

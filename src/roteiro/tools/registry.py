"""The tools as one registry: what is declared is what is checked, on every surface.

A tool is a name, one line of description, a pydantic model of its arguments and a function. The model's
JSON Schema (`additionalProperties: false`) is what HTTP, the served model and MCP publish, and validating
with it is the check, so the two cannot drift apart (ADR-0009). Thread: any.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from roteiro.chat.messages import Tool
from roteiro.errors import ConfigError


class Arguments(BaseModel):
    """Base of every tool's arguments: unknown keys are refused, never dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call came to. A failed call is data for the model, not an exception.

    `text` is what the model reads; `data` the same as JSON for programs; `found` says whether there was
    anything; `code` names the failure when `ok` is False. `places` are the `path:line` it cites.
    """

    ok: bool
    text: str
    data: dict[str, Any] | None = None
    found: bool = True
    code: str | None = None
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphTool(Generic[A]):
    """One tool. `run` blocks on the store: it is called off the event loop."""

    name: str
    description: str
    arguments: type[A]
    run: Callable[[A], ToolResult]

    def schema(self) -> dict[str, Any]:
        """The published JSON Schema of the arguments, without pydantic's titles."""
        schema: dict[str, Any] = _plain(self.arguments.model_json_schema())
        schema.pop("description", None)  # the class's docstring is for us
        return schema

    def declaration(self) -> Tool:
        """The tool as the chat package states it."""
        return Tool(name=self.name, description=self.description, parameters=self.schema())

    def call(self, arguments: Any) -> ToolResult:
        """Check the arguments and run; a refusal names the keys that would have worked."""
        try:
            checked = self.arguments.model_validate(arguments)
        except ValidationError as error:
            return ToolResult(ok=False, found=False, code="invalid_arguments", text=self._refusal(error))
        return self.run(checked)

    def _refusal(self, error: ValidationError) -> str:
        parts = []
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            where = ".".join(str(step) for step in item["loc"]) or "arguments"
            if item["type"] == "extra_forbidden":
                near = get_close_matches(where, self.arguments.model_fields, n=1)
                parts.append(
                    f"unknown argument {where!r}" + (f" (did you mean {near[0]!r}?)" if near else "")
                )
            else:
                parts.append(f"{where}: {item['msg'].lower()}")
        keys = ", ".join(field.alias or name for name, field in self.arguments.model_fields.items())
        return f"{self.name} was not run: {'; '.join(parts)}. Its arguments are: {keys}."


class Registry:
    """The tools of one surface, in a fixed order."""

    def __init__(self, tools: Sequence[GraphTool[Any]]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __iter__(self) -> Any:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(self._tools)

    def declarations(self) -> tuple[Tool, ...]:
        """Every tool as the chat package states it."""
        return tuple(tool.declaration() for tool in self._tools.values())

    def narrowed(self, names: Sequence[str] | None) -> Registry:
        """Only the tools named; None keeps all.

        Raises:
            ConfigError: a name is no tool, or nothing is left.
        """
        if names is None:
            return self
        unknown = [name for name in names if name not in self._tools]
        if unknown:
            raise ConfigError(
                [f"[mcp] tools names {name!r}, which is no tool" for name in unknown],
                hint=f"Tools: {', '.join(self._tools)}.",
                param="mcp.tools",
            )
        if not names:
            raise ConfigError(["[mcp] tools leaves no tool over"], param="mcp.tools")
        return Registry([tool for name, tool in self._tools.items() if name in names])

    def call(self, name: str, arguments: str | dict[str, Any]) -> ToolResult:
        """Run one call; whatever is wrong with it becomes a result that says so. Blocks.

        Args:
            name: the tool's name as the model or client wrote it.
            arguments: JSON text or the object.
        """
        tool = self._tools.get(name)
        if tool is None:
            return ToolResult(
                ok=False,
                found=False,
                code="unknown_tool",
                text=f"There is no tool {name!r}. The tools are: {', '.join(self._tools)}.",
            )
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                return ToolResult(
                    ok=False,
                    found=False,
                    code="invalid_arguments",
                    text=f"{name} was not run: its arguments are not valid JSON.",
                )
        return tool.call(arguments)


# ------------------------------------------------------------------------------------------------


def _plain(schema: Any) -> Any:
    """Drop `title`s, which cost prompt tokens and say what the key says; keep properties named so."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _plain(part) for name, part in value.items()} if key == "properties" else _plain(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str)) and not (key == "default" and value is None)
    }

"""What a tool declares is what it takes; everything else is refused with the names that would work."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import Field

from roteiro.errors import ConfigError
from roteiro.tools.registry import Arguments, GraphTool, Registry, ToolResult


class Debt(Arguments):
    categories: list[Literal["todo", "fixme"]] = Field(default=[], description="Which.")
    title: str | None = None


class Path(Arguments):
    source: str = Field(alias="from")


def make() -> tuple[Registry, list]:
    seen: list = []

    def run(arguments: Arguments) -> ToolResult:
        seen.append(arguments)
        return ToolResult(ok=True, text="ran")

    tools = [
        GraphTool(name="debt", description="Debt.", arguments=Debt, run=run),
        GraphTool(name="path", description="Path.", arguments=Path, run=run),
    ]
    return Registry(tools), seen


def test_the_published_schema_forbids_what_the_check_refuses():
    registry, _ = make()
    for tool in registry.declarations():
        assert tool.parameters["additionalProperties"] is False
    debt = registry.declarations()[0].parameters
    assert set(debt["properties"]) == {"categories", "title"}, "a property may be called title"
    assert "title" not in debt


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("debt", '{"kind": ["todo"]}', "invalid_arguments", ["unknown argument 'kind'", "categories"]),
        ("debt", '{"categorys": ["todo"]}', "invalid_arguments", ["did you mean 'categories'?"]),
        ("debt", '{"categories": ["nope"]}', "invalid_arguments", ["categories.0", "todo"]),
        ("debt", "{", "invalid_arguments", ["not valid JSON"]),
        ("debt", "[1]", "invalid_arguments", ["debt was not run"]),
        ("path", "{}", "invalid_arguments", ["from", "required"]),
        ("path", '{"source": "x"}', "invalid_arguments", ["unknown argument 'source'", "from"]),
        ("debts", "{}", "unknown_tool", ["debts", "debt, path"]),
    ],
)
def test_a_refused_call_is_data_that_names_what_would_work(name, arguments, code, words):
    registry, seen = make()
    result = registry.call(name, arguments)
    assert not result.ok
    assert result.code == code
    assert all(word in result.text for word in words)
    assert seen == [], "nothing ran"


def test_a_right_call_runs_with_checked_arguments():
    registry, seen = make()
    assert registry.call("debt", '{"categories": ["todo"]}').ok
    assert registry.call("path", {"from": "a"}).ok
    assert registry.call("debt", "").ok, "no arguments are the empty set"
    assert [type(item) for item in seen] == [Debt, Path, Debt]


def test_a_surface_is_narrowed_and_never_emptied_or_widened():
    registry, _ = make()
    assert registry.narrowed(None).names == ("debt", "path")
    assert registry.narrowed(("path",)).names == ("path",)
    with pytest.raises(ConfigError, match="leaves no tool"):
        registry.narrowed(())
    with pytest.raises(ConfigError, match="'grep'"):
        registry.narrowed(("grep",))

"""The only door to Jinja: an immutable sandbox with the helpers chat templates use, bounded on every step.

`compile_source(text)` parses and compiles; `run(program, variables, budget)` renders. Both raise
`TemplateError` and nothing else. Thread: any; a rendering stays on the thread that called it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

import jinja2
from jinja2 import meta, nodes, pass_context
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from roteiro.chat.template import functions
from roteiro.chat.template.budget import MAX_CHARACTERS, Budget, BudgetExceeded, current, spending
from roteiro.errors import TemplateError

MAX_SOURCE_CHARACTERS = 1 << 20

_ROUNDS = "roteiro_rounds"
_CONCAT = "roteiro_concat"
# Filters that cost more than their input and that no published chat template uses.
_DROPPED_FILTERS = ("urlize", "striptags", "xmlattr", "wordwrap", "center", "random", "slice", "batch")


class TemplateRefusal(TemplateError):
    """The template called `raise_exception`: it understood the conversation and does not take it."""


class TemplateRunaway(TemplateError):
    """The template used up its budget; trying it again another way would only cost more."""


class GenerationBlocks(Extension):
    """`{% generation %}`: marks the assistant's words for training; for us it is its body."""

    tags = {"generation"}  # noqa: RUF012 (Jinja's own declaration)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Read the block and stand its body in its place."""
        next(parser.stream)
        return list(parser.parse_statements(("name:endgeneration",), drop_needle=True))


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Refuses growth before it happens, and counts calls, operations, rounds and output.

    `owns_values`: every list and dictionary a rendering sees is its own, so it may change them.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    owns_values = False

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Also the methods by which some templates keep lists of their own (Kimi K2's queue of ids)."""
        if self.owns_values and functions.is_change(obj, attr):
            return True
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an intercepted operator."""
        return functions.binary_operation(operator, left, right, self.binop_table[operator])

    def call(self, context: Context, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what a template calls (functions, methods, macros, recursive loops)."""
        functions.check_call(function, args)
        return super().call(context, function, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """`str.format` with the widths looked at."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None
        text = value.__self__

        def bounded(*args: Any, **kwargs: Any) -> str:
            functions.check_format(text)
            functions.weigh((*args, *kwargs.values()))
            current().grow(sum(len(str(value)) for value in (*args, *kwargs.values())) + len(text))
            return wrapped(*args, **kwargs)

        return bounded

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        _count_in(tree)
        return tree


def _count_in(node: nodes.Node) -> None:
    """Put our counters around every loop's values and every `~`."""
    for child in node.iter_child_nodes():
        _count_in(child)
    if isinstance(node, nodes.For):
        node.iter = _filtered(node.iter, _ROUNDS)
    for field, value in node.iter_fields():
        if isinstance(value, nodes.Concat):
            setattr(node, field, _joined(value))
        elif isinstance(value, list):
            value[:] = [_joined(part) if isinstance(part, nodes.Concat) else part for part in value]


def _joined(node: nodes.Concat) -> nodes.Filter:
    parts = nodes.List(node.nodes, lineno=node.lineno, environment=node.environment)
    return _filtered(parts, _CONCAT)


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    expression = cast("nodes.Expr", node)
    place = {"lineno": node.lineno, "environment": node.environment}
    return nodes.Filter(expression, name, [], [], None, None, **place)


@pass_context
def _output(context: Context, value: Any) -> Any:
    if isinstance(value, str):
        current().grow(len(value))
    else:
        functions.weigh(value)
    return value


def _environment(*, owns_values: bool) -> BoundedEnvironment:
    made = BoundedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        # Constant folding would run untrusted expressions while compiling, outside any budget.
        optimized=False,
        finalize=_output,
        extensions=["jinja2.ext.loopcontrols", GenerationBlocks],
    )
    made.owns_values = owns_values
    for name in _DROPPED_FILTERS:
        made.filters.pop(name, None)
    made.globals.pop("lipsum", None)
    made.filters.update(
        tojson=functions.to_json,
        fromjson=functions.from_json,
        from_json=functions.from_json,
        items=functions.items,
        replace=functions.replace,
        indent=functions.indent,
        join=functions.join,
        string=functions.to_string,
        format=_format_filter,
    )
    made.filters[_ROUNDS] = functions.count_rounds
    made.filters[_CONCAT] = functions.join_parts
    made.globals.update(raise_exception=functions.raise_exception)
    return made


def _format_filter(text: Any, *args: Any, **kwargs: Any) -> str:
    return str(functions.binary_operation("%", str(text), kwargs or args, lambda a, b: a % b))


class Program:
    """A compiled template.

    Attributes:
        undeclared: the variables it expects to be given.
    """

    __slots__ = ("_owns_values", "_template", "undeclared")

    def __init__(self, template: jinja2.Template, undeclared: frozenset[str], *, owns_values: bool) -> None:
        self._template = template
        self._owns_values = owns_values
        self.undeclared = undeclared

    def run(self, variables: Mapping[str, Any], *, budget: Budget, now: datetime) -> str:
        """Render.

        Args:
            variables: what the template sees beside the helpers.
            budget: what it may use.
            now: the clock behind `strftime_now`.

        Raises:
            TemplateRefusal: the template called `raise_exception`.
            TemplateRunaway: the budget was used up.
            TemplateError: anything else that went wrong inside it.
        """
        try:
            with spending(budget):
                given = functions.copied(variables) if self._owns_values else variables
                known = {**given, "strftime_now": now.strftime}
                return _collect(self._template, known, budget)
        except functions.TemplateRaised as error:
            raise TemplateRefusal(
                f"The model's chat template refuses this conversation: {error}",
                param="messages",
                details={"template_message": str(error)},
            ) from None
        except BudgetExceeded as error:
            raise TemplateRunaway(
                f"The model's chat template was stopped: {error}.",
                hint="Shorten the conversation, or use a model with another template.",
                param="messages",
            ) from None
        except Exception as error:
            raise TemplateError(
                f"The model's chat template failed: {type(error).__name__}: {str(error)[:500]}",
                hint="`roteiro model check` shows what the template can take.",
                param="messages",
            ) from error


def _collect(template: jinja2.Template, variables: dict[str, Any], budget: Budget) -> str:
    chunks: list[str] = []
    size = 0
    for chunk in template.root_render_func(template.new_context(variables)):
        budget.step()
        size += len(chunk)
        if size > MAX_CHARACTERS:
            message = f"it wrote more than {MAX_CHARACTERS} characters"
            raise BudgetExceeded(message)
        chunks.append(chunk)
    return "".join(chunks)


def compile_source(source: str) -> Program:
    """Compile a template's text.

    Raises:
        TemplateError: it is too long or not a template.
    """
    if len(source) > MAX_SOURCE_CHARACTERS:
        raise TemplateError(
            f"The chat template has {len(source)} characters; at most {MAX_SOURCE_CHARACTERS} are read."
        )
    owns_values = functions.mentions_change(source)
    environment = _environment(owns_values=owns_values)
    try:
        undeclared = frozenset(meta.find_undeclared_variables(environment.parse(source)))
        return Program(environment.from_string(source), undeclared, owns_values=owns_values)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(
            f"The chat template cannot be compiled: line {error.lineno}: {error.message}",
            hint="The model needs another template.",
        ) from error
    except Exception as error:
        raise TemplateError(
            f"The chat template cannot be compiled: {type(error).__name__}: {str(error)[:300]}",
            hint="The model needs another template.",
        ) from error

"""A model's chat template: its text, what it can do, and how to render it.

Knows messages only as plain dictionaries. Thread: any; `render` blocks, call it off the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from roteiro.chat.template.budget import Budget
from roteiro.chat.template.capabilities import Capabilities, find_capabilities
from roteiro.chat.template.sandbox import Program, TemplateRunaway, compile_source
from roteiro.errors import TemplateError

# What llama.cpp takes for a model without a template.
CHATML = """{%- for message in messages -%}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- '<|im_start|>assistant\\n' -}}
{%- endif -%}"""

_TRIAL_SECONDS = 1.0
_PLAIN_CONVERSATIONS = (
    [{"role": "user", "content": "hi"}],
    [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
)

_NO_TEMPLATE = "The model carries no chat template; ChatML is used, which it may not know."

# Variables by which published templates keep the thoughts of earlier turns: a replayed conversation
# then renders the bytes that were generated, and its prefix stays valid.
_KEEP_REASONING = {
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
    "drop_thinking": False,
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ChatTemplate:
    """A compiled template. Made by `load_template`.

    Attributes:
        source: its text, newlines normalised.
        bos_token, eos_token: the texts of the vocabulary's tokens, "" where it has none.
        tool_use: the named template to take when tools are stated, if there is one.
        warnings: remarks for `roteiro model check`.
    """

    source: str
    bos_token: str = ""
    eos_token: str = ""
    tool_use: ChatTemplate | None = None
    warnings: tuple[str, ...] = ()
    _program: Program = field(repr=False)

    @cached_property
    def capabilities(self) -> Capabilities:
        """What it can do, found by rendering probes; the first look costs some milliseconds."""
        return find_capabilities(self._probe, self.source)

    def for_tools(self) -> ChatTemplate:
        """The template to render with when tools are stated."""
        return self.tool_use or self

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        variables: Mapping[str, Any] | None = None,
        *,
        budget: Budget | None = None,
        now: datetime | None = None,
    ) -> str:
        """Render plain dictionaries as the template sees them.

        Raises:
            TemplateError: the template refuses the conversation, fails, or exceeds its budget.
        """
        clock = now or datetime.now().astimezone()
        known: dict[str, Any] = {
            # The day only, so that a prompt's beginning stays the same from one request to the next.
            "date_string": clock.strftime("%d %b %Y"),
            "datetime": clock.strftime("%b %d %Y"),
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            "add_generation_prompt": True,
            **_KEEP_REASONING,
            **(variables or {}),
            "messages": list(messages),
        }
        if self._wants_functions:
            known["functions"] = json.dumps(list(tools or ()), indent=4, ensure_ascii=False)
        if tools:
            known["tools"] = list(tools)
        elif self._takes_none_for_tools:
            known["tools"] = None
        else:
            known.pop("tools", None)
        return self._program.run(known, budget=budget or Budget(), now=clock)

    @cached_property
    def _wants_functions(self) -> bool:
        """Firefunction's template takes the tools as one JSON text of this name."""
        return "functions" in self._program.undeclared and "tools" not in self._program.undeclared

    @cached_property
    def _takes_none_for_tools(self) -> bool:
        """What stands for no tools: none, as transformers gives it, or nothing at all, as llama.cpp does.

        Published templates are written for one of them; some fail with the other.
        """
        budget = Budget(_TRIAL_SECONDS)
        return not any(
            self._fails(messages, {"tools": None}, budget) and not self._fails(messages, {}, budget)
            for messages in _PLAIN_CONVERSATIONS
        )

    def _fails(self, messages: list[dict[str, str]], variables: dict[str, Any], budget: Budget) -> bool:
        known = {"bos_token": "", "eos_token": "", "functions": "[]", **variables, "messages": messages}
        try:
            self._program.run(known, budget=budget, now=datetime.now().astimezone())
        except TemplateRunaway:
            return False  # nothing can be learnt from it
        except TemplateError:
            return True
        return False

    def _probe(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        variables: Mapping[str, Any],
        budget: Budget,
    ) -> str:
        return self.render(messages, tools, variables, budget=budget)


def load_template(
    source: str | Mapping[str, str] | None,
    *,
    bos_token: str = "",
    eos_token: str = "",
) -> ChatTemplate:
    """Compile a model's template.

    Args:
        source: its text; or named texts, of which `default` and `tool_use` are used and the others are
            not even compiled; or None or nothing, which means ChatML.
        bos_token: text of the beginning-of-sequence token.
        eos_token: text of the end-of-sequence token.

    Raises:
        TemplateError: the (default) text is not a template.
    """
    named = {"default": source} if isinstance(source, str) else dict(source or {})
    warnings: list[str] = []
    text = named.get("default") or next(
        (value for name, value in named.items() if name != "tool_use" and value), ""
    )
    if not text.strip():
        text = CHATML
        warnings.append(_NO_TEMPLATE)
    tool_use = _load_tool_use(named.get("tool_use"), bos_token, eos_token, warnings)
    text = normalise_source(text)
    return ChatTemplate(
        source=text,
        bos_token=bos_token,
        eos_token=eos_token,
        tool_use=tool_use,
        warnings=tuple(warnings),
        _program=compile_source(text),
    )


def _load_tool_use(
    text: str | None, bos_token: str, eos_token: str, warnings: list[str]
) -> ChatTemplate | None:
    if not text:
        return None
    try:
        return load_template(text, bos_token=bos_token, eos_token=eos_token)
    except TemplateError as error:
        # A broken secondary template must not keep a model from being served.
        warnings.append(f"The template named tool_use is not used: {error.message}")
        return None


def normalise_source(text: str) -> str:
    """Line feeds only, and one newline at the end removed, as `/props` shows it."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")

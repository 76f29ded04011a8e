"""Finds how a model marks its thoughts: `find_reasoning(template, special_tokens) -> Reasoning | None`.

Known markers are a table; which of them applies, whether the generation prompt opens the block and what
stands between thought and answer is found by rendering. Thread: any; blocks like any rendering.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from roteiro.chat.reasoning import Reasoning
from roteiro.chat.template import ChatTemplate
from roteiro.errors import TemplateError

_THOUGHT, _REPLY = "zthoughtz", "zreplyz"
_USER: dict[str, Any] = {"role": "user", "content": "zuserz"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Markers:
    """A family's markers. `proof`: the text whose presence in template or vocabulary says they are used."""

    start: str
    end: str
    proof: str
    end_text: str = ""
    anywhere: bool = False
    silent: tuple[str, ...] = ()


# In the order in which they are looked for: the more telling proof first.
_FAMILIES = (
    _Markers(
        start="<|channel|>analysis<|message|>",
        end="<|end|>",
        proof="<|channel|>",
        end_text="<|end|><|start|>assistant<|channel|>final<|message|>",
        anywhere=True,
        silent=(
            "<|start|>assistant",
            "<|channel|>final<|message|>",
            "<|channel|>commentary<|message|>",
            "<|end|>",
            "<|return|>",
        ),
    ),
    _Markers(start="<|channel>thought", end="<channel|>", proof="<|channel>"),
    _Markers(
        start="<|START_THINKING|>",
        end="<|END_THINKING|>",
        proof="<|START_THINKING|>",
        end_text="<|END_THINKING|><|START_RESPONSE|>",
        silent=("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    ),
    _Markers(start="[THINK]", end="[/THINK]", proof="[THINK]", end_text="[/THINK]"),
    _Markers(start="<seed:think>", end="</seed:think>", proof="seed:think>"),
    _Markers(start="<|inner_prefix|>", end="<|inner_suffix|>", proof="<|inner_prefix|>"),
    _Markers(start="<unused94>thought", end="<unused95>", proof="<unused94>thought"),
    _Markers(
        start="Here are my reasoning steps:",
        end="[BEGIN FINAL RESPONSE]",
        proof="[BEGIN FINAL RESPONSE]",
        end_text="\n[BEGIN FINAL RESPONSE]\n",
        silent=("[END FINAL RESPONSE]",),
    ),
    _Markers(start="◁think▷", end="◁/think▷", proof="◁think▷"),
    _Markers(start="<|begin_of_thought|>", end="<|end_of_thought|>", proof="<|begin_of_thought|>"),
    _Markers(start="<think>", end="</think>", proof="think>"),
    _Markers(start="<thought>", end="</thought>", proof="thought>"),
    _Markers(start="<thinking>", end="</thinking>", proof="</thinking>"),
    _Markers(start="<reasoning>", end="</reasoning>", proof="</reasoning>"),
)
# Some families write the answer in a block of its own beside the thought.
_ANSWER_BLOCKS = (("<response>", "</response>"), ("<answer>", "</answer>"))


def find_reasoning(template: ChatTemplate, special_tokens: Collection[str] = ()) -> Reasoning | None:
    """The model's thought markers, or None where it has none.

    Args:
        template: the model's template.
        special_tokens: texts of its special tokens, for models whose template never names the markers.
    """
    known = next((m for m in _FAMILIES if m.proof in template.source), None)
    if known is None:
        known = next((m for m in _FAMILIES if m.start in special_tokens and m.end in special_tokens), None)
    if known is None:
        return None
    found = Reasoning(
        start=known.start,
        end=known.end,
        end_text=known.end_text or f"\n{known.end}\n\n",
        anywhere=known.anywhere,
        silent=known.silent,
        answer_block=next(
            (block for block in _ANSWER_BLOCKS if all(mark in template.source for mark in block)), None
        ),
        switch=template.capabilities.thinking_switch,
    )
    prompt = _render(template, [_USER], thinking=True)
    opened = prompt.rstrip().endswith(known.start)
    if opened and prompt.endswith(known.start) and not known.end_text:
        # It puts no line break after the start marker, so it puts none before the end marker.
        found = replace(found, end_text=known.end)
    return replace(found, opened=opened, end_text=_replayed_end(template, found) or found.end_text)


def _replayed_end(template: ChatTemplate, reasoning: Reasoning) -> str:
    """What the template writes between a thought and its answer; "" where it keeps no thoughts."""
    ours = f"\n{reasoning.end}\n\n"
    inline = f"{reasoning.start}\n{_THOUGHT}{ours}{_REPLY}"
    for turn in (
        {"content": _REPLY, "reasoning_content": _THOUGHT, "thinking": _THOUGHT},
        {"content": inline},
    ):
        for more in ([], [{"role": "user", "content": "zmorez"}]):
            text = _render(template, [_USER, {"role": "assistant", **turn}, *more], thinking=True)
            before, thought, after = text.partition(_THOUGHT)
            between, reply, _ = after.partition(_REPLY)
            known = reasoning.start in before and reasoning.end in between
            # A template that hands our own text through says nothing about its family.
            if thought and reply and known and (between != ours or turn["content"] != inline):
                return between
    return ""


def _render(template: ChatTemplate, messages: list[dict[str, Any]], *, thinking: bool) -> str:
    shaped = messages
    if not template.capabilities.string_content:
        shaped = [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in messages]
    try:
        return template.render(shaped, None, {"enable_thinking": thinking, "thinking": thinking})
    except TemplateError:
        return ""

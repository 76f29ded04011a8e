"""Renders probe conversations through a template and cuts out what the model would have written.

All probes of one detection share a budget, so that a slow template cannot hold a thread for minutes.
Thread: any; blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

from roteiro.chat.messages import Message, Tool
from roteiro.chat.probes import ProbeCalls
from roteiro.chat.shaping import TOOLS_SYSTEM, shape_messages, shape_tools
from roteiro.chat.template import ChatTemplate
from roteiro.chat.template.budget import Budget
from roteiro.errors import TemplateError

# Some fifty small renderings take a tenth of this on a slow machine.
DETECTION_SECONDS = 10.0
_QUESTION = Message(role="user", content="Store the values.")


class ProbeRenderer:
    """Renders for one template; what fails is the empty text."""

    def __init__(self, template: ChatTemplate, budget: Budget) -> None:
        self._template = template
        self._budget = budget

    def prompt(self, tools: Sequence[Tool] = (), *, generation: bool = True) -> str:
        """A question, with the generation prompt or without."""
        return self._render([_QUESTION], tools, generation=generation)

    def turn(self, probe: ProbeCalls) -> tuple[str, ...]:
        """The probe's turn as the template writes it: after the generation prompt, and after the question.

        Nothing when the template takes no such turn.
        """
        capabilities = self._template.capabilities
        if len(probe.calls) > 1 and not capabilities.parallel_tool_calls:
            return ()
        ids = [f"abcdEF12{number}" for number in range(len(probe.calls))]
        turn = Message(role="assistant", tool_calls=probe.tool_calls(ids))
        results = [
            Message(role="tool", tool_call_id=call_id, name=name, content="done")
            for call_id, (name, _) in zip(ids, probe.calls, strict=True)
        ]
        starts = [self.prompt(probe.tools, generation=on) for on in (True, False)]
        wholes = [
            self._render([_QUESTION, turn, *more], probe.tools, generation=False) for more in ([], results)
        ]
        cut = (whole[_common(start, whole) :] for whole in wholes if whole for start in starts)
        return tuple(dict.fromkeys(cut))

    def _render(self, messages: Sequence[Message], tools: Sequence[Tool], *, generation: bool) -> str:
        if tools and self._template.capabilities.tools_need_system:
            messages = [Message(role="system", content=TOOLS_SYSTEM), *messages]
        shaped = shape_messages(messages, self._template.capabilities)
        variables = {"add_generation_prompt": generation}
        try:
            return self._template.render(shaped, shape_tools(tools), variables, budget=self._budget)
        except TemplateError:
            return ""


def _common(start: str, whole: str) -> int:
    """Length of the common beginning, without the beginning of a marker that only one of them has."""
    length = next(
        (n for n, (left, right) in enumerate(zip(start, whole, strict=False)) if left != right),
        min(len(start), len(whole)),
    )
    # "<think>" against "<tool_call>": the shared "<t" belongs to what follows.
    opened = max(start.rfind(mark, 0, length) for mark in "<[{")
    closed = max(start.rfind(mark, 0, length) for mark in ">]}")
    return opened if length < len(start) and opened > closed else length

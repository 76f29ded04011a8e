"""A conversation as a prompt: `render_prompt(template, messages, tools, options) -> RenderedPrompt`.

Signatures::

    render_prompt(template: ChatTemplate, messages: Sequence[Message], tools: Sequence[Tool] = (),
                  options: RenderOptions = RenderOptions()) -> RenderedPrompt      # blocks, up to seconds
    await render(template, messages, tools, options) -> RenderedPrompt             # the same, on a thread
    RenderedPrompt.parts: tuple[tuple[str, bool], ...]    # (text, parse_special); tokenise WITHOUT adding
                                                          # special tokens: the BOS stands in the text
    RenderedPrompt.reasoning_open: bool                   # goes to ChatParser
    RenderedPrompt.tools: "native" | "preamble" | "none"

Knows text only. Thread: any; `render` keeps the event loop free and leaves a runaway template to end itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal

import anyio.to_thread

from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.folding import ways
from roteiro.chat.inert import Parts, Placeholders, bos_once, merge_parts
from roteiro.chat.messages import Message, Tool
from roteiro.chat.preamble import state_tools
from roteiro.chat.protecting import protect_message, protect_tool
from roteiro.chat.reasoning import Reasoning
from roteiro.chat.shaping import TOOLS_SYSTEM, shape_messages, shape_tools
from roteiro.chat.template import ChatTemplate
from roteiro.chat.template.budget import Budget
from roteiro.chat.template.sandbox import TemplateRunaway
from roteiro.errors import InvalidRequest, TemplateError

ToolsStated = Literal["native", "preamble", "none"]
Continue = bool | Literal["content", "reasoning_content"]

# Enough of a text to recognise it in the prompt, and few enough to survive what templates do to it.
_NEEDLE = re.compile(r"[^\W_](?:[\w ]{2,30})[^\W_]")
_NEEDLE_SEARCH_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How to render.

    Attributes:
        dialect: how this model writes calls; needed for tools a template does not state itself.
        native_tools: state tools through the template; None asks the template's capabilities.
        own_calls: the dialect writes the calls in the history, though the template would (it spoils some).
        reasoning: the model's thought markers, for continuing a message.
        special_tokens: texts of the vocabulary's special tokens, which content must not become.
        bos_text: text of the BOS token, "" for none.
        add_bos: the vocabulary puts it before every prompt.
        enable_thinking: what the request says; None leaves it on.
        reasoning_effort: as in the request; `none` turns thinking off.
        template_variables: `chat_template_kwargs`.
        documents: given to templates that cite them.
        add_generation_prompt: None and True open the assistant's turn, unless one is continued.
        continue_final_message: continue the last message, which is the assistant's: its text, or its
            thought (`reasoning_content`). None continues it when it is last; False never does.
        now: the clock for templates that ask for it; None takes the real one.
    """

    dialect: Dialect | None = None
    native_tools: bool | None = None
    own_calls: bool = False
    reasoning: Reasoning | None = None
    special_tokens: Collection[str] = ()
    bos_text: str = ""
    add_bos: bool = False
    enable_thinking: bool | None = None
    reasoning_effort: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    documents: Sequence[Mapping[str, Any]] = ()
    add_generation_prompt: bool | None = None
    continue_final_message: Continue | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPrompt:
    """A prompt, ready to be tokenised part by part without adding special tokens.

    Attributes:
        parts: text, and whether special tokens are to be recognised in it.
        reasoning_open: the prompt ends inside a thought.
        tools: how the tools were stated.
        prefill: the assistant's text that is continued, "" for none.
        opener: a call marker that the generation prompt ends in; the parser must be told of it.
    """

    parts: Parts
    reasoning_open: bool = False
    tools: ToolsStated = "none"
    prefill: str = ""
    opener: str = ""

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(text for text, _ in self.parts)


async def render(
    template: ChatTemplate,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    options: RenderOptions | None = None,
) -> RenderedPrompt:
    """`render_prompt` on a worker thread. A caller that leaves does not wait for it."""
    work = partial(render_prompt, template, messages, tools, options)
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def render_prompt(
    template: ChatTemplate,
    messages: Sequence[Message],
    tools: Sequence[Tool] = (),
    options: RenderOptions | None = None,
) -> RenderedPrompt:
    """Render a conversation through the model's template.

    Raises:
        TemplateError: the template refuses the conversation in every legal form, fails, or runs away;
            the message holds the template's own words.
        InvalidRequest: the last message cannot be continued.
    """
    options = options or RenderOptions()
    history, continued = _split_continued(messages, options)
    chosen = template.for_tools() if tools else template
    work = _Rendering(chosen, options, continued)
    parts, stated = work.conversation(history, tools)
    if continued is not None:
        parts = merge_parts((*parts, *_continuation(continued, "".join(t for t, _ in parts), options)))
    parts = bos_once(parts, options.bos_text, options.add_bos)
    return RenderedPrompt(
        parts=parts,
        reasoning_open=_is_open(parts, continued, options),
        tools=stated,
        prefill=(continued.content or "") if continued is not None else "",
        opener=_opener_at_end(parts, options.dialect) if continued is None else "",
    )


# -------------------------------------------------------------------------------------------------


class _PlaceholderCut(Exception):
    """The template did not leave a placeholder whole."""


class _Rendering:
    """One prompt's rendering: the attempts share one budget."""

    def __init__(self, template: ChatTemplate, options: RenderOptions, continued: Message | None) -> None:
        self._template = template
        self._capabilities = template.capabilities
        self._options = options
        self._variables = _variables(options, continued)
        self._budget = Budget()

    def conversation(self, history: Sequence[Message], tools: Sequence[Tool]) -> tuple[Parts, ToolsStated]:
        # What people wrote is made inert before our own text, whose markers are meant, joins it.
        for breaking in (False, True):
            places = Placeholders(self._options.special_tokens, breaking=breaking)
            safe = [protect_message(message, places, self._own_marks(message)) for message in history]
            try:
                return self._state(safe, [protect_tool(tool, places) for tool in tools], places)
            except _PlaceholderCut:
                continue
        raise AssertionError  # separators cannot be cut

    def _own_marks(self, message: Message) -> tuple[str, ...]:
        """Templates look for thought markers in the assistant's own text."""
        if message.role != "assistant" or self._options.reasoning is None:
            return ()
        return (self._options.reasoning.start, self._options.reasoning.end)

    def _state(
        self, history: Sequence[Message], tools: Sequence[Tool], places: Placeholders
    ) -> tuple[Parts, ToolsStated]:
        native = self._options.native_tools
        native = self._capabilities.tools if native is None else native
        if tools and native:
            parts = self._try_native(history, tools, places)
            if parts is not None:
                return parts, "native"
        if not tools:
            text_calls = not (self._capabilities.tool_calls and self._capabilities.tool_results)
            return self._fold(history, (), places, text_calls=text_calls), "none"
        # What the model is told about calls and what it sees in its history must be of one form.
        preamble = Message(role="system", content=state_tools(tools, self._options.dialect))
        leading = next((n for n, message in enumerate(history) if message.role != "system"), len(history))
        stated = [*history[:leading], preamble, *history[leading:]]
        return self._fold(stated, (), places, text_calls=True), "preamble"

    def _try_native(
        self, history: Sequence[Message], tools: Sequence[Tool], places: Placeholders
    ) -> Parts | None:
        """Through the template; None when it cannot take these tools after all."""
        if self._capabilities.tools_need_system and (not history or history[0].role != "system"):
            history = [Message(role="system", content=TOOLS_SYSTEM), *history]
        own = self._options.own_calls or not self._capabilities.tool_calls
        try:
            return self._fold(history, tools, places, text_calls=own, keep_results=True)
        except TemplateRunaway:
            raise
        except TemplateError:
            return None

    def _fold(
        self,
        history: Sequence[Message],
        tools: Sequence[Tool],
        places: Placeholders,
        *,
        text_calls: bool,
        keep_results: bool = False,
    ) -> Parts:
        """The first form of the conversation that the template takes without losing text."""
        refused: TemplateError | None = None
        lossy: str | None = None
        dialect = self._options.dialect
        for form in ways(
            history, self._capabilities, dialect, text_calls=text_calls, keep_results=keep_results
        ):
            try:
                rendered = self._once(form, tools, places)
            except TemplateRunaway:
                raise
            except TemplateError as error:
                refused = refused or error
                continue
            if _keeps(form, rendered):
                return _split(places, rendered)
            lossy = lossy or rendered
        if lossy is not None:
            return _split(places, lossy)
        assert refused is not None
        raise refused

    def _once(self, messages: Sequence[Message], tools: Sequence[Tool], places: Placeholders) -> str:
        """Render one form.

        Raises:
            TemplateError: the template refuses it, or leaves a tool out.
        """
        rendered = self._template.render(
            shape_messages(messages, self._capabilities),
            shape_tools(tools),
            places.protect(self._variables),
            budget=self._budget,
            now=self._options.now,
        )
        missing = [tool.name for tool in tools if tool.name not in rendered]
        if missing:
            raise TemplateError(f"The model's chat template leaves out the tool {missing[0]!r}.")
        return rendered


def _split(places: Placeholders, rendered: str) -> Parts:
    parts = places.split(rendered)
    if parts is None:
        raise _PlaceholderCut
    return parts


def _variables(options: RenderOptions, continued: Message | None) -> dict[str, Any]:
    thinking = options.template_variables.get("enable_thinking", options.enable_thinking)
    if options.reasoning_effort == "none":
        thinking = False
    if continued is not None and not continued.reasoning_content:
        # An answer that is continued has no thought before it that is still to come.
        thinking = options.continue_final_message == "reasoning_content"
    variables: dict[str, Any] = {}
    if thinking is not None:
        # The same switch by the name that DeepSeek and Granite templates give it.
        variables["thinking"] = thinking
    if options.reasoning_effort and options.reasoning_effort != "none":
        variables["reasoning_effort"] = options.reasoning_effort
        variables["reasoning_strength"] = options.reasoning_effort
    if options.documents:
        variables["documents"] = [dict(document) for document in options.documents]
    opens = options.add_generation_prompt is not False or continued is not None
    return {
        **variables,
        **options.template_variables,
        "enable_thinking": True if thinking is None else thinking,
        "add_generation_prompt": opens,
    }


def _split_continued(
    messages: Sequence[Message], options: RenderOptions
) -> tuple[Sequence[Message], Message | None]:
    """The history, and the assistant's message to continue."""
    asked = options.continue_final_message
    last = messages[-1] if messages else None
    if last is None or last.role != "assistant":
        if asked:
            raise InvalidRequest(
                "continue_final_message is set, but the last message is not the assistant's.",
                hint="End the messages with the assistant message to continue.",
                param="continue_final_message",
            )
        return messages, None
    if asked is False or (asked is None and options.add_generation_prompt is False):
        return messages, None
    if last.tool_calls:
        raise InvalidRequest(
            "The last message is an assistant message with tool_calls, which cannot be continued.",
            hint="Add the tool's result as a tool message.",
            param="messages",
        )
    if len(messages) > 1 and messages[-2].role == "assistant":
        raise InvalidRequest(
            "The messages end with two assistant messages; only one can be continued.",
            hint="Merge them into one.",
            param="messages",
        )
    return messages[:-1], last


def _continuation(message: Message, prompt: str, options: RenderOptions) -> Parts:
    """What stands after the generation prompt: the thought and the text that are continued."""
    reasoning = options.reasoning
    before = ""
    thought = message.reasoning_content or ""
    only_thought = options.continue_final_message == "reasoning_content"
    if reasoning is not None:
        opened = _ends_open(prompt, reasoning)
        closed = "" if only_thought else reasoning.end_text
        if thought or only_thought:
            before = ("" if opened else f"{reasoning.start}\n") + thought + closed
        elif opened:
            before = closed
    text = "" if only_thought else message.content or ""
    places = Placeholders(options.special_tokens)
    own = (reasoning.start, reasoning.end) if reasoning is not None else ()
    parts = places.split(before + places.protect(text, except_for=own))
    return parts if parts is not None else ((before + text, False),)


def _ends_open(prompt: str, reasoning: Reasoning) -> bool:
    return prompt.rstrip().endswith(reasoning.start)


def _opener_at_end(parts: Parts, dialect: Dialect | None) -> str:
    if dialect is None or not parts or dialect.envelope.line_start:
        return ""
    return next((o for o in dialect.envelope.openers if parts[-1][0].endswith(o)), "")


def _is_open(parts: Parts, continued: Message | None, options: RenderOptions) -> bool:
    if options.reasoning is None or not parts:
        return False
    if continued is not None:
        return options.continue_final_message == "reasoning_content"
    return _ends_open(parts[-1][0], options.reasoning)


def _keeps(messages: Sequence[Message], prompt: str) -> bool:
    """True when what people and tools said stands in the prompt; templates may drop old thoughts."""
    for message in messages:
        if message.role == "assistant" or not message.content:
            continue
        needle = _NEEDLE.search(message.content, 0, _NEEDLE_SEARCH_CHARACTERS)
        if needle is not None and needle[0] not in prompt:
            return False
    return True

"""Proves how a model's tools work: `detect(template, special_tokens=...) -> Detection`.

Probe calls are rendered through the model's own template, and the dialect whose reader returns exactly them
is the model's. Where the template renders no calls, its words about tools and the vocabulary decide, and the
calls are written by the dialect itself. Thread: any; blocks for some tens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from roteiro.chat import dialects
from roteiro.chat.delimiters import find_reasoning
from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.probe_turns import DETECTION_SECONDS, ProbeRenderer
from roteiro.chat.probes import PROBES
from roteiro.chat.proving import Proof, Verdict, by_rendering, by_writing
from roteiro.chat.reasoning import Reasoning
from roteiro.chat.template import Capabilities, ChatTemplate
from roteiro.chat.template.budget import Budget

ToolsMode = Literal["native", "preamble", "none"]

# What we ask for where nothing tells what the model knows, and what small models write instead.
_PREAMBLE_DIALECT = "hermes"
_UNMARKED_DIALECT = "bare_json"
# What tells forms apart that begin alike.
_WORDED_MARKS = (("<arg_key>", "glm"), ("<function=", "qwen3_coder"))
# How families list tools, for templates that never show a call.
_FAMILY_MARKS = (
    ("<|tool_list_start|>", "lfm2"),
    ("<AVAILABLE_TOOLS>", "nemotron"),
    ("[AVAILABLE_TOOLS]", "mistral_array"),
    ("tools<|end_of_role|>", "granite"),
    ("<|/tool|>", "phi4"),
    ("<tools>", "hermes"),
    ("List of tools: [", "lfm2.5"),
    ("\u8bf7\u4f7f\u7528 Json \u683c\u5f0f\u8868\u793a\u8c03\u7528\u7684\u53c2\u6570", "glm4"),
)
_BY_PROBES = "probe calls through the template"
_UNKNOWN_FORM = "The template states tools in a call form that Roteiro does not know."
_BOS_TEXTS = (
    "<s>",
    "<bos>",
    "<|begin_of_text|>",
    "<\uff5cbegin\u2581of\u2581sentence\uff5c>",
    "<|startoftext|>",
    "<|hy_begin▁of▁sentence|>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What is known of a model's template.

    Attributes:
        ok: tools work, and every probe says so.
        dialect: the form in which calls are stated and written into history; None without one.
        reading: the forms to look for in an answer, the dialect first.
        tools: how tools are stated: by the template, by our preamble, or not at all.
        own_calls: calls in history are written by the dialect, as the template would spoil or drop them.
        tools_stated: how often the model is told of each tool.
        proof: how the dialect was found.
        probes: each probe's verdict.
        system_role: a system message reaches the prompt through the template.
        reasoning: the thought markers, or None.
        bos_count: BOS texts the template itself writes at the beginning.
        capabilities: everything else the template can do.
        warnings: remarks.
    """

    ok: bool
    dialect: Dialect | None
    reading: tuple[Dialect, ...]
    tools: ToolsMode
    own_calls: bool
    tools_stated: int
    proof: str
    probes: tuple[Verdict, ...]
    system_role: bool
    reasoning: Reasoning | None
    bos_count: int
    capabilities: Capabilities
    warnings: tuple[str, ...] = ()


def detect(
    template: ChatTemplate,
    *,
    special_tokens: Collection[str] = (),
    known: Sequence[Dialect] = dialects.ALL,
) -> Detection:
    """Find the dialect and everything else `roteiro model check` shows.

    Args:
        template: the model's template.
        special_tokens: texts of its vocabulary's special tokens, where they are at hand.
        known: the dialects to try, in order.
    """
    chosen = template.for_tools()
    capabilities = chosen.capabilities
    reasoning = find_reasoning(template, special_tokens)
    probing = ProbeRenderer(chosen, Budget(DETECTION_SECONDS))
    proof, how = _find(chosen, probing, known, reasoning, special_tokens)
    dialect, verdicts = proof.dialect, proof.verdicts
    native = capabilities.tools and bool(how)
    unproved = capabilities.tools and not native
    if unproved:
        verdicts = (*verdicts, Verdict(name="call_form", ok=False, detail=_UNKNOWN_FORM))
    text = ProbeRenderer(template, Budget()).prompt()
    # Some templates are only for requests with tools.
    renders = bool(text or probing.prompt(PROBES[0].tools))
    return Detection(
        ok=renders and all(verdict.ok for verdict in verdicts),
        dialect=dialect,
        reading=_reading(dialect, known, native=native),
        tools=_mode(native=native, renders=renders),
        own_calls=not proof.faithful,
        tools_stated=capabilities.tools_stated if native else int(renders),
        proof=how or "Roteiro's own preamble",
        probes=verdicts,
        system_role=template.capabilities.system_role,
        reasoning=reasoning,
        bos_count=_count_bos(text, template.bos_token),
        capabilities=capabilities,
        warnings=_warnings(template, renders=renders, unproved=unproved),
    )


# -------------------------------------------------------------------------------------------------


def _mode(*, native: bool, renders: bool) -> ToolsMode:
    if not renders:
        return "none"
    return "native" if native else "preamble"


def _find(
    template: ChatTemplate,
    probing: ProbeRenderer,
    known: Sequence[Dialect],
    reasoning: Reasoning | None,
    special_tokens: Collection[str],
) -> tuple[Proof, str]:
    """The dialect and the verdicts under it, and how it was found ("" for our own choice)."""
    stated = _stated(probing) if template.capabilities.tools else ""
    worded = _of_marks(_WORDED_MARKS, stated, known) or _named_in((stated,), known)
    if template.capabilities.tool_calls:
        proof = by_rendering(probing, known, reasoning)
        # A template may ask for a marked form and write history without the marks.
        if proof is not None and (worded is None or _is_unmarked(worded) or not _is_unmarked(proof.dialect)):
            return proof, _BY_PROBES
    if template.capabilities.tools:
        named = (
            worded
            or _of_marks(_FAMILY_MARKS, f"{stated}\n{template.source}", known)
            or _named_in(special_tokens, known)
            or _named_in((template.source,), known)
        )
        if named is not None:
            return _written(named, reasoning), "the template's words about tools"
    named = _named_in(special_tokens, known) or _of_marks(_FAMILY_MARKS, template.source, known)
    return _written(named or _fallback(known), reasoning), ""


def _written(dialect: Dialect, reasoning: Reasoning | None) -> Proof:
    return Proof(dialect=dialect, verdicts=by_writing(dialect, reasoning), faithful=False)


def _fallback(known: Sequence[Dialect]) -> Dialect:
    return next((dialect for dialect in known if dialect.name == _PREAMBLE_DIALECT), known[0])


def _stated(probing: ProbeRenderer) -> str:
    """What the template says where there are tools and does not say without."""
    plain = set(probing.prompt().splitlines())
    return "\n".join(line for line in probing.prompt(PROBES[0].tools).splitlines() if line not in plain)


def _is_unmarked(dialect: Dialect) -> bool:
    return dialect.envelope.line_start


def _named_in(texts: Iterable[str], known: Sequence[Dialect]) -> Dialect | None:
    """The first marked dialect all of whose markers occur in the texts."""
    joined = "\n".join(texts)
    return next(
        (d for d in known if any(m in joined for m in _marks(d)) and _has_closer(joined, d)),
        None,
    )


def _of_marks(marks: Sequence[tuple[str, str]], text: str, known: Sequence[Dialect]) -> Dialect | None:
    """The dialect of the first mark that the text has."""
    name = next((name for mark, name in marks if mark in text), None)
    return next((dialect for dialect in known if dialect.name == name), None)


def _marks(dialect: Dialect) -> tuple[str, ...]:
    """Openers that say something; `{` at the beginning of a line does not."""
    envelope = dialect.envelope
    return envelope.anywhere if envelope.line_start else (*envelope.openers, *envelope.anywhere)


def _has_closer(text: str, dialect: Dialect) -> bool:
    return dialect.envelope.closer is None or dialect.envelope.closer in text


def _reading(dialect: Dialect | None, known: Sequence[Dialect], *, native: bool) -> tuple[Dialect, ...]:
    """The dialect, and bare JSON beside it where small models are known to forget the markers."""
    if dialect is None:
        return ()
    if native and dialect.name != _PREAMBLE_DIALECT:
        return (dialect,)
    return (dialect, *(d for d in known if d.name == _UNMARKED_DIALECT))


def _count_bos(text: str, bos_token: str) -> int:
    """BOS texts at the beginning; a template may have its family's written into it."""
    texts = [known for known in (bos_token, *_BOS_TEXTS) if known]
    count = 0
    while (written := next((known for known in texts if text.startswith(known)), None)) is not None:
        text = text[len(written) :]
        count += 1
    return count


def _warnings(template: ChatTemplate, *, renders: bool, unproved: bool) -> tuple[str, ...]:
    found = list(template.warnings)
    if not renders:
        found.append("The template cannot render a single user message.")
    if unproved:
        found.append(_UNKNOWN_FORM)
    return tuple(found)

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
from roteiro.chat.events import ToolCallEnd, ToolCallStart
from roteiro.chat.parser import ChatParser
from roteiro.chat.probe_turns import DETECTION_SECONDS, ProbeRenderer
from roteiro.chat.probes import PROBES, ProbeCalls, same_calls
from roteiro.chat.reasoning import Reasoning
from roteiro.chat.template import Capabilities, ChatTemplate
from roteiro.chat.template.budget import Budget

ToolsMode = Literal["native", "preamble", "none"]

# What we ask for where nothing tells what the model knows, and what small models write instead.
_PREAMBLE_DIALECT = "hermes"
_UNMARKED_DIALECT = "bare_json"
# How families list tools, for templates that never show a call.
_FAMILY_MARKS = (
    ("<|tool_list_start|>", "lfm2"),
    ("<AVAILABLE_TOOLS>", "nemotron"),
    ("[AVAILABLE_TOOLS]", "mistral_array"),
    ("tools<|end_of_role|>", "granite"),
    ("<|/tool|>", "phi4"),
    ("<tools>", "hermes"),
)
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
class Verdict:
    """What one probe showed."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What is known of a model's template.

    Attributes:
        ok: tools work, and every probe says so.
        dialect: the form in which calls are stated and written into history; None without one.
        reading: the forms to look for in an answer, the dialect first.
        tools: how tools are stated: by the template, by our preamble, or not at all.
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
    dialect, proof, verdicts = _find(chosen, probing, known, reasoning, special_tokens)
    native = capabilities.tools and bool(proof)
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
        tools_stated=capabilities.tools_stated if native else int(renders),
        proof=proof or "Roteiro's own preamble",
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


_Found = tuple[Dialect, str, tuple[Verdict, ...]]


def _find(
    template: ChatTemplate,
    probing: ProbeRenderer,
    known: Sequence[Dialect],
    reasoning: Reasoning | None,
    special_tokens: Collection[str],
) -> _Found:
    """The dialect, how it was found ("" for our own choice), and the verdicts under it."""
    if template.capabilities.tool_calls:
        found = _by_rendering(probing, known, reasoning)
        if found is not None:
            return found
    if template.capabilities.tools:
        stated = probing.prompt(PROBES[0].tools)
        named = _named_in((stated,), known) or _of_family(template.source, known)
        if named is not None:
            return named, "the template's words about tools", _by_writing(named, reasoning)
    named = _named_in(special_tokens, known) or _of_family(template.source, known)
    chosen = named or next((d for d in known if d.name == _PREAMBLE_DIALECT), known[0])
    proof = "the vocabulary's tokens" if named is not None and template.capabilities.tools else ""
    return chosen, proof, _by_writing(chosen, reasoning)


def _by_rendering(
    probing: ProbeRenderer, known: Sequence[Dialect], reasoning: Reasoning | None
) -> _Found | None:
    """The dialect that reads the most probes back; None when none reads any."""
    written = [(probe, probing.turn(probe)) for probe in PROBES]
    best: tuple[int, Dialect, tuple[Verdict, ...]] | None = None
    for dialect in known:
        if not any(_has_opener(text, dialect) for _, texts in written for text in texts):
            continue
        verdicts = tuple(_judge(dialect, probe, texts, reasoning) for probe, texts in written)
        passed = sum(verdict.ok for verdict in verdicts)
        if best is None or passed > best[0]:
            best = (passed, dialect, verdicts)
        if passed == len(PROBES):
            break
    if best is None or not any(v.ok and not v.detail for v in best[2]):
        return None
    return best[1], "probe calls through the template", best[2]


def _by_writing(dialect: Dialect, reasoning: Reasoning | None) -> tuple[Verdict, ...]:
    """The verdicts where calls in history are written by the dialect itself."""
    return tuple(
        _judge(dialect, probe, (dialect.render(probe.parsed_calls()),), reasoning) for probe in PROBES
    )


def _judge(dialect: Dialect, probe: ProbeCalls, texts: Sequence[str], reasoning: Reasoning | None) -> Verdict:
    """Whether one of the texts is read as exactly the probe's calls."""
    if not texts:
        if len(probe.calls) > 1:
            return Verdict(name=probe.name, ok=True, detail="the template takes one call a turn")
        return Verdict(name=probe.name, ok=False, detail="the template refuses the call")
    differences = []
    for text in texts:
        difference = same_calls(_read(dialect, probe, text, reasoning), probe.parsed_calls())
        if not difference:
            return Verdict(name=probe.name, ok=True)
        differences.append(difference)
    return Verdict(name=probe.name, ok=False, detail=differences[0])


def _read(
    dialect: Dialect, probe: ProbeCalls, text: str, reasoning: Reasoning | None
) -> list[tuple[str, str]]:
    parser = ChatParser(reasoning=reasoning, dialects=(dialect,), tools=probe.tools)
    names: list[str] = []
    arguments: list[str] = []
    for event in [*parser.receive_text(text), *parser.finish("end")]:
        if isinstance(event, ToolCallStart):
            names.append(event.name)
        elif isinstance(event, ToolCallEnd):
            arguments.append(event.arguments)
    # A call that was begun and not ended has no arguments, so the counts differ and the probe fails.
    return list(zip(names, arguments, strict=False)) if len(names) == len(arguments) else []


def _named_in(texts: Iterable[str], known: Sequence[Dialect]) -> Dialect | None:
    """The first marked dialect all of whose markers occur in the texts."""
    joined = "\n".join(texts)
    return next(
        (d for d in known if any(m in joined for m in _marks(d)) and _has_closer(joined, d)),
        None,
    )


def _of_family(source: str, known: Sequence[Dialect]) -> Dialect | None:
    """The dialect of the family whose way to list tools the template has."""
    name = next((name for mark, name in _FAMILY_MARKS if mark in source), None)
    return next((dialect for dialect in known if dialect.name == name), None)


def _marks(dialect: Dialect) -> tuple[str, ...]:
    """Openers that say something; `{` at the beginning of a line does not."""
    envelope = dialect.envelope
    return envelope.anywhere if envelope.line_start else (*envelope.openers, *envelope.anywhere)


def _has_opener(text: str, dialect: Dialect) -> bool:
    envelope = dialect.envelope
    return any(opener in text for opener in (*envelope.openers, *envelope.anywhere))


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

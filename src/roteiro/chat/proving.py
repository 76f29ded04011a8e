"""Proofs of a dialect: probe calls are written by a template or by a dialect, and read back.

`by_rendering` finds the dialect of what a template writes; `by_writing` checks one that is known
otherwise. What a template cannot write and the model can is no fault of the call form: it is said in the
verdict's detail. Thread: any; blocks while it renders.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from roteiro.chat.dialects.dialect import Dialect, ParsedCall
from roteiro.chat.events import ToolCallEnd, ToolCallStart
from roteiro.chat.parser import ChatParser
from roteiro.chat.probe_turns import ProbeRenderer
from roteiro.chat.probes import PROBES, ProbeCalls, same_calls
from roteiro.chat.reasoning import Reasoning

# A form that gives back fewer probes than these is another form that looks alike.
_ENOUGH_PROBES = 5
_ONE_CALL = "the template takes one call a turn"
_REFUSED = "the template refuses the call"
_UNSTATED = "the template cannot state this parameter's type; it can write the call"
_NULLS_LEFT_OUT = "the template leaves out what is null"
_WRITTEN_BY_US = "the template would change it ({}); Roteiro writes the call itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one probe showed."""

    name: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """A dialect and what the probes say of it.

    Attributes:
        dialect: the call form.
        verdicts: each probe's.
        faithful: the template writes every call so that it can be read back.
    """

    dialect: Dialect
    verdicts: tuple[Verdict, ...]
    faithful: bool = True


def by_rendering(
    probing: ProbeRenderer, known: Sequence[Dialect], reasoning: Reasoning | None
) -> Proof | None:
    """The dialect that reads the most probes back; None when none reads enough."""
    written = [_write(probing, probe) for probe in PROBES]
    best: tuple[int, Dialect, tuple[Verdict, ...]] | None = None
    for dialect in known:
        if not any(_may_read(dialect, turn) for turn in written):
            continue
        verdicts = tuple(_judge(dialect, turn, reasoning) for turn in written)
        passed = sum(verdict.ok for verdict in verdicts)
        if best is None or passed > best[0]:
            best = (passed, dialect, verdicts)
        if passed == len(PROBES):
            break
    if best is None or sum(v.ok and not v.detail for v in best[2]) < _ENOUGH_PROBES:
        return None
    _, dialect, verdicts = best
    if all(verdict.ok for verdict in verdicts):
        return Proof(dialect=dialect, verdicts=verdicts)
    # The form is known, but the template writes some values wrongly (unquoted strings, lost commas).
    own = by_writing(dialect, reasoning)
    merged = (_merge(seen, mine) for seen, mine in zip(verdicts, own, strict=True))
    return Proof(dialect=dialect, verdicts=tuple(merged), faithful=False)


def by_writing(dialect: Dialect, reasoning: Reasoning | None) -> tuple[Verdict, ...]:
    """The verdicts where calls in history are written by the dialect itself."""
    return tuple(
        _judge(dialect, _Written(probe, (dialect.render(probe.parsed_calls()),)), reasoning)
        for probe in PROBES
    )


# -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Written:
    """A probe's turn: the ways to cut it out of the prompt, and a remark."""

    probe: ProbeCalls
    texts: tuple[str, ...]
    remark: str = ""


def _write(probing: ProbeRenderer, probe: ProbeCalls) -> _Written:
    texts = probing.turn(probe)
    if texts or len(probe.calls) > 1:
        return _Written(probe, texts)
    # Some templates print a signature of each tool and fail at types that they do not know.
    return _Written(probe, probing.turn(probe.stated_as_strings()), _UNSTATED)


def _may_read(dialect: Dialect, turn: _Written) -> bool:
    envelope = dialect.envelope
    openers = (*envelope.openers, *envelope.anywhere, *envelope.tool_openers(turn.probe.tools))
    return any(opener in text for text in turn.texts for opener in openers)


def _judge(dialect: Dialect, turn: _Written, reasoning: Reasoning | None) -> Verdict:
    """Whether one of the texts is read as exactly the probe's calls."""
    probe = turn.probe
    if not turn.texts:
        several = len(probe.calls) > 1
        return Verdict(name=probe.name, ok=several, detail=_ONE_CALL if several else _REFUSED)
    wanted = probe.parsed_calls()
    differences = []
    for text in turn.texts:
        found = _read(dialect, probe, text, reasoning)
        difference = same_calls(found, wanted)
        if not difference:
            return Verdict(name=probe.name, ok=True, detail=turn.remark)
        if not same_calls(found, [_without_nulls(call) for call in wanted]):
            return Verdict(name=probe.name, ok=True, detail=_NULLS_LEFT_OUT)
        differences.append(difference)
    return Verdict(name=probe.name, ok=False, detail=differences[0])


def _merge(seen: Verdict, mine: Verdict) -> Verdict:
    if seen.ok or not mine.ok:
        return seen
    return replace(mine, detail=_WRITTEN_BY_US.format(seen.detail))


def _without_nulls(call: ParsedCall) -> ParsedCall:
    kept = {key: value for key, value in json.loads(call.arguments).items() if value is not None}
    return replace(call, arguments=json.dumps(kept, ensure_ascii=False))


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

"""Reads a question: the names it spells out, and what it wants to know about them. Pure text; thread: any."""

from __future__ import annotations

import re
from dataclasses import dataclass

from roteiro.graph.model import NodeKind
from roteiro.graph.queries.asked import take_apart
from roteiro.graph.words import KIND_WORDS, STOP_WORDS

# A longer text is a task with material, not a question to look up.
MAX_QUESTION_CHARACTERS = 600

_QUOTED = re.compile(r"`([^`\s]{2,120})`")
_INTENTS: dict[str, re.Pattern[str]] = {
    "path": re.compile(
        r"\b(in ?between|between|lead\w* (in)?to|reach(es)?|ends? up|on the way|intermediate|indirectly|"
        r"without calling|by way of|via|path from|chain|connect\w*|route from|get from)\b"
    ),
    "callers": re.compile(
        r"\b(calls?|called|callers?|calling|invoke[sd]?|invoking|uses?|used|users?|callees?|instantiat\w+)\b"
    ),
    "inherits": re.compile(
        r"\b(base class(es)?|bases?|super ?class(es)?|parent class(es)?|sub ?class(es)?|sub-class(es)?|"
        r"inherit\w*|derive[sd]?|deriving|extends?|implements|implemented by|mixins?|hierarchy|ancestors?)\b"
    ),
    "signature": re.compile(
        r"\b(parameters?|arguments?|args?|kwargs?|keyword|default value|defaults?|signatures?|takes?|"
        r"accepts?|return type|returns?|constructor|annotat\w+)\b"
    ),
    "debt": re.compile(
        r"\b(todos?|fixmes?|hacks?|xxx|stubs?|technical debt|debt|not (yet )?implemented|unimplemented|"
        r"unfinished|deferred|workarounds?)\b"
    ),
    "history": re.compile(
        r"\b(changelog|change ?log|release[sd]?|versions?|release notes|history|decisions?|decided|adrs?|"
        r"deprecat\w+|documentation|docs|readme)\b"
    ),
}
_ASKS = re.compile(
    r"^\W*(in |according |for |within |on |from |under |of |at |with )?.{0,160}?"
    r"\b(which|what|where|who|whose|when|how (many|much|often|does|do|is|are)|does|do|is|are|was|were|"
    r"has|have|name (a|an|the|all|every|one|two|three|four|five)|list|tell me|find|show)\b",
    re.DOTALL,
)
_MAKES = re.compile(
    r"\b(write|create|implement|add|generate|refactor|rename|propose|suggest|draft|rewrite|fix|make me|"
    r"design|convert|translate|port|build|introduce|should i|could i|"
    r"can i|how (can|could|would|should|do) (i|we|you))\b"
)
_CODE = re.compile(
    r"\b(functions?|methods?|class(es)?|modules?|packages?|source|code(base)?|repo(sitory)?|files?|symbols?|"
    r"constants?|variables?|interfaces?|structs?|traits?|enums?|endpoints?|commands?|tests?)\b"
)
# "the class Zorbo", "function parse()": a name by its place and its looks.
_KIND_AND_NAME = re.compile(
    r"\b(?:class|function|method|module|struct|trait|interface|enum|exception|constant)\s+"
    r"(?P<after>[A-Z]\w+|[a-z_]\w*(?=\(\)))"
)
_MAYBE_NAME = re.compile(
    r"(?<![.?!]\s)(?<!^)\b([A-Z]\w+)|\b(?:[Ee]xplain|class|function|method|module|helper|constant)\s+(\w+)"
    r"|\b(\w+)\s+(?:class|function|method|module|helper|constant)\b"
)
_WANTED = re.compile(
    r"\b(which|what|name an?|name the)\s+(\w+\s+){0,3}?(?P<kind>function|method|helper|class|exception)\b"
)
_CALLABLE: frozenset[NodeKind] = frozenset(("fn", "method"))
_TYPE: frozenset[NodeKind] = frozenset(("class", "interface", "struct", "enum", "trait"))
_WANTED_KINDS = {
    "function": _CALLABLE,
    "method": _CALLABLE,
    "helper": _CALLABLE,
    "class": _TYPE,
    "exception": _TYPE,
}
_PARAMETER = re.compile(r"`?([A-Za-z_]\w*)`?(?:'s)?\s+(?:parameter|argument|option|keyword)\b")
_OUTGOING = re.compile(
    r"\b(does|do|did) .{1,80}\b(call|invoke|use|instantiate)\b|\bcalled by\b|\bcallees?\b|\bits? calls?\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, read.

    Attributes:
        text: as it was asked.
        names: identifiers it spells out, in order, without duplicates.
        maybe_names: plain words that may be names: capitalised ones, and those beside "class", "function".
        intents: what it wants: `path callers inherits signature debt history`; empty means "where or what".
        parameter: the parameter it asks about by name, if it does.
        outgoing: it asks what a symbol calls, not who calls it.
        asks: it wants to be told something, not to have something made.
        about_tests: it mentions tests as a place to look in.
        kinds: the kinds of symbol that the answer must be one of; empty when it does not say.
        about_code: it speaks of code, so that "nothing was found" is an answer to it.
    """

    text: str
    names: tuple[str, ...]
    maybe_names: tuple[str, ...]
    intents: frozenset[str]
    parameter: str | None
    outgoing: bool
    asks: bool
    about_tests: bool
    kinds: frozenset[NodeKind]
    about_code: bool


def read_question(text: str) -> Question:
    """Read a user's message as a question."""
    asked = take_apart(text)
    quoted = [name.rstrip("().,:;") for name in _QUOTED.findall(text)]
    named = [match["after"] for match in _KIND_AND_NAME.finditer(text)]
    names = tuple(dict.fromkeys(name for name in (*quoted, *asked.names, *named) if name))
    lowered = text.lower()
    without_names = lowered
    for name in names:
        without_names = without_names.replace(name.lower(), " ")
    parameter = _PARAMETER.search(text)
    of_parameter = parameter[1] if parameter and parameter[1].lower() not in _NOT_PARAMETERS else None
    tests_left_out = re.search(
        r"\b(without|excluding|except|not counting|outside)\b.{0,20}\btests?\b", lowered
    )
    return Question(
        text=text.strip(),
        names=names,
        maybe_names=_maybe_names(text),
        intents=frozenset(name for name, pattern in _INTENTS.items() if pattern.search(without_names)),
        parameter=of_parameter,
        outgoing=bool(_OUTGOING.search(lowered)),
        asks=_is_question(text, lowered),
        about_tests=asked.about_tests and not tests_left_out,
        kinds=_wanted_kinds(lowered),
        about_code=bool(_CODE.search(lowered)),
    )


_NOT_PARAMETERS = frozenset(
    [
        "the",
        "a",
        "an",
        "first",
        "second",
        "third",
        "fourth",
        "fifth",
        "last",
        "only",
        "each",
        "every",
        "which",
        "what",
        "this",
        "that",
        "its",
        "of",
        "one",
        "two",
        "keyword",
        "positional",
        "optional",
        "required",
        "default",
        "named",
        "same",
        "other",
        "no",
        "any",
        "type",
        "command",
        "line",
    ]
)


def _maybe_names(text: str) -> tuple[str, ...]:
    found = [word for match in _MAYBE_NAME.finditer(text) for word in match.groups() if word]
    return tuple(dict.fromkeys(word for word in found if word.lower() not in STOP_WORDS | KIND_WORDS))


def _wanted_kinds(lowered: str) -> frozenset[NodeKind]:
    """The kinds named as what is asked for ("which private helper function", "name a method")."""
    asked = _WANTED.search(lowered)
    return _WANTED_KINDS[asked["kind"]] if asked else frozenset()


def _is_question(text: str, lowered: str) -> bool:
    if len(text) > MAX_QUESTION_CHARACTERS or "```" in text:
        return False
    return bool(_ASKS.search(lowered)) and not _MAKES.search(lowered)

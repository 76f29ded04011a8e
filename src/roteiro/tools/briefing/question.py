"""Reads a question: the names it spells out, and what it wants to know about them. Pure text; thread: any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from roteiro.graph.model import NodeKind
from roteiro.graph.queries.asked import take_apart
from roteiro.graph.words import KIND_WORDS, STOP_WORDS

# A longer text is a task with material, not a question to look up.
MAX_QUESTION_CHARACTERS = 600
# Of a longer text its two ends are read, where a question stands: the patterns below take time that grows
# faster than the text, and hold the interpreter while they do.
READ_CHARACTERS = 2_000

_FENCED = re.compile(r"```.*?(```|$)", re.DOTALL)
_RECORD = re.compile(r"\b(ADR)[-_ #]?0*(\d{1,4})\b", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\s]{2,120})`")
_INTENTS: dict[str, re.Pattern[str]] = {
    "path": re.compile(
        r"\b(in ?between|between|lead\w* (in)?to|reach(es)?|ends? up|on the way|intermediate|indirectly|"
        r"without calling|by way of|via|path from|chain|connected|connects|route from|get from|gets? to)\b"
    ),
    "callers": re.compile(
        r"\b(calls?|called|callers?|calling|invoke[sd]?|invoking|uses?|used|users?|callees?|instantiat\w+|"
        r"created|creates?|constructed|constructs?|raise[sd]?|thrown|throws?|import(s|ed)?|refer(s|red)? to|"
        r"relies|depends? on|cover(s|ed)?|exercises?)\b"
    ),
    "inherits": re.compile(
        r"\b(base class(es)?|bases?|super ?class(es)?|parent(s| class(es)?)?|sub ?class(es)?|sub-class(es)?|"
        r"inherit\w*|derive[sd]?|deriving|extend(s|ed)?|implements?|implemented by|implementations of|"
        r"mixins?|hierarchy|ancestors?|based on|child class(es)?)\b"
    ),
    "signature": re.compile(
        r"\b(parameters?|arguments?|args?|kwargs?|keyword|default value|defaults?|signatures?|takes?|"
        r"accepts?|return type|returns?|returned|constructor|annotat\w+|value of)\b"
    ),
    "debt": re.compile(
        r"\b(todos?|fixmes?|hacks?|xxx|stubs?|technical debt|debt|not (yet )?implemented|unimplemented|"
        r"unfinished|deferred|workarounds?)\b"
    ),
    "history": re.compile(
        r"\b(changelog|change ?log|releases?|(which|what|in|since) versions?|release notes|history|"
        r"decisions?|decided|adrs?|deprecated|documentation|docs|readme|according to|changes in|changed in|"
        r"new in)\b"
    ),
    "members": re.compile(
        r"\b(methods|members|fields|attributes|properties|functions|classes|constants|values|variants|"
        r"interfaces|contents?)\b"
    ),
}
_ASKS = re.compile(
    r"^\W*(in |according |for |within |on |from |under |of |at |with |and |so |also )?.{0,160}?"
    r"\b(which|what|where|who|whose|when|how (many|much|often|does|do|is|are|was)|does|do|is|are|was|were|"
    r"has|have|name (a|an|the|all|every|one|two|three|four|five)|list|tell me|find|show|give|explain|"
    r"describe|summari[sz]e)\b",
    re.DOTALL,
)
_MAKES = re.compile(
    r"\b(write|create|implement|add|generate|refactor|rename|propose|suggest|draft|rewrite|fix|make|"
    r"design|convert|translate|port|build)\b"
)
_ADVICE = re.compile(r"\b(should i|could i|can i|how (can|could|would|should|do) (i|we|you|one))\b")
# "Which method creates it" is a question; "create a method" is not.
_ORDERS = re.compile(r"^\W*(please |can you |could you |would you |i want you to |help me )?(to )?")
_CODE = re.compile(
    r"\b(functions?|methods?|class(es)?|modules?|packages?|source|code(base)?|repo(sitory)?|files?|symbols?|"
    r"constants?|variables?|interfaces?|structs?|traits?|enums?|endpoints?|commands?|tests?)\b"
)
# The repository as a whole is asked about.
_WHOLE = re.compile(
    r"\b(this|the|our|your) (repo(sitory)?|code ?base|project|package|library)\b(?!['\w]).{0,30}"
    r"\b(do|does|about|for|purpose)\b|\b(do|does|about|purpose of|overview of|summari[sz]e|describe|explain) "
    r"(this|the|our|your) (repo(sitory)?|code ?base|project|package|library)\W*(do|does|about|for)?\W*$"
)
_EXPLAINS = re.compile(r"\W*(please |can you )?(explain|describe|summari[sz]e)\b")
_IMPORTED = re.compile(r"\bimport(?:s|ed|ing)?\s+(?:the\s+)?`?(\w+)")
# "Which function ..." or "where in this project ..." can only be about the repository.
_HERE = re.compile(
    r"\b(which|what|in which|name (the|a|an))\s+(\w+\s+){0,3}?"
    r"(functions?|methods?|class(es)?|modules?|files?|helpers?|interfaces?|exceptions?)\b"
    r"|\bwhere\b|\b(this|the|our) (repo(sitory)?|code ?base|project|source tree|sources?)\b"
)
# "the class Zorbo", "function parse()": a name by its place and its looks.
_KIND_AND_NAME = re.compile(
    r"\b(?:class|function|method|module|struct|trait|interface|enum|exception|constant|helper)\s+"
    r"(?:(?:called|named)\s+(?P<called>\w+)(?=\W*$|[?.,]|\s+(?:in|of)\b)|(?P<after>[A-Z]\w+|[a-z_]\w*(?=\(\))))"
)
_KINDS = "class|function|method|module|helper|constant|interface|struct|trait|enum|exception"
_BESIDE_KIND = re.compile(rf"\b(?:[Ee]xplain|{_KINDS})\s+(\w+)|\b(\w+)\s+(?:{_KINDS})\b")
# A verb before or after a plain word makes a name of it: "who calls freeze", "what does freeze return".
_BESIDE_VERB = re.compile(
    r"\b(?:calls?|called by|used by|uses|invokes?|does|subclass(?:es)? of|based on|extends?|implements?|"
    r"inherits? from|derives? from|overrides?|overriding|parameters? of|arguments? of|signature of|"
    r"callers of)\s+(?:the\s+)?(\w+)"
)
_BEFORE_VERB = re.compile(r"\b(\w+)\s+(?:calls?|returns?|takes?|accepts?)\b|\b(\w+)\(\)")
_CAPITALISED = re.compile(r"(?<![.?!]\s)(?<!^)\b([A-Z]\w+)\b(?P<next>\s+\w+)?")
# What may follow a word that is a name; a noun may not ("URL path templates").
_AFTER = """
    defined implemented declared located do does have has take takes work works used called inherit
    inherits extend extends implement implements return returns handle in is and or get created based
    derive derives raise raises call calls
"""
_AFTER_NAME = frozenset(_AFTER.split())
_WANTED = re.compile(
    r"\b(which|what|name an?|name the)\s+(\w+\s+){0,3}?(?P<kind>function|method|helper|class|exception)\b"
)
_WANTS_SYMBOL = re.compile(
    r"\bwho\b|\b(which|what|name an?|name the|list the)\s+(\w+\s+){0,3}?"
    r"(functions?|methods?|class(es)?|helpers?)\b"
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
_WORD = r"(?<!\w)`?([A-Za-z_]\w*)`?"
_NAMING = re.compile(
    rf"\b(?:{_KINDS}|parameter|argument|variable|field) (?:called|named)\b"
    r"(?! (?:by|in|on|from|at|to|with|when|after|before|during|inside|while|via|through)\b)|\bcalled\W*$"
)
_PARAMETER = (
    re.compile(rf"{_WORD}(?:'s)?\s+(?:parameter|argument|option|keyword|field)\b"),
    re.compile(rf"\b(?:parameter|argument|option|keyword|field)\s+(?:called\s+|named\s+)?{_WORD}"),
    re.compile(rf"\bdefaults?(?: value)? (?:of|for) (?:the )?{_WORD}\s+(?:of|in|for)\b"),
    re.compile(rf"\bdefault(?: value)? {_WORD}\s+(?:of|in|for)\b"),
)
_DETERMINERS = """
    the a an first second third fourth fifth last only each every which what this that its of one two
    keyword positional optional required default named same other no any type command line new value
    called in to is are does for and or by
"""
_NOT_PARAMETERS = frozenset(_DETERMINERS.split())
_OUTGOING = re.compile(
    r"\b(does|do|did) .{1,80}\b(call|invoke|use|instantiate|import|create|raise)\b|\bcalled by\b|"
    r"\bcallees?\b|\bits? calls?\b|\b(used|imported|raised|created|invoked) by\b"
)
_BELOW = re.compile(
    r"\b(sub-?classes|subclass(es)? (of|does|do)|child(ren)? class\w*|derived from|descend\w*|"
    r"implementations of|(is|are|a|direct) subclass(es)? of|"
    r"(which|what|how many|name|list)\b(?!.*\b(does|do)\b).{0,40}\b(derives?|inherits?|extends?|implements?|"
    r"based on))\b"
)
_COMPARES = re.compile(r"\b(difference between|compared to|versus|vs)\b")
_TESTS_LEFT_OUT = re.compile(
    r"\b(without|excluding|except|not counting|outside|leaving out|ignoring|apart from)\b.{0,20}\btests?\b"
    r"|\btests? (left out|excluded|aside|not counted)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, read.

    Attributes:
        text: as it was asked.
        names: identifiers it spells out, in order, without duplicates.
        maybe_names: plain words that may be names: capitalised ones, and those beside "class" or a verb.
            The value tells whether the word is likely one.
        intents: what it wants: `path callers inherits signature debt history members`; empty means
            "where or what".
        parameter: the parameter it asks about by name, if it does.
        imports: it asks about imports rather than calls.
        imported: the module that it says is imported.
        explains: it wants something told at length ("explain ...").
        whole: it asks what the repository is and does.
        outgoing: it asks what a symbol calls, not who calls it.
        below: of a class it asks for what inherits from it, not for its bases.
        asks: it wants to be told something, not to have something made.
        advises: it asks how one does something ("how do I ...").
        about_tests: it mentions tests as a place to look in.
        kinds: the kinds of symbol that the answer must be one of; empty when it does not say.
        wants_symbol: the answer is a function, method or class, not a parameter or a number.
        about_code: it speaks of code.
        here: it can only be about this repository, so that "nothing was found" is an answer to it.
    """

    text: str
    names: tuple[str, ...]
    maybe_names: dict[str, bool]
    intents: frozenset[str]
    parameter: str | None
    imports: bool
    imported: str | None
    explains: bool
    whole: bool
    outgoing: bool
    below: bool
    asks: bool
    advises: bool
    about_tests: bool
    kinds: frozenset[NodeKind]
    wants_symbol: bool
    about_code: bool
    here: bool


def read_question(text: str) -> Question:
    """Read a user's message as a question; pasted code is no part of it, nor the middle of a long text."""
    whole, text = text, _ends(_FENCED.sub(" ", text))
    asked = take_apart(text)
    quoted = [name.rstrip("().,:;") for name in _QUOTED.findall(text)]
    records = [f"ADR-{int(match[2]):04d}" for match in _RECORD.finditer(text)]
    named = [match["called"] or match["after"] for match in _KIND_AND_NAME.finditer(text)]
    names = tuple(dict.fromkeys(name for name in (*records, *quoted, *asked.names, *named) if _is_name(name)))
    lowered = text.lower()
    # "a method called x" and "what is it called?" speak of names, not of calls.
    without_names = _NAMING.sub(" ", lowered)
    for name in names:
        without_names = without_names.replace(name.lower(), " ")
    return Question(
        text=text.strip(),
        names=names,
        maybe_names=_maybe_names(text, names),
        intents=_intents(without_names),
        parameter=_parameter(text),
        imports="import" in lowered,
        imported=match[1] if (match := _IMPORTED.search(text)) else None,
        explains=bool(_EXPLAINS.match(lowered)),
        whole=bool(_WHOLE.search(lowered)),
        outgoing=bool(_OUTGOING.search(lowered)),
        below=bool(_BELOW.search(lowered)),
        asks=_is_question(whole, lowered),
        advises=_is_short(whole) and bool(_ADVICE.search(lowered)),
        about_tests=asked.about_tests and not _TESTS_LEFT_OUT.search(lowered),
        kinds=_wanted_kinds(lowered),
        wants_symbol=bool(_WANTS_SYMBOL.search(lowered)),
        about_code=bool(_CODE.search(lowered)),
        here=bool(_HERE.search(lowered)),
    )


# ------------------------------------------------------------------------------------------------


def _ends(text: str) -> str:
    half = READ_CHARACTERS // 2
    return text if len(text) <= READ_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def _is_name(name: str) -> bool:
    """Versions, small words, e.g. and the like are no names."""
    small = STOP_WORDS | {"e.g", "i.e", "etc", "between", "there", "instead"}
    return bool(re.search(r"[A-Za-z_]{2}", name)) and name.lower() not in small


def _parameter(text: str) -> str | None:
    for pattern in _PARAMETER:
        for match in pattern.finditer(text):
            if match[1].lower() not in _NOT_PARAMETERS | KIND_WORDS:
                return match[1]
    return None


def _maybe_names(text: str, names: Sequence[str]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    parts = {part for name in names for part in re.split(r"\W+", name)}
    for pattern in (_BESIDE_KIND, _BESIDE_VERB, _BEFORE_VERB):
        for match in pattern.finditer(text):
            found |= {word: True for word in match.groups() if word}
    for match in _CAPITALISED.finditer(text):
        following = (match["next"] or "").strip()
        likely = not following or following in _AFTER_NAME or following in STOP_WORDS
        found.setdefault(match[1], likely and not match[1].isupper())
    left_out = STOP_WORDS | KIND_WORDS
    return {
        word: likely for word, likely in found.items() if word.lower() not in left_out and word not in parts
    }


def _wanted_kinds(lowered: str) -> frozenset[NodeKind]:
    """The kinds named as what is asked for ("which private helper function", "name a method")."""
    asked = _WANTED.search(lowered)
    return _WANTED_KINDS[asked["kind"]] if asked else frozenset()


def _intents(lowered: str) -> frozenset[str]:
    found = {name for name, pattern in _INTENTS.items() if pattern.search(lowered)}
    return frozenset(found - {"path"} if _COMPARES.search(lowered) else found)


def _is_short(text: str) -> bool:
    return len(text) <= MAX_QUESTION_CHARACTERS and "```" not in text


def _is_question(text: str, lowered: str) -> bool:
    start = _ORDERS.sub("", lowered, count=1)
    wants_told = bool(_ASKS.search(lowered)) and not _COMPARES.search(lowered)
    return _is_short(text) and wants_told and not _MAKES.match(start) and not _ADVICE.search(lowered)

"""Takes a one-line signature apart into its parameters and its result. Pure text; thread: any."""

from __future__ import annotations

import re

_OPEN, _CLOSE = "([{<", ")]}>"
_RECEIVERS = frozenset({"self", "cls", "this", "&self", "&mut self", "mut self"})
# What may stand between a parameter list and the result's type, by language.
_ARROW = re.compile(r"^\s*(?:->|=>|:)\s*(?P<type>.+)$", re.DOTALL)
_PYTHON_CLASS = re.compile(r"class \w+(?:\[[^\]]*\])?\s*\((.*)\)")
_DECLARED_NAME = re.compile(r"[\w\s]*?\b(?:class|interface)\s+[\w$]+\s*")
_CLAUSE = re.compile(r"\b(?:extends|implements)\s+(.*?)(?=\s+(?:extends|implements|permits)\b|\{|$)")


def parameters_of(signature: str) -> list[str] | None:
    """The parameters as written, without the receiver; None where there is no parameter list."""
    taken = _taken_apart(signature)
    return None if taken is None else taken[0]


def result_of(signature: str) -> str | None:
    """The type of what is returned, where the signature names it after the parameters."""
    taken = _taken_apart(signature)
    found = _ARROW.match(taken[1]) if taken else None
    if found is None:
        return None
    text = " ".join(found["type"].split()).removesuffix("{").removesuffix("=>").strip().rstrip(";:")
    return text.strip() or None


def name_of_parameter(parameter: str) -> str:
    """The name in a parameter, for languages that write it before a colon or `=`, or last."""
    head = parameter.split("=", maxsplit=1)[0].split(":", maxsplit=1)[0].strip()
    return head.lstrip("*&.").split()[-1].lstrip("*&$").rstrip("?") if head.split() else parameter


def default_of(parameter: str) -> str | None:
    """What a parameter is when it is not given, as written."""
    depth = 0
    for at, char in enumerate(parameter):
        depth += (char in "([{") - (char in ")]}")
        around = parameter[max(0, at - 1) : at + 2]
        if char == "=" and depth == 0 and not re.search(r"[=!<>]=|=[=>]", around):
            return parameter[at + 1 :].strip() or None
    return None


def bases_of(signature: str) -> list[str]:
    """The bases that a class's declaration names, as written; keywords and type parameters left out."""
    text = " ".join(signature.split())
    found = _PYTHON_CLASS.match(text)
    if found:
        return [base for base in _split(found[1]) if not re.match(r"\w+\s*=|\*", base)]
    clauses = _CLAUSE.findall(_without_type_parameters(text))
    return [base for clause in clauses for base in _split(clause)]


def whole(lines: list[str], name: str) -> str | None:
    """The signature of a definition in its source lines, to the end of its parameters and result."""
    text = "\n".join(re.sub(r"\s(#|//)\s.*$", "", line) for line in lines)
    found = re.search(rf"\b{re.escape(name)}\s*(<[^(]*>)?\s*\(", text)
    if found is None:
        return None
    end = _end_of_list(text, found.end())
    if end is None:
        return None
    rest = re.match(r"\s*(?:->|:)\s*[^\n{]*?(?=\s*(?::\s*$|\{|$|;))", text[end:], re.MULTILINE)
    return " ".join((text[found.start() : end] + (rest[0] if rest else "")).split())


# ------------------------------------------------------------------------------------------------


def _without_type_parameters(text: str) -> str:
    """A declaration without the `<T extends U>` behind its name, whose `extends` is another."""
    found = _DECLARED_NAME.match(text)
    if found is None or not text.startswith("<", found.end()):
        return text
    depth = 0
    for at in range(found.end(), len(text)):
        depth += (text[at] == "<") - (text[at] == ">" and text[at - 1] != "=")
        if depth == 0:
            return text[: found.end()] + text[at + 1 :]
    return text[: found.end()]


def _split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in _OPEN) - (char in _CLOSE)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _end_of_list(text: str, start: int) -> int | None:
    """Where the parenthesis opened before `start` is closed, one past it."""
    depth, quote = 1, ""
    for at in range(start, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote and text[at - 1] != "\\" else quote
        elif char in "\"'`":
            quote = char
        else:
            depth += (char in "([{") - (char in ")]}")
            if depth == 0:
                return at + 1
    return None


def _taken_apart(signature: str) -> tuple[list[str], str] | None:
    """The parameters, and the text behind their list."""
    start = signature.find("(")
    if signature.startswith("func ("):  # Go writes the receiver first
        start = signature.find("(", signature.find(")"))
    if start < 0:
        return None
    parts: list[str] = []
    depth, current, quote, end = 0, "", "", len(signature)
    for at, char in enumerate(signature[start + 1 :], start + 1):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'`":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and not current.endswith(("-", "=")):
            if depth == 0:
                end = at
                break
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += char
    parts.append(current.strip())
    kept = [part for part in parts if part and part not in _RECEIVERS and part not in ("*", "/")]
    return kept, signature[end + 1 :]

"""Takes a one-line signature apart into its parameters. Pure text; thread: any."""

from __future__ import annotations

_OPEN, _CLOSE = "([{<", ")]}>"
_RECEIVERS = frozenset({"self", "cls", "this", "&self", "&mut self", "mut self"})


def parameters_of(signature: str) -> list[str] | None:
    """The parameters as written, without the receiver; None where there is no parameter list."""
    start = signature.find("(")
    if start < 0:
        return None
    parts, depth, current, quote = [], 0, "", ""
    for char in signature[start + 1 :]:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE and not current.endswith(("-", "=")):
            if depth == 0:
                break
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += char
    parts.append(current.strip())
    return [part for part in parts if part and part not in _RECEIVERS and part not in ("*", "/")]


def name_of_parameter(parameter: str) -> str:
    """The name in a parameter, for languages that write it before a colon or `=`, or last."""
    head = parameter.split("=", maxsplit=1)[0].split(":", maxsplit=1)[0].strip()
    return head.lstrip("*&").split()[-1].lstrip("*&$") if head else parameter

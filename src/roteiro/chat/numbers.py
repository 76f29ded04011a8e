"""JSON whose fractions keep the digits they were written with: `1e5` comes out as `1e5`, not `100000.0`.

A replayed call must render to the text that the model wrote, or its prefix is computed anew. `loads` and
`dumps` are `json`'s, but for that. Pure; thread: any.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

# Nobody can write it beforehand, so no text can pass for a number.
_MARK = secrets.token_hex(8)
_MARKED = re.compile(rf'"{_MARK}([-+0-9.eE]+)"')


class WrittenFloat(float):
    """A float that prints as it was written."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> WrittenFloat:
        """The number that `text` says."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        """The text it was made of."""
        return self.text

    __repr__ = __str__


def loads(text: str) -> Any:
    """As `json.loads`, fractions as `WrittenFloat`."""
    return json.loads(text, parse_float=WrittenFloat)


def dumps(value: Any, **options: Any) -> str:
    """As `json.dumps`, `WrittenFloat` as it was written; text is not escaped unless asked for."""
    written = json.dumps(_marked(value), **{"ensure_ascii": False, **options})
    return _MARKED.sub(r"\1", written) if _MARK in written else written


def _marked(value: Any) -> Any:
    """The value with a marked string for each float that `json` would print otherwise."""
    match value:
        case WrittenFloat():
            return _MARK + value.text
        case dict():
            return {key: _marked(member) for key, member in value.items()}
        case list() | tuple():
            return [_marked(member) for member in value]
    return value

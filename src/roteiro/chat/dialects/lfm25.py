"""LFM2.5: LFM2's list, but with strings that its template writes between quotes without escaping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roteiro.chat import numbers
from roteiro.chat.dialects.dialect import Dialect, Envelope, ParsedCall
from roteiro.chat.dialects.python_scan import python_text
from roteiro.chat.dialects.pythonic import LFM_CLOSE, LFM_OPEN, marked_list
from roteiro.chat.dialects.region import region_reader


def _value(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else python_text(value)


def _render(calls: Sequence[ParsedCall]) -> str:
    written = (
        f"{call.name}({', '.join(f'{k}={_value(v)}' for k, v in numbers.loads(call.arguments).items())})"
        for call in calls
    )
    return f"{LFM_OPEN}[{', '.join(written)}]{LFM_CLOSE}"


LFM25 = Dialect(
    name="lfm2.5",
    envelope=Envelope(openers=(LFM_OPEN,), closing="delimited", closer=LFM_CLOSE),
    reader=region_reader(marked_list(LFM_OPEN, LFM_CLOSE, raw_strings=True), closer=LFM_CLOSE),
    render=_render,
)

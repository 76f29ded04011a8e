"""How a model marks its thoughts: the delimiters, and what stands around them. Pure values; thread: any."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """A family's thought block.

    Attributes:
        start: the text that opens the block, without the template's white space; never empty.
        end: the text that closes it.
        end_text: what to force when a thought must end now, as the template would write it when the
            turn is replayed (for example a newline, the end and two newlines); it ends in whatever the
            answer is to follow.
        opened: the generation prompt opens the block already when thinking is on.
        switch: `enable_thinking` turns it on and off.
        anywhere: it may open after the answer has begun (channels); else only before it.
        silent: further markers of the family that are neither thought nor answer; they vanish.
        answer_block: what some families put around the answer; vanishes where it is just that.
    """

    start: str
    end: str
    end_text: str
    opened: bool = False
    switch: bool = False
    anywhere: bool = False
    silent: tuple[str, ...] = ()
    answer_block: tuple[str, str] | None = None

"""Shows where a prompt parts from what is held in memory, as text: why a prefix was not reused.

Authors of agents read it to find the byte of their prompt that changes. Pure; thread: engine thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roteiro.engine.session import Session, common_prefix

_TOKENS_BEFORE = 12
_TOKENS_AFTER = 12
_MOST_CHARACTERS = 120


def divergence(
    sessions: Sequence[Session], prompt: Sequence[int], token_bytes: Callable[[int], bytes]
) -> str | None:
    """One line about the session that agrees with the prompt for longest; None where all of it is used."""
    held = [session for session in sessions if session.tokens]
    if not held:
        return None
    at, _, nearest = max(
        ((common_prefix(one.tokens, prompt), one.last_used, one) for one in held),
        key=lambda entry: entry[:2],
    )
    if at == len(nearest.tokens):
        return None

    def text(tokens: Sequence[int]) -> str:
        # Escaped, because a prompt may hold anything and a log line goes to a terminal.
        return ascii(b"".join(map(token_bytes, tokens)).decode(errors="replace"))[:_MOST_CHARACTERS]

    return (
        f"slot={nearest.slot} token={at} held={len(nearest.tokens)} prompt={len(prompt)} "
        f"both={text(prompt[max(0, at - _TOKENS_BEFORE) : at])} "
        f"held_goes_on={text(nearest.tokens[at : at + _TOKENS_AFTER])} "
        f"prompt_goes_on={text(prompt[at : at + _TOKENS_AFTER])}"
    )

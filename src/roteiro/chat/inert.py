"""Keeps control tokens in people's text from becoming control tokens: the prompt as parts.

A part is `(text, parse_special)`. Only where content holds a special token's text is that text replaced by a
placeholder nobody can guess, the conversation rendered, and the outcome split at the placeholders; so an
ordinary prompt is one part and keeps its native tokens. Also: exactly one BOS. Pure; thread: any.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

Part = tuple[str, bool]
Parts = tuple[Part, ...]

_NONCE_DIGITS = 24
_INDEX_DIGITS = 4
# A piece of the nonce that stands alone shows that a template cut through a placeholder.
_FRAGMENT_DIGITS = 12
# Stands inside a special token's text where a template would not leave placeholders whole.
_SEPARATOR = "\u200b"


class Placeholders:
    """Replaces special tokens' texts in content, and splits the rendered prompt at them.

    Args:
        special_tokens: the texts of the vocabulary's special tokens.
        breaking: instead of a placeholder, put an invisible separator into the token's text: safe in
            any template, at the cost of one character.
    """

    def __init__(self, special_tokens: Collection[str], *, breaking: bool = False) -> None:
        self._tokens = special_tokens
        self._breaking = breaking
        # Digits only: they have no case, need no escape in JSON and are not white space.
        self._nonce = str(secrets.randbelow(9 * 10 ** (_NONCE_DIGITS - 1)) + 10 ** (_NONCE_DIGITS - 1))
        self._replaced: list[str] = []

    @property
    def used(self) -> bool:
        """True when content held a special token's text."""
        return bool(self._replaced)

    def protect(self, value: Any, *, except_for: Collection[str] = ()) -> Any:
        """A copy of a plain value (texts, lists, mappings) without any special token's text in it."""
        pattern = _pattern(frozenset(self._tokens).difference(except_for))
        return value if pattern is None else self._walk(value, pattern)

    def _walk(self, value: Any, pattern: re.Pattern[str]) -> Any:
        if isinstance(value, str):
            return pattern.sub(self._replace, value)
        if isinstance(value, Mapping):
            return {self._walk(key, pattern): self._walk(part, pattern) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._walk(part, pattern) for part in value]
        return value

    def _replace(self, match: re.Match[str]) -> str:
        text = match[0]
        if text not in self._replaced:
            self._replaced.append(text)
        if self._breaking:
            return text[:-1] + _SEPARATOR + text[-1]
        return f"{self._nonce}{self._replaced.index(text):0{_INDEX_DIGITS}d}"

    def split(self, rendered: str) -> Parts | None:
        """The prompt as parts; None when the template did not leave every placeholder whole."""
        if self._breaking or not self._replaced:
            return ((rendered, True),)
        pieces = re.split(rf"{self._nonce}(\d{{{_INDEX_DIGITS}}})", rendered)
        texts, numbers = pieces[::2], [int(number) for number in pieces[1::2]]
        half = len(self._nonce) - _FRAGMENT_DIGITS
        fragments = (self._nonce[:_FRAGMENT_DIGITS], self._nonce[half:])
        if any(fragment in text for text in texts for fragment in fragments) or any(
            number >= len(self._replaced) for number in numbers
        ):
            return None
        parts: list[Part] = [(texts[0], True)]
        for number, text in zip(numbers, texts[1:], strict=True):
            parts.extend(((self._replaced[number], False), (text, True)))
        return merge_parts(parts)


@lru_cache(maxsize=32)
def _pattern(tokens: frozenset[str]) -> re.Pattern[str] | None:
    """Longest first, so that of two tokens that begin alike the longer one is found."""
    texts = sorted((token for token in tokens if token.strip()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, texts))) if texts else None


def merge_parts(parts: Iterable[Part]) -> Parts:
    """Neighbours of one kind as one part; none empty."""
    merged: list[Part] = []
    for text, special in parts:
        if not text:
            continue
        if merged and merged[-1][1] == special:
            merged[-1] = (merged[-1][0] + text, special)
        else:
            merged.append((text, special))
    return tuple(merged)


def bos_once(parts: Parts, bos_text: str, add_bos: bool) -> Parts:
    """Parts that begin with the BOS text exactly once, or with none where none is wanted.

    Tokenise the outcome without adding special tokens. One is wanted where the vocabulary adds it
    (`add_bos`) or the template wrote it.
    """
    if not bos_text or not parts:
        return parts
    first, special = parts[0]
    bare, written = first, 0
    while special and bare.startswith(bos_text):
        bare = bare[len(bos_text) :]
        written += 1
    if not written and not add_bos:
        return parts
    return merge_parts(((bos_text, True), (bare, special), *parts[1:]))

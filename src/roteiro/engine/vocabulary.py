"""Vocabularies without their models: so that prompts are tokenised, counted and refused before any loading.

A handle keeps a vocabulary-only native model alive for as long as somebody holds it; the cache keeps the
last few. It knows no prompt format. Thread: event loop; the work runs as short jobs on the engine thread.
"""

from __future__ import annotations

import asyncio
import re
import sys
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, pairwise
from typing import TypeVar

from roteiro.engine.backend import Backend, Vocabulary, VocabularyFacts
from roteiro.engine.pool import FileChanged, Signature, signature_of
from roteiro.engine.worker import EngineThread
from roteiro.errors import EngineClosed, InvalidRequest, ModelUnusable
from roteiro.modelstore.record import ModelRecord

T = TypeVar("T")
Part = tuple[str, bool]
"""A text, and whether control tokens in it are such."""

# What the kept tokens of a vocabulary may take: the messages of a few long conversations.
_KEPT_BYTES = 16 * 2**20
# A longer text is not looked through on the event loop; whole bodies of 32 MB may be one.
_LONGEST_CUT = 1_000_000
# A token in a tuple, and a part besides its text and tokens: objects and their places in the table.
_TOKEN_BYTES, _PART_BYTES = 40, 400


class VocabularyHandle:
    """Tokenises for one model; every call is a short job on the engine thread.

    A conversation sends all its messages each turn, so the tokens of the last parts are kept: only what is
    new costs time, or has to wait for a batch that is being evaluated.
    """

    def __init__(self, vocabulary: Vocabulary, signature: Signature, thread: EngineThread) -> None:
        self.facts: VocabularyFacts = vocabulary.facts
        self.signature = signature
        self._vocabulary = vocabulary
        self._thread = thread
        self._kept = KeptParts(_KEPT_BYTES)
        # Plain alternatives are skipped to by their first characters; looking ahead at each place of a text
        # for one of 256 takes 300 times as long.
        self._cut = re.compile("|".join(map(re.escape, self.facts.cuts)))
        # The last holder may be anyone, so the native side is freed when nobody is left.
        self._finalizer = weakref.finalize(self, _close_soon, vocabulary, thread)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"<VocabularyHandle {self.facts.n_vocab} tokens>"

    async def run(self, job: Callable[[Vocabulary], T]) -> T:
        """Run a function over the native vocabulary on the engine thread; keep it short."""
        return await self._thread.run_short(lambda: job(self._vocabulary))

    async def tokenize(self, text: str, *, parse_special: bool, add_special: bool = False) -> tuple[int, ...]:
        """Token ids of a text. Without `parse_special` no control token comes out, whatever it says."""
        return await self.run(
            lambda vocabulary: _tokenize(
                vocabulary, text, add_special=add_special, parse_special=parse_special
            )
        )

    async def tokenize_parts(self, parts: Sequence[Part]) -> tuple[int, ...]:
        """Token ids of (text, parse_special) parts one after the other, in one job at most."""
        parts = [piece for part in parts for piece in self._pieces(part)]
        known = {part: tokens for part in parts if (tokens := self._kept.get(part)) is not None}
        new = [part for part in dict.fromkeys(parts) if part not in known]
        if new:
            found = await self.run(lambda vocabulary: [_tokenize_part(vocabulary, part) for part in new])
            for part, tokens in zip(new, found, strict=True):
                known[part] = tokens
                self._kept.add(part, tokens)
        return tuple(chain.from_iterable(known[part] for part in parts))

    def _pieces(self, part: Part) -> list[Part]:
        """A part cut before its control tokens, so that each message of a prompt is known by itself."""
        text, special = part
        if not special or not self.facts.cuts or len(text) > _LONGEST_CUT:
            return [part]
        places = [0, *(found.start() for found in self._cut.finditer(text)), len(text)]
        return [(text[start:end], True) for start, end in pairwise(places) if start < end]

    async def detokenize(self, tokens: Sequence[int], *, special: bool = True) -> str:
        """The text of tokens, invalid bytes as U+FFFD; `special` False leaves control tokens out.

        Raises:
            InvalidRequest: an id is not in the vocabulary.
        """
        hidden = set() if special else set(self.facts.end_tokens)
        texts = set() if special else {text.encode() for text in self.facts.special_texts}
        pieces = await self.pieces(tokens)
        kept = [
            piece
            for token, piece in zip(tokens, pieces, strict=True)
            if token not in hidden and piece not in texts
        ]
        return b"".join(kept).decode(errors="replace")

    async def token_bytes(self, token: int) -> bytes:
        """The exact bytes of one token."""
        return (await self.pieces([token]))[0]

    async def pieces(self, tokens: Sequence[int]) -> list[bytes]:
        """The exact bytes of each token, in one job.

        Raises:
            InvalidRequest: an id is not in the vocabulary.
        """
        self.check(tokens)
        return await self.run(lambda vocabulary: [vocabulary.token_bytes(token) for token in tokens])

    def is_eog(self, token: int) -> bool:
        """True for tokens that end a generation."""
        return token in self.facts.end_tokens

    def check(self, tokens: Sequence[int]) -> None:
        """Refuse ids that are not in the vocabulary: the library would abort on them.

        Raises:
            InvalidRequest: an id is out of range.
        """
        for token in tokens:
            if not 0 <= token < self.facts.n_vocab:
                raise InvalidRequest(
                    f"Token id {token} is not in the vocabulary of {self.facts.n_vocab} tokens.",
                    hint=f"Use ids from 0 to {self.facts.n_vocab - 1}.",
                )

    def close(self) -> None:
        """Free the native side now; used when the engine stops. Idempotent."""
        self._finalizer.detach()
        self._vocabulary.close()


class KeptParts:
    """Tokens of the parts that were used last, up to about a number of bytes. Thread: event loop."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._parts: OrderedDict[Part, tuple[int, ...]] = OrderedDict()
        self.held = 0

    def __len__(self) -> int:
        return len(self._parts)

    def get(self, part: Part) -> tuple[int, ...] | None:
        """The tokens, if they are kept."""
        tokens = self._parts.get(part)
        if tokens is not None:
            self._parts.move_to_end(part)
        return tokens

    def add(self, part: Part, tokens: tuple[int, ...]) -> None:
        """Keep them, and let go of what was not used for the longest time."""
        if part in self._parts or _size(part, tokens) > self._budget:
            return
        self._parts[part] = tokens
        self.held += _size(part, tokens)
        while self.held > self._budget:
            self.held -= _size(*self._parts.popitem(last=False))


class VocabularyCache:
    """The last few handles by model id. `admit` decides whether a file may be given to the library."""

    def __init__(
        self,
        backend: Backend,
        thread: EngineThread,
        *,
        capacity: int,
        admit: Callable[[ModelRecord], Awaitable[None]],
    ) -> None:
        self._backend = backend
        self._thread = thread
        self._capacity = capacity
        self._admit = admit
        self._handles: OrderedDict[str, VocabularyHandle] = OrderedDict()
        self._loading: dict[str, asyncio.Lock] = {}
        self._every: weakref.WeakSet[VocabularyHandle] = weakref.WeakSet()
        self._closed = False

    async def get(self, record: ModelRecord) -> VocabularyHandle:
        """The handle of a model, loaded once even when many ask at the same time.

        Raises:
            ModelUnusable: the file is gone or was refused.
            LoadFailed: the library refused it.
        """
        lock = self._loading.setdefault(record.id, asyncio.Lock())
        async with lock:
            if self._closed:
                raise EngineClosed
            signature = await self._signature(record)
            handle = self._handles.get(record.id)
            if handle is None or handle.signature != signature:
                await self._admit(record)
                handle = await self._load(record, signature)
            self._handles[record.id] = handle
            self._handles.move_to_end(record.id)
            while len(self._handles) > self._capacity:
                self._handles.popitem(last=False)
            return handle

    def forget(self, model_id: str) -> None:
        """Load it anew the next time."""
        self._handles.pop(model_id, None)

    def close(self) -> None:
        """Free every vocabulary, held or not. Engine thread, when nothing else runs."""
        self._closed = True
        every = list(self._every)
        self._handles.clear()
        for handle in every:
            handle.close()

    # ---------------------------------------------------------------------------------------------

    async def _signature(self, record: ModelRecord) -> Signature:
        try:
            return await self._thread.run_short(lambda: signature_of(record))
        except FileChanged as error:
            raise ModelUnusable(
                f"The file of {record.id!r} is gone: {record.path}.",
                hint="Import it again, or remove the entry with `roteiro model remove`.",
                param="model",
            ) from error

    async def _load(self, record: ModelRecord, signature: Signature) -> VocabularyHandle:
        def job() -> VocabularyHandle:
            vocabulary = self._backend.load_vocabulary(record.path)
            return VocabularyHandle(vocabulary, signature, self._thread)

        handle = await self._thread.run_short(job)
        self._every.add(handle)
        return handle


def _size(part: Part, tokens: Sequence[int]) -> int:
    return _PART_BYTES + sys.getsizeof(part[0]) + _TOKEN_BYTES * len(tokens)


def _tokenize_part(vocabulary: Vocabulary, part: Part) -> tuple[int, ...]:
    text, special = part
    return _tokenize(vocabulary, text, add_special=False, parse_special=special)


def _tokenize(
    vocabulary: Vocabulary, text: str, *, add_special: bool, parse_special: bool
) -> tuple[int, ...]:
    if parse_special:
        return vocabulary.tokenize(text, add_special=add_special, parse_special=True)
    tokens: list[int] = []
    for start, piece in enumerate(_broken(text, vocabulary.facts.breakable_texts)):
        special = add_special and start == 0
        tokens += vocabulary.tokenize(piece, add_special=special, parse_special=False)
    return tuple(tokens)


def _broken(text: str, breakable: Sequence[str]) -> list[str]:
    """Cut a text inside every token text that the library would recognise even in plain text."""
    cuts: set[int] = set()
    for marker in breakable:
        at = text.find(marker)
        while at >= 0:
            cuts.add(at + 1)
            at = text.find(marker, at + 1)
    places = [0, *sorted(cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def _close_soon(vocabulary: Vocabulary, thread: EngineThread) -> None:
    try:
        thread.submit(vocabulary.close, short=True)
    except EngineClosed:
        # The engine closed every vocabulary when it stopped.
        return

"""A llama.cpp vocabulary: text to tokens and back. Thread: engine thread."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from roteiro.engine.backend import Alive, VocabularyFacts
from roteiro.engine.llama.binding import C
from roteiro.errors import DecodeFailed

_CONTROL = 8
_USER_DEFINED = 16
_STRIPS_LEFT = 128
# The kinds that split a text at its control tokens first and know nothing of what stood before one: SPM, BPE.
_CUTTABLE_KINDS = (1, 2)
# Llama 3 reserves 256. A vocabulary with thousands would make a slow pattern.
_MOST_CUTS = 512
_PIECE_BYTES = 128
# User-defined tokens also stand for runs of spaces and the like; only those that look like markup are
# dangerous in a user's text.
_MARKUP = re.compile(r"[<\[|].*[>\]|]", re.DOTALL)


class LlamaVocabulary:
    """The vocabulary inside a loaded model, which owns it."""

    def __init__(self, model: Any) -> None:
        self.native: Any = C.llama_model_get_vocab(model)
        self.alive = Alive()
        self._piece = ctypes.create_string_buffer(_PIECE_BYTES)
        self.facts = self._read_facts()

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> tuple[int, ...]:
        """Token ids of `text`; what cannot be encoded as UTF-8 becomes a replacement character."""
        data = text.encode(errors="replace")
        # A token is at least a byte, except for the few that are added around the text.
        room = len(data) + 16
        for _attempt in range(2):
            tokens = (C.llama_token * room)()
            count = C.llama_tokenize(self.native, data, len(data), tokens, room, add_special, parse_special)
            if count >= 0:
                return tuple(tokens[:count])
            room = -count
        raise DecodeFailed(f"llama.cpp could not tokenise a text of {len(data)} bytes.")

    def token_bytes(self, token: int) -> bytes:
        """The exact bytes of one token, control tokens included."""
        size = C.llama_token_to_piece(self.native, token, self._piece, len(self._piece), 0, True)
        if size < 0:
            self._piece = ctypes.create_string_buffer(-size)
            size = C.llama_token_to_piece(self.native, token, self._piece, -size, 0, True)
        return self._piece.raw[: max(0, size)]

    def suppressed(self) -> list[int]:
        """Tokens that the model itself says are never to be sampled."""
        count = ctypes.c_int32(0)
        found = C.llama_vocab_get_suppress_tokens(self.native, ctypes.byref(count))
        return [found[index] for index in range(count.value)] if found else []

    def close(self) -> None:
        """The model owns it."""

    # ---------------------------------------------------------------------------------------------

    def _read_facts(self) -> VocabularyFacts:
        vocab = self.native
        n_vocab = C.llama_vocab_n_tokens(vocab)
        attribute = C.llama_vocab_get_attr
        marked = [
            (token, attr)
            for token in range(n_vocab)
            if (attr := attribute(vocab, token)) & (_CONTROL | _USER_DEFINED)
        ]
        bos, eos, eot = (
            _or_none(C.llama_vocab_bos(vocab)),
            _or_none(C.llama_vocab_eos(vocab)),
            _or_none(C.llama_vocab_eot(vocab)),
        )
        special, breakable = self._special_texts(marked)
        candidates = {token for token, _ in marked} | {t for t in (eos, eot) if t is not None}
        return VocabularyFacts(
            n_vocab=n_vocab,
            bos=bos,
            eos=eos,
            eot=eot,
            bos_text=self._text(bos),
            eos_text=self._text(eos),
            eot_text=self._text(eot),
            add_bos=C.llama_vocab_get_add_bos(vocab),
            add_eos=C.llama_vocab_get_add_eos(vocab),
            end_tokens=frozenset(t for t in candidates if C.llama_vocab_is_eog(vocab, t)),
            special_texts=special,
            breakable_texts=breakable,
            cuts=self._cuts(marked),
            kind=C.llama_vocab_type(vocab),
        )

    def _special_texts(self, marked: list[tuple[int, int]]) -> tuple[tuple[str, ...], ...]:
        special: dict[str, None] = {}
        breakable: dict[str, None] = {}
        for token, attr in marked:
            text = self._text(token)
            if not text.strip():
                continue
            if attr & _CONTROL:
                special[text] = None
            elif _MARKUP.fullmatch(text):
                special[text] = breakable[text] = None
        return tuple(special), tuple(sorted(breakable, key=lambda text: (-len(text), text)))

    def _cuts(self, marked: list[tuple[int, int]]) -> tuple[str, ...]:
        """Control tokens that take nothing from the text before them and are no part of another token."""
        if C.llama_vocab_type(self.native) not in _CUTTABLE_KINDS or len(marked) > _MOST_CUTS:
            return ()
        texts = {self._text(token) for token, _ in marked} - {""}
        wanted = {self._text(token) for token, attr in marked if attr & _CONTROL and not attr & _STRIPS_LEFT}
        every = "\0".join(texts)
        # Ends of a token that are not all of it: what begins as one of them might have begun earlier.
        ends = {text[start:] for text in texts for start in range(1, len(text))}
        begin = (text for text in wanted & texts if every.count(text) == 1)
        return tuple(sorted(t for t in begin if not any(t[:n] in ends for n in range(1, len(t)))))

    def _text(self, token: int | None) -> str:
        return "" if token is None else self.token_bytes(token).decode(errors="replace")


class OwnedVocabulary(LlamaVocabulary):
    """A vocabulary of its own: of a model loaded without weights, freed with it."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self._model = model

    def close(self) -> None:
        """Free it, once nobody reads it. Idempotent."""
        self.alive.end()
        model, self._model = self._model, None
        if model:
            C.llama_model_free(model)


def _or_none(token: int) -> int | None:
    return token if token >= 0 else None

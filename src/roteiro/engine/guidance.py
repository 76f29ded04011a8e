"""The door to llguidance: grammars over one vocabulary, as constraints of a generation.

A `Guide` is built once per vocabulary (it takes up to a second) and compiles Lark grammars; a compiled
grammar is cached and copied for each generation. llguidance never aborts the process: what it cannot
enforce it refuses, and a matcher that fails says so (ADR-0010). It knows no tool and no message.
Threads: a `Guide` is built and compiles off the loop; a constraint is advanced on the engine thread.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from roteiro.engine.backend import Alive, Vocabulary
from roteiro.errors import InvalidRequest

# Compiled grammars kept per vocabulary: an agent alternates between a handful of tool lists.
CACHED_GRAMMARS = 64

# Separators as models write JSON. Fixed whitespace leaves more tokens without a choice (they are not
# sampled) and takes away the endless run of blanks that small models fall into.
JSON_STYLE: Mapping[str, Any] = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
}


def schema_error(schema: Any) -> str | None:
    """Why a JSON Schema cannot be enforced, or None when it can. Takes no vocabulary; any thread."""
    from llguidance import LLMatcher

    try:
        text = json.dumps(schema)
        grammar = LLMatcher.grammar_from_json_schema(text, overrides=JSON_STYLE)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        return f"it is not a JSON Schema ({type(error).__name__})"
    failed, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    return messages[0].splitlines()[-1] if failed and messages else None


def json_term(schema: Any) -> str:
    """A Lark term that stands for JSON text valid under `schema`."""
    styled = {**schema, "x-guidance": dict(JSON_STYLE)} if isinstance(schema, dict) else schema
    return f"%json {json.dumps(styled)}"


class Guide:
    """Compiles grammars for one vocabulary.

    Args:
        build: makes llguidance's tokenizer; called once, on first use, on the caller's thread.
        alive: keeps the vocabulary behind it while it is read.
    """

    def __init__(self, build: Callable[[], Any], alive: Alive) -> None:
        self._build = build
        self._alive = alive
        self._tokenizer: Any = None
        self._compiled: OrderedDict[str, Any] = OrderedDict()

    @classmethod
    def for_vocabulary(cls, vocabulary: Vocabulary) -> Guide:
        """A guide over a vocabulary, which must outlive it."""
        return cls(lambda: _tokenizer_over(vocabulary), vocabulary.alive)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of llguidance, built on first use.

        Raises:
            EngineClosed: the vocabulary is gone.
        """
        with self._alive:
            if self._tokenizer is None:
                self._tokenizer = self._build()
            return self._tokenizer

    def constraint(self, grammar: str) -> GrammarConstraint:
        """A fresh constraint for one generation. Blocks while it compiles: call it off the loop.

        Args:
            grammar: Lark as llguidance reads it; `<[id]>` stands for one token.

        Raises:
            InvalidRequest: the grammar cannot be compiled within llguidance's limits.
            EngineClosed: the vocabulary is gone.
        """
        with self._alive:
            tokenizer = self.tokenizer
            prototype = self._compiled.get(grammar)
            if prototype is None:
                prototype = self._compiled[grammar] = _compile(tokenizer, grammar)
            self._compiled.move_to_end(grammar)
            while len(self._compiled) > CACHED_GRAMMARS:
                self._compiled.popitem(last=False)
            return GrammarConstraint(prototype.deep_copy(), tokenizer)


class GrammarConstraint:
    """A `Constraint` that follows one compiled grammar from its start."""

    def __init__(self, matcher: Any, tokenizer: Any) -> None:
        import numpy as np

        self._np = np
        self._matcher = matcher
        self._tokenizer = tokenizer
        self._bits = np.zeros((tokenizer.vocab_size + 31) // 32, dtype=np.int32)

    def mask(self, logits: Any) -> None:
        """Ban every token that the grammar does not take now."""
        np = self._np
        self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        self._check()
        allowed = np.unpackbits(self._bits.view(np.uint8), bitorder="little")[: len(logits)]
        np.copyto(logits[: len(allowed)], -np.inf, where=allowed == 0)
        logits[len(allowed) :] = -np.inf

    def allows(self, token: int) -> bool:
        """Whether `token` may come next, without advancing."""
        return bool(self._matcher.validate_tokens([token]) == 1)

    def accept(self, token: int) -> None:
        """Advance past `token`."""
        self._matcher.consume_token(token)
        self._check()

    def accept_text(self, text: bytes) -> bool:
        """Advance past `text`; False (and no more use) when the grammar does not take it."""
        tokens = self._tokenizer.tokenize_bytes(text, parse_special=True)
        return not tokens or bool(self._matcher.consume_tokens(tokens))

    def forced(self) -> tuple[int, ...]:
        """The tokens that must follow, in the vocabulary's own segmentation."""
        if self._matcher.is_stopped():
            return ()
        return tuple(self._matcher.compute_ff_tokens())

    def finished(self) -> bool:
        """True when only the end may follow."""
        return bool(self._matcher.is_stopped())

    def _check(self) -> None:
        if self._matcher.is_error():
            raise InvalidRequest(
                "The answer could not be held to the requested form: the grammar grew beyond its limits.",
                hint="Use a simpler or smaller schema.",
                param="response_format",
            )


# ------------------------------------------------------------------------------------------------


def _tokenizer_over(vocabulary: Vocabulary) -> Any:
    """Llguidance's tokenizer over llama.cpp's own, or over ours where the backend is not native."""
    end_tokens = sorted(vocabulary.facts.end_tokens)
    if vocabulary.native is not None:
        from llguidance.llamacpp import lltokenizer_from_vocab

        return lltokenizer_from_vocab(vocabulary.native, eos_token=end_tokens or None)
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Plain(vocabulary)), eos_token=end_tokens)


class _Plain:
    """A vocabulary as llguidance's wrapper wants it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        facts = vocabulary.facts
        specials = {text.encode() for text in facts.special_texts}
        self.tokens = [vocabulary.token_bytes(token) for token in range(facts.n_vocab)]
        self.special_token_ids = [token for token, data in enumerate(self.tokens) if data in specials]
        self.eos_token_id = facts.eos
        self.bos_token_id = facts.bos
        self._vocabulary = vocabulary

    def __call__(self, text: bytes) -> list[int]:
        decoded = text.decode(errors="replace")
        return list(self._vocabulary.tokenize(decoded, add_special=False, parse_special=False))


def _compile(tokenizer: Any, grammar: str) -> Any:
    from llguidance import LLMatcher

    matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_lark(grammar), log_level=0)
    if matcher.is_error():
        reason = matcher.get_error().splitlines()[0]
        raise InvalidRequest(f"The requested form cannot be enforced: {reason}", hint="Use a simpler schema.")
    return matcher

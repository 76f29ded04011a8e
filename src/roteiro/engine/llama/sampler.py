"""A llama.cpp sampler chain for one sequence. Thread: engine thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from roteiro.engine.backend import Context, SamplerOptions
from roteiro.engine.llama.binding import C
from roteiro.engine.llama.context import LlamaContext

# Fewest candidates that truncating samplers leave.
_MIN_KEEP = 1


class LlamaSampler:
    """The chain in llama.cpp's order: biases, penalties, top_k, typical, top_p, min_p, temperature, choice.

    Plain greedy choice needs no chain: the largest logit is taken where it lies, which spares the copy
    of the whole vocabulary that a chain starts with.
    """

    def __init__(self, options: SamplerOptions, n_vocab: int, banned: Sequence[int]) -> None:
        bias = dict(options.logit_bias) | dict.fromkeys(banned, -math.inf)
        self._chain: Any = None
        if not (options.greedy and not bias and not options.penalises):
            self._chain = _build(options, n_vocab, bias)

    def observe(self, tokens: Sequence[int]) -> None:
        """Let the penalties know the end of the prompt."""
        if self._chain is not None:
            for token in tokens:
                C.llama_sampler_accept(self._chain, token)

    def sample(self, context: Context) -> int:
        """Choose the next token and remember it."""
        if self._chain is None:
            return int(context.logits().argmax())
        assert isinstance(context, LlamaContext)
        return int(C.llama_sampler_sample(self._chain, context.native, -1))

    def accept(self, token: int) -> None:
        """Remember a forced token."""
        if self._chain is not None:
            C.llama_sampler_accept(self._chain, token)

    def close(self) -> None:
        """Free the chain. Idempotent."""
        chain, self._chain = self._chain, None
        if chain is not None:
            C.llama_sampler_free(chain)


def _build(options: SamplerOptions, n_vocab: int, bias: dict[int, float]) -> Any:
    chain = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())

    def add(sampler: Any) -> None:
        C.llama_sampler_chain_add(chain, sampler)

    if bias:
        rows = (C.llama_logit_bias * len(bias))()
        for row, (token, value) in zip(rows, sorted(bias.items()), strict=True):
            row.token, row.bias = token, value
        add(C.llama_sampler_init_logit_bias(n_vocab, len(bias), rows))
    if options.penalises:
        add(
            C.llama_sampler_init_penalties(
                n_vocab,
                options.repeat_last_n,
                options.repeat_penalty,
                options.frequency_penalty,
                options.presence_penalty,
            )
        )
    if options.greedy:
        add(C.llama_sampler_init_greedy())
        return chain
    if options.top_k > 0:
        add(C.llama_sampler_init_top_k(options.top_k))
    if options.typical_p < 1:
        add(C.llama_sampler_init_typical(options.typical_p, _MIN_KEEP))
    if options.top_p < 1:
        add(C.llama_sampler_init_top_p(options.top_p, _MIN_KEEP))
    if options.min_p > 0:
        add(C.llama_sampler_init_min_p(options.min_p, _MIN_KEEP))
    add(C.llama_sampler_init_temp(options.temperature))
    add(C.llama_sampler_init_dist(options.seed))
    return chain

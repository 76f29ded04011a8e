"""From a request's wishes to a fully resolved sampler, and log-probabilities from raw logits.

Knows llama.cpp's defaults and the GGUF's own; the chain itself is built behind the backend's port. Thread:
engine thread (`resolve`: any).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from roteiro.engine.backend import SamplerOptions
from roteiro.engine.request import SamplingParams, TokenLogprob
from roteiro.errors import InvalidRequest

if TYPE_CHECKING:
    from roteiro.engine.backend import FloatArray

DEFAULTS: Final[Mapping[str, float]] = {
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "typical_p": 1.0,
    "repeat_last_n": 64,
    "repeat_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
# llama.cpp reads this one as "draw a fresh seed", so it is never drawn or passed on.
_RANDOM_SEED = 0xFFFFFFFF


def resolve(
    params: SamplingParams,
    *,
    model_defaults: Mapping[str, float],
    n_vocab: int,
    end_tokens: frozenset[int],
    draw_seed: Callable[[], int] = lambda: random.SystemRandom().randrange(_RANDOM_SEED),
) -> SamplerOptions:
    """Fill in what the request leaves open: the GGUF's own defaults first, then llama.cpp's.

    Raises:
        InvalidRequest: a value is not finite, or out of its range.
    """
    values = {name: _value(name, params, model_defaults) for name in DEFAULTS}
    if values["repeat_penalty"] <= 0:
        raise InvalidRequest(
            f"repeat_penalty is {values['repeat_penalty']}.",
            hint="Use a value above 0; 1 turns it off.",
            param="repeat_penalty",
        )
    if values["repeat_last_n"] < 0:
        raise InvalidRequest(
            f"repeat_last_n is {values['repeat_last_n']:.0f}.",
            hint="Use 0 to turn penalties off, or the number of tokens to look back.",
            param="repeat_last_n",
        )
    bias = {token: value for token, value in params.logit_bias.items() if 0 <= token < n_vocab}
    if any(math.isnan(value) or value == math.inf for value in bias.values()):
        raise InvalidRequest(
            "logit_bias has a value that is not a number or infinite.",
            hint="Use finite values; minus infinity bans a token.",
            param="logit_bias",
        )
    if params.ignore_eos:
        bias |= dict.fromkeys(end_tokens, -math.inf)
    return SamplerOptions(
        temperature=values["temperature"],
        top_k=int(values["top_k"]),
        top_p=values["top_p"],
        min_p=values["min_p"],
        typical_p=values["typical_p"],
        repeat_last_n=int(values["repeat_last_n"]),
        repeat_penalty=values["repeat_penalty"],
        presence_penalty=values["presence_penalty"],
        frequency_penalty=values["frequency_penalty"],
        seed=_seed(params.seed, draw_seed),
        logit_bias=tuple(sorted(bias.items())),
    )


def log_probabilities(
    logits: FloatArray, top: int, token_bytes: Callable[[int], bytes]
) -> tuple[Callable[[int], TokenLogprob], tuple[TokenLogprob, ...]]:
    """Natural log-probabilities from raw logits: a function for any token, and the `top` best ones.

    Taken before a mask or bias touches the logits, since both work in place.
    """
    import numpy as np

    values = logits.astype(np.float64)
    peak = values.max()
    values -= peak + math.log(np.exp(values - peak).sum())

    def of(token: int) -> TokenLogprob:
        return TokenLogprob(token=token, data=token_bytes(token), logprob=min(0.0, float(values[token])))

    top = min(top, len(values))
    if top <= 0:
        return of, ()
    # Every token as likely as the last one that counts, then equal ones in order of id: the list does not
    # depend on the partition's whim.
    least = np.partition(values, -top)[-top]
    best = np.flatnonzero(values >= least).tolist()
    best.sort(key=lambda token: (-values[token], token))
    return of, tuple(of(token) for token in best[:top])


def _value(name: str, params: SamplingParams, model_defaults: Mapping[str, float]) -> float:
    asked: float | None = getattr(params, name)
    value = model_defaults.get(name, DEFAULTS[name]) if asked is None else asked
    if not math.isfinite(value):
        raise InvalidRequest(f"{name} is {value}.", hint="Use a finite number.", param=name)
    return value


def _seed(seed: int | None, draw_seed: Callable[[], int]) -> int:
    if seed is None or seed in (-1, _RANDOM_SEED):
        return draw_seed()
    return seed % _RANDOM_SEED

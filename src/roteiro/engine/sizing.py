"""How large a context is, and what it costs. Pure functions over values; thread: any.

A request pays for its own window (ADR-0005): prompt + max_tokens + headroom, at least 4,096, never more than
the trained window or the configured cap. An open-ended request starts with room for a step and grows.
"""

from __future__ import annotations

from dataclasses import dataclass

from roteiro.errors import ContextOverflow, InvalidRequest, ModelUnusable
from roteiro.modelstore.record import GgufHeader

# Below this a smaller context saves little: 91 MiB for SmolLM2-135M, 112 MiB for a 1.5B model.
CONTEXT_FLOOR_TOKENS = 4096
# Room for tokens that are forced in (the end of a thought) and for the rounding of positions.
HEADROOM_TOKENS = 64
# What an open-ended request gets beyond its prompt before it has to grow: a long answer, in one allocation.
OPEN_STEP_TOKENS = 2048
# llama.cpp rounds contexts up to this; asking for multiples keeps our numbers and its numbers equal.
CONTEXT_MULTIPLE = 256
# llama.cpp keeps positions in 32 bits.
LARGEST_WINDOW = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPlan:
    """The room one request needs, in tokens.

    Attributes:
        prompt: length of the prompt.
        limit: tokens the sequence may reach, prompt included; generation ends there.
        start: the size of a new context for it.
        enough: the smallest existing context that may serve it; it grows when that is not enough.
        window: the most a context of this model may ever have.
    """

    prompt: int
    limit: int
    start: int
    enough: int
    window: int


def window_of(header: GgufHeader, cap: int | None) -> int:
    """The window that applies to a model: the trained one, lowered by the configured cap.

    Raises:
        ModelUnusable: the file names no usable trained window.
    """
    trained = header.context_length
    if not 0 < trained <= LARGEST_WINDOW:
        raise ModelUnusable(
            f"The model's trained window of {trained} tokens cannot be used.",
            hint="`roteiro model check` says what the file holds.",
        )
    return trained if cap is None else min(trained, cap)


def plan_window(*, prompt: int, max_tokens: int | None, window: int) -> WindowPlan:
    """Size a request.

    Raises:
        InvalidRequest: the prompt is empty or max_tokens is negative.
        ContextOverflow: prompt and answer do not fit `window`.
    """
    if prompt < 1:
        raise InvalidRequest("The prompt has no tokens.", hint="Send some text.", param="messages")
    if max_tokens is not None and max_tokens < 0:
        raise InvalidRequest(f"max_tokens is {max_tokens}.", hint="Use 0 or more.", param="max_tokens")
    # At least one token of answer, or the request could do nothing.
    if prompt + max(1, max_tokens or 0) > window:
        raise ContextOverflow(prompt_tokens=prompt, n_ctx=window, max_tokens=max_tokens)
    if max_tokens is None:
        limit, wanted, enough = window, prompt + OPEN_STEP_TOKENS, prompt + 1
    else:
        limit = prompt + max_tokens
        wanted = enough = limit
    return WindowPlan(
        prompt=prompt,
        limit=limit,
        start=context_size(wanted, window),
        enough=min(enough + HEADROOM_TOKENS, window),
        window=window,
    )


def context_size(tokens: int, window: int) -> int:
    """The size of a context for `tokens`: headroom, floor, llama.cpp's rounding, and the window's cap."""
    wanted = max(tokens + HEADROOM_TOKENS, CONTEXT_FLOOR_TOKENS)
    return min(-(-wanted // CONTEXT_MULTIPLE) * CONTEXT_MULTIPLE, window)


def grown_size(n_ctx: int, window: int) -> int:
    """The next size of a context that is full: half as much again, at least a step, up to the window."""
    return context_size(n_ctx + max(OPEN_STEP_TOKENS, n_ctx // 2), window)


def kv_bytes_per_token(header: GgufHeader) -> int:
    """Bytes of keys and values a token takes (16 bits each), from the header alone.

    Where a fact is missing (per-layer arrays are not read) the larger assumption is made. Recurrent
    architectures, which keep no token, come out as their state's width: small, and not zero.
    """
    layers = _integer(header, "block_count", 0)
    heads = max(1, _integer(header, "attention.head_count", 1))
    kv_heads = _integer(header, "attention.head_count_kv", heads)
    width = -(-header.embedding_length // heads)
    keys = _integer(header, "attention.key_length", width)
    values = _integer(header, "attention.value_length", width)
    if _integer(header, "ssm.state_size", 0) and "attention.head_count_kv" not in _own(header):
        return 2 * layers
    return 2 * layers * kv_heads * (keys + values)


def _own(header: GgufHeader) -> set[str]:
    prefix = f"{header.architecture}."
    return {key.removeprefix(prefix) for key in header.scalars if key.startswith(prefix)}


def _integer(header: GgufHeader, key: str, default: int) -> int:
    value = header.scalars.get(f"{header.architecture}.{key}", default)
    return int(value) if isinstance(value, int | float) and value >= 0 else default

"""Every call form Roteiro reads and writes, in the order in which they are tried.

Stricter and marked forms come first, forms that are marked by nothing but their grammar last.
Thread: any.
"""

from __future__ import annotations

from roteiro.chat.dialects.command_r import COMMAND_R, COMMAND_R7B
from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.dialects.glm import GLM
from roteiro.chat.dialects.granite import GRANITE
from roteiro.chat.dialects.hermes import HERMES
from roteiro.chat.dialects.minimax import MINIMAX_M1, MINIMAX_M2, TOOL_CALLS_ARRAY
from roteiro.chat.dialects.mistral import MISTRAL, MISTRAL_ARRAY
from roteiro.chat.dialects.nemotron import NEMOTRON
from roteiro.chat.dialects.phi import FUNCTOOLS, PHI4
from roteiro.chat.dialects.qwen3_coder import QWEN3_CODER
from roteiro.chat.dialects.seed_oss import SEED_OSS

ALL: tuple[Dialect, ...] = (
    HERMES,
    QWEN3_CODER,
    GLM,
    SEED_OSS,
    MINIMAX_M2,
    MINIMAX_M1,
    TOOL_CALLS_ARRAY,
    MISTRAL,
    MISTRAL_ARRAY,
    PHI4,
    GRANITE,
    NEMOTRON,
    COMMAND_R7B,
    COMMAND_R,
    FUNCTOOLS,
)


def by_name(name: str) -> Dialect | None:
    """The dialect with that name, or None."""
    return next((dialect for dialect in ALL if dialect.name == name), None)

"""Every call form Roteiro reads and writes, in the order in which they are tried.

Stricter and marked forms come first, forms that are marked by nothing but their grammar last.
Thread: any.
"""

from __future__ import annotations

from roteiro.chat.dialects.apertus import APERTUS
from roteiro.chat.dialects.bare_json import BARE_JSON
from roteiro.chat.dialects.command_r import COMMAND_R, COMMAND_R7B
from roteiro.chat.dialects.deepseek import DEEPSEEK_R1, DEEPSEEK_V3, DEEPSEEK_V4, DEEPSEEK_V31, DEEPSEEK_V32
from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.dialects.functionary import FUNCTION_TAG, FUNCTIONARY
from roteiro.chat.dialects.gemma import FUNCTION_GEMMA, GEMMA4
from roteiro.chat.dialects.gigachat import GIGACHAT3, GIGACHAT31, GIGACHAT35
from roteiro.chat.dialects.glm import GLM, HUNYUAN3
from roteiro.chat.dialects.glm4 import GLM4
from roteiro.chat.dialects.granite import GRANITE
from roteiro.chat.dialects.harmony import HARMONY
from roteiro.chat.dialects.hermes import HERMES
from roteiro.chat.dialects.json_families import HYPERCLOVA, INTERNLM, LONGCAT
from roteiro.chat.dialects.kimi import KIMI_K2
from roteiro.chat.dialects.kimi_k3 import KIMI_K3
from roteiro.chat.dialects.lfm25 import LFM25
from roteiro.chat.dialects.llama3 import LLAMA3
from roteiro.chat.dialects.llama4 import LLAMA4
from roteiro.chat.dialects.minicpm import MINICPM5
from roteiro.chat.dialects.minimax import MINIMAX_M1, MINIMAX_M2, TOOL_CALLS_ARRAY
from roteiro.chat.dialects.minimax_m3 import MINIMAX_M3
from roteiro.chat.dialects.mirothinker import MIROTHINKER
from roteiro.chat.dialects.mistral import MISTRAL, MISTRAL_ARRAY
from roteiro.chat.dialects.muse import MUSE
from roteiro.chat.dialects.nemotron import NEMOTRON
from roteiro.chat.dialects.phi import FUNCTOOLS, PHI4
from roteiro.chat.dialects.pythonic import GEMMA_TOOL_CODE, LFM2, OLMO3, PYTHONIC
from roteiro.chat.dialects.qwen3_coder import QWEN3_CODER
from roteiro.chat.dialects.seed_oss import SEED_OSS
from roteiro.chat.dialects.solar import SOLAR
from roteiro.chat.dialects.step3 import STEP3

ALL: tuple[Dialect, ...] = (
    TOOL_CALLS_ARRAY,
    MINIMAX_M3,
    HERMES,
    SEED_OSS,
    QWEN3_CODER,
    GLM,
    HUNYUAN3,
    MINIMAX_M2,
    MINIMAX_M1,
    MISTRAL,
    MISTRAL_ARRAY,
    HARMONY,
    DEEPSEEK_V31,
    DEEPSEEK_V3,
    DEEPSEEK_R1,
    DEEPSEEK_V32,
    DEEPSEEK_V4,
    KIMI_K2,
    KIMI_K3,
    PHI4,
    GRANITE,
    NEMOTRON,
    COMMAND_R7B,
    COMMAND_R,
    APERTUS,
    SOLAR,
    GIGACHAT35,
    GIGACHAT31,
    GIGACHAT3,
    STEP3,
    INTERNLM,
    LONGCAT,
    HYPERCLOVA,
    MIROTHINKER,
    MUSE,
    MINICPM5,
    GEMMA4,
    FUNCTION_GEMMA,
    LFM2,
    LFM25,
    OLMO3,
    GEMMA_TOOL_CODE,
    FUNCTION_TAG,
    FUNCTIONARY,
    FUNCTOOLS,
    LLAMA3,
    LLAMA4,
    PYTHONIC,
    GLM4,
    BARE_JSON,
)


def by_name(name: str) -> Dialect | None:
    """The dialect with that name, or None."""
    return next((dialect for dialect in ALL if dialect.name == name), None)

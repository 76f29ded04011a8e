"""`/props` and `/slots` as llama-server writes them, from the engine's picture. Pure; thread: any."""

from __future__ import annotations

from typing import Any

from roteiro import __version__
from roteiro.chat.template import CHATML, ChatTemplate, normalise_source
from roteiro.engine.sampling import DEFAULTS
from roteiro.engine.state import EngineState, SessionState
from roteiro.modelstore.record import ModelRecord

RANDOM_SEED = 2**32 - 1


def props_json(
    record: ModelRecord, state: EngineState, *, window: int, sessions: int, template: dict[str, Any]
) -> dict[str, Any]:
    """`GET /props` of one model; `template` is what `template_json` said of it."""
    return {
        "default_generation_settings": {
            "params": {**DEFAULTS, **record.header.sampling, "seed": RANDOM_SEED},
            "n_ctx": window,
        },
        "total_slots": sessions,
        "model_alias": record.id,
        "model_path": str(record.path),
        "model_ftype": record.header.quantization,
        "modalities": {"vision": False, "video": False, "audio": False},
        **template,
        "build_info": f"roteiro-{__version__}",
        "is_sleeping": state.sleeping,
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": True,
    }


def template_json(template: ChatTemplate) -> dict[str, Any]:
    """The template's part of `/props`: its text as clients hash it, and what it can do."""
    value: dict[str, Any] = {"chat_template": template.source}
    if template.tool_use is not None:
        value["chat_template_tool_use"] = template.tool_use.source
    return value | {
        "chat_template_caps": template.capabilities.as_props(),
        "bos_token": template.bos_token,
        "eos_token": template.eos_token,
    }


def plain_template_json(record: ModelRecord) -> dict[str, Any]:
    """The same where the model cannot be looked into: the text alone."""
    text = record.header.chat_templates.get("default") or CHATML
    return {"chat_template": normalise_source(text), "bos_token": "", "eos_token": ""}


def no_model_props_json(state: EngineState, sessions: int) -> dict[str, Any]:
    """`GET /props` where no model is installed."""
    return {
        "role": "router",
        "default_generation_settings": {"params": None, "n_ctx": 0},
        "total_slots": sessions,
        "model_alias": "",
        "model_path": "none",
        "build_info": f"roteiro-{__version__}",
        "is_sleeping": state.sleeping,
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": True,
    }


def slots_json(
    record: ModelRecord, state: EngineState, *, window: int, sessions: int
) -> list[dict[str, Any]]:
    """`GET /slots` of one model: what it has opened, then the slots it may still open."""
    held = next((model.sessions for model in state.models if model.id == record.id), ())
    by_id = {session.id: session for session in held}
    ids = sorted(by_id.keys() | set(range(sessions)))
    return [_slot(i, by_id.get(i), window, state) for i in ids]


# ---------------------------------------------------------------------------------------------------


def _slot(number: int, session: SessionState | None, window: int, state: EngineState) -> dict[str, Any]:
    value: dict[str, Any] = {
        "id": number,
        "n_ctx": session.n_ctx if session is not None else window,
        "speculative": False,
        "is_processing": session is not None and session.is_processing,
        "n_queued": state.queued,
    }
    if session is None or not session.has_served:
        return value
    value |= {
        "n_prompt_tokens": session.n_prompt_tokens,
        "n_prompt_tokens_processed": session.n_prompt_tokens_processed,
        "n_prompt_tokens_cache": session.n_prompt_tokens_cache,
        "n_allocated": session.allocated,
        "n_held": session.tokens,
        "bytes": session.bytes,
        "next_token": [
            {
                "has_next_token": session.is_processing,
                "has_new_line": False,
                "n_remain": session.n_remain if session.is_processing else -1,
                "n_decoded": session.n_decoded if session.is_processing else 0,
            }
        ],
    }
    return value

"""How installed and found models look, as JSON and as tables. Thread: the command's."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roteiro.cli.consent import show_bytes
from roteiro.cli.tables import print_table
from roteiro.modelstore.discover import Found
from roteiro.modelstore.importing import ImportResult
from roteiro.modelstore.index import ProbeVerdict
from roteiro.modelstore.record import ModelRecord, Scalar

# Values longer than this are named by their length in `show`; `--json` has them whole.
MAX_SHOWN_CHARACTERS = 100


def record_json(record: ModelRecord, *, budget: int, verdict: ProbeVerdict | None) -> dict[str, Any]:
    """One entry of `model list --json`. `probed` is null until a probe has run."""
    return {
        "id": record.id,
        "path": _text(record.path),
        "size": record.size,
        "kind": record.kind,
        "architecture": record.header.architecture,
        "quantization": record.header.quantization,
        "context_length": record.header.context_length,
        "sha256": record.identity.sha256,
        "source": record.source,
        "fits": record.size <= budget,
        "probed": None if verdict is None else verdict.ok,
    }


def details_json(record: ModelRecord, *, budget: int, verdict: ProbeVerdict | None) -> dict[str, Any]:
    """`model show --json`: the entry of `list` and everything that the header says."""
    header = record.header
    refused = verdict.reason if verdict is not None and not verdict.ok else None
    return {
        **record_json(record, budget=budget, verdict=verdict),
        "refused_because": refused,
        "name": header.name,
        "parts": [_text(part) for part in record.parts],
        "created": record.created,
        "embedding_length": header.embedding_length,
        "vocabulary_size": header.vocabulary_size,
        "tokenizer": header.tokenizer,
        "bos_token_id": header.bos_token_id,
        "eos_token_id": header.eos_token_id,
        "pooling_type": header.pooling_type,
        "chat_templates": dict(header.chat_templates),
        "sampling": dict(header.sampling),
        "metadata": {key: _finite(value) for key, value in header.scalars.items()},
    }


def import_json(result: ImportResult, *, budget: int) -> dict[str, Any]:
    """What `import` and `pull` print: the model, how it came in, and what to know about it."""
    return {
        **record_json(result.record, budget=budget, verdict=None),
        "method": result.method,
        "warnings": list(result.warnings),
    }


def found_json(found: Found) -> dict[str, Any]:
    """One entry of `model discover --json`."""
    header = found.header
    return {
        "tool": found.tool,
        "name": _text(found.name),
        "id": found.suggested_id,
        "path": _text(found.path),
        "size": found.size,
        "architecture": header.architecture if header else None,
        "quantization": header.quantization if header else None,
        "context_length": header.context_length if header else None,
        "problem": found.problem,
        "installed": found.installed_id,
    }


def print_records(entries: Sequence[dict[str, Any]]) -> None:
    """The table of `model list`."""
    probed = {None: "not yet", True: "yes", False: "refused"}
    rows = [
        (
            entry["id"],
            show_bytes(entry["size"]),
            entry["kind"],
            entry["context_length"],
            entry["quantization"],
            "fits" if entry["fits"] else "TOO LARGE",
            probed[entry["probed"]],
        )
        for entry in entries
    ]
    print_table(("id", "size", "kind", "window", "quantization", "memory", "probed"), rows)


def print_found(found: Sequence[Found]) -> None:
    """The table of `model discover`."""
    rows = []
    for item in found:
        state = item.problem or (f"installed as {item.installed_id}" if item.installed_id else "new")
        quantization = item.header.quantization if item.header else ""
        rows.append((item.tool, item.name, show_bytes(item.size), quantization, state))
    print_table(("tool", "name", "size", "quantization", "state"), rows)


def print_details(details: dict[str, Any]) -> None:
    """The table of `model show`: one line a fact, long texts by their length."""
    facts = {key: value for key, value in details.items() if key not in {"metadata", "chat_templates"}}
    for name, text in details["chat_templates"].items():
        facts[f"chat_template {name}"] = text
    rows = []
    for key, value in {**facts, **details["metadata"]}.items():
        text = str(value)
        long = len(text) > MAX_SHOWN_CHARACTERS and key not in {"path", "parts", "refused_because"}
        rows.append((key, f"({len(text)} characters)" if long else text))
    print_table(("fact", "value"), rows)


# -------------------------------------------------------------------------------------------------


def _text(value: Path | str) -> str:
    """A file name as text: it may hold bytes that are none."""
    return os.fsencode(value).decode("utf-8", "replace")


def _finite(value: Scalar) -> Scalar:
    """JSON has no number for infinity and none for NaN."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

"""`roteiro model check ID|FILE.gguf|TEMPLATE.jinja`: will tools work with this model, and how?

Loads no model: the header and the template say it. Exit codes: 0 ok, 1 not, 2 usage.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from roteiro.cli import output
from roteiro.cli.tables import print_table, print_text
from roteiro.errors import ModelUnusable, UsageError

if TYPE_CHECKING:
    from roteiro.chat.detect import Detection
    from roteiro.modelstore.record import GgufHeader

# As the template compiler refuses more anyway, a larger file is not even read.
_MAX_TEMPLATE_BYTES = 4 << 20
_FILE_SUFFIXES = (".gguf", ".jinja", ".jinja2", ".j2", ".txt")
# Templates write the BOS by variable; which text it has does not matter for counting.
_BOS = "<s>"
_EOS = "</s>"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What is checked: named templates, and the header where there is one."""

    name: str
    templates: dict[str, str]
    header: GgufHeader | None = None


def check(
    subject: str = typer.Argument(
        metavar="ID|FILE.gguf|TEMPLATE.jinja", help="an installed model, a GGUF or a chat template"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Say whether tools will work with a model, and prove it with probe calls."""
    from roteiro.chat.detect import detect
    from roteiro.chat.template import load_template

    with output.command_errors(json=as_json):
        checked = _find(subject)
        template = load_template(checked.templates or None, bos_token=_BOS, eos_token=_EOS)
        detection = detect(template)
        result = _as_json(checked, detection)
        if as_json:
            output.print_json(result)
        else:
            _print(result)
        if not detection.ok:
            raise typer.Exit(output.EXIT_FAILED)


# --------------------------------------------------------------------------------------------------


def _find(subject: str) -> _Subject:
    path = Path(subject)
    if path.is_file():
        return _from_file(path)
    if path.exists() or path.suffix.lower() in _FILE_SUFFIXES or "/" in subject:
        raise UsageError(
            f"{subject!r} is not a file that can be read.",
            hint="Give the id of an installed model, a .gguf file or a chat template.",
        )
    return _from_store(subject)


def _from_file(path: Path) -> _Subject:
    from roteiro.modelstore.gguf import read_header

    with path.open("rb") as file:
        is_gguf = file.read(4) == b"GGUF"
    if is_gguf or path.suffix.lower() == ".gguf":
        return _of_header(str(path), read_header(path))
    if path.stat().st_size > _MAX_TEMPLATE_BYTES:
        raise UsageError(f"{path} has {path.stat().st_size} bytes; that is no chat template.")
    text = path.read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        raise UsageError(f"{path} is empty.", hint="A chat template is a Jinja text.")
    return _Subject(name=str(path), templates={"default": text})


def _from_store(model_id: str) -> _Subject:
    from roteiro.config import load_config
    from roteiro.modelstore.store import ModelStore

    record = ModelStore(load_config().paths.model_store).get(model_id)
    if record.kind != "generative":
        raise ModelUnusable(
            f"The model {model_id!r} makes embeddings and cannot chat.",
            hint="`roteiro model list` shows each model's kind.",
        )
    return _of_header(model_id, record.header)


def _of_header(name: str, header: GgufHeader) -> _Subject:
    return _Subject(name=name, templates=dict(header.chat_templates), header=header)


def _as_json(checked: _Subject, detection: Detection) -> dict[str, Any]:
    header, reasoning = checked.header, detection.reasoning
    # The renderer leaves one of several and adds the one that the vocabulary asks for.
    adds = header is not None and header.add_bos is True
    return {
        "subject": checked.name,
        "ok": detection.ok,
        "dialect": detection.dialect.name if detection.dialect is not None else None,
        "tools": detection.tools,
        "tools_stated": detection.tools_stated,
        "calls_in_history": "roteiro" if detection.own_calls else "template",
        "proof": detection.proof,
        "reading": [dialect.name for dialect in detection.reading],
        "system_role": detection.system_role,
        "reasoning": None
        if reasoning is None
        else {
            "start": reasoning.start,
            "end": reasoning.end,
            "end_text": reasoning.end_text,
            "opened_by_template": reasoning.opened,
            "can_be_switched": reasoning.switch,
        },
        "bos_in_template": detection.bos_count,
        "bos_count": int(adds or detection.bos_count > 0),
        "context_length": header.context_length if header is not None else None,
        "templates": sorted(checked.templates) or ["chatml (built in)"],
        "capabilities": detection.capabilities.as_props(),
        "probes": [
            {"name": verdict.name, "ok": verdict.ok, "detail": verdict.detail} for verdict in detection.probes
        ],
        "warnings": list(detection.warnings),
    }


def _print(result: dict[str, Any]) -> None:
    answer = "tools will work" if result["ok"] else "tools will not work as they should"
    print_text(f"{result['subject']}: {answer}")
    reasoning = result["reasoning"]
    rows = [
        ("dialect", f"{result['dialect']} ({result['proof']})"),
        ("tools", f"{result['tools']}, each stated {result['tools_stated']} time(s)"),
        ("calls in history", f"written by {result['calls_in_history']}"),
        ("system role", "yes" if result["system_role"] else "no, folded into the user's message"),
        ("reasoning", f"{reasoning['start']} ... {reasoning['end']}" if reasoning else "none known"),
        ("BOS", f"{result['bos_count']} ({result['bos_in_template']} by the template)"),
        ("window", result["context_length"] or "unknown"),
        ("template", ", ".join(result["templates"])),
    ]
    print_table(("what", "found"), rows, indent="  ")
    probes = [
        (probe["name"], "ok" if probe["ok"] else "FAILED", probe["detail"]) for probe in result["probes"]
    ]
    print_table(("probe", "verdict", "detail"), probes, indent="  ")
    for warning in result["warnings"]:
        output.notice(f"warning: {warning}")

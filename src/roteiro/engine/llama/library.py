"""llama.cpp as a backend: started once, loads vocabularies and models. Thread: engine thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from roteiro.engine.backend import Interrupted, LoadOptions
from roteiro.engine.llama.binding import LOG, C
from roteiro.engine.llama.model import LlamaModel
from roteiro.engine.llama.vocabulary import LlamaVocabulary, OwnedVocabulary
from roteiro.engine.threads import choose_threads
from roteiro.errors import LoadFailed

# Tokens in a prefill batch. On a processor 128 evaluate as fast as 512 (SmolLM2-135M 140-149 against 143
# tokens a CPU second, Qwen2.5-Coder-0.5B 93 against 88; 32 lose a fifth), and progress, short jobs and newly
# queued prompts wait a quarter as long. Accelerators want the larger one.
_CPU_BATCH_TOKENS = 128
_GPU_BATCH_TOKENS = 512


class LlamaBackend:
    """See the module's docstring."""

    name = "llama.cpp"
    build = f"llama-cpp-python {C.__version__}"

    def __repr__(self) -> str:
        return f"<LlamaBackend llama-cpp-python {C.__version__}>"

    def start(self) -> None:
        """Take the log over and initialise the library."""
        LOG.install()
        C.llama_backend_init()

    def stop(self) -> None:
        """Release the library's own memory."""
        C.llama_backend_free()

    def threads(self, wanted: int | None) -> tuple[int, str]:
        """One thread a physical core, unless told otherwise."""
        return choose_threads(wanted)

    def prefill_batch(self, gpu_layers: int | None) -> int:
        """Tokens evaluated in one prefill batch."""
        offloads = C.llama_supports_gpu_offload() and gpu_layers != 0
        return _GPU_BATCH_TOKENS if offloads else _CPU_BATCH_TOKENS

    def load_vocabulary(self, path: Path) -> LlamaVocabulary:
        """Load only the vocabulary of a file."""
        params = C.llama_model_default_params()
        params.vocab_only = True
        LOG.clear()
        model = C.llama_model_load_from_file(os.fsencode(path), params)
        if not model:
            raise _refused(path)
        return OwnedVocabulary(model)

    def load_model(self, path: Path, options: LoadOptions, progress: Callable[[], bool]) -> LlamaModel:
        """Load a model, asking `progress` between tensors whether to go on."""
        params = C.llama_model_default_params()
        if options.gpu_layers is not None:
            params.n_gpu_layers = options.gpu_layers
        unwanted = False

        def report(_share: float, _data: object) -> bool:
            nonlocal unwanted
            unwanted = not progress()
            return not unwanted

        callback = C.llama_progress_callback(report)
        params.progress_callback = callback
        LOG.clear()
        model = C.llama_model_load_from_file(os.fsencode(path), params)
        if unwanted:
            if model:
                C.llama_model_free(model)
            raise Interrupted
        if not model:
            raise _refused(path)
        return LlamaModel(model)


def _refused(path: Path) -> LoadFailed:
    return LoadFailed(
        f"llama.cpp could not load {path.name}: {LOG.complaints()}.",
        hint="`roteiro model check` and `roteiro model verify` say whether the file is whole.",
    )

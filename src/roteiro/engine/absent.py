"""The backend where no inference library is installed: everything that needs one says what brings it.

`serve` starts with it and serves the graph; a request to a model gets the same words. Thread: engine thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from roteiro.engine.backend import LoadedModel, LoadOptions, Vocabulary
from roteiro.errors import MissingExtra


class AbsentBackend:
    """A `Backend` that can load nothing."""

    name = "absent"
    build = ""

    def start(self) -> None:
        """There is nothing to start."""

    def threads(self, wanted: int | None) -> tuple[int, str]:
        """One, and why."""
        return wanted or 1, "no inference library is installed"

    def prefill_batch(self, gpu_layers: int | None) -> int:
        """Any number does."""
        return 1

    def load_vocabulary(self, path: Path) -> Vocabulary:
        """Always raises `MissingExtra`."""
        raise MissingExtra("llama", "Using a model")

    def load_model(self, path: Path, options: LoadOptions, progress: Callable[[], bool]) -> LoadedModel:
        """Always raises `MissingExtra`."""
        raise MissingExtra("llama", "Using a model")

    def stop(self) -> None:
        """There is nothing to stop."""

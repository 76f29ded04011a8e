"""Counts and clock times of one generation, with llama-server's meanings. Thread: engine thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from roteiro.engine.request import Timings

# Zero would make rates infinite; llama-server reports the same least value once a token exists.
_LEAST_PREDICTED_MS = 0.001


@dataclass(slots=True, kw_only=True)
class Meter:
    """Tells how long the prompt and the answer took so far.

    Attributes:
        clock: seconds, monotonic.
        cache_n: prompt tokens taken from memory.
        prompt_n: prompt tokens evaluated so far.
        predicted_n: tokens of the answer, the end token included.
        queue_ms, load_ms: waiting for the engine, loading the model.
    """

    clock: Callable[[], float]
    cache_n: int = 0
    prompt_n: int = 0
    predicted_n: int = 0
    queue_ms: float = 0.0
    load_ms: float = 0.0
    _started: float = field(default=0.0)
    _prompt_end: float = field(default=0.0)
    _last_token: float = field(default=0.0)

    def start(self, cached: int) -> None:
        """The prompt's evaluation begins."""
        self.cache_n = cached
        self._started = self._prompt_end = self.clock()

    def evaluated(self, count: int) -> None:
        """A batch of the prompt is done."""
        self.prompt_n += count
        self._prompt_end = self.clock()

    def token(self) -> None:
        """A token of the answer is there; the first one ends the prompt's time."""
        now = self.clock()
        if self.predicted_n == 0:
            self._prompt_end = now
        self.predicted_n += 1
        self._last_token = now

    @property
    def prompt_ms(self) -> float:
        """Milliseconds the prompt took so far."""
        return (self._prompt_end - self._started) * 1000

    def timings(self) -> Timings:
        """What is known now."""
        predicted = 0.0
        if self.predicted_n:
            predicted = max(_LEAST_PREDICTED_MS, (self._last_token - self._prompt_end) * 1000)
        return Timings(
            cache_n=self.cache_n,
            prompt_n=self.prompt_n,
            prompt_ms=self.prompt_ms,
            predicted_n=self.predicted_n,
            predicted_ms=predicted,
            queue_ms=self.queue_ms,
            load_ms=self.load_ms,
        )

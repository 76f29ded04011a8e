"""The ports between the engine's logic and a native inference library.

Owns the protocols and the values that cross them; the llama.cpp door and the scripted backend both stand
behind it. It refuses to know queues, budgets, sessions and events. Thread: every method is called on the
engine thread, except `Context.interrupt`, which any thread may call, and `Context.save` (see there).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from roteiro.errors import EngineClosed

if TYPE_CHECKING:
    # numpy comes with the `llama` extra; the engine's logic must import without it.
    import numpy as np
    from numpy.typing import NDArray

    FloatArray: TypeAlias = NDArray[np.float32]

MemoryKind = Literal["attention", "swa", "recurrent", "hybrid", "none"]
State: TypeAlias = bytes | bytearray
"""A saved state: bytes of the library's own format."""
PoolingKind = Literal["none", "mean", "cls", "last", "rank"]


class Interrupted(Exception):
    """`Context.decode` stopped because `interrupt` was called; part of its tokens may be in memory."""


class NoRoom(Exception):
    """`Context.decode` found no room for its tokens; the context is as it was before the call."""


class Alive:
    """Keeps a native object while another thread than the engine's reads it: used in a `with` there.

    `end` waits for such a reader. Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._ended = False

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._ended:
            self._lock.release()
            raise EngineClosed

    def __exit__(self, *_error: object) -> None:
        self._lock.release()

    def end(self) -> None:
        """From now on a `with` raises `EngineClosed`."""
        with self._lock:
            self._ended = True


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyFacts:
    """What is fixed about a vocabulary. Ids are None and texts empty where the model names none.

    `special_texts` has the text of every control and user-defined token: what must not become a token
    where it stands in a user's text. `breakable_texts` are those that llama.cpp would turn into tokens
    even in plain text (user-defined ones), longest first. Before each of `cuts`, control tokens too, a
    text in which such tokens count may be cut: its tokens are those of the pieces.
    """

    n_vocab: int
    bos: int | None = None
    eos: int | None = None
    eot: int | None = None
    bos_text: str = ""
    eos_text: str = ""
    eot_text: str = ""
    add_bos: bool = False
    add_eos: bool = False
    end_tokens: frozenset[int] = frozenset()
    special_texts: tuple[str, ...] = ()
    breakable_texts: tuple[str, ...] = ()
    cuts: tuple[str, ...] = ()
    kind: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is fixed about a loaded model; `scalars` are its metadata values as text."""

    n_ctx_train: int
    n_embd: int
    memory: MemoryKind
    n_swa: int = 0
    pooling: PoolingKind = "none"
    size_bytes: int = 0
    n_params: int = 0
    description: str = ""
    can_generate: bool = True
    scalars: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_parts(self) -> bool:
        """True where memory can be cut and saved at any position: each stands for itself."""
        return self.memory == "attention"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How a model is loaded. `gpu_layers` None leaves it to the backend."""

    gpu_layers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How a context is made. `sequences` > 1 and `embeddings` are for embedding batches."""

    n_ctx: int
    n_batch: int
    threads: int
    sequences: int = 1
    embeddings: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerOptions:
    """A fully resolved choice of sampler; `seed` None is only for greedy ones. Names as llama.cpp's."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    repeat_last_n: int
    repeat_penalty: float
    presence_penalty: float
    frequency_penalty: float
    seed: int
    logit_bias: tuple[tuple[int, float], ...] = ()

    @property
    def greedy(self) -> bool:
        """True where the likeliest token is always taken."""
        return self.temperature <= 0

    @property
    def penalises(self) -> bool:
        """True where earlier tokens change the choice."""
        changed = self.repeat_penalty != 1 or self.presence_penalty != 0
        return (changed or self.frequency_penalty != 0) and self.repeat_last_n != 0


class Vocabulary(Protocol):
    """Text to tokens and back. `native` is the library's own handle, valid until `close`.

    Another thread than the engine's touches it within `alive` only.
    """

    facts: VocabularyFacts
    native: Any
    alive: Alive

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> tuple[int, ...]:
        """Token ids of `text`."""

    def token_bytes(self, token: int) -> bytes:
        """The exact bytes of one token, control tokens included."""

    def close(self) -> None:
        """Free it; idempotent. Does nothing where a model owns it."""


class Sampler(Protocol):
    """Chooses tokens for one sequence."""

    def observe(self, tokens: Sequence[int]) -> None:
        """Tell it the prompt's last tokens, for penalties."""

    def sample(self, context: Context) -> int:
        """Choose from the context's current logits (masked in place, perhaps) and accept the choice."""

    def accept(self, token: int) -> None:
        """Tell it a token that was forced rather than sampled."""

    def close(self) -> None:
        """Free it; idempotent."""


class Context(Protocol):
    """A window of memory over one model, with one or more sequences in it."""

    n_ctx: int
    n_batch: int

    def decode(self, tokens: Sequence[int], *, position: int, logits: bool) -> None:
        """Evaluate at most `n_batch` tokens at `position`; `logits` asks for those of the last one.

        Raises:
            NoRoom: there is no space left; nothing has changed.
            Interrupted: `interrupt` was called.
            DecodeFailed: the library failed; the context is to be closed.
        """

    def logits(self) -> FloatArray:
        """A view of the last token's logits, valid and writable until the next decode."""

    def trim(self, length: int) -> bool:
        """Keep the first `length` positions; False where the memory cannot (nothing has changed then)."""

    def first_position(self) -> int:
        """The smallest position still held; -1 when empty."""

    def save(self, length: int | None = None) -> State:
        """The state, to be restored into any context of the same model.

        With `length`, that of the first positions alone, and what is held stays: attention memory only.
        Another thread may call it while the engine's leaves this context alone.
        """

    def restore(self, data: State) -> bool:
        """Replace what is held by a saved state; False (and nothing held) when that did not work."""

    def embed(self, inputs: Sequence[Sequence[int]]) -> list[FloatArray]:
        """One pooled vector an input, not normalised; all inputs fit `n_batch` and `sequences`."""

    def interrupt(self) -> None:
        """Make a decode in progress, or the next one, raise `Interrupted`. Any thread."""

    def rearm(self) -> None:
        """Forget an earlier `interrupt`."""

    def close(self) -> None:
        """Free it; idempotent."""


class LoadedModel(Protocol):
    """Weights in memory; many contexts may be opened over them."""

    facts: ModelFacts

    @property
    def vocabulary(self) -> Vocabulary:
        """Its vocabulary; freed with the model."""

    def open_context(self, options: ContextOptions) -> Context:
        """Make a context.

        Raises:
            LoadFailed: it could not be made, usually for want of memory.
        """

    def open_sampler(self, options: SamplerOptions) -> Sampler:
        """Make a sampler over this model's vocabulary."""

    def close(self) -> None:
        """Free the weights; every context is closed before. Idempotent."""


class Backend(Protocol):
    """A native library. One object a process. `build` is what a saved state is bound to."""

    name: str
    build: str

    def start(self) -> None:
        """Initialise the library; called once, first."""

    def threads(self, wanted: int | None) -> tuple[int, str]:
        """Threads to compute with, and the reason for that number."""

    def prefill_batch(self, gpu_layers: int | None) -> int:
        """Tokens evaluated in one prefill batch."""

    def load_vocabulary(self, path: Path) -> Vocabulary:
        """Load only a model's vocabulary.

        Raises:
            LoadFailed: the file could not be loaded.
        """

    def load_model(self, path: Path, options: LoadOptions, progress: Callable[[], bool]) -> LoadedModel:
        """Load a model; `progress` is called now and then and stops the loading by returning False.

        Raises:
            LoadFailed: the file could not be loaded.
            Interrupted: `progress` returned False.
        """

    def stop(self) -> None:
        """Release the library; called once, last."""

"""A backend without a model: a byte-level vocabulary and answers that were written down beforehand.

Shipped, because it lets anybody try and test everything above the engine without a GGUF. It can be slow,
fail, and behave like attention, sliding-window or recurrent memory. Thread: engine thread; `reply` any.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from roteiro.engine.backend import (
    Alive,
    Context,
    ContextOptions,
    Interrupted,
    LoadOptions,
    MemoryKind,
    ModelFacts,
    NoRoom,
    PoolingKind,
    SamplerOptions,
    State,
    VocabularyFacts,
)
from roteiro.engine.scripted_text import (
    END_TOKEN,
    FIRST_SPECIAL,
    IDS,
    SPECIAL_PATTERN,
    SPECIALS,
    USER_PATTERN,
    USER_TOKENS,
    decode_text,
    encode,
    token_bytes,
)
from roteiro.errors import DecodeFailed, LoadFailed

__all__ = [
    "END_TOKEN",
    "SPECIALS",
    "Behaviour",
    "Reply",
    "ScriptedBackend",
    "decode_text",
    "encode",
]

if TYPE_CHECKING:
    from roteiro.engine.backend import FloatArray

_EMBEDDING_WIDTH = 16
_NOT_REWINDABLE: Final = ("recurrent", "hybrid")
# How far a sliding window's memory reaches back beyond the window, as llama.cpp pads it by a batch.
_SWA_SLACK = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model says once.

    Attributes:
        text: the answer; special tokens in it become tokens. The end token follows by itself.
        match: answers prompts that contain this text, any number of times; None answers the next prompt
            that no `match` answers, once.
        token_delay_s: seconds before each token.
        fail_after: raise `DecodeFailed` after this many tokens.
        end: False leaves the end token out and repeats the text until a limit cuts it.
    """

    text: str
    match: str | None = None
    token_delay_s: float = 0.0
    fail_after: int | None = None
    end: bool = True


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """How the scripted models behave; change it between requests as a test needs."""

    memory: MemoryKind = "attention"
    n_swa: int = 64
    n_ctx_train: int = 4096
    pooling: PoolingKind = "mean"
    n_batch: int = 32
    batch_delay_s: float = 0.0
    load_delay_s: float = 0.0
    fail_load: set[str] = field(default_factory=set)
    refuse_restore: bool = False


class ScriptedBackend:
    """See the module's docstring.

    `prompts` lists what the model was asked; `evaluated` counts tokens, `saves` copies of a state.
    """

    name = "scripted"
    build = "scripted"

    def __init__(
        self,
        replies: Sequence[Reply | str] = (),
        *,
        default: str = "Hello from the scripted model.",
        behaviour: Behaviour | None = None,
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        self.prompts: list[str] = []
        self.evaluated = 0
        self.loads = 0
        self.saves = 0
        self.open: dict[str, int] = {"model": 0, "vocabulary": 0, "context": 0, "sampler": 0}
        self._default = Reply(text=default)
        self._queue: list[Reply] = []
        self._matching: list[Reply] = []
        for one in replies:
            self.reply(one)

    def reply(self, reply: Reply | str) -> None:
        """Add an answer to the script."""
        one = Reply(text=reply) if isinstance(reply, str) else reply
        (self._queue if one.match is None else self._matching).append(one)

    def choose(self, prompt: str) -> Reply:
        """The answer to a prompt: the `match` that occurs last in it, else the next in the queue."""
        self.prompts.append(prompt)
        found = [(prompt.rfind(one.match or ""), one) for one in self._matching]
        place, best = max(found, key=lambda pair: pair[0], default=(-1, self._default))
        if place >= 0:
            return best
        return self._queue.pop(0) if self._queue else self._default

    def start(self) -> None:
        """Nothing to initialise."""

    def stop(self) -> None:
        """Nothing to release."""

    def threads(self, wanted: int | None) -> tuple[int, str]:
        """One thread, unless told otherwise."""
        return wanted or 1, "scripted"

    def prefill_batch(self, gpu_layers: int | None) -> int:
        """As the behaviour says."""
        del gpu_layers
        return self.behaviour.n_batch

    def load_vocabulary(self, path: Path) -> ScriptedVocabulary:
        """The same vocabulary for every path."""
        self._refuse(path)
        return ScriptedVocabulary(self)

    def load_model(self, path: Path, options: LoadOptions, progress: Callable[[], bool]) -> ScriptedModel:
        """A model; takes `load_delay_s` in ten parts."""
        del options
        self._refuse(path)
        for _part in range(10):
            if not progress():
                raise Interrupted
            threading.Event().wait(self.behaviour.load_delay_s / 10)
        self.loads += 1
        return ScriptedModel(self)

    def _refuse(self, path: Path) -> None:
        if path.stem in self.behaviour.fail_load:
            raise LoadFailed(f"The script refuses to load {path.name}.")


class _Counted:
    """Counts what is open, so that a test can see what was not closed."""

    kind = ""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend
        self._open = True
        backend.open[self.kind] += 1

    def close(self) -> None:
        """Count it as closed. Idempotent."""
        if self._open:
            self._open = False
            self.backend.open[self.kind] -= 1


class ScriptedVocabulary(_Counted):
    """Bytes and a few special tokens."""

    kind = "vocabulary"
    native: Any = None
    facts = VocabularyFacts(
        n_vocab=FIRST_SPECIAL + len(SPECIALS),
        bos=IDS["<s>"],
        eos=END_TOKEN,
        eot=END_TOKEN,
        bos_text="<s>",
        eos_text="<|im_end|>",
        eot_text="<|im_end|>",
        end_tokens=frozenset({IDS["</s>"], IDS["<|endoftext|>"], END_TOKEN}),
        special_texts=SPECIALS,
        breakable_texts=USER_TOKENS,
        cuts=("<|im_start|>", "<|im_end|>"),
    )

    def __init__(self, backend: ScriptedBackend) -> None:
        super().__init__(backend)
        self.alive = Alive()

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> tuple[int, ...]:
        """Bytes; user-defined tokens are always recognised, control tokens when asked, as in llama.cpp."""
        tokens = [IDS["<s>"]] if add_special else []
        return (*tokens, *encode(text, SPECIAL_PATTERN if parse_special else USER_PATTERN))

    def token_bytes(self, token: int) -> bytes:
        """One byte, or a special token's text."""
        return token_bytes(token)


class ScriptedModel(_Counted):
    """A model that holds no weights."""

    kind = "model"

    def __init__(self, backend: ScriptedBackend) -> None:
        super().__init__(backend)
        behaviour = backend.behaviour
        self.vocabulary = ScriptedVocabulary(backend)
        self.facts = ModelFacts(
            n_ctx_train=behaviour.n_ctx_train,
            n_embd=_EMBEDDING_WIDTH,
            memory=behaviour.memory,
            n_swa=behaviour.n_swa if behaviour.memory == "swa" else 0,
            pooling=behaviour.pooling,
            description="scripted",
        )

    def open_context(self, options: ContextOptions) -> ScriptedContext:
        """A context of the size asked for."""
        return ScriptedContext(self.backend, self.facts, options)

    def open_sampler(self, options: SamplerOptions) -> ScriptedSampler:
        """A sampler that reads from the script."""
        return ScriptedSampler(self.backend, options)

    def close(self) -> None:
        """Close it and its vocabulary. Idempotent."""
        self.vocabulary.close()
        super().close()


class ScriptedContext(_Counted):
    """One sequence of tokens, cut and kept as the memory kind allows."""

    kind = "context"

    def __init__(self, backend: ScriptedBackend, facts: ModelFacts, options: ContextOptions) -> None:
        super().__init__(backend)
        self.n_ctx = options.n_ctx
        self.n_batch = options.n_batch
        self.tokens: list[int] = []
        self._facts = facts
        self._first = 0
        self._interrupted = threading.Event()
        self._logits: FloatArray | None = None

    def decode(self, tokens: Sequence[int], *, position: int, logits: bool) -> None:
        """Append the tokens, slowly where the behaviour says so."""
        del logits
        if position != len(self.tokens) or len(tokens) > self.n_batch or not tokens:
            raise DecodeFailed(f"bad batch: {len(tokens)} at {position}, held {len(self.tokens)}")
        if position + len(tokens) > self.n_ctx:
            raise NoRoom
        self.pause(self.backend.behaviour.batch_delay_s if len(tokens) > 1 else 0.0)
        self.tokens += tokens
        self.backend.evaluated += len(tokens)
        if self._facts.memory == "swa":
            self._first = max(self._first, len(self.tokens) - self._facts.n_swa - _SWA_SLACK)

    def logits(self) -> FloatArray:
        """Zeros: the script decides, within what a mask leaves."""
        import numpy as np

        logits: FloatArray = np.zeros(ScriptedVocabulary.facts.n_vocab, dtype=np.float32)
        self._logits = logits
        return logits

    def masked(self, token: int) -> int:
        """The token, or the first that a mask of this step allows."""
        logits = self._logits
        self._logits = None
        if logits is None or logits[token] != -math.inf:
            return token
        return int(logits.argmax())

    def trim(self, length: int) -> bool:
        """Cut the tail, where the kind of memory allows it."""
        if length < len(self.tokens) and length > 0 and self._facts.memory in _NOT_REWINDABLE:
            return False
        del self.tokens[length:]
        self._first *= bool(self.tokens)
        return True

    def first_position(self) -> int:
        """The smallest position still held."""
        if not self.tokens:
            return -1
        return len(self.tokens) - 1 if self._facts.memory in _NOT_REWINDABLE else self._first

    def save(self, length: int | None = None) -> bytes:
        """The tokens, as JSON."""
        assert length is None or self._facts.memory == "attention", "this memory is saved whole"
        self.backend.saves += 1
        return json.dumps([self.tokens[:length], self._first]).encode()

    def restore(self, data: State) -> bool:
        """Take the tokens over, unless the behaviour refuses or there is no room."""
        self.tokens, self._first = json.loads(bytes(data))
        taken = len(self.tokens) <= self.n_ctx and not self.backend.behaviour.refuse_restore
        if not taken:
            self.tokens = []
        return taken

    def embed(self, inputs: Sequence[Sequence[int]]) -> list[FloatArray]:
        """A vector that counts tokens by their id's remainder: equal for equal inputs."""
        import numpy as np

        self.pause(self.backend.behaviour.batch_delay_s)
        vectors = []
        for tokens in inputs:
            counts = np.bincount(np.array(tokens) % _EMBEDDING_WIDTH, minlength=_EMBEDDING_WIDTH)
            vectors.append(counts.astype(np.float32))
        return vectors

    def interrupt(self) -> None:
        """End a delay, and the decode."""
        self._interrupted.set()

    def rearm(self) -> None:
        """Forget an interrupt."""
        self._interrupted.clear()

    def pause(self, seconds: float) -> None:
        """Sleep, unless interrupted."""
        if self._interrupted.wait(seconds):
            raise Interrupted


class ScriptedSampler(_Counted):
    """Reads one reply, token by token."""

    kind = "sampler"

    def __init__(self, backend: ScriptedBackend, options: SamplerOptions) -> None:
        super().__init__(backend)
        self._banned = {token for token, bias in options.logit_bias if bias == -math.inf}
        self._reply: Reply | None = None
        self._left: list[int] = []
        self._said = 0

    def observe(self, tokens: Sequence[int]) -> None:
        """Penalties change nothing in a script."""

    def sample(self, context: Context) -> int:
        """The script's next token, if a mask allows it."""
        assert isinstance(context, ScriptedContext)
        reply = self._begin(context)
        context.pause(reply.token_delay_s)
        if reply.fail_after is not None and self._said >= reply.fail_after:
            raise DecodeFailed("The script failed as it was told to.")
        self._said += 1
        if not self._left and not reply.end:
            self._left = list(encode(reply.text))
        wanted = self._left[0] if self._left else END_TOKEN
        token = context.masked(ord(" ") if wanted in self._banned else wanted)
        if self._left and token == wanted:
            self._left.pop(0)
        return token

    def accept(self, token: int) -> None:
        """A forced token: the script goes on behind it if it would have come, else where it was."""
        if token in self._left:
            del self._left[: self._left.index(token) + 1]

    def _begin(self, context: ScriptedContext) -> Reply:
        if self._reply is None:
            self._reply = self.backend.choose(decode_text(context.tokens))
            self._left = list(encode(self._reply.text))
        return self._reply

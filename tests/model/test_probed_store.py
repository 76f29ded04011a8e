"""The store with the engine's own probe: a real model passes, files that end llama.cpp are refused."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from roteiro.errors import ModelUnusable
from roteiro.modelstore.store import ModelStore

pytestmark = [pytest.mark.model, pytest.mark.timeout(180)]

# key -> the four bytes of its value that are put in place of the right ones
HOSTILE = {
    "nan-norm": ("llama.attention.layer_norm_rms_epsilon", struct.pack("<f", float("nan"))),
    "no-heads": ("llama.attention.head_count", struct.pack("<I", 0)),
    "fewer-blocks": ("llama.block_count", struct.pack("<I", 29)),
    "more-blocks": ("llama.block_count", struct.pack("<I", 512)),
}


def test_the_real_model_passes_once_and_is_remembered(smollm2_path: Path, tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "store")
    record = store.import_file(smollm2_path).record
    verdict = store.ensure_probed(record)
    assert verdict.ok
    assert ModelStore(store.root).probe_verdict(record) == verdict


@pytest.mark.parametrize("name", HOSTILE)
def test_a_well_framed_lie_is_refused_with_its_reason(smollm2_path: Path, tmp_path: Path, name: str) -> None:
    key, value = HOSTILE[name]
    path = tmp_path / f"{name}.gguf"
    path.write_bytes(_patched(smollm2_path.read_bytes(), key, value))
    store = ModelStore(tmp_path / "store")
    record = store.import_file(path).record
    with pytest.raises(ModelUnusable) as caught:
        store.ensure_probed(record)
    assert caught.value.details["final"] is True
    assert len(str(caught.value.details["reason"])) > 10
    # It holds: the file is not tried again.
    assert ModelStore(store.root).probe_verdict(record).ok is False


def _patched(data: bytes, key: str, value: bytes) -> bytes:
    name = struct.pack("<Q", len(key)) + key.encode()
    at = data.index(name) + len(name) + 4
    return data[:at] + value + data[at + len(value) :]

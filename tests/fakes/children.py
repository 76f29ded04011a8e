"""Child processes that stand in for the engine's probe: one line of Python each, with a fixed ending."""

from __future__ import annotations

import sys
from pathlib import Path

from roteiro.modelstore.probe import ChildProbe

ACCEPTS = 'print("noise"); print(\'{"ok": true, "n_vocab": 8}\')'
REFUSES = 'print(\'{"ok": false, "reason": "unknown architecture."}\')'
ABORTS = "import os, sys; sys.stderr.write('/build/x/ops.cpp:4: GGML_ASSERT(n > 0) failed\\n'); sys.stderr.flush(); os.abort()"
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
FAILS = "raise SystemExit('no such module')"
HANGS = "import time; time.sleep(60)"
SILENT = "pass"
SAYS_BACKTRACE = 'import json, os; print(json.dumps({"ok": os.environ["GGML_NO_BACKTRACE"] == "1"}))'


def probe(code: str, *, engine: str = "fake 1", timeout_s: float | None = 15.0) -> ChildProbe:
    return ChildProbe([sys.executable, "-c", code], engine=engine, timeout_s=timeout_s)


def counting(counter: Path, code: str = ACCEPTS, *, engine: str = "fake 1") -> ChildProbe:
    """Each run adds a letter to the file `counter`."""
    return probe(f"open({str(counter)!r}, 'a').write('x'); {code}", engine=engine)

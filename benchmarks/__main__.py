"""`python -m benchmarks [NAME] [ARGUMENTS]`: run one benchmark, or list them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def names() -> dict[str, str]:
    """Benchmarks by name, each with the first line of what it says of itself."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_text("utf-8")
        if "def main(" in text and path.stem not in ("__main__", "bare_loop"):
            found[path.stem] = text.split('"""')[1].strip().splitlines()[0]
    return found


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in names():
        for name, line in names().items():
            print(f"{name:<16} {line}")
        return
    name = sys.argv[1]
    sys.argv = [f"benchmarks {name}", *sys.argv[2:]]
    importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()

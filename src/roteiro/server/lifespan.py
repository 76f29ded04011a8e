"""What lives as long as the application: the runtime, closed when the server stops."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

logger = logging.getLogger("roteiro.server")


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Start nothing (everything heavy waits for its first use); free everything at the end."""
    logger.debug("application_started")
    try:
        yield
    finally:
        await app.state.runtime.aclose()
        logger.debug("application_stopped")

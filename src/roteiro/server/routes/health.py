"""Liveness. Needs no key, wakes nothing. Thread: event loop."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["server"])


@router.get("/health")
@router.get("/v1/health", include_in_schema=False)
async def health() -> dict[str, str]:
    """Answers while the process can; models load on first use, so there is nothing to wait for."""
    return {"status": "ok"}

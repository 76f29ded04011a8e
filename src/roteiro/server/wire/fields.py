"""Field types that several bodies share: strict numbers as JSON clients really write them.

Pure; thread: any.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _integral(value: Any) -> Any:
    # Some clients have one number type and write 5 as 5.0.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Int = Annotated[int, BeforeValidator(_integral), Field(strict=True)]
Float = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Bool = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]
Unit = Annotated[Float, Field(ge=0, le=1)]
Penalty = Annotated[Float, Field(ge=-100, le=100)]


class WireModel(BaseModel):
    """Base of every request body: null means not given, unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

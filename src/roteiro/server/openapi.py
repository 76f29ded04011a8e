"""The OpenAPI document: FastAPI's own, with the bodies that routes read for themselves.

Routes read JSON through `json_body` (stricter than FastAPI's reading), so the document has to be told the
models. Thread: event loop, once.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_REF = "#/components/schemas/{model}"


def request_body(model: type[BaseModel]) -> dict[str, Any]:
    """`openapi_extra` of a route whose body is `model`."""
    schema = {"$ref": _REF.format(model=model.__name__)}
    content = {"application/json": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


def describe(app: FastAPI, models: list[type[BaseModel]]) -> None:
    """Make `app.openapi` include the schemas of `models`."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(title=app.title, version=app.version, routes=app.routes)
            _, schemas = models_json_schema([(m, "validation") for m in models], ref_template=_REF)
            components = document.setdefault("components", {}).setdefault("schemas", {})
            components.update(schemas["$defs"])
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

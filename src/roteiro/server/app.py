"""The ASGI application: the middleware stack in one list, the routes, and the error handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from roteiro import __version__
from roteiro.errors import InvalidRequest, RoteiroError
from roteiro.server.access import AccessLog
from roteiro.server.errors import respond
from roteiro.server.lifespan import Mounted, lifespan
from roteiro.server.metrics import Metrics
from roteiro.server.open_requests import EndsAtStop, OpenRequests
from roteiro.server.openapi import describe
from roteiro.server.routes import chat, control, embeddings, health, introspection, models, text
from roteiro.server.security import (
    BodyGuard,
    HostGuard,
    KeyGuard,
    OriginGuard,
    check_host,
    check_origin,
)
from roteiro.server.wire.chat_body import ChatCompletionBody
from roteiro.server.wire.embeddings import EmbeddingsBody
from roteiro.server.wire.text import DetokenizeBody, TokenizeBody

if TYPE_CHECKING:
    from roteiro.runtime import Runtime

ROUTERS = (health, models, chat, embeddings, control, introspection, text)
BODIES: list[type[BaseModel]] = [
    ChatCompletionBody,
    EmbeddingsBody,
    TokenizeBody,
    DetokenizeBody,
    control.ControlBody,
    control.ModelBody,
]


def create_app(
    runtime: Runtime, *, keys: Sequence[str] = (), mounts: Mapping[str, Mounted] | None = None
) -> FastAPI:
    """Build the application around a runtime.

    Args:
        runtime: everything behind the front door; closed by the application's lifespan.
        keys: API keys, one of which every request must carry; none asks for none.
        mounts: further applications by exact path (`/mcp`), behind the same middleware.

    Raises:
        ConfigError: an allowed host or origin cannot be one.
    """
    serve = runtime.config.serve
    # Middleware is built when the application starts; mistakes must be told before.
    hosts = [check_host(name) for name in serve.allowed_hosts]
    requests = OpenRequests()
    origins = [check_origin(origin) for origin in serve.allowed_origins]
    app = FastAPI(
        title="Roteiro",
        version=__version__,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,  # the pages load their scripts from elsewhere
        redoc_url=None,
        middleware=[
            # Outermost first: nothing is routed or read before who asks is known.
            Middleware(AccessLog),
            Middleware(EndsAtStop, requests=requests, foreign=tuple(mounts or ())),
            Middleware(HostGuard, allowed=hosts),
            Middleware(OriginGuard, allowed=origins),
            Middleware(KeyGuard, keys=keys),
            Middleware(BodyGuard),
        ],
        exception_handlers={
            RoteiroError: _failed,
            HTTPException: _failed,
            RequestValidationError: _invalid_parameter,
        },
    )
    app.state.runtime = runtime
    app.state.metrics = Metrics()
    app.state.requests = requests
    for module in ROUTERS:
        app.include_router(module.router)
    app.state.mounts = dict(mounts or {})
    for path, mounted in app.state.mounts.items():
        app.router.routes.append(Route(path, mounted, include_in_schema=False))
    describe(app, BODIES)
    return app


async def _failed(request: Request, error: Exception) -> Response:
    return respond(request, error)


async def _invalid_parameter(request: Request, error: Exception) -> Response:
    """FastAPI's own validation (paths and queries) in the shape of every other error."""
    assert isinstance(error, RequestValidationError)
    first: dict[str, Any] = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return respond(request, InvalidRequest(f"{where}: {first['msg']}.", param=where or None))

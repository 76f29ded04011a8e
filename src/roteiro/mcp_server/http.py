"""MCP over Streamable HTTP, as an ASGI application to be mounted beside `/v1`.

Who may ask (Host, Origin, key, body size) is decided by the server's own middleware before. It lives in
`run()`; requests before or after that are refused by the SDK. Thread: event loop.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from roteiro.mcp_server.server import build_server
from roteiro.tools.registry import Registry


class McpEndpoint:
    """The endpoint of one registry. Sessions are not kept: every request stands for itself."""

    def __init__(self, registry: Registry) -> None:
        self._manager = StreamableHTTPSessionManager(
            build_server(registry),
            stateless=True,
            json_response=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    def run(self) -> AbstractAsyncContextManager[None]:
        """The endpoint's life; enter it once."""
        return self._manager.run()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        await self._manager.handle_request(scope, receive, send)

"""Runs the application under uvicorn: HTTP/1.1 only, a graceful stop, and an abrupt one when asked twice.

The door to uvicorn. Thread: the main thread, which becomes the event loop's.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import os
from asyncio import Transport
from collections.abc import Callable, Mapping
from pathlib import Path
from socket import socket
from types import FrameType
from typing import TYPE_CHECKING

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from roteiro.errors import ConfigError
from roteiro.server.app import create_app
from roteiro.server.errors import encode, shell_problem
from roteiro.server.lifespan import Mounted
from roteiro.server.listen import Listening, listen

if TYPE_CHECKING:
    from fastapi import FastAPI

    from roteiro.runtime import Runtime

logger = logging.getLogger("roteiro.server")

GRACE_SECONDS = 7
"""How long running requests may go on after the server was asked to stop."""
LAST_WORDS_SECONDS = 2
"""How long they then have to tell their clients; together less than the 10 s after which containers are
killed."""
ENGINE_SECONDS = 0.4
"""How long the engine has of it to let go of its requests, before all others are ended."""
KEEP_ALIVE_SECONDS = 75
"""Longer than the idle time of clients' pools, so that it is they who close idle connections."""
HEADER_SECONDS = 20.0
"""A connection that has sent no whole request head by then is closed."""
HEAD_BYTES = 64 * 1024
ABRUPT_EXIT = 130


class Protocol(H11Protocol):
    """HTTP/1.1 whose malformed requests get an OpenAI error object, and which gives up on silence."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin, and look after a while whether anything came."""
        super().connection_made(transport)
        self._silence = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._silence.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP/1.1 request."""
        if self.conn.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.close()
            return
        problem = shell_problem(400, f"{msg.rstrip('.')}; HTTP/1.1 is spoken here.")
        body = encode({"error": problem.body})
        headers = [
            (b"content-type", b"application/json; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        head = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _give_up(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class Server(uvicorn.Server):
    """uvicorn's server with our stop: the first signal ends it gracefully with exit 0, the second at once."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, *, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = app.state
        self._announce = announce

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start, then say where."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._announce()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Let requests finish, then let them say that they cannot; uvicorn would cut them off."""
        loop, requests = asyncio.get_running_loop(), self._state.requests
        grace = (self.config.timeout_graceful_shutdown or 0) - LAST_WORDS_SECONDS
        requests.end_listeners()
        endings = [
            loop.call_later(grace, self._state.runtime.engine.end_requests),
            loop.call_later(grace + ENGINE_SECONDS, requests.end_all),
        ]
        try:
            await super().shutdown(sockets)
        finally:
            for ending in endings:
                ending.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Not passed on to uvicorn's own handler, which would raise the signal again at the end."""
        del sig, frame
        if self.should_exit:
            os._exit(ABRUPT_EXIT)
        self.should_exit = True


def serve(
    runtime: Runtime,
    *,
    announce: Callable[[str], None],
    mounts: Mapping[str, Mounted] | None = None,
) -> None:
    """Serve until a signal ends it; the runtime is closed when this returns.

    Args:
        runtime: everything behind the front door.
        announce: shows a line to whoever started the server.
        mounts: further applications by path, behind the same middleware.

    Raises:
        ConfigError: a key file, host or origin cannot be used.
        UsageError: the address cannot be listened on.
    """
    settings = runtime.config.serve
    keys = read_keys(settings.api_key_file)
    app = create_app(runtime, keys=keys, mounts=mounts)
    listening = listen(settings.addr)
    logging.getLogger("uvicorn.error").addFilter(no_cut_requests)
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nobody may claim another address with a header
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS + LAST_WORDS_SECONDS,
        h11_max_incomplete_event_size=HEAD_BYTES,
    )

    def started() -> None:
        _announce(listening, runtime, announce, keyed=bool(keys))
        app.state.warming.add_done_callback(spare_collector)

    try:
        run(Server(config, app, announce=started), listening)
    finally:
        listening.close()


def run(server: uvicorn.Server, listening: Listening) -> None:
    """Run a server on the loop that is used here: uvloop's, where it is installed.

    A token costs it a tenth less of the core that could compute the next one.
    """
    factory = None
    with contextlib.suppress(ImportError):
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(server.serve(sockets=list(listening.sockets)))


def spare_collector(_warm: object = None) -> None:
    """Take what is in memory now, and stays, out of the garbage collector's sight.

    Looking through it (all modules, a vocabulary of 150,000 tokens) stopped every thread for 80 ms, in the
    middle of a request.
    """
    gc.collect()
    gc.freeze()
    logger.debug("garbage collector spared objects=%d", gc.get_freeze_count())


def no_cut_requests(record: logging.LogRecord) -> bool:
    """A log filter: requests that the stop cuts off after the grace are no fault with a traceback.

    uvicorn says in a line of its own how many there were.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def read_keys(path: Path | None) -> tuple[str, ...]:
    """The API keys in a file: one a line, empty lines and lines with `#` left out.

    Raises:
        ConfigError: the file cannot be read or holds no key.
    """
    if path is None:
        return ()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            [f"[serve] api_key_file: {path} cannot be read: {error}"], param="serve.api_key_file"
        ) from error
    keys = tuple(text for line in lines if (text := line.strip()) and not text.startswith("#"))
    if not keys:
        raise ConfigError(
            [f"[serve] api_key_file: {path} holds no key"],
            hint="Write one key a line, or remove the setting.",
            param="serve.api_key_file",
        )
    return keys


# ---------------------------------------------------------------------------------------------------


def _announce(
    listening: Listening, runtime: Runtime, announce: Callable[[str], None], *, keyed: bool
) -> None:
    base = listening.url if listening.path is not None else f"{listening.url}/v1"
    announce(f"Serving at {base} (Ctrl-C stops)")
    if not listening.loopback:
        guarded = "an API key and nothing else" if keyed else "nothing"
        announce(
            f"warning: {listening.url} is reachable from other machines, without TLS and guarded by "
            f"{guarded}. Put a reverse proxy in front, or bind 127.0.0.1."
        )
    if runtime.missing:
        announce(f"warning: {runtime.missing}")
        return
    ids = [record.id for record in runtime.catalog.records()]
    if ids:
        announce(f"Models: {', '.join(ids)}")
    else:
        announce("No model is installed: `roteiro model pull smollm2-135m` brings a small one.")

"""Opens what the server listens on: TCP sockets or one Unix socket. Thread: any, before the loop runs."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path

from roteiro.errors import UsageError

BACKLOG = 1024
SOCKET_MODE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Open sockets, the URL a client uses, and the path to remove at the end."""

    sockets: tuple[socket.socket, ...]
    url: str
    path: Path | None = None
    loopback: bool = True

    def close(self) -> None:
        """Close the sockets and remove the Unix socket; idempotent."""
        for one in self.sockets:
            one.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def listen(addr: str) -> Listening:
    """Listen on `HOST:PORT`, `[IPv6]:PORT` or `unix:/path.sock`.

    Raises:
        UsageError: the address is in use, is not this machine's, or is not allowed.
    """
    if addr.startswith("unix:"):
        return _listen_unix(Path(addr.removeprefix("unix:")))
    host, _, port = addr.rpartition(":")
    return _listen_tcp(host.removeprefix("[").removesuffix("]"), int(port))


# ---------------------------------------------------------------------------------------------------


def _listen_tcp(host: str, port: int) -> Listening:
    sockets: list[socket.socket] = []
    try:
        for family, address in _addresses(host, port):
            # `localhost` is two addresses; with port 0 the second takes the number the first got.
            bound = sockets[0].getsockname()[1] if sockets else port
            sockets.append(socket.create_server((address, bound), family=family, backlog=BACKLOG))
    except OSError as error:
        for one in sockets:
            one.close()
        raise _refused(f"{host}:{port}", error) from error
    for one in sockets:
        # Accepted connections inherit it. asyncio sets it only where a socket names its protocol, which
        # these do not; without it every answer waits 40 ms for the client's delayed acknowledgement.
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{sockets[0].getsockname()[1]}"
    return Listening(sockets=tuple(sockets), url=url, loopback=_all_loopback(sockets))


def _addresses(host: str, port: int) -> list[tuple[int, str]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    pairs = dict.fromkeys((int(entry[0]), str(entry[4][0])) for entry in found)
    usable = [pair for pair in pairs if pair[0] != socket.AF_INET6 or socket.has_ipv6]
    return usable if host == "localhost" else usable[:1]


def _all_loopback(sockets: list[socket.socket]) -> bool:
    return all(ipaddress.ip_address(one.getsockname()[0]).is_loopback for one in sockets)


def _listen_unix(path: Path) -> Listening:
    _remove_stale(path)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode must be right from the first moment, so it is the mask and not a chmod that makes it.
    mask = os.umask(0o777 & ~SOCKET_MODE)
    try:
        one.bind(str(path))
        one.listen(BACKLOG)
    except OSError as error:
        one.close()
        raise _refused(f"unix:{path}", error) from error
    finally:
        os.umask(mask)
    return Listening(sockets=(one,), url=f"unix:{path}", path=path)


def _remove_stale(path: Path) -> None:
    """Remove a socket that nobody listens on; refuse anything else that stands there."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refused(f"unix:{path}", error) from error
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{path} exists and is not a socket.", hint="Name another path or remove the file.")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError as error:
            raise _refused(f"unix:{path}", error) from error
    raise _refused(f"unix:{path}", OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)))


def _refused(addr: str, error: OSError) -> UsageError:
    # asyncio and socket add the address to the text; the number's own text does not have it.
    why = (os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)).lower()
    hint = "Name another address with --addr HOST:PORT."
    if error.errno == errno.EADDRINUSE:
        hint = "Another server is there already; stop it or name another address with --addr."
    return UsageError(f"Cannot listen on {addr}: {why}.", hint=hint, param="serve.addr")

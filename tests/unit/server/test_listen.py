"""The sockets that `roteiro serve` listens on."""

from __future__ import annotations

import socket
from contextlib import closing

from roteiro.server.listen import listen


def test_answers_do_not_wait_for_the_clients_acknowledgement() -> None:
    """Accepted connections inherit the option; asyncio would not set it on these sockets."""
    with closing(listen("127.0.0.1:0")) as listening:
        address = listening.sockets[0].getsockname()
        with socket.create_connection(address), closing(listening.sockets[0].accept()[0]) as accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0

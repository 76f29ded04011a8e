"""A small repository with its graph: a client, its transport, a decision, debt and a test.

`sample_graph(root)` gives an open store. Features: every edge kind but `imports` of files outside,
an inferred edge, two nodes of one name, an ADR with a section, markers of three categories.
"""

from __future__ import annotations

from pathlib import Path

from fakes.graph_store import build_graph, edge, key, symbol
from roteiro.graph.model import Edge, Marker, Node
from roteiro.graph.store import GraphStore

CLIENT = '''"""The client."""

from pkg.transport import Transport

SENSITIVE = {"authorization"}


class Client:
    """Sends requests and follows redirects."""

    def __init__(self):
        self.transport = Transport()

    def send(self, request):
        """Send one request."""
        # TODO: retry on failure
        return self.transport.handle(request)

    def close(self):
        """Close the client."""
        self.transport.close()


def mask_secrets(headers):
    """Replace what must not be printed."""
    return {name: "[secure]" if name in SENSITIVE else value for name, value in headers.items()}
'''
TRANSPORT = '''class Transport:
    """Moves bytes."""

    def handle(self, request):
        # HACK: no pool
        return connect(request.url)

    def close(self):
        raise NotImplementedError


def connect(address):
    """Open a socket to an address."""
    return address


def unrelated():
    pass
'''
DECISION = """# 7. Use one transport

Status: Accepted

## Context

Sockets are costly, see [[pkg/client.py#Client]].
"""
TESTS = "def test_send():\n    assert Client().send(None)\n"
FILES = {
    "pkg/client.py": CLIENT,
    "pkg/transport.py": TRANSPORT,
    "docs/adr/0007-one-transport.md": DECISION,
    "tests/test_client.py": TESTS,
}

C, T, A, TEST = FILES
CLIENT_KEY, SEND, CLOSE, MASK = (
    key(C, name) for name in ("Client", "Client.send", "Client.close", "mask_secrets")
)
INIT = key(C, "Client.__init__")
TRANSPORT_KEY, HANDLE, T_CLOSE, CONNECT, UNRELATED = (
    key(T, name) for name in ("Transport", "Transport.handle", "Transport.close", "connect", "unrelated")
)
ADR, ADR_CONTEXT = "adr:0007", "adr:0007#context"
TEST_SEND = key(TEST, "test_send")


def sample_graph(root: Path) -> GraphStore:
    """The open store of the sample, whose files lie under `root`."""
    return build_graph(root, files=FILES, nodes=_nodes(), edges=_edges(), markers=_markers())


def _nodes() -> list[Node]:
    doc = "Sends requests and follows redirects."
    adr = {"path": A, "lang": "markdown", "number": 7, "title": "Use one transport"}
    return [
        symbol(C, "Client", "class", (8, 21), signature="class Client", doc=doc),
        symbol(C, "Client.__init__", "method", (11, 12), signature="def __init__(self)"),
        symbol(
            C, "Client.send", "method", (14, 17), signature="def send(self, request)",
            doc="Send one request.",
        ),
        symbol(
            C, "Client.close", "method", (19, 21), signature="def close(self)",
            doc="Close the client.",
        ),
        symbol(
            C, "mask_secrets", "fn", (24, 26), signature="def mask_secrets(headers)",
            doc="Replace what must not be printed.",
        ),
        symbol(T, "Transport", "class", (1, 9), signature="class Transport", doc="Moves bytes."),
        symbol(T, "Transport.handle", "method", (4, 6), signature="def handle(self, request)"),
        symbol(T, "Transport.close", "method", (8, 9), signature="def close(self)"),
        symbol(
            T, "connect", "fn", (12, 14), signature="def connect(address)",
            doc="Open a socket to an address.",
        ),
        symbol(T, "unrelated", "fn", (17, 18), signature="def unrelated()"),
        symbol(TEST, "test_send", "fn", (1, 2), signature="def test_send()"),
        Node(key=ADR, kind="adr", name="Use one transport", line=1, end_line=7, status="Accepted", **adr),  # type: ignore[arg-type]
        Node(key=ADR_CONTEXT, kind="adr_section", name="Context", line=5, end_line=7, **adr),  # type: ignore[arg-type]
    ]  # fmt: skip


def _edges() -> list[Edge]:
    file_c, file_t = f"file:{C}", f"file:{T}"
    return [
        edge(file_c, CLIENT_KEY, "contains", f"{C}:8"),
        edge(file_c, MASK, "contains", f"{C}:24"),
        edge(CLIENT_KEY, INIT, "contains", f"{C}:11"),
        edge(CLIENT_KEY, SEND, "contains", f"{C}:14"),
        edge(CLIENT_KEY, CLOSE, "contains", f"{C}:19"),
        edge(file_t, TRANSPORT_KEY, "contains", f"{T}:1"),
        edge(TRANSPORT_KEY, HANDLE, "contains", f"{T}:4"),
        edge(TRANSPORT_KEY, T_CLOSE, "contains", f"{T}:8"),
        edge(file_t, CONNECT, "contains", f"{T}:12"),
        edge(file_c, TRANSPORT_KEY, "imports", f"{C}:3"),
        edge(INIT, TRANSPORT_KEY, "calls", f"{C}:12"),
        edge(SEND, HANDLE, "calls", f"{C}:17", provenance="inferred", confidence=0.5),
        edge(CLOSE, T_CLOSE, "calls", f"{C}:21"),
        edge(HANDLE, CONNECT, "calls", f"{T}:6", sites=2),
        edge(TEST_SEND, CLIENT_KEY, "calls", f"{TEST}:2"),
        edge(TEST_SEND, SEND, "calls", f"{TEST}:2"),
        edge(ADR_CONTEXT, CLIENT_KEY, "references", f"{A}:7", provenance="authored"),
        edge(CLIENT_KEY, ADR, "authored_by", f"{A}:7", provenance="authored"),
        edge(ADR, ADR_CONTEXT, "contains", f"{A}:5"),
    ]


def _markers() -> list[Marker]:
    return [
        _marker(C, 16, "todo", "TODO: retry on failure", SEND),
        _marker(T, 5, "hack", "HACK: no pool", HANDLE),
        _marker(T, 9, "stub", "raise NotImplementedError", T_CLOSE),
    ]


def _marker(path: str, line: int, category: str, text: str, owner: str) -> Marker:
    name = f"marker:{path}#{line}"
    return Marker(key=name, category=category, text=text, path=path, line=line, symbol=owner)  # type: ignore[arg-type]

"""A local HTTP server that plays a model hub and a package index, and misbehaves on request.

Every file has a list of `faults` that are used up one per GET, in order; afterwards it is served well:

    short          closes the connection in the middle of the body
    corrupt        one byte is wrong
    short_chunked  ends the body properly and too early
    over_long      sends more than it announced, chunked
    endless_claim  announces more bytes than the hub did
    no_range       ignores Range and answers 200 from the start
    wrong_range    answers 206 from another place
    busy:N         429 with Retry-After: N
    broken         503 without a Retry-After
    stall          sends half and then nothing
    forbidden, absent   403, 404
    redirect:URL   302 to a full URL with the same path

`requests` records every request with its headers. Two servers make two hosts.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34


@dataclass
class Remote:
    """One file that the server has."""

    data: bytes
    sha256: str | None = None
    announce: bool = True
    faults: list[str] = field(default_factory=list)
    head_faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.sha256 is None:
            self.sha256 = hashlib.sha256(self.data).hexdigest()


@dataclass
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]


class HubServer:
    """Files by path (without the leading slash and, for a hub, without `resolve/REVISION`)."""

    def __init__(self) -> None:
        self.files: dict[str, Remote] = {}
        self.pages: dict[str, tuple[str, bytes]] = {}
        self.requests: list[Seen] = []
        self.release = threading.Event()
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def add(self, path: str, data: bytes, *faults: str, **fields: object) -> Remote:
        self.files[path] = Remote(data=data, faults=list(faults), **fields)
        return self.files[path]

    def add_package(
        self, package: str, wheels: dict[str, bytes], *, html: bool = False, yanked: str = ""
    ) -> None:
        """An index page for a package whose wheels lie under /files; one of them may be withdrawn."""
        items = []
        for name, data in wheels.items():
            self.add(f"files/{name}", data)
            digest = hashlib.sha256(data).hexdigest()
            items.append(
                {"filename": name, "url": f"/files/{name}", "hashes": {"sha256": digest}, "size": len(data)}
                | {"yanked": name == yanked}
            )
        if html:
            links = "".join(
                f'<a href="{item["url"]}#sha256={item["hashes"]["sha256"]}"'
                f"{' data-yanked' if item['yanked'] else ''}>{item['filename']}</a><br>"
                for item in items
            )
            self.pages[f"simple/{package}/"] = ("text/html", f"<html>{links}</html>".encode())
        else:
            body = json.dumps({"files": items}).encode()
            self.pages[f"simple/{package}/"] = ("application/vnd.pypi.simple.v1+json", body)

    def gets(self) -> list[Seen]:
        return [seen for seen in self.requests if seen.method == "GET"]


@contextmanager
def running() -> Iterator[HubServer]:
    server = HubServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self._answer("HEAD")

    def do_GET(self) -> None:
        self._answer("GET")

    def _answer(self, method: str) -> None:
        steps = [unquote(step) for step in urlsplit(self.path).path.lstrip("/").split("/")]
        path = "/".join(steps)
        self.hub.requests.append(Seen(method, path, dict(self.headers)))
        if path in self.hub.pages:
            content_type, body = self.hub.pages[path]
            self._send(200, body, {"Content-Type": content_type})
            return
        if "resolve" in steps:
            at = steps.index("resolve")
            path = "/".join(steps[:at] + steps[at + 2 :])
        remote = self.hub.files.get(path)
        if remote is None:
            self._send(404, b"Entry not found", {"X-Error-Message": "Entry not found"})
            return
        faults = remote.head_faults if method == "HEAD" else remote.faults
        self._serve(method, remote, faults.pop(0) if faults else "")

    def _serve(self, method: str, remote: Remote, fault: str) -> None:
        name, _, value = fault.partition(":")
        if name == "busy":
            self._send(429, b"slow down", {"Retry-After": value})
        elif name == "broken":
            self._send(503, b"broken", {})
        elif name == "forbidden":
            self._send(403, b"gated", {})
        elif name == "absent":
            self._send(404, b"gone", {})
        elif name == "redirect":
            self._send(302, b"", {"Location": value + self.path, **self._facts(remote)})
        elif method == "HEAD":
            self.send_response(200)
            for key, text in self._facts(remote).items():
                self.send_header(key, text)
            self.send_header("Content-Length", str(len(remote.data)))
            self.end_headers()
        else:
            self._send_body(remote, name)

    def _facts(self, remote: Remote) -> dict[str, str]:
        facts = {"X-Repo-Commit": COMMIT}
        if remote.announce:
            facts |= {"X-Linked-Etag": f'"{remote.sha256}"', "X-Linked-Size": str(len(remote.data))}
        return facts

    def _send_body(self, remote: Remote, fault: str) -> None:
        data, start, status = remote.data, 0, 200
        asked = self.headers.get("Range", "")
        if asked and fault != "no_range":
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(data):
                self._send(416, b"", {})
                return
        if fault == "wrong_range" and status == 206:
            start -= 1
        if fault == "corrupt":
            data = data[:-1] + bytes([data[-1] ^ 1])
        body = data[start:]
        extra = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if status == 206 else {}
        if fault == "over_long":
            self._send_chunked(body + b"and more" * 4)
        elif fault == "short_chunked":
            self._send_chunked(body[: len(body) // 2], status, extra)
        elif fault in {"short", "stall"}:
            self._send(status, body, extra, cut=len(body) // 2)
            if fault == "stall":
                self.hub.release.wait(10)
            self.close_connection = True
        elif fault == "endless_claim":
            self._send(status, body, extra, claim=len(body) + 7)
            self.close_connection = True
        else:
            self._send(status, body, extra)

    def _send(
        self,
        status: int,
        body: bytes,
        headers: dict[str, str],
        *,
        cut: int | None = None,
        claim: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if claim is None else claim))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut])
            self.wfile.flush()

    def _send_chunked(self, body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Transfer-Encoding", "chunked")
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n")

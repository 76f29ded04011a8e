"""HTTP as downloads need it: redirects followed by our own rules, tries counted, nothing sent astray.

A token goes to the host it is for and to no other, whatever a redirect says. It knows no source and no
model. The one door to httpx in this package. Thread: any, one `Web` each; calls block.
"""

from __future__ import annotations

import email.utils
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import httpx

from roteiro import __version__
from roteiro.errors import DownloadFailed

TRIES = 5
# Waits between the five tries.
BACKOFF_SECONDS = (1.0, 2.0, 4.0, 8.0)
# A server that asks for a longer pause is told to the user instead of being waited for.
MAX_RETRY_AFTER_SECONDS = 60.0
STALL_SECONDS = 30.0
CONNECT_SECONDS = 20.0
MAX_REDIRECTS = 5
# Answers that are read whole: indexes of packages have some 100 kB.
MAX_PAGE_BYTES = 16 << 20

REDIRECTS = frozenset({301, 302, 303, 307, 308})
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})

_Result = TypeVar("_Result")


class Interrupted(Exception):
    """Raised inside a try that may succeed the next time.

    Args:
        reason: what happened, as a sentence part.
        wait_s: how long the server asked to wait.
    """

    def __init__(self, reason: str, *, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s


class Web:
    """An HTTP client.

    Args:
        ca_file: certificates to trust instead of httpx's own.
        stall_s: seconds without a byte after which a connection counts as dead.
        sleep: waits between tries; tests pass their own.
    """

    def __init__(
        self,
        *,
        ca_file: str | None = None,
        stall_s: float = STALL_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.stall_s = stall_s
        self._sleep = sleep
        verify = ssl.create_default_context(cafile=ca_file) if ca_file else True
        self._client = httpx.Client(
            verify=verify,
            follow_redirects=False,
            timeout=httpx.Timeout(stall_s, connect=min(CONNECT_SECONDS, stall_s)),
            headers={"User-Agent": f"roteiro/{__version__}", "Accept-Encoding": "identity"},
        )

    def close(self) -> None:
        """Close the connections; idempotent."""
        self._client.close()

    @contextmanager
    def open(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        token: str | None = None,
        stay: bool = False,
    ) -> Iterator[httpx.Response]:
        """The response to a request, its body not read yet.

        Args:
            method: GET or HEAD.
            url: where to.
            headers: sent to every host on the way.
            token: a bearer token, sent to the host of `url` alone.
            stay: give back a redirect that leaves the host instead of following it.

        Raises:
            Interrupted: the connection failed, or the status says to try again.
            DownloadFailed: a redirect that is not followed.
        """
        home = httpx.URL(url)
        here = home
        for _ in range(MAX_REDIRECTS + 1):
            sent = dict(headers or {})
            if token and _origin(here) == _origin(home):
                sent["Authorization"] = f"Bearer {token}"
            with self._connected(method, here, sent) as response:
                there = _redirect_target(response)
                if there is None or (stay and _origin(there) != _origin(home)):
                    _raise_for_retry(response)
                    yield response
                    return
            here = there
        raise DownloadFailed(
            f"{show_url(url)} redirects more than {MAX_REDIRECTS} times.",
            hint="Try again later or from another source.",
        )

    def page(self, url: str, *, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """Status, content type and body of a small page, with tries."""

        def once() -> tuple[int, str, bytes]:
            with self.open("GET", url, headers=headers) as response, translated(self.stall_s):
                body = b""
                for block in response.iter_bytes():
                    body += block
                    if len(body) > MAX_PAGE_BYTES:
                        raise DownloadFailed(f"{show_url(url)} answers with an endless page.")
                return response.status_code, response.headers.get("Content-Type", ""), body

        return self.with_tries(once, what=show_url(url))

    def with_tries(self, once: Callable[[], _Result], *, what: str) -> _Result:
        """Call `once` until it is not interrupted, at most five times."""
        for number in range(TRIES):
            try:
                return once()
            except Interrupted as error:
                if error.wait_s is not None and error.wait_s > MAX_RETRY_AFTER_SECONDS:
                    raise DownloadFailed(
                        f"{what}: {error.reason}; the server asks to wait {error.wait_s:.0f} s.",
                        hint="Run the command again then; what has arrived is kept.",
                    ) from error
                if number == TRIES - 1:
                    raise DownloadFailed(
                        f"{what}: given up after {TRIES} tries; the last one: {error.reason}.",
                        hint="Run the command again to go on; what has arrived is kept.",
                    ) from error
                self._sleep(BACKOFF_SECONDS[number] if error.wait_s is None else error.wait_s)
        raise AssertionError("unreachable")  # pragma: no cover

    # ---------------------------------------------------------------------------------------------

    @contextmanager
    def _connected(self, method: str, url: httpx.URL, headers: dict[str, str]) -> Iterator[httpx.Response]:
        with translated(self.stall_s):
            response = self._client.send(
                self._client.build_request(method, url, headers=headers), stream=True
            )
        try:
            yield response
        finally:
            response.close()


@contextmanager
def translated(stall_s: float) -> Iterator[None]:
    """Turn httpx's failures into ours."""
    try:
        yield
    except httpx.TimeoutException as error:
        raise Interrupted(f"nothing arrived for {stall_s:g} s") from error
    except httpx.UnsupportedProtocol as error:
        raise DownloadFailed(f"Only http and https can be used: {error}.") from error
    except httpx.TransportError as error:
        raise Interrupted(str(error) or type(error).__name__) from error
    except (httpx.InvalidURL, httpx.HTTPError, ValueError) as error:
        raise DownloadFailed(f"The server's answer cannot be used: {error}.") from error


def show_url(url: str) -> str:
    """A URL for messages: without user, password and query, which may hold secrets."""
    parsed = httpx.URL(url)
    return str(parsed.copy_with(username="", password="", query=None, fragment=None))


# -------------------------------------------------------------------------------------------------


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _redirect_target(response: httpx.Response) -> httpx.URL | None:
    location = response.headers.get("Location")
    if response.status_code not in REDIRECTS or location is None:
        return None
    try:
        target = response.url.join(location)
    except httpx.InvalidURL as error:
        raise DownloadFailed(f"{response.url.host} redirects to {location[:100]!r}.") from error
    downgraded = response.url.scheme == "https" and target.scheme != "https"
    if downgraded or target.scheme not in {"http", "https"}:
        raise DownloadFailed(
            f"{response.url.host} redirects to {target.scheme}://{target.host}, which is not safe.",
            hint="Check HF_ENDPOINT or the package index; the redirect was not followed.",
        )
    return target


def _raise_for_retry(response: httpx.Response) -> None:
    if response.status_code not in TRY_AGAIN:
        return
    raise Interrupted(
        f"{response.url.host} answered {response.status_code}",
        wait_s=_retry_after(response.headers.get("Retry-After")),
    )


def _retry_after(value: str | None) -> float | None:
    """Seconds, from either of the two forms that the header may have."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())

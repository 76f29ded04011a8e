"""The one import of `llama_cpp`, and its log. Thread: any; the log callback comes from native threads."""

from __future__ import annotations

import ctypes
import logging
from collections import deque
from typing import Any

from roteiro.errors import MissingExtra

try:
    import llama_cpp as _package
except ImportError as error:  # pragma: no cover - every test environment has the extra
    raise MissingExtra("llama", "Running a model") from error
except (OSError, RuntimeError, FileNotFoundError) as error:  # pragma: no cover - a broken build
    raise MissingExtra("llama", f"Running a model ({error})") from error

# ctypes functions have no types worth the name.
C: Any = _package

_LOG = logging.getLogger("roteiro.llama")
# ggml's levels: 1 debug, 2 info, 3 warning, 4 error, 5 more of a line. Its info is a page a model, and its
# warnings come with every context, so each is a step lower here.
_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.INFO, 4: logging.ERROR}
_CONTINUATION = 5
_KEPT_LINES = 20


class NativeLog:
    """Passes native log lines to `roteiro.llama`, and remembers the last complaints.

    `expects_abort` is True while a decode is being interrupted on purpose.
    """

    def __init__(self) -> None:
        self.expects_abort = False
        self._partial = ""
        self._level = logging.DEBUG
        self._complaints: deque[str] = deque(maxlen=_KEPT_LINES)
        # The library holds the address: the object must live as long as the process.
        self._callback = C.llama_log_callback(self._receive)

    def install(self) -> None:
        """Receive every line from now on."""
        C.llama_log_set(self._callback, ctypes.c_void_p(0))

    def clear(self) -> None:
        """Forget earlier complaints."""
        self._complaints.clear()

    def complaints(self) -> str:
        """What the library complained of since `clear`, the most telling line first."""
        return "; ".join(dict.fromkeys(self._complaints)) or "it gave no reason"

    def _receive(self, level: int, text: bytes, _data: object) -> None:
        if level != _CONTINUATION:
            self._flush()
            self._level = _LEVELS.get(level, logging.DEBUG)
        self._partial += text.decode(errors="replace")
        if self._partial.endswith("\n"):
            self._flush()

    def _flush(self) -> None:
        line, self._partial = self._partial.strip(), ""
        if not line:
            return
        level = self._level
        if level >= logging.ERROR and self.expects_abort:
            # We asked for it: the library calls a decode that was aborted a failure.
            level = logging.DEBUG
        elif level >= logging.ERROR:
            self._complaints.append(line)
        _LOG.log(level, "%s", line)


LOG = NativeLog()

"""Every error that Roteiro raises on purpose, in one tree.

The tree, in the order of the classes below::

    RoteiroError
      UserError
        UsageError            a command or call that cannot mean anything
        ConfigError           a configuration file or value that cannot be used
        ConsentRefused        a download or adoption nobody agreed to
        DownloadFailed        a pull that did not arrive whole
        ModelNotFound         no installed model bears the id
        ModelFileInvalid      the file is not a usable GGUF
        ModelUnusable         the model cannot be loaded or cannot do what was asked
        MissingExtra          an optional part of Roteiro is not installed
        InvalidRequest        a request field has a value that cannot be used
        UnsupportedParameter  a request field whose promise cannot be kept
        ContextOverflow       the prompt does not fit the context window
        TemplateError         the model's chat template refused the conversation
      CapacityError
        ModelTooLarge         the model cannot fit the memory budget
        Busy                  the queue is full, or the server is stopping
        RequestTimeout        the configured hard stop for one request was reached
      GraphError
        NoGraph               the tree has not been synced yet
        StoreTooNew           the graph was written by a newer Roteiro
        StoreLocked           another process is syncing this tree
        RootRefused           the folder is not one to index without being asked to
        NodeNotFound          no node bears the name
        AmbiguousName         several nodes bear the name
      EngineError
        LoadFailed            llama.cpp could not load the model
        DecodeFailed          llama.cpp failed while it evaluated tokens
        EngineClosed          the engine was stopped while the request was in it
        ReaderTooSlow         the answer was not read for so long that it was ended

An error knows what happened, the value that did it, and the next step. It knows no HTTP status, exit code
or JSON-RPC code: each front door keeps its own table of those (`server/errors.py`, `cli/output.py`,
`mcp_server/errors.py`). Thread: any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar


class RoteiroError(Exception):
    """The root. Never raised itself.

    Args:
        message: one sentence that says what happened and quotes the value that did it.
        hint: the next step for whoever sees it; may be empty.
        param: the request field or configuration key at fault, if there is one.
        details: machine-readable facts (numbers, ids) that a front door may print beside the message.
    """

    code: ClassVar[str] = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        param: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.param = param
        self.details: dict[str, object] = dict(details or {})

    def sentence(self) -> str:
        """The message and the hint as one text."""
        return f"{self.message} {self.hint}".strip()


class UserError(RoteiroError):
    """Something the caller can put right."""

    code = "invalid_request_error"


class UsageError(UserError):
    """A command or call that cannot mean anything."""

    code = "usage"


class ConfigError(UserError):
    """Raised when a configuration file or value cannot be used; lists every mistake found."""

    code = "config_invalid"

    def __init__(self, mistakes: Sequence[str], *, hint: str = "", param: str | None = None) -> None:
        super().__init__("; ".join(mistakes), hint=hint, param=param)
        self.mistakes = tuple(mistakes)


class ConsentRefused(UserError):
    """Raised when a download or an adoption was not agreed to."""

    code = "consent_refused"


class DownloadFailed(UserError):
    """Raised when a pull did not arrive whole; nothing was installed."""

    code = "download_failed"


class ModelNotFound(UserError):
    """Raised when no installed model bears the id."""

    code = "model_not_found"

    def __init__(self, model_id: str, installed: Sequence[str]) -> None:
        known = ", ".join(installed) if installed else "none"
        shown = model_id if len(model_id) <= 200 else f"{model_id[:200]}..."
        super().__init__(
            f"The model {shown!r} is not installed. Installed: {known}.",
            hint="`roteiro model list` shows what is here; `roteiro model import` and `pull` add to it.",
            param="model",
        )


class ModelFileInvalid(UserError):
    """Raised when a file is not a GGUF that can be used, with the place where it goes wrong."""

    code = "invalid_gguf"


class ModelUnusable(UserError):
    """Raised when an installed model cannot be loaded, or cannot do what was asked of it."""

    code = "model_unusable"


class MissingExtra(UserError):
    """Raised when an optional part of Roteiro is not installed.

    Args:
        extra: the name of the extra that brings it.
        what: what cannot be done without it, as a sentence part.
    """

    code = "missing_extra"

    def __init__(self, extra: str, what: str) -> None:
        super().__init__(
            f"{what} needs the {extra!r} extra, which is not installed.",
            hint=f"Install it with: pip install 'roteiro[{extra}]'",
            details={"extra": extra},
        )


class InvalidRequest(UserError):
    """Raised when a request field has a value that cannot be used."""

    code = "invalid_value"


class UnsupportedParameter(UserError):
    """Raised when a request field asks for something that would be silently untrue if accepted."""

    code = "unsupported_parameter"


class ContextOverflow(UserError):
    """Raised when the prompt (and the answer it asks room for) does not fit the context window.

    Args:
        prompt_tokens: exact length of the rendered prompt, in tokens.
        n_ctx: the window that applies, in tokens.
        max_tokens: room asked for the answer, or None when the request left it open.
        input_index: which of the texts to embed it is, counted from 0; None for a conversation.
    """

    code = "context_length_exceeded"

    def __init__(
        self, *, prompt_tokens: int, n_ctx: int, max_tokens: int | None = None, input_index: int | None = None
    ) -> None:
        asked = "" if max_tokens is None else f" and asks for {max_tokens} more (max_tokens)"
        what, shorten = "The prompt", "the conversation"
        if input_index is not None:
            what, shorten = f"input[{input_index}]", "or split it"
        lower = "" if max_tokens is None else " or lower max_tokens"
        super().__init__(
            f"{what} has {prompt_tokens} tokens{asked}; "
            f"this exceeds the available context size of {n_ctx} tokens.",
            hint=f"Shorten {shorten}{lower}; nothing is cut off in silence.",
            param="messages" if input_index is None else "input",
            details={"n_prompt_tokens": prompt_tokens, "n_ctx": n_ctx},
        )


class TemplateError(UserError):
    """Raised when the model's chat template refuses the conversation, fails or runs away."""

    code = "template_error"


class CapacityError(RoteiroError):
    """The machine or the configured budget does not allow it now."""

    code = "capacity"


class ModelTooLarge(CapacityError):
    """Raised when a model cannot fit the memory budget even with everything else unloaded.

    Args:
        model_id: the model asked for.
        needed: bytes it would take.
        budget: bytes allowed by `[serve] memory_budget_mb`.
    """

    code = "model_too_large"

    def __init__(self, model_id: str, *, needed: int, budget: int) -> None:
        super().__init__(
            f"The model {model_id!r} needs {needed / 2**20:.0f} MiB; "
            f"the memory budget is {budget / 2**20:.0f} MiB.",
            hint="Raise [serve] memory_budget_mb or use a smaller model or window.",
            param="model",
            details={"needed_bytes": needed, "budget_bytes": budget},
        )


class Busy(CapacityError):
    """Raised when the queue is full or the server is stopping.

    Args:
        message: what is full.
        retry_after_s: seconds after which a retry makes sense.
    """

    code = "busy"

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message, hint=f"Try again in {retry_after_s} s.")
        self.retry_after_s = retry_after_s


class RequestTimeout(CapacityError):
    """Raised when `[serve] request_timeout_s` ended a request."""

    code = "request_timeout"


class GraphError(RoteiroError):
    """Something about the code graph."""

    code = "graph_error"


class NoGraph(GraphError):
    """Raised when the tree has not been synced yet."""

    code = "no_graph"


class StoreTooNew(GraphError):
    """Raised when the graph was written by a newer Roteiro than this one."""

    code = "store_too_new"


class StoreLocked(GraphError):
    """Raised when another process is syncing this tree and did not finish in time."""

    code = "store_locked"


class RootRefused(GraphError):
    """Raised for `/`, the home folder and folders that do not exist, unless forced."""

    code = "root_refused"


class NodeNotFound(GraphError):
    """Raised when no node bears the name.

    Args:
        name: what was asked for.
        suggestions: the nearest existing keys or names, best first.
    """

    code = "not_found"

    def __init__(self, name: str, suggestions: Sequence[str] = ()) -> None:
        near = f"Did you mean: {', '.join(suggestions)}?" if suggestions else ""
        super().__init__(
            f"Nothing in the graph is called {name!r}.",
            hint=near or "`roteiro search` finds symbols by words.",
            details={"suggestions": list(suggestions)},
        )
        self.suggestions = tuple(suggestions)


class AmbiguousName(GraphError):
    """Raised when several nodes bear the name.

    Args:
        name: what was asked for.
        keys: the keys of every node that bears it.
    """

    code = "ambiguous"

    def __init__(self, name: str, keys: Sequence[str]) -> None:
        super().__init__(
            f"{name!r} names {len(keys)} nodes: {', '.join(keys[:10])}"
            + (", ..." if len(keys) > 10 else "."),
            hint="Use a key or path#name.",
            details={"keys": list(keys)},
        )
        self.name = name
        self.keys = tuple(keys)


class EngineError(RoteiroError):
    """The inference engine failed; not the caller's doing."""

    code = "engine_error"


class LoadFailed(EngineError):
    """Raised when llama.cpp could not load a model that had passed its probe."""

    code = "load_failed"


class DecodeFailed(EngineError):
    """Raised when llama.cpp failed while it evaluated tokens."""

    code = "decode_failed"


class EngineClosed(EngineError):
    """Raised to requests that are in the engine when it is stopped, and to those that come later."""

    code = "engine_closed"

    def __init__(self) -> None:
        super().__init__("The server is stopping.", hint="Send the request again once it is back.")


class ReaderTooSlow(EngineError):
    """Raised to a reader that comes back after its answer was ended for not being read."""

    code = "reader_too_slow"

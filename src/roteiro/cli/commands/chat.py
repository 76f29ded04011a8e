"""`roteiro chat`: talk to a model on the terminal, over a running server or in this process."""

from __future__ import annotations

import contextlib
import logging
import sys
import unicodedata
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

from roteiro.chat.messages import Message
from roteiro.cli import output
from roteiro.config import load_config
from roteiro.errors import RoteiroError, UsageError

if TYPE_CHECKING:
    from roteiro.cli.partners import Kind, Partner, Wishes
    from roteiro.config.schema import Config

app = typer.Typer(help="Talk to a model on the terminal.", add_completion=False, rich_markup_mode=None)

# The characters that override the direction of the text around them.
_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

HELP = "/new forgets the conversation, /quit ends it (or Ctrl-D); Ctrl-C stops an answer."


@app.command()
def chat(
    *,
    message: str | None = typer.Option(None, "--message", "-m", help="Ask this once and end."),
    model: str | None = typer.Option(None, help="Id of an installed model."),
    system: str | None = typer.Option(None, help="Instructions for the model."),
    max_tokens: int | None = typer.Option(None, min=1, help="Most tokens of an answer."),
    temperature: float | None = typer.Option(None, min=0, help="0 always takes the likeliest."),
    url: str | None = typer.Option(None, help="A running server: http://HOST:PORT or unix:/path.sock."),
    in_process: bool = typer.Option(False, "--in-process", help="Do not look for a running server."),
) -> None:
    """Talk to a model: over the server at `[serve] addr` when it runs, else in this process."""
    with output.command_errors():
        if url and in_process:
            raise UsageError("--url and --in-process exclude each other.")
        from roteiro.cli.partners import Wishes

        # The library reports an answer that Ctrl-C stopped as failed; on the terminal that is noise.
        logging.getLogger("roteiro.llama").setLevel(logging.CRITICAL)
        config = load_config()
        wishes = Wishes(model=model, max_tokens=max_tokens, temperature=temperature)
        partner = _partner(config, wishes, url=url, in_process=in_process)
        try:
            begin = [Message(role="system", content=system)] if system else []
            if message is None and sys.stdin.isatty():
                output.notice(f"Talking to {partner.name}. {HELP}")
                Conversation(partner, begin).run(_typed())
            else:
                said = message if message is not None else sys.stdin.read()
                Conversation(partner, begin).say_once(said)
        finally:
            partner.close()


class Conversation:
    """What was said so far, and the loop that goes on with it."""

    def __init__(
        self, partner: Partner, begin: list[Message], write: Callable[[Kind, str], None] | None = None
    ) -> None:
        self._partner = partner
        self._begin = begin
        self._write = write or _write
        self.messages = list(begin)

    def run(self, lines: Iterator[str]) -> None:
        """Answer line after line; a failed answer is shown and the conversation goes on without it."""
        for line in lines:
            text = line.strip()
            if text == "/quit":
                return
            if text == "/new":
                self.messages = list(self._begin)
            elif text in {"/help", "/?"}:
                output.notice(HELP)
            elif text:
                self._say(text)

    def say_once(self, text: str) -> None:
        """Answer one message; errors and Ctrl-C end the command.

        Raises:
            UsageError: there is no message.
        """
        if not text.strip():
            raise UsageError("There is no message.", hint="Give one with -m or on standard input.")
        self._answer(text)

    def _say(self, text: str) -> None:
        before = list(self.messages)
        try:
            self._answer(text)
        except KeyboardInterrupt:
            output.notice("(stopped)")
        except RoteiroError as error:
            self.messages = before
            output.print_error(error)

    def _answer(self, text: str) -> None:
        self.messages.append(Message(role="user", content=text))
        said: dict[Kind, list[str]] = {"content": [], "reasoning": []}

        def show(kind: Kind, piece: str) -> None:
            said[kind].append(piece)
            self._write(kind, piece)

        try:
            self._partner.answer(self.messages, show)
        finally:
            # What was said before a Ctrl-C was said: the next turn goes on from it.
            self._write("content", "\n")
            self.messages.append(
                Message(
                    role="assistant",
                    content="".join(said["content"]),
                    reasoning_content="".join(said["reasoning"]) or None,
                )
            )


# ------------------------------------------------------------------------------------------------


def _partner(config: Config, wishes: Wishes, *, url: str | None, in_process: bool) -> Partner:
    from roteiro.cli.partners import HttpPartner, LocalPartner

    if in_process:
        return LocalPartner(config, wishes)
    addr = config.serve.addr
    where = url or (addr if addr.startswith("unix:") else f"http://{addr}")
    running = HttpPartner(where, wishes, key=_key(config))
    if url or running.is_there():
        return running
    running.close()
    return LocalPartner(config, wishes)


def _key(config: Config) -> str | None:
    if config.serve.api_key_file is None:
        return None
    from roteiro.server.serve import read_keys

    return read_keys(config.serve.api_key_file)[0]


def _typed() -> Iterator[str]:
    """Lines from the terminal, with editing and history where the platform has them."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - importing it gives `input` its editing
    while True:
        try:
            yield input("> ")
        except EOFError:
            output.notice("")
            return
        except KeyboardInterrupt:
            output.notice("(Ctrl-D or /quit ends the conversation)")


def _write(kind: Kind, text: str) -> None:
    style = "dim" if kind == "reasoning" else None
    output.stdout().print(plain(text), end="", markup=False, style=style)


def plain(text: str) -> str:
    """Text without what would move the cursor, set the title or turn the writing around."""
    return "".join(
        c for c in text if c in "\n\t" or (unicodedata.category(c) != "Cc" and c not in _DIRECTIONS)
    )

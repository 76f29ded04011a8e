"""The flags of `serve`, and the terminal conversation of `chat`, without a server."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from roteiro.chat.messages import Message
from roteiro.cli import main
from roteiro.cli.commands import chat, serve
from roteiro.cli.main import COMMANDS
from roteiro.config.keys import KEYS
from roteiro.errors import InvalidRequest, UsageError


def test_every_serve_key_has_a_flag() -> None:
    keys = {key.name.removeprefix("serve.") for key in KEYS if key.name.startswith("serve.")}
    flags = set(inspect.signature(serve.serve).parameters) - {"log_level"}
    assert flags == keys


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in {"model", "config"}])
def test_a_command_without_sub_commands_promises_none(name: str) -> None:
    shown = CliRunner().invoke(main.app, [name, "--help"]).output
    assert f"Usage: roteiro {name} [OPTIONS]" in shown.replace("root ", "roteiro ")
    assert "COMMAND [ARGS]" not in shown
    assert "--install-completion" not in shown


@pytest.mark.parametrize(
    ("text", "value"), [(None, None), ("4", 4), ("auto", "auto"), ("-1", "-1"), ("x", "x")]
)
def test_a_number_or_auto(text: str | None, value: object) -> None:
    assert serve._number_or_auto(text) == value


class Parrot:
    """Answers with the number of messages; raises what it is told to raise after a first word."""

    name = "parrot"

    def __init__(self) -> None:
        self.asked: list[tuple[Message, ...]] = []
        self.fail: BaseException | None = None

    def answer(self, messages: Sequence[Message], show: chat.Callable[..., None]) -> None:
        self.asked.append(tuple(messages))
        show("reasoning", "hm")
        show("content", f"{len(messages)} so far")
        if self.fail is not None:
            failure, self.fail = self.fail, None
            raise failure

    def close(self) -> None:
        """Nothing to close."""


def talk(lines: list[str], begin: list[Message] | None = None) -> tuple[Parrot, chat.Conversation, str]:
    parrot, written = Parrot(), []
    talking = chat.Conversation(parrot, begin or [], lambda _kind, text: written.append(text))

    def typed():
        for line in lines:
            if line == "FAIL":
                parrot.fail = InvalidRequest("no")
            elif line == "STOP":
                parrot.fail = KeyboardInterrupt()
            else:
                yield line

    talking.run(typed())
    return parrot, talking, "".join(written)


def test_the_history_is_sent_again_with_its_thoughts() -> None:
    parrot, _, written = talk(["a", "  ", "b"])
    assert [len(messages) for messages in parrot.asked] == [1, 3]
    reply = parrot.asked[1][1]
    assert (reply.role, reply.content, reply.reasoning_content) == ("assistant", "1 so far", "hm")
    assert written == "hm1 so far\nhm3 so far\n"


def test_new_forgets_all_but_the_instructions_and_quit_ends() -> None:
    system = Message(role="system", content="s")
    parrot, _, _ = talk(["a", "/new", "b", "/quit", "c"], [system])
    assert [len(messages) for messages in parrot.asked] == [2, 2]
    assert parrot.asked[1][0] == system


def test_a_failed_answer_is_as_if_it_had_not_been_asked() -> None:
    parrot, _, _ = talk(["a", "FAIL", "b", "c"])
    assert [len(messages) for messages in parrot.asked] == [1, 3, 3]


def test_a_stopped_answer_stays_in_the_history() -> None:
    parrot, _, _ = talk(["STOP", "a", "b"])
    assert [m.content for m in parrot.asked[1]] == ["a", "1 so far", "b"]


def test_an_empty_message_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no message"):
        chat.Conversation(Parrot(), []).say_once(" \n")


def test_text_cannot_play_with_the_terminal() -> None:
    assert chat.plain("a\x1b]0;t\x07b\tc\n\u202edx\u0000") == "a]0;tb\tc\ndx"
    family = "\U0001f469\u200d\U0001f467 é"
    assert chat.plain(family) == family

"""The line that says where a prompt parts from what is held."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from fakes.engines import make_engine, make_record, say
from roteiro.engine.divergence import divergence
from roteiro.engine.scripted import encode, token_bytes
from roteiro.engine.session import Session


def session(slot: int, text: str, last_used: float = 0.0) -> Session:
    return Session(slot=slot, tokens=list(encode(text)), last_used=last_used)


def test_it_shows_the_nearest_session_and_the_text_on_both_sides() -> None:
    sessions = [session(0, "something else"), session(1, "You are A.\nTime: 10:01\nGo."), Session(slot=2)]
    line = divergence(sessions, encode("You are A.\nTime: 10:02\nGo on."), token_bytes)
    assert line == (
        r"slot=1 token=21 held=26 prompt=29 both='.\nTime: 10:0' held_goes_on='1\nGo.' prompt_goes_on='2\nGo on.'"
    )


@pytest.mark.parametrize("prompt", ["all of it", "all of it and more"])
def test_there_is_nothing_to_say_where_all_is_used(prompt: str) -> None:
    assert divergence([session(0, "all of it")], encode(prompt), token_bytes) is None
    assert divergence([Session(slot=0)], encode(prompt), token_bytes) is None


def test_what_a_prompt_holds_reaches_no_terminal() -> None:
    line = divergence([session(0, "a\x1b[31mred")], encode("a\x1b[32mgreen"), token_bytes)
    assert line is not None
    assert "\x1b" not in line


@pytest.mark.anyio
async def test_it_is_logged_where_debug_is_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine, _ = make_engine(["one", "two"])
    record = make_record(tmp_path)
    with caplog.at_level(logging.DEBUG, logger="roteiro.engine"):
        await say(engine, record, "You are A. Time: 10:01")
        await say(engine, record, "You are A. Time: 10:02")
    lines = [entry.getMessage() for entry in caplog.records if entry.getMessage().startswith("prefix ")]
    assert lines[0] == "prefix model=scripted nothing held is lost"
    assert "token=21 " in lines[1]
    await engine.aclose()

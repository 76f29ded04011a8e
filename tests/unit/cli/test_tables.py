"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import pytest

from roteiro.cli.tables import print_table, print_text, printable

ROWS = [("a.py:1", "fn", "[bold]x[/bold]"), ("long/b.py:22", "class", None)]


def test_a_pipe_gets_aligned_rows_without_titles(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("place", "kind", "name"), ROWS, indent="  ")
    assert capsys.readouterr().out == ("  a.py:1        fn     [bold]x[/bold]\n  long/b.py:22  class\n")


def test_a_pipe_loses_nothing_to_the_width_of_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("one", "two"), [("x" * 300, "end")])
    assert capsys.readouterr().out == "x" * 300 + "  end\n"


def test_a_terminal_gets_titles(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_table(("place", "kind", "name"), ROWS)
    shown = capsys.readouterr().out
    assert "place" in shown.splitlines()[0]
    assert "[bold]x[/bold]" in shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ü 解", "plain ü 解"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\x00\x9b", "a\\x0db\\x00\\x9b"),
        ("turned \u202e", "turned \\x202e"),
        ("bad \udce9 name", "bad \\udce9 name"),
        ("tab\tand\nline", "tab    and\nline"),
    ],
)
def test_control_characters_are_shown(text: str, expected: str) -> None:
    assert printable(text) == expected


def test_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("[red]no markup[/red] :smile:")
    assert capsys.readouterr().out == "[red]no markup[/red] :smile:\n"

"""``d2s explain``: every way to name a code, every form of output, every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from d2s.cli import app, main
from d2s.cli.explain import plain, resolved
from d2s.diagnostics.catalogue import codes, entry
from d2s.errors import ErrorCodeError
from d2s.markup.entries import laid_out


def explained(*args: str) -> str:
    """What ``d2s explain`` prints."""
    result = CliRunner().invoke(app, ["explain", *args])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    "text",
    ["D2S204", "d2s204", "204", "[D2S204]", " d2s-204 ", "D2S 204", "ConditionError"],
)
def test_ways_to_name_a_code(text: str) -> None:
    """What stands in a message or a traceback can be pasted."""
    assert resolved(text) == "D2S204"
    assert explained(text) == explained("D2S204")


@pytest.mark.parametrize("code", codes())
def test_every_entry_is_printed_whole(code: str) -> None:
    """Plain: Markdown with all parts; on a terminal: the same words."""
    found = entry(code)
    text = explained(code)
    assert text == plain(found)
    assert text.startswith(f"# {code}: {found.title}\n")
    parts = [found.cause, found.example.text, found.cure]
    parts += [] if found.instead is None else [found.instead.text]
    parts += [f"docs/guide/{link.target}" for link in found.see]
    for part in parts:
        assert part in text
    console = Console(width=300, force_terminal=True, color_system=None)
    with console.capture() as said:
        console.print(laid_out(found))
    shown = " ".join(said.get().split())
    assert shown.startswith(f"{code} {found.title}")
    for part in (found.example.text, *(link.target for link in found.see)):
        assert " ".join(part.split()) in shown
    assert " ".join(found.cure.replace("`", "").split()) in shown


@pytest.mark.parametrize("code", codes())
def test_no_code_is_cut_on_a_narrow_terminal(code: str) -> None:
    """Long lines of an example go on below."""
    console = Console(width=40, force_terminal=True, color_system=None)
    with console.capture() as said:
        console.print(laid_out(entry(code)))
    shown = "".join(said.get().split())
    assert "".join(entry(code).example.text.split()) in shown


def test_json() -> None:
    """For programs: one entry, or all of them."""
    assert json.loads(explained("204", "--json")) == entry("D2S204").as_dict()
    assert json.loads(explained("--list", "--json")) == [entry(c).as_dict() for c in codes()]


def test_list() -> None:
    """One line for each code."""
    lines = explained("--list").splitlines()
    assert lines == [f"{code}  {entry(code).title}" for code in codes()]


def test_no_colours_outside_of_a_terminal() -> None:
    """It can be piped."""
    assert "\x1b" not in explained("D2S204")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["needs a code", "--list"]),
        ("D2S244", ["no code 'D2S244'", "did you mean D2S204?"]),
        ("d2s240", ["no code 'D2S240'", "D2S204"]),
        ("299", ["no code 'D2S299'"]),
        ("Conditon", ["no code 'Conditon'", "did you mean D2S204?"]),
        ("LoadErorr", ["D2S402"]),
        ("", ["no code ''"]),
        ("D2S2045", ["no code 'D2S2045'"]),
        ("E501", ["no code 'E501'"]),
        ("../D2S204", ["no code '../D2S204'"]),
    ],
)
def test_a_code_that_there_is_not(
    capsys: pytest.CaptureFixture[str], text: str | None, words: list[str]
) -> None:
    """D2S505: what was typed, what is close, and where all are."""
    with pytest.raises(ErrorCodeError):
        resolved(text)
    assert main(["explain", *([] if text is None else [text])]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.rstrip().endswith("[D2S505]")
    assert "d2s explain --list shows all" in said.err
    for word in words:
        assert word in said.err


def test_output(tmp_path: Path) -> None:
    """A code, or the list, into a file, as on the screen."""
    for args in (["D2S204"], ["--list"], ["--list", "--json"]):
        assert explained(*args, "-o", str(tmp_path / "out")) == ""
        assert (tmp_path / "out").read_text(encoding="utf-8") == explained(*args)


def test_a_code_and_the_list() -> None:
    """One of them."""
    result = CliRunner().invoke(app, ["explain", "D2S204", "--list"])
    assert result.exit_code == 2
    assert "choose one" in result.output

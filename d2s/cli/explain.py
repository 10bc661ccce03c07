"""``d2s explain``: what a code means, a program that leads to it, and what to write instead.

Prints the entry of the catalogue (``d2s.diagnostics.catalogue``): laid out on a terminal, as
Markdown elsewhere, as JSON on request.  Imports nothing of the user's and runs nothing.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Final

import typer

from d2s import errors
from d2s.cli.terminal.files import write
from d2s.diagnostics.catalogue import Block, Entry, codes, entry
from d2s.errors import ErrorCodeError

_CODE: Final = re.compile(r"\[?(?:D2S)?[\s-]*(\d{3})\]?", re.IGNORECASE)


def explain(
    code: str | None, *, list_: bool = False, as_json: bool = False, output: Path | None = None
) -> None:
    """What the command does; ``d2s.cli.commands`` says what its options mean."""
    if list_ and code is not None:
        raise typer.BadParameter("choose one of CODE and --list")
    found = [entry(known) for known in codes()] if list_ else [entry(resolved(code))]
    if as_json:
        facts = [each.as_dict() for each in found]
        text = json.dumps(facts if list_ else facts[0], indent=2) + "\n"
    elif list_:
        text = "".join(f"{each.code}  {each.title}\n" for each in found)
    else:
        text = plain(found[0])
    if output is not None:
        write(output, text)
    elif sys.stdout.isatty() and not (as_json or list_):
        from d2s.markup.entries import show  # takes rich, and as long as all the rest

        show(found[0])
    else:
        typer.echo(text, nl=False)


def resolved(text: str | None) -> str:
    """The code that the user means.

    Args:
        text: what was typed: ``D2S204``, ``d2s204``, ``204``, ``[D2S204]``, ``ConditionError``.

    Raises:
        ErrorCodeError: (D2S505) there is no such code, or none was given.

    >>> resolved("204"), resolved("ConditionError")
    ('D2S204', 'D2S204')
    """
    if text is None:
        raise ErrorCodeError(
            "d2s explain needs a code",
            cure="give the one in brackets at the end of a message, as in d2s explain D2S204; "
            "d2s explain --list shows all",
        )
    names = _codes_of_classes()
    match = _CODE.fullmatch(text.strip())
    code = names.get(text.strip(), f"D2S{match[1]}" if match else text.strip())
    if code in codes():
        return code
    if match:
        close = [known for known in codes() if _typo(code, known)]
    else:
        close = sorted({names[name] for name in difflib.get_close_matches(text, names)})
    hint = f"did you mean {_either(close)}? " if close else ""
    raise ErrorCodeError(
        f"there is no code {code if match else text!r}",
        cure=f"{hint}d2s explain --list shows all codes",
    )


def _typo(typed: str, code: str) -> bool:
    """Whether one digit is another, or two have changed places."""
    return sum(a != b for a, b in zip(typed, code, strict=True)) == 1 or sorted(typed) == sorted(
        code
    )


def _codes_of_classes() -> dict[str, str]:
    """The code of each error and warning, by the name of its class."""
    found = inspect.getmembers(errors, inspect.isclass)
    return {name: kind.code for name, kind in found if hasattr(kind, "code")}


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def plain(found: Entry) -> str:
    """An entry as Markdown."""
    parts = [f"# {found.code}: {found.title}", found.cause, "## Example", _fenced(found.example)]
    parts += ["## Cure", found.cure]
    if found.instead is not None:
        parts += ["## Instead", _fenced(found.instead)]
    if found.see:
        parts += [
            "## See",
            "\n".join(f"- {link.text}: docs/guide/{link.target}" for link in found.see),
        ]
    return "\n\n".join(parts) + "\n"


def _fenced(block: Block) -> str:
    return f"```{block.language}\n{block.text}```"

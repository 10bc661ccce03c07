"""Help that fits the terminal: options stand above what is said of them where it is narrow."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

_NARROW: Final = 60
"""Below that many columns, two columns of text are hard to read."""

_HYPHEN: Final = "\N{NON-BREAKING HYPHEN}"
"""Keeps names of options on one line."""


class _Fitting:
    """What a command and a group of commands have in common."""

    def get_help(self, ctx: Any) -> str:
        formatter = ctx.make_formatter()
        columns = shutil.get_terminal_size().columns
        listed, room = formatter.write_dl, {}
        if columns < _NARROW:  # where Click takes more columns than there are
            formatter.width, room = max(columns, 24) - 2, {"col_max": 8}

        def write_dl(rows: Iterable[tuple[str, str]], **_: Any) -> None:
            listed([(name, text.replace("-", _HYPHEN)) for name, text in rows], **room)

        formatter.write_dl = write_dl
        self.format_help(ctx, formatter)
        return str(formatter.getvalue()).replace(_HYPHEN, "-").rstrip("\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)  # type: ignore[misc]  # the next class has it


class Command(_Fitting, TyperCommand):
    """One command."""


class Group(_Fitting, TyperGroup):
    """The list of commands."""

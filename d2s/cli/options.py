"""The types of options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="FILE.py:NAME or module:NAME; NAME is a function, a method of an object, or a layer.",
        show_default=False,
    ),
]
InputSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--input-spec",
        metavar="[NAME:]DTYPE[DIMS]",
        help="One argument of the function: 'x:float32[None,8]'. Repeatable.",
        show_default=False,
    ),
]
CallInputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="[NAME:]DTYPE[DIMS][=VALUE]",
        help="One argument: 'x:float32[8,64]' is random, 'n:int64[]=10' is full of tens, "
        "'n=10' is Python's 10. Repeatable.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
LogJson = Annotated[
    bool,
    typer.Option("--log-json", help="What d2s does, on stderr: a line of JSON for each event."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write into this file.", show_default=False
    ),
]

"""``d2s.dump`` and ``d2s.source_map``: what d2s makes of a function, from Python."""

from __future__ import annotations

import builtins
import sys
import types
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, TextIO

from d2s.api import plain_function, to_static, trace
from d2s.debug.dump import (
    render_passes,
    render_pieces,
    render_program,
    render_side_by_side,
    render_text,
)
from d2s.diagnostics.sourcemap import SourceMap, source_map_of
from d2s.errors import ArgumentsError
from d2s.markup.code import code_page, text_page
from d2s.markup.listing import generated, listing
from d2s.markup.page import framed
from d2s.markup.plain import readable
from d2s.program.keys.callables import written
from d2s.program.static_function import StaticFunction


@dataclass(frozen=True)
class Dump:
    """What ``d2s.dump`` has shown.

    Attributes:
        name: the function.
        text: what was printed.
        function: the function, if the text is its code.
    """

    name: str
    text: str
    function: types.FunctionType | None = None

    def __repr__(self) -> str:
        return f"<d2s.dump of {self.name}, {len(self.text.splitlines())} lines>"

    def _repr_html_(self) -> str:
        if self.function is None:
            return framed(text_page(self.name, self.text))
        made = trace(self.function, keep_steps=False)
        source = made.source
        code = generated("", readable(made.tree), source.file)
        shown = listing(source.name, source.file, source.text, source.first_line, [code])
        place = f"{PurePath(source.file).name}:{source.first_line}"
        return framed(code_page(self.name, place, shown))


def _in_notebook() -> bool:
    """Whether what a cell ends with is shown as HTML."""
    return "ipykernel" in sys.modules and hasattr(builtins, "get_ipython")


def dump(  # noqa: PLR0913  a keyword for each option
    function: Any,
    *,
    side_by_side: bool = False,
    passes: bool = False,
    program: bool = False,
    exact: bool = False,
    input_spec: Any = None,
    file: TextIO | None = None,
) -> Dump:
    """Print the generated code of a function, with its line numbers and the original ones.

    Of a function that calls have found to be several programs it is the code between them, and that
    of each.  In a notebook nothing is printed: what it returns shows itself, as the last line of a
    cell.

    Args:
        function: a function, method or layer, converted or not.
        side_by_side: the original left, the generated code right.
        passes: what each pass changed, as diffs.
        program: the captured program; the newest one, or that of ``input_spec``.
        exact: the text that runs, to the letter; else calls and operators are plain where they
            stayed what they were.
        input_spec: the ``InputSpec`` of each argument, for ``program``.
        file: where to print; standard output unless given.

    Returns:
        What was printed, as ``text``; a notebook shows the code side by side with the original.

    Raises:
        ArgumentsError: (D2S301) more than one of the three forms is asked for.
        NotCapturedError: (D2S303) there is no program yet, and no ``input_spec``.

    Examples:
        >>> def f(x):
        ...     return x if x > 0 else -x
        >>> shown = dump(f)  # doctest: +ELLIPSIS
        new | old | f (...)
          1 |   1 | def f(x):
          2 |   2 |     return d2s.ifelse(x > 0, lambda: x, lambda: -x)
    """
    if side_by_side + passes + program > 1:
        raise ArgumentsError(
            "dump is asked for more than one form",
            cure="choose one of side_by_side, passes and program",
        )
    if program:
        converted = to_static(function, input_spec=input_spec)
        text = render_program(getattr(converted, "forward", converted).main_program)
    elif passes:
        text = render_passes(trace(function))
    elif side_by_side:
        text = render_side_by_side(trace(function), exact=exact)
    else:
        text = code_text(function, exact=exact)
    if file is not None or not _in_notebook():
        print(text, end="", file=file or sys.stdout)
    plain = written(plain_function(function))
    return Dump(plain.__qualname__, text, None if passes or program else plain)


def code_text(function: Any, *, exact: bool = False) -> str:
    """The generated code; of a function that calls have found to be several programs, each.

    Args:
        function: a function, method or layer, converted or not.
        exact: the text that runs, to the letter.
    """
    converted = getattr(function, "forward", function)
    pieces = converted.pieces() if isinstance(converted, StaticFunction) else []
    if pieces:
        return render_pieces(trace(function), pieces, exact=exact)
    return render_text(trace(function), exact=exact)


def source_map(function: Any) -> SourceMap:
    """Where each place of the generated code came from, and back.

    Args:
        function: a function, method or layer, converted or not.

    Returns:
        The map of the text that ``d2s.code`` gives; its ``to_json`` writes a Source Map v3.

    Raises:
        NotAFunctionError: (D2S102) it is something else.
        NoSourceError: (D2S101) its text cannot be found.

    Examples:
        >>> def f(x):
        ...     return x if x > 0 else -x
        >>> place = source_map(f).original(2, 26)  # of the ``0``
        >>> place.line, place.column
        (2, 20)
    """
    made = trace(function, keep_steps=False)
    return source_map_of(made.tree, made.source.file)

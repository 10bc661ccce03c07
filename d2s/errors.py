"""Every exception that leaves d2s, each with its code.  Imports nothing of d2s.

An error speaks about the *user's* code: the place (``file:line``), the cause in one
sentence, the cure, and at the end the code, which ``d2s explain`` and ``docs/errors`` explain:

>>> print(NoSourceError("the source text of 'f' cannot be found", cure="define it in a file",
...                     file="net.py", line=3))
net.py:3: the source text of 'f' cannot be found
  cure: define it in a file  [D2S101]

Where things do not fit together, a table says what each of them is:

>>> rows = [Row("y", "in the if", "Tensor", "float32", "[2]", 4),
...         Row("y", "in the else", "Tensor", "int64", "[2]", 6)]
>>> print(AmbiguousValueError("'y' may be two things", cure="cast it", table=rows))
'y' may be two things
  variable  where        type    dtype    shape  line
  y         in the if    Tensor  float32  [2]    4
  y         in the else  Tensor  int64    [2]    6
  cure: cast it  [D2S203]

Code families: 1xx what is handed to d2s, 2xx branches and loops, 3xx capture and call,
4xx save and load, 5xx the command line, 6xx the self-check, 7xx what only ``d2s lint`` finds,
9xx a defect of d2s itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple


class Row(NamedTuple):
    """What a variable is at one place: a line of the table of an error.

    Attributes:
        variable: the variable, or the path to a part of it, as a reader would write it.
        where: the side of the branch, or the moment of the loop.
        type: its type.
        dtype, shape: those of a tensor; empty for anything else.
        line: the line of the user's file that has given it this value, when known.
    """

    variable: str
    where: str
    type: str
    dtype: str
    shape: str
    line: int | None


def texts_of(table: Sequence[Row]) -> list[tuple[str, ...]]:
    """The cells of a table, headings first; a column that nobody needs is left out."""
    rows = [Row._fields, *(["" if cell is None else str(cell) for cell in row] for row in table)]
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    return list(zip(*columns, strict=True))


class D2SError(Exception):
    """Base of all errors of d2s.

    Args:
        cause: one sentence about the user's code.
        cure: what to write instead; empty when there is nothing to advise.
        file: the user's file, when known.
        line: the line in that file (1-based), when known.
        columns: the first column in that line and the one behind the last (0-based, in
            characters), when known.
        table: the things that do not fit together, one row for each.

    Attributes:
        code: the code of the class, such as ``"D2S202"``; it stays the same between versions.
        untouched: it was raised by a call before anything had happened in it.
        said: what that call has printed all the same, the stream and the text of each.

    Examples:
        >>> try:
        ...     raise LoadError("there is no saved program at 'net'", cure="save it first")
        ... except D2SError as error:
        ...     print(error.code, error.cure)
        D2S402 save it first
    """

    code: ClassVar[str] = "D2S900"
    severity: ClassVar[str] = "error"
    untouched: bool = False
    said: list[tuple[str, str]] | None = None

    def __init__(
        self,
        cause: str,
        *,
        cure: str = "",
        file: str | None = None,
        line: int | None = None,
        columns: tuple[int, int] | None = None,
        table: Iterable[Row] = (),
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.file = file
        self.line = line
        self.columns = columns
        self.table = tuple(table)

    @property
    def place(self) -> str:
        """``file:line``; empty when the file is not known."""
        return "" if self.file is None else f"{self.file}:{self.line or 1}"

    def __str__(self) -> str:
        first = f"{self.place}: {self.cause}" if self.place else self.cause
        lines = [first, *(f"  {line}" for line in _aligned(self.table))]
        if not self.cure:
            return "\n".join(lines) + f"  [{self.code}]"
        return "\n".join([*lines, f"  cure: {self.cure}  [{self.code}]"])

    def as_dict(self) -> dict[str, Any]:
        """The same facts for editors and other programs; ``json`` can write them.

        The keys are ``code``, ``severity`` (``"error"``), ``cause``, ``cure`` (may be empty),
        ``file``, ``line`` (1-based), ``column`` and ``end_column`` (0-based, in characters, the
        end excluded), ``table`` (a list with one dictionary for each :class:`Row`), and ``docs``,
        the page of the code below ``docs/``.  What is not known is ``None``.
        """
        column, end_column = self.columns or (None, None)
        return {
            "code": self.code,
            "severity": self.severity,
            "cause": self.cause,
            "cure": self.cure,
            "file": self.file,
            "line": self.line,
            "column": column,
            "end_column": end_column,
            "table": [row._asdict() for row in self.table],
            "docs": f"errors/{self.code}.md",
        }


def _aligned(table: Sequence[Row]) -> list[str]:
    """The lines of a table, its columns aligned."""
    texts = texts_of(table)
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in texts
    ]


# -- 1xx: what is handed to d2s ---------------------------------------------------------------


class NoSourceError(D2SError):
    """The source text of a function cannot be found."""

    code = "D2S101"


class NotAFunctionError(D2SError, TypeError):
    """Something that is no Python function, method or layer was to be converted."""

    code = "D2S102"


class SyntaxNotSupportedError(D2SError):
    """A piece of syntax has no meaning under conversion, or is newer than d2s."""

    code = "D2S103"


class PaddleVersionError(D2SError, ImportError):
    """The installed Paddle is not one that d2s works with."""

    code = "D2S104"


# -- 2xx: branches and loops ------------------------------------------------------------------


class LoopMismatchError(D2SError, TypeError):
    """A loop variable changes its type, dtype or rank from one trip to the next."""

    code = "D2S202"


class AmbiguousValueError(D2SError, TypeError):
    """A value whose kind depends on a tensor is used where one kind is needed."""

    code = "D2S203"


class ConditionError(D2SError, ValueError):
    """A tensor that is used as a condition does not have exactly one element."""

    code = "D2S204"


class UnsupportedInGraphError(D2SError, TypeError):
    """A construct works in dygraph, but has no meaning under a tensor condition."""

    code = "D2S205"


class TensorRecursionError(D2SError, RecursionError):
    """A function calls itself under a condition that only the run can decide."""

    code = "D2S206"


class ContainerInGraphError(D2SError, TypeError):
    """A container changes inside a static loop or branch in a way that has no static form."""

    code = "D2S207"


class NotStaticError(D2SError, TypeError):
    """The concrete value of a tensor is asked for while the program is being captured."""

    code = "D2S208"


# -- 3xx: capture and call --------------------------------------------------------------------


class ArgumentsError(D2SError, TypeError):
    """The arguments of a call do not fit the function, or cannot be part of a cache key."""

    code = "D2S301"


class InputSpecError(D2SError, ValueError):
    """An InputSpec does not fit the function or the tensors of a call."""

    code = "D2S302"


class NotCapturedError(D2SError, RuntimeError, ValueError):
    """A program is asked for before there is one."""

    code = "D2S303"


class InplaceError(D2SError, TypeError):
    """An in-place change that a captured program would lose."""

    code = "D2S304"


class LeakedValueError(D2SError, TypeError):
    """A tensor that a branch or static loop has made is used outside of it."""

    code = "D2S305"


class StaticModeError(D2SError, RuntimeError):
    """A converted function is called while Paddle is in static mode."""

    code = "D2S306"


class LoopGradientError(D2SError, NotImplementedError):
    """Gradients are asked for that Paddle computes wrongly or not at all."""

    code = "D2S307"


class ManyProgramsWarning(UserWarning):
    """A converted function keeps making new programs; the message names what keeps changing."""

    code: ClassVar[str] = "D2S308"


class BackwardTwiceError(D2SError, RuntimeError, SystemError):
    """A second ``backward`` goes through one call of a converted function.

    In dygraph Paddle raises a ``SystemError``.
    """

    code = "D2S309"


class BreakWarning(UserWarning):
    """A function is several programs, with Python between them; the message names the line."""

    code: ClassVar[str] = "D2S310"


class HostResultError(D2SError, ValueError):
    """A function that each run calls gives something else than ``d2s.host`` was told."""

    code = "D2S311"


class IgnoredOptionWarning(UserWarning):
    """An option of Paddle's ``to_static`` has no part in what d2s does; the message names it."""

    code: ClassVar[str] = "D2S312"


# -- 4xx: save and load -----------------------------------------------------------------------


class SaveError(D2SError, ValueError):
    """A function or layer cannot be saved as it is."""

    code = "D2S401"


class LoadError(D2SError, ValueError):
    """A saved program cannot be read."""

    code = "D2S402"


class LoweredEffectWarning(UserWarning):
    """A program with effects is saved; the message names what becomes of each."""

    code: ClassVar[str] = "D2S403"


class BuiltModuleError(D2SError, ImportError):
    """A module was converted ahead of time by another d2s, or for another Python."""

    code = "D2S404"


# -- 5xx: the command line --------------------------------------------------------------------


class TargetError(D2SError):
    """``FILE.py:NAME`` or ``module:NAME`` cannot be resolved."""

    code = "D2S501"


class UserCodeError(D2SError):
    """The user's file cannot be imported."""

    code = "D2S502"


class InputSpecTextError(D2SError):
    """The text of ``--input-spec`` cannot be understood."""

    code = "D2S503"


class OutputFileError(D2SError):
    """The output file cannot be written."""

    code = "D2S504"


class ErrorCodeError(D2SError):
    """``d2s explain`` is asked for a code that there is not."""

    code = "D2S505"


class BenchInputError(D2SError):
    """An ``--input`` of ``d2s bench`` cannot be understood, or is not one of the function's."""

    code = "D2S506"


class BenchCallError(D2SError):
    """``d2s bench`` cannot call the function in dygraph."""

    code = "D2S507"


class LintSettingsError(D2SError):
    """The settings of ``d2s lint`` cannot be understood."""

    code = "D2S508"


# -- 6xx: the self-check ----------------------------------------------------------------------


class CheckError(D2SError, AssertionError):
    """The program of a function does something else than the function in dygraph.

    Attributes:
        report: everything that differs, as ``d2s.check`` gives it.
    """

    code = "D2S601"
    report: object = None


class NotCheckableError(D2SError, TypeError):
    """A call cannot be made twice on the same input."""

    code = "D2S602"


class MissingPackageError(D2SError, ImportError):
    """A package that only this part of d2s needs is not installed."""

    code = "D2S603"


class NoInputsError(D2SError, TypeError):
    """Inputs for a parameter cannot be made up: nothing says what it takes."""

    code = "D2S604"


# -- 7xx: what only d2s lint finds ------------------------------------------------------------


class HappensOnceWarning(UserWarning):
    """An effect happens while a function is captured, and not on its runs."""

    code: ClassVar[str] = "D2S701"


class StaleValueWarning(UserWarning):
    """A value is asked for while a function is captured; the runs have the old one."""

    code: ClassVar[str] = "D2S702"


# -- 9xx: a defect of d2s ---------------------------------------------------------------------


class PassError(D2SError):
    """A pass has left a tree that breaks a rule of ``syntax.verify``: a defect of d2s."""

    code = "D2S901"


class DefectError(D2SError, RuntimeError):
    """Something that dygraph does fails in the capture, and nobody has foreseen it.

    What was raised is the ``__cause__``.
    """

    code = "D2S902"

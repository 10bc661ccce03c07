"""Every exception that leaves d2s, each with its code.  Imports nothing of d2s.

An error speaks about the *user's* code: the place (``file:line``), the cause in one
sentence, the cure, and at the end the code, which ``docs/errors`` explains:

>>> print(NoSourceError("the source text of 'f' cannot be found", cure="define it in a file",
...                     file="net.py", line=3))
net.py:3: the source text of 'f' cannot be found
  cure: define it in a file  [D2S101]

Code families: 1xx what is handed to d2s, 2xx branches and loops, 3xx capture and call,
4xx save and load, 5xx the command line, 6xx the self-check, 9xx a defect of d2s itself.
"""

from __future__ import annotations

from typing import ClassVar


class D2SError(Exception):
    """Base of all errors of d2s.

    Args:
        cause: one sentence about the user's code.
        cure: what to write instead; empty when there is nothing to advise.
        file: the user's file, when known.
        line: the line in that file (1-based), when known.
    """

    code: ClassVar[str] = "D2S900"

    def __init__(
        self, cause: str, *, cure: str = "", file: str | None = None, line: int | None = None
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.file = file
        self.line = line

    def __str__(self) -> str:
        place = "" if self.file is None else f"{self.file}:{self.line or 1}: "
        if not self.cure:
            return f"{place}{self.cause}  [{self.code}]"
        return f"{place}{self.cause}\n  cure: {self.cure}  [{self.code}]"

    def as_dict(self) -> dict[str, str | int | None]:
        """The same facts for editors and other programs."""
        return {
            "code": self.code,
            "cause": self.cause,
            "cure": self.cure,
            "file": self.file,
            "line": self.line,
        }


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


class NotCapturedError(D2SError, RuntimeError):
    """A program is asked for before there is one."""

    code = "D2S303"


class InplaceError(D2SError, TypeError):
    """An in-place change that a captured program would lose."""

    code = "D2S304"


class LeakedValueError(D2SError, TypeError):
    """A value of a program that is long finished is used again."""

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


class BackwardTwiceError(D2SError, RuntimeError):
    """A second ``backward`` goes through one call of a converted function."""

    code = "D2S309"


# -- 4xx: save and load -----------------------------------------------------------------------


class SaveError(D2SError, ValueError):
    """A function or layer cannot be saved as it is."""

    code = "D2S401"


class LoadError(D2SError, ValueError):
    """A saved program cannot be read."""

    code = "D2S402"


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

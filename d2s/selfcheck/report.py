"""What a self-check has found, for people and for programs."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field

from d2s.errors import CheckError, D2SError

_SHOWN = 8
"""So many differences the text of a report lists."""


@dataclass(frozen=True)
class Difference:
    """One thing that the program does otherwise than dygraph.

    Attributes:
        kind: ``result``, ``argument``, ``state``, ``gradient``, ``exception``, ``output`` (printed
            text), ``log``; of the first line that differs ``value`` or ``path``.
        name: what differs, such as ``result[0]``, ``self.h``, ``gradient of x``, or a variable.
        dygraph, static: what is there, in words.
        detail: how large the difference is, if it can be said.
        file, line: the user's line, where it is known.
        call: 1 for the call that captures the program, 2 for one that finds it captured.
    """

    kind: str
    name: str
    dygraph: str
    static: str
    detail: str = ""
    file: str | None = None
    line: int | None = None
    call: int = 1

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        later = " on the second call" if self.call > 1 else ""
        return (
            f"{self.name}{later}: the program gives {self.static}, dygraph {self.dygraph}{detail}"
        )


@dataclass(frozen=True)
class Report:
    """What ``d2s.check`` returns.

    Attributes:
        name: the function.
        differences: everything that differs, in the order in which it was compared.
        first: the first source line whose value differs, where one was found.
        remark: what else there is to know, such as why no line was found.
        refused: the error with which d2s refuses the function, if it does.
        compared: what was compared, in words.
        file, line: where the function is defined.

    Examples:
        >>> import paddle, d2s
        >>> found = d2s.check(lambda x: x * 2, paddle.ones([2]))
        >>> found.ok, found.differences
        (True, ())
        >>> found.raise_for_difference()
    """

    name: str
    differences: tuple[Difference, ...] = ()
    first: Difference | None = None
    remark: str = ""
    refused: D2SError | None = field(default=None, compare=False)
    compared: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None

    @property
    def ok(self) -> bool:
        """Whether the program does what dygraph does."""
        return not self.differences and self.refused is None

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if self.refused is not None:
            return f"{self.name}: refused\n  {self.refused}"
        if self.ok:
            text = f"{self.name}: the program agrees with dygraph in {', '.join(self.compared)}"
            return text + (f"\n  {self.remark}" if self.remark else "")
        count = len(self.differences)
        things = "1 thing" if count == 1 else f"{count} things"
        lines = [f"{self.name}: the program differs from dygraph in {things}"]
        if self.first is not None:
            lines.append(f"  first at {self.first.file}:{self.first.line}")
            source = linecache.getline(self.first.file or "", self.first.line or 0).strip()
            if source:
                lines.append(f"      {source}")
            lines.append(f"    {self.first}")
        lines += [f"  {difference}" for difference in self.differences[:_SHOWN]]
        if count > _SHOWN:
            lines.append(f"  and {count - _SHOWN} more")
        if self.remark:
            lines.append(f"  {self.remark}")
        return "\n".join(lines)

    def raise_for_difference(self) -> None:
        """Raise what is wrong, if anything is.

        Raises:
            CheckError: (D2S601) the program differs from dygraph.
            D2SError: the error with which d2s refuses the function.
        """
        if self.refused is not None:
            raise self.refused
        if not self.differences:
            return
        shown = self.first or self.differences[0]
        count = len(self.differences)
        more = "" if count == 1 else f"; {count} things differ in all"
        remark = f" ({self.remark})" if self.remark else ""
        error = CheckError(
            f"the program of {self.name!r} differs from dygraph: {shown}{more}{remark}",
            cure="report.differences of this error has the rest; write the line in another way, or "
            "leave the function that it is in to dygraph, and please report it with the function",
            file=self.file if shown.file is None else shown.file,
            line=self.line if shown.line is None else shown.line,
        )
        error.report = self
        raise error

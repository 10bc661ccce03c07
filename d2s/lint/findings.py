"""What was found: a code, a place, a sentence and a cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Severity = Literal["error", "warning", "note"]
"""Refused; done once or stale; runs, but not in a saved program."""

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")


@dataclass(frozen=True)
class Edit:
    """A piece of a line and what takes its place.

    Attributes:
        line: 1-based.
        end: the column behind it, 0-based, in bytes of UTF-8 as ``ast`` counts them.
        old: what stands there.
        new: what is to stand there.
    """

    line: int
    end: int
    old: str
    new: str

    def fits(self, lines: Sequence[str]) -> bool:
        """Whether that text does stand there, laid out as one writes it."""
        before = lines[self.line - 1].encode()[: self.end]
        return before.endswith(self.old.encode())

    def apply(self, lines: list[str]) -> None:
        """Write the new text into the lines of a file."""
        line = lines[self.line - 1].encode()
        start = self.end - len(self.old.encode())
        lines[self.line - 1] = (line[:start] + self.new.encode() + line[self.end :]).decode()


@dataclass(frozen=True, order=True)
class Finding:
    """One finding.

    Attributes:
        file: the path as it was given.
        line, column: where it begins; 1-based and 0-based.
        code: the code of the error that a conversion raises there.
        severity: what becomes of it.
        message: what will happen, in one phrase.
        cure: what to write instead.
        function: the function in which it stands.
        end_line, end_column: where it ends.
        edits: a rewrite that keeps the meaning, if there is one.
    """

    file: str
    line: int
    column: int
    code: str
    severity: Severity
    message: str
    cure: str
    function: str = ""
    end_line: int = 0
    end_column: int = 0
    edits: tuple[Edit, ...] = field(default=(), compare=False)

    @property
    def place(self) -> str:
        """``file:line:column``, as editors understand it."""
        return f"{self.file}:{self.line}:{self.column + 1}"

    def __str__(self) -> str:
        return f"{self.place}: {self.code} {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """The same for other programs."""
        keys = ("file", "line", "column", "end_line", "end_column", "code", "severity")
        facts = {key: getattr(self, key) for key in keys}
        return {
            **facts,
            "function": self.function,
            "message": self.message,
            "cure": self.cure,
            "fixable": bool(self.edits),
            "docs": f"errors/{self.code}.md",
        }

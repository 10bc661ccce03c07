"""Where the reading of a file stands, and what the rules may ask of it."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from d2s.lint.findings import Edit, Finding, Severity
from d2s.lint.reading.modules import Module
from d2s.lint.reading.scope import Around, Loop, Scope
from d2s.lint.reading.values import Value


class Reader(abc.ABC):
    """What is read, what is around it, and what was found.

    Args:
        module: the file.
        file: its path, for the findings.

    Attributes:
        found: the findings, by place and code.
        loud: findings are noted.
        reading: what is read is converted.
        around: what a tensor decides around the present statement.
        loops: the loops around it.
        tries: how many ``try`` statements are around it.
        decisions: how many branches and loops a tensor has decided.
        stack: the functions that are being read.
        scope: the variables that are known here.
        shown: how many texts for a reader are being made around the present expression.
    """

    def __init__(self, module: Module, file: str) -> None:
        self.module = module
        self.file = file
        self.found: dict[tuple[int, int, str], Finding] = {}
        self.loud = self.reading = False
        self.around: list[Around] = []
        self.loops: list[Loop] = []
        self.tries = 0
        self.decisions = 0
        self.stack: list[Any] = []
        self.scope = self.top = Scope()
        self.shown = 0

    @property
    def decided(self) -> bool:
        """Whether a tensor decides if this is reached."""
        return bool(self.around)

    @property
    def in_loop(self) -> bool:
        """Whether this is in a loop of the program."""
        return any(one.kind == "loop" for one in self.around)

    @property
    def marks(self) -> list[Any]:
        """The decorators of the function that is read."""
        return list(self.stack[-1].decorator_list) if self.stack else []

    @contextmanager
    def showing(self) -> Iterator[None]:
        """For what ``print`` and its like show: the run makes the text."""
        self.shown += 1
        try:
            yield
        finally:
            self.shown -= 1

    def report(
        self,
        node: Any,
        code: str,
        message: str,
        cure: str,
        severity: Severity = "error",
        edits: tuple[Edit, ...] = (),
    ) -> None:
        """Note a finding; nothing while a loop is read for the first time."""
        if not self.loud:
            return
        key = (node.lineno, node.col_offset, code)
        function = self.stack[-1].name if self.stack else ""
        self.found.setdefault(
            key,
            Finding(
                self.file,
                node.lineno,
                node.col_offset,
                code,
                severity,
                message,
                cure,
                function,
                node.end_lineno or node.lineno,
                node.end_col_offset or 0,
                edits,
            ),
        )

    @abc.abstractmethod
    def of(self, node: Any) -> Value:
        """What an expression is."""

    @abc.abstractmethod
    def bind(self, target: Any, value: Value) -> None:
        """Give a target its value."""

    @abc.abstractmethod
    def call(
        self, function: Any, arguments: list[Value], keywords: dict[str, Value], owner: Any, at: Any
    ) -> Value:
        """Follow a call of a function of this file."""

    @abc.abstractmethod
    def attribute(self, owner: Any, name: str) -> Value | None:
        """What an attribute of an object of this file is."""

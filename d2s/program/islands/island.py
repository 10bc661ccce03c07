"""An island: a stretch of a driver that runs as programs, where that pays.

It is called with the variables that it reads.  A program is for the very values of Python numbers;
one that another call changes becomes an input of the program (``k = int(k)`` stands at the head of
the island then), unless the stretch cannot be captured like that.  What no program takes (an array
of NumPy, an iterator) is a break of the lines that read it.  An island that makes a new program on
nearly every call runs in dygraph from then on, and so does one that is faster there (``paying``).
"""

from __future__ import annotations

import io
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s import config
from d2s.conversion import island_function
from d2s.diagnostics.leaving import said_before
from d2s.program.dispatch import events
from d2s.program.islands import breaks
from d2s.program.islands.paying import SLOWER, Drawn, Trial
from d2s.runtime.host.said import not_again
from d2s.runtime.values.tree import is_plain_sequence
from d2s.splitting import IslandTree, taking_numbers

Converted = Callable[..., Any]
"""Converts the function of an island: ``converted(function, full_graph=False, part=False)``."""

_FOREIGN: Final = (np.ndarray, np.generic, Iterator, io.IOBase)
"""What a program does not take as what it is: an array would be a tensor, and an iterator moves on
where it is looked at.
"""

_PATIENCE: Final = 4
"""So many programs that have run once each make an island run in dygraph."""

_EARLY: Final = 100
"""So many calls of an island are looked at."""

_NUMBERS: Final = {int: "int64", float: "float64"}

_LOOKED_AT: Final = (*_FOREIGN, *_NUMBERS, list, tuple)
"""Of other values the type says all that matters before the call."""


class Island:
    """One stretch of a driver.

    Attributes:
        tree: the stretch.
        function: it as a Python function.
        program: the same, converted.
        calls: how often it has been called.
        rests: why it runs in dygraph; ``None`` if it does not.
    """

    def __init__(
        self, tree: IslandTree, function: types.FunctionType, converted: Converted
    ) -> None:
        self.tree = tree
        self.function = function
        self.program = converted(function, full_graph=False, part=tree.inplace)
        self.calls = 0
        self.rests: str | None = None
        self._converted = converted
        self._last: tuple[Any, ...] = ()
        self._varying: set[int] = set()
        self._fixed: set[int] = set()
        self._taking: dict[Any, Any] = {}
        self._plain: tuple[type, ...] | None = None
        self._trial: Trial | None = Trial()
        self._draws = False

    def programs(self) -> list[Any]:
        """The converted functions of it: as it is, and those that take numbers as inputs."""
        return [self.program, *(each for each in self._taking.values() if each is not None)]

    @property
    def slower(self) -> bool:
        """Whether it was found to be faster in dygraph."""
        return self.rests is SLOWER

    @property
    def tried(self) -> bool:
        """Whether it is decided if it pays."""
        return self._trial is None or self.rests is not None

    def __call__(self, *values: Any) -> Any:
        """Run it as a program, or in dygraph if it is given what a program does not take."""
        if self.rests is not None:
            return self.function(*values)
        kinds = tuple(map(type, values))
        if kinds != self._plain:
            self._plain = None
            for name, value in zip(self.tree.arguments, values, strict=True):
                if _is_foreign(value):
                    breaks.note_reads(name, value, self.tree.tree, self.function.__code__)
                    return self.function(*values)
            if not any(issubclass(kind, _LOOKED_AT) for kind in kinds):
                self._plain = kinds
        self.calls += 1
        try:
            if self._trial is not None:
                return self._tried(self._trial, values)
            Drawn.count += self._draws
            return self._run(values)
        finally:
            if self.calls < _EARLY:
                self._count()

    def _tried(self, trial: Trial, values: tuple[Any, ...]) -> Any:
        """Run it the one way or the other, to find out which one is faster."""
        before = self._captures()
        program = trial.begin()
        result = self._run(values) if program else self.function(*values)
        captured = self._captures() != before
        trial.end(program=program, captured=captured)
        if trial.pays is not None or not self._can_be_tried():
            self._trial = None
            Drawn.count += self._draws
        if trial.pays is False or self.program.islands == ():  # it is no program at all
            self._rest(SLOWER)
            breaks.changed()
        return result

    def _can_be_tried(self) -> bool:
        """Whether both ways are the same but for the time that they take."""
        if not config.get().try_dygraph:
            return False
        programs = self.programs()
        self._draws = any(entry.runner.draws for each in programs for entry in each.entries)
        return not self._draws and all(program.islands is None for program in programs)

    def _run(self, values: tuple[Any, ...]) -> Any:
        numbers = () if self._plain is not None else self._numbers(values)
        program = self._with_inputs(numbers) if numbers else None
        if program is not None:
            try:
                return program(*self._as_tensors(values, numbers))
            except Exception as error:
                if not getattr(error, "untouched", False):
                    raise
                self._taking[numbers] = None
                self._fixed.update(at for at, _ in numbers)
                with not_again(said_before(error)):
                    return self.program(*values)
        return self.program(*values)

    def _numbers(self, values: tuple[Any, ...]) -> tuple[tuple[int, type], ...]:
        """The places and kinds of the numbers that have been others before."""
        last = self._last
        self._last = tuple(value if type(value) in _NUMBERS else None for value in values)
        for at, (now, before) in enumerate(zip(self._last, last, strict=False)):
            if None not in (now, before) and now != before:
                self._varying.add(at)
        return tuple(
            (at, type(values[at]))
            for at in sorted(self._varying - self._fixed)
            if type(values[at]) in _NUMBERS
        )

    def _with_inputs(self, numbers: tuple[tuple[int, type], ...]) -> Any:
        """The island with some numbers as inputs; ``None`` if it cannot be captured like that."""
        if numbers not in self._taking:
            names = {self.tree.arguments[at]: kind.__name__ for at, kind in numbers}
            tree = taking_numbers(self.tree, names)
            function = island_function(tree, self.function)
            self._taking[numbers] = self._converted(
                function, full_graph=True, part=self.tree.inplace
            )
        return self._taking[numbers]

    def _as_tensors(
        self, values: tuple[Any, ...], numbers: tuple[tuple[int, type], ...]
    ) -> list[Any]:
        given = list(values)
        for at, kind in numbers:
            given[at] = paddle.to_tensor(values[at], _NUMBERS[kind])
        return given

    def _captures(self) -> int:
        return (
            sum(each.captures for each in self.programs())
            if self._taking
            else (self.program.captures)
        )

    def _count(self) -> None:
        """Rest if programs come and go without being used."""
        captures = self._captures()
        if captures >= _PATIENCE and captures * 2 > self.calls:
            self._rest("nearly every call has made a new program")

    def _rest(self, why: str) -> None:
        """Run in dygraph from now on."""
        self.rests = why
        code = self.function.__code__
        events.rests(self.function.__qualname__, code, self.tree.lines, why)


def _is_foreign(value: Any) -> bool:
    if is_plain_sequence(value):
        return any(isinstance(item, _FOREIGN) for item in value)
    return isinstance(value, _FOREIGN)

"""How generated programs are written: forms by name, and the writer that puts them together.

A *form* is one way to write a statement or an expression; the modules of ``d2s.testing.forms``
register them.  The writer keeps the text so far and what is bound where.  Choices are drawn from
outside, the simplest first, so that a failing program shrinks to what a person would have written
to show the same defect.  Knows neither hypothesis nor Paddle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeVar

T = TypeVar("T")

Kind = Literal["statement", "value", "condition", "number"]


class Choices(Protocol):
    """Where decisions come from; the first option and the smallest number are the simplest."""

    def choose(self, options: Sequence[T]) -> T:
        """One of ``options``."""

    def number(self, most: int) -> int:
        """An int from 0 to ``most``."""


@dataclass(frozen=True)
class Form:
    """One way to write something.

    Attributes:
        name: the construct, as the summary of a run lists it.
        kind: what it gives: a statement, a value (a float tensor of the shape of ``x``, or a
            float), a condition, or a Python int.
        rows: the lines of the table "What is supported" that it belongs to.
        write: writes it; an expression is returned as text.
        tensors: it has no meaning for floats.
        nests: a statement that holds a block, or an expression that holds another.
        loops: the block is that of a loop.
        in_loop: it stands in a loop only.
    """

    name: str
    kind: Kind
    rows: tuple[int, ...]
    write: Callable[[Writer], str | None]
    tensors: bool = False
    nests: bool = False
    loops: bool = False
    in_loop: bool = False


_forms: Final[list[Form]] = []

BASIC: Final = frozenset(
    {"assign", "scaled", "sum compared", "constant", "variable", "if", "add one"}
)
"""The forms that every program may use: each kind has one, and there is a branch."""


def forms() -> tuple[Form, ...]:
    """All forms that are registered, in the order of their definition."""
    return tuple(_forms)


def form(
    kind: Kind, name: str, *rows: int, tensors: bool = False, nests: bool = False,
    loops: bool = False, in_loop: bool = False,
) -> Callable[[Callable[[Writer], str | None]], Callable[[Writer], str | None]]:  # fmt: skip
    """Register the decorated function as a form; see :class:`Form`."""

    def register(write: Callable[[Writer], str | None]) -> Callable[[Writer], str | None]:
        _forms.append(Form(name, kind, rows, write, tensors, nests or loops, loops, in_loop))
        return write

    return register


FACTORS: Final = ("0.5", "-0.75", "0.25")
LIMITS: Final = ("0.37", "-0.41", "1.13", "-1.27")
_LOCALS: Final = ("a", "b", "c")

_NESTED: Final = 2
"""So many loops stand in each other: what is unrolled grows with every one."""

_INITIAL: Final = {
    "k": "k = 1",
    "flag": "flag = False",
    "word": 'word = "a"',
    "found": "found = None",
    "items": "items = [x]",
    "pair": "pair = (x, y)",
    "table": 'table = {"a": x, "b": y}',
    "box": "box = Box(x)",
}
"""The first line of a variable that a program makes when it needs it."""


class Writer:
    """The text of one function, as it grows.

    Args:
        choices: takes the decisions.
        tensors: ``x`` and ``y`` are tensors; otherwise floats.
        allowed: the names of the forms that may be used, besides the basic ones.
        size: how many statements there may be, about.
    """

    def __init__(
        self, choices: Choices, *, tensors: bool, allowed: frozenset[str], size: int
    ) -> None:
        self.tensors = tensors
        self.used: set[str] = set()
        self.module: dict[str, str] = {}  # what stands above the function, by name
        self.between: list[str] = []  # what changes between calls, line by line
        self.globals: set[str] = set()  # names that the function declares ``global``
        self._choices = choices
        self._forms = [
            item
            for item in forms()
            if (item.name in allowed or item.name in BASIC) and (tensors or not item.tensors)
        ]
        self._lines: list[str] = []
        self._preamble: dict[str, str] = {}
        self._indent = 1
        self._left = size  # statements
        self._inside = 0  # how deep the expression is that is being written
        self._depth = 0  # blocks
        self._loops = 0  # loops around, of this function
        self._around = 0  # loops around in all
        self._counts: dict[str, int] = {}
        self._bound: set[str] = set()
        self._loose: set[str] = set()  # bound somewhere, but not on every way

    # -- choices ---------------------------------------------------------------------------------

    def choose(self, *options: T) -> T:
        """One of ``options``; the first is the simplest."""
        return self._choices.choose(options)

    def upto(self, most: int) -> int:
        """An int from 0 to ``most``."""
        return self._choices.number(most)

    def allows(self, name: str) -> bool:
        """Whether this program may use the form ``name``; if so it counts as used."""
        if any(item.name == name for item in self._forms) and self.upto(1):
            self.used.add(name)
            return True
        return False

    def _form(self, kind: Kind) -> Form:
        options = [
            item
            for item in self._forms
            if item.kind == kind
            and not (item.nests and self._full)
            and not (item.loops and self._around >= _NESTED)
            and not (item.in_loop and not self._loops)
        ]
        basic = [item for item in options if item.name in BASIC]
        others = [item for item in options if item.name not in BASIC]
        if basic and others:  # the basic ones come first, and do not crowd out the others
            options = others if self.upto(3) else basic
        new = [item for item in options if item.name not in self.used]
        if len(new) < len(options) and new and self.upto(2):  # many constructs meet in a program
            options = new
        chosen = self._choices.choose(options)
        self.used.add(chosen.name)
        return chosen

    @property
    def _full(self) -> bool:
        """Whether nothing may nest further here."""
        return self._inside > 1 if self._inside else self._depth > 3 or self._left <= 0

    # -- expressions -----------------------------------------------------------------------------

    def value(self) -> str:
        """A float tensor of the shape of ``x`` (or a float), no larger than what it is made of."""
        return self._expression("value")

    def condition(self) -> str:
        """Something to decide by: a tensor or a Python value."""
        return self._expression("condition")

    def small(self) -> str:
        """A small Python int."""
        return self._expression("number")

    def _expression(self, kind: Kind) -> str:
        self._inside += 1
        try:
            text = self._form(kind).write(self)
        finally:
            self._inside -= 1
        assert text is not None, "the form of an expression returns its text"
        return text

    def name(self) -> str:
        """A variable that holds a value here."""
        return self.choose("x", "y", *sorted(self._bound))

    def loose(self) -> str | None:
        """A variable that may not be bound here; ``None`` when there is none."""
        names = sorted(self._loose - self._bound)
        return self.choose(*names) if names else None

    def target(self) -> str:
        """A variable to assign a value to; :meth:`bind` tells that it has one."""
        return self.choose("x", "y", *_LOCALS)

    def bind(self, name: str) -> None:
        """``name`` holds a value from here on."""
        if name in _LOCALS:
            self._bound.add(name)

    def unbind(self, name: str) -> None:
        """``name`` holds nothing any more."""
        self._bound.discard(name)
        self._loose.add(name)

    def bound(self) -> list[str]:
        """The local variables that hold a value."""
        return sorted(self._bound)

    def summed(self, name: str) -> str:
        """One number made of a value."""
        return f"{name}.sum()" if self.tensors else name

    def factor(self) -> str:
        """A constant that does not enlarge."""
        return self.choose(*FACTORS)

    def limit(self) -> str:
        """A constant to compare with: one that no sum of inputs hits."""
        return self.choose(*LIMITS)

    def need(self, name: str) -> str:
        """A variable of the kind that ``name`` stands for, made at the head of the function."""
        self._preamble.setdefault(name, _INITIAL[name])
        return name

    def made(self) -> list[str]:
        """The variables that stand at the head of the function."""
        return list(self._preamble)

    def fresh(self, name: str) -> str:
        """A name that nobody has: ``name`` with a number."""
        self._counts[name] = self._counts.get(name, 0) + 1
        return f"{name}{self._counts[name]}"

    # -- statements ------------------------------------------------------------------------------

    def write(self, line: str) -> None:
        """One line at this indentation."""
        self._lines.append("    " * self._indent + line)

    def statement(self) -> None:
        """One statement of any form."""
        self._left -= 1
        self._form("statement").write(self)

    def body(self, more: int = 2) -> None:
        """The lines of a block, without its head: one statement, and up to so many more."""
        for _ in range(1 + self.upto(more)):
            self.statement()

    def block(self, head: str, *, loop: bool = False) -> frozenset[str]:
        """A line that ends with a colon, and a block below.

        Returns:
            The variables that are bound at its end.
        """
        with self.inside(head, loop=loop) as ends:
            self.body()
        return frozenset(ends)

    @contextmanager
    def inside(self, head: str, *, loop: bool = False) -> Iterator[set[str]]:
        """Write lines under ``head``; yields what will be bound at the end of them."""
        self.write(head)
        before = set(self._bound)
        ends: set[str] = set()
        self._indent += 1
        self._depth += 1
        self._loops += loop
        self._around += loop
        try:
            yield ends
        finally:
            self._loops -= loop
            self._around -= loop
            self._depth -= 1
            self._indent -= 1
        ends |= self._bound
        self._loose |= self._bound
        self._bound = before

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """Write a nested function: no loop is around its statements, and it binds nothing here."""
        loops, self._loops = self._loops, 0
        loose = set(self._loose)
        with self.inside(head):
            yield
        self._loops, self._loose = loops, loose

    def join(self, *ends: frozenset[str]) -> None:
        """Behind alternatives: bound is what all of them have bound."""
        self._bound |= frozenset.intersection(*ends)

    # -- the end ---------------------------------------------------------------------------------

    def text(self, name: str, result: str, parameters: Sequence[str]) -> tuple[str, list[str]]:
        """The text of the function, and those of ``parameters`` that it has.

        The first parameter is there always, the others only where the text names them.
        """
        head = [f"global {', '.join(sorted(self.globals))}"] if self.globals else []
        first = [*head, *self._preamble.values()]
        lines = [f"    {line}" for line in first] + self._lines + [f"    return {result}"]
        words = set(re.findall(r"\w+", "\n".join(lines)))
        taken = [item for index, item in enumerate(parameters) if index == 0 or item in words]
        return "\n".join([f"def {name}({', '.join(taken)}):", *lines]) + "\n", taken


def constructs(*, tensors: bool = True) -> tuple[str, ...]:
    """The names of all forms that programs on tensors (or on floats) may use."""
    return tuple(dict.fromkeys(item.name for item in forms() if tensors or not item.tensors))


def rows() -> frozenset[int]:
    """The lines of the table "What is supported" that some form belongs to."""
    return frozenset(row for item in forms() for row in item.rows)

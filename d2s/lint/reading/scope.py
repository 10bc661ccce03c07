"""Where the reading of a function stands: variables, and what a tensor decides around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from d2s.lint.reading.values import UNKNOWN, Value, join


@dataclass
class Scope:
    """The variables of a function, with those around it.

    Attributes:
        parent: the scope around it.
        function: the function; None at the top level of a file.
        values: what its variables are here.
        merged: variables that a branch has bound which a tensor decides.
        grown: lists that have grown in a loop that a tensor ends.
        returned: what it returns.
        depth: how much was around its call that a tensor decides.
    """

    parent: Scope | None = None
    function: Any = None
    values: dict[str, Value] = field(default_factory=dict)
    merged: set[str] = field(default_factory=set)
    grown: set[str] = field(default_factory=set)
    returned: list[Value] = field(default_factory=list)
    depth: int = 0

    def get(self, name: str) -> Value | None:
        """What a name is, here or around."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        return None

    def is_outer(self, name: str) -> bool:
        """Whether a name is bound around the function."""
        return name not in self.values and self.get(name) is not None


def merge(one: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
    """The variables behind two ways."""
    return {
        name: join(one[name], other[name])
        if name in one and name in other
        else one.get(name) or other.get(name, UNKNOWN)
        for name in {**one, **other}
    }


@dataclass
class Around:
    """Something that a tensor decides, around what is read.

    Attributes:
        kind: ``branch``; ``loop``, which is one loop of the program; ``rest``, what follows a way
            out of a loop or function that a tensor decides.
        tries: how many ``try`` statements are around it.
    """

    kind: str
    tries: int = 0


@dataclass
class Loop:
    """A loop that is being read.

    Attributes:
        node: the statement.
        depth: how much was around it that a tensor decides.
        left: whether a tensor may leave it.
        source: the dotted name that a ``for`` iterates, or empty.
    """

    node: Any
    depth: int
    left: bool = False
    source: str = ""

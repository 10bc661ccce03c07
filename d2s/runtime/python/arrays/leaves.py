"""What a function of NumPy gives, as its samples show it: arrays, and numbers of Python's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from d2s.runtime.python.arrays.contents import KNOWN

NUMBERS: Final = (bool, int, float)


@dataclass(frozen=True)
class Leaf:
    """An array or number in a result.

    Attributes:
        dtype: of the array.
        shape: -1 for a dimension that only the run knows.
        scalar: it is a number of NumPy.
        kind: the type of a number of Python's.
        same: which of the arguments it is.
        shares: which of them it shares its memory with.
    """

    dtype: Any
    shape: tuple[int, ...]
    scalar: bool = False
    kind: type | None = None
    same: int | None = None
    shares: frozenset[int] = frozenset()

    def fits(self, found: Leaf) -> bool:
        """Whether a run that gives ``found`` gives what the samples did."""
        sizes = zip(self.shape, found.shape, strict=False)
        mine = self.dtype, self.scalar, self.kind, self.same
        return (
            mine == (found.dtype, found.scalar, found.kind, found.same)
            and len(self.shape) == len(found.shape)
            and all(mine in (-1, size) for mine, size in sizes)
        )

    def joined(self, other: Leaf) -> Leaf | None:
        """What both are."""
        shape = tuple(a if a == b else -1 for a, b in zip(self.shape, other.shape, strict=False))
        made = Leaf(
            self.dtype, shape, self.scalar, self.kind, self.same, self.shares | other.shares
        )
        return made if made.fits(other) and self.same == other.same else None

    def words(self) -> str:
        """What it is, for messages."""
        if self.kind is not None:
            return f"a Python {self.kind.__name__}"
        return f"an array of {self.dtype} and shape {list(self.shape)}"


class Odd(Exception):
    """A function has given something else than arrays and numbers."""


def leaf_of(leaf: Any, contents: list[Any]) -> Leaf:
    """What a part of a result is, beside the arguments."""
    if type(leaf) in NUMBERS:
        return Leaf(None, (), kind=type(leaf))
    if leaf.dtype.name not in KNOWN:
        raise Odd(f"array of {leaf.dtype}")
    scalar = not isinstance(leaf, np.ndarray)
    known = [index for index, array in enumerate(contents) if array is leaf and not scalar]
    shares = frozenset(
        index
        for index, array in enumerate(contents)
        if not scalar and isinstance(array, np.ndarray) and np.may_share_memory(leaf, array)
    )
    return Leaf(leaf.dtype, leaf.shape, scalar, None, known[0] if known else None, shares)

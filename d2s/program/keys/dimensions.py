"""Which dimensions of the arguments vary, so that many sizes share one program (rule G2).

The first call of a function is captured with the sizes that it has.  When a later call has
another size somewhere, that dimension is open from then on: it is -1 in the program that is
captured next, and any size of two or more fits it.  Sizes 0 and 1 have programs of their own:
a dimension of size 1 is broadcast and squeezed, one of size 0 leaves nothing to compute, and
Paddle decides both while it captures.

>>> book = Dimensions()
>>> book.note([("x", (3, 8))])
>>> trial = next(book.trials([("x", (5, 8))]))
>>> trial.shapes
[(-1, 8)]
>>> book.open(trial)
>>> book.widened([("x", (9, 8))]), book.widened([("x", (1, 8))])
([(-1, 8)], None)

A function that cannot be captured with the dimension open keeps it closed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.program.keys.call_key import Call
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import library_size

Shapes = list[tuple[str, tuple[int, ...]]]
"""Path and shape of each tensor of a call."""

Spot = tuple[int, int]
"""Index of a tensor among those of the call, and of a dimension of it."""

SMALLEST: Final = 2
"""The smallest size that an open dimension may have."""


@dataclass(frozen=True)
class Trial:
    """Shapes that are worth a capture.

    Attributes:
        form: what the calls have in common that the dimensions are noted for.
        shapes: the shapes, -1 for an open dimension.
        fresh: the dimensions that were not open before.
    """

    form: Any
    shapes: list[tuple[int, ...]]
    fresh: frozenset[Spot]


@dataclass
class _Noted:
    """What is known of calls of one form: sizes that were seen, open and closed dimensions."""

    seen: dict[Spot, int] = field(default_factory=dict)
    opened: set[Spot] = field(default_factory=set)
    closed: set[Spot] = field(default_factory=set)
    barred: set[Any] = field(default_factory=set)

    def shapes(self, given: Shapes, opened: set[Spot]) -> list[tuple[int, ...]]:
        """The shapes with the dimensions ``opened`` open."""
        return [
            tuple(
                -1 if size >= SMALLEST and (index, axis) in opened else size
                for axis, size in enumerate(shape)
            )
            for index, (_, shape) in enumerate(given)
        ]


class Dimensions:
    """The open dimensions of one function."""

    def __init__(self) -> None:
        self._noted: dict[Any, _Noted] = {}

    def widened(self, given: Shapes) -> list[tuple[int, ...]] | None:
        """The shapes with what is open by now; ``None`` if nothing is."""
        noted = self._noted.get(_form(given))
        if noted is None or not noted.opened:
            return None
        wide = noted.shapes(given, noted.opened)
        return None if all(-1 not in shape for shape in wide) else wide

    def trials(self, given: Shapes) -> Iterator[Trial]:
        """What to try for a call that no program fits, the widest first.

        Dimensions that have changed alike (a batch of inputs and one of labels, say) are opened
        together or not at all.
        """
        form = _form(given)
        noted = self._noted.get(form)
        if noted is None:
            return
        groups: dict[tuple[int, int], set[Spot]] = {}
        for spot, size in _sizes(given):
            before = noted.seen.get(spot, size)
            if before != size and spot not in noted.opened | noted.closed:
                groups.setdefault((before, size), set()).add(spot)
        fresh = frozenset(spot for group in groups.values() for spot in group)
        parts = [fresh, *map(frozenset, groups.values())] if len(groups) > 1 else [fresh]
        for part in parts:
            trial = Trial(form, noted.shapes(given, noted.opened | part), part)
            wide = any(-1 in shape for shape in trial.shapes)
            if wide and tuple(trial.shapes) not in noted.barred:
                yield trial

    def open(self, trial: Trial) -> None:
        """The capture has gone well: its dimensions are open from now on."""
        self._noted[trial.form].opened |= trial.fresh

    def close(self, trial: Trial) -> None:
        """The capture has failed: it is not tried again."""
        noted = self._noted[trial.form]
        noted.barred.add(tuple(trial.shapes))
        sizes = {noted.seen[spot] for spot in trial.fresh}
        if len(sizes) == 1:  # else each group is tried alone
            noted.closed |= trial.fresh

    def note(self, given: Shapes) -> None:
        """Remember the sizes of a call that a program was captured for."""
        noted = self._noted.setdefault(_form(given), _Noted())
        for spot, size in _sizes(given):
            noted.seen.setdefault(spot, size)

    def clear(self) -> None:
        """Forget everything."""
        self._noted.clear()


def _form(given: Shapes) -> Any:
    return tuple((path, len(shape)) for path, shape in given)


def _sizes(given: Shapes) -> Iterator[tuple[Spot, int]]:
    """The sizes that may become open."""
    for index, (_, shape) in enumerate(given):
        for axis, size in enumerate(shape):
            if size >= SMALLEST:
                yield (index, axis), size


def shapes_of(call: Call) -> Shapes:
    """Path and shape of each tensor of ``call``."""
    return [(leaf.path, leaf.shape) for leaf in call.leaves]


def with_shapes(call: Call, shapes: list[tuple[int, ...]]) -> Call:
    """``call`` as one of tensors with these shapes."""
    leaves = [replace(leaf, shape=shape) for leaf, shape in zip(call.leaves, shapes, strict=True)]
    return replace(call, key=(tuple(leaves), *call.key[1:]), leaves=leaves)


def is_open(call: Call) -> bool:
    """Whether a dimension of one of its tensors is open."""
    return any(-1 in leaf.shape for leaf in call.leaves)


# -- code that computes with -1 ------------------------------------------------------------------


def _refused(name: str) -> Callable[..., Any]:
    def method(self: int, *others: Any) -> Any:
        raise library_size()

    method.__name__ = name
    return method


def _compared(name: str) -> Callable[..., Any]:
    plain: Callable[..., Any] = getattr(int, name)
    refused = _refused(name)

    def method(self: int, other: Any) -> Any:
        # Whether the size is known is a fair question; which one it is, only the run knows.
        known = type(other) is not OpenSize and isinstance(other, int) and other <= 0
        if known or not isinstance(other, int):
            return plain(self, other)
        if type(other) is OpenSize and _is_last_attempt():
            return plain(self, other)  # ``x.shape == y.shape``: the kernel checks it on the run
        return refused(self, other)

    method.__name__ = name
    return method


def _is_last_attempt() -> bool:
    """Whether no other program, of fixed sizes, is captured if this one fails."""
    capture = current()
    return capture is not None and not capture.tentative


class OpenSize(int):
    """The -1 that a library reads for an open dimension; computing with it is an error.

    Libraries are not converted, and some take -1 for a size: Paddle's ``cov`` divides by it.
    Paddle asks in many places whether a tensor has elements, ``if math.prod(x.shape)``: such a
    product is not known either, and not zero.
    """

    __hash__ = int.__hash__

    def __mul__(self, other: Any) -> Any:
        if _is_last_attempt() and isinstance(other, int):
            return self if other else 0
        raise library_size()

    __rmul__ = __mul__

    def __bool__(self) -> bool:
        if _is_last_attempt():
            return True
        raise library_size()


for _name in [
    *("add", "radd", "sub", "rsub", "truediv", "rtruediv", "floordiv"),
    *("rfloordiv", "mod", "rmod", "pow", "rpow", "divmod", "rdivmod", "neg", "abs"),
    *("lshift", "rlshift", "rshift", "rrshift", "and", "rand", "or", "ror", "float"),
]:
    setattr(OpenSize, f"__{_name}__", _refused(f"__{_name}__"))
for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    setattr(OpenSize, f"__{_name}__", _compared(f"__{_name}__"))

_SHAPE: Final[Any] = bridge.Value.shape
_OURS: Final = str(Path(__file__).resolve().parents[2])


def _guarded(self: Any) -> Any:
    sizes = _SHAPE.fget(self)
    if all(size >= 0 for size in sizes):
        return sizes
    if sys._getframe(1).f_code.co_filename.startswith((_OURS, bridge.INDEXING)):
        return sizes  # indexing compares open sizes with each other, and computes with none
    return type(sizes)(OpenSize(size) if size < 0 else size for size in sizes)


SHAPE: Final = property(_guarded, _SHAPE.fset)
"""``shape`` of values while a program is captured."""

"""Arrays of NumPy that the function has made, around a branch or loop of the program.

What a side writes into one of them would be written while the program is captured, once, whatever
the runs decide.  One whose items a side assigns is one of the run from in front of it::

    counts = np.zeros(3)
    if x.sum() > 0:                  ->      counts is an array of the run here
        counts[0] += 1

So is one with ``counts += 1``.  Any other change (``counts.fill(0)``) is noticed behind the
side, and refused.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from d2s.diagnostics.location import is_ours
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.holders import Holder, holders_where
from d2s.runtime.aliasing.slots import Cell
from d2s.runtime.aliasing.snapshots import Frozen
from d2s.runtime.aliasing.variables import State
from d2s.runtime.trace import current, error_here, open_trace

Constant = np.ndarray[Any, Any]

MAKER: Final[list[Callable[[Any], Any]]] = []
"""What makes an array of the run of one of NumPy."""

_STORES: Final = "setitem"
"""What generated code calls to assign an item."""


class ConstantArrays:
    """The arrays that variables hold in front of a branch or loop, and what is in them.

    Args:
        before: what the branch or loop hands on, frozen.
        depth: how many branches and loops are around it.
    """

    def __init__(self, before: Iterable[object], depth: int) -> None:
        found = {id(array): array for array in (*_arrays_in(before), *_arrays_of_frames())}
        self.depth = depth
        self._kept = [(array, array.copy()) for array in found.values()]

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """While the branch or loop is captured."""
        token = _around.set((*_around.get(), self))
        try:
            yield
        except BaseException:
            self._restore()
            raise
        finally:
            _around.reset(token)

    def has(self, array: Constant) -> bool:
        """Whether it is one of them, or shares its memory with one."""
        owner = owner_of_memory(array)
        return any(owner_of_memory(kept) is owner for kept, _ in self._kept)

    def check(self) -> None:
        """Refuse what a side has written into one of them, and take it back.

        Raises:
            UnsupportedInGraphError: (D2S205) it has.
        """
        if self._restore():
            raise error_here(
                UnsupportedInGraphError,
                "an array of NumPy is changed in place in a branch or loop that a tensor decides",
                "assign its items, counts[k] = ..., of a variable that nobody has another name for",
            )

    def _restore(self) -> bool:
        changed = [pair for pair in self._kept if pair[0].tobytes() != pair[1].tobytes()]
        for array, was in changed:
            array[...] = was
        return bool(changed)


_around: ContextVar[tuple[ConstantArrays, ...]] = ContextVar("around", default=())
"""Those of the branches and loops that are being captured."""


def _arrays_in(things: Iterable[object]) -> Iterator[Any]:
    for thing in things:
        if isinstance(thing, Frozen):
            held = thing.items
            yield from _arrays_in(held if type(held) is tuple else ())
        elif type(thing) is tuple:
            yield from _arrays_in(thing)
        elif type(thing) is np.ndarray and not thing.dtype.hasobject and thing.flags.writeable:
            yield thing


def _arrays_of_frames() -> Iterator[Any]:
    capture = current()
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (capture is None or frame is not capture.entry):
        if not is_ours(frame.f_code.co_filename):
            yield from _arrays_in(frame.f_locals.values())
        frame = frame.f_back


# -- arrays of which items are assigned ------------------------------------------------------------


def with_arrays_of_run(decide: Callable[..., None]) -> Callable[..., None]:
    """``decide`` behind :func:`of_run` of the state that it is given last."""

    @functools.wraps(decide)
    def made(*arguments: Any) -> None:
        with of_run(arguments[-1]) as state:
            decide(*arguments[:-1], state)

    return made


@contextlib.contextmanager
def of_run(state: State) -> Iterator[State]:
    """Arrays of which the functions of ``state`` assign items are of the run: the state with them.

    They are constant again if the capture of these functions fails.
    """
    changed: list[tuple[Holder, Any]] = []
    for function in filter(None, state.functions):
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            array = Cell(cell).get()
            if type(array) is np.ndarray and _stores(function.__code__, name):
                changed += _moved(array)
    try:
        yield state.anew() if changed else state
    except BaseException:
        for holder, was in changed:
            holder.set(was)
        raise


def _stores(code: types.CodeType, name: str) -> bool:
    """Whether code assigns items, of the variable ``name`` maybe, or says ``name += value``."""
    if name not in code.co_freevars:
        return False
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    stores = _STORES in code.co_names or any(_stores(each, name) for each in inner)
    return stores or any(
        then.opname == "STORE_DEREF" and then.argval == name and _is_in_place(first)
        for first, then in itertools.pairwise(dis.get_instructions(code))
    )


def _is_in_place(operation: dis.Instruction) -> bool:
    if operation.opname.startswith("INPLACE_"):  # before Python 3.11
        return True
    return operation.opname == "BINARY_OP" and operation.argrepr.endswith("=")


def _moved(array: Constant) -> list[tuple[Holder, Any]]:
    """Put an array of the run in the place of ``array``, wherever it is held."""
    capture = open_trace()
    found = holders_of_memory(array)
    known = capture.outside is not None and capture.outside(array) is not None
    if known or any(holder.fixed or holder.get() is not array for holder in found):
        return []
    if array.base is not None or array.dtype.name not in NAMES:
        return []
    made = MAKER[0](array)
    for holder in found:
        holder.set(made)
    return [(holder, array) for holder in found]


NAMES: Final = frozenset(
    (
        *("bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"),
        *("complex64", "complex128"),
    )
)
"""The dtypes that tensors and arrays have in common."""


def is_from_outside(array: Constant) -> bool:
    """Whether ``array`` was made in front of a branch or loop that is being captured."""
    capture = current()
    if capture is None or not capture.blocks:
        return False
    around = _around.get()
    if any(each.has(array) for each in around):
        return True
    noted = {each.depth for each in around}
    unknown = [block for at, block in enumerate(capture.blocks) if at not in noted]
    return any(
        holder.left and (holder.frame is None or any(block in unknown for block in holder.left))
        for holder in holders_of_memory(array)
    )


def holders_of_memory(array: Constant) -> list[Holder]:
    """Who holds ``array``, or another one in its memory, and may read it again."""
    owner = owner_of_memory(array)
    found = holders_where(
        lambda value: type(value) is np.ndarray and owner_of_memory(value) is owner
    )
    return [holder for holder in found if holder.live or holder.get() is array]


def owner_of_memory(array: Constant) -> Constant:
    """The array that ``array`` is a view of, or itself."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array

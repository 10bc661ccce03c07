"""Functions of NumPy that each run calls, with the contents of its arrays (rule E5).

What a function gives for arrays of the run is found while the program is captured, by calling it
on samples: arrays of the same dtype and shape with several contents.  A dimension in which the
results differ is open; a dtype, a number of dimensions or a kind of result that differs is refused,
and a run that gives something else than the samples did ends with an error, never with a wrong
array.  Samples cannot be written, which tells whether a function changes its arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note
from d2s.errors import NotStaticError
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.python.arrays.contents import RunArray
from d2s.runtime.python.arrays.functions import lowered_call
from d2s.runtime.python.arrays.leaves import NUMBERS, Leaf, Odd, leaf_of
from d2s.runtime.python.arrays.ufuncs import check_errors
from d2s.runtime.python.arrays.views import unknown_view, write
from d2s.runtime.trace import error_here
from d2s.runtime.values.callbacks import host_values
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.objects import attribute, is_user_class
from d2s.runtime.values.tensors import mark_number, number_kind
from d2s.runtime.values.tree import children, is_mapping, is_sequence, map_children

Function = Callable[..., Any]

_LARGE: Final = 100_000
"""Of arrays with more elements there are fewer samples."""


# -- samples ---------------------------------------------------------------------------------------


def _mixed(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    count = np.arange(int(np.prod(shape)))
    if dtype.kind == "b":
        return (count % 3 == 0).reshape(shape)
    if dtype.kind in "iu":
        return ((count * 3 + 4) % 5).astype(dtype).reshape(shape)
    return (((count * 7 + 8) % 11) / 4 - 1).astype(dtype).reshape(shape)


def _unit(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    rows = np.eye(*shape[-2:], dtype=dtype) if len(shape) > 1 else np.ones(shape, dtype)
    return np.array(np.broadcast_to(rows, shape))


def _shares(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Probabilities: positive, with a sum of one in each row."""
    if dtype.kind != "f":
        return np.ones(shape, dtype)
    return np.full(shape, 1 / max(shape[-1], 1) if shape else 1, dtype)


_Contents = tuple[tuple[Function, int, int], ...]

_CONTENTS: Final[_Contents] = (
    (np.ones, 3, 1),
    (_mixed, 5, 2),
    (np.zeros, 4, 0),
    (_unit, 3, 1),
)
"""What samples hold, how long an open dimension is, and what a number of the run is."""

_OF_SHARES: Final[_Contents] = ((_shares, 3, 3), (_shares, 5, 5))
"""Further ones, where those do not tell; the number may be how many shares there are."""


@dataclass(frozen=True)
class _Slot:
    """Where an array of the run stands among the arguments."""

    number: int


class _Call:
    """A call of a function with arrays, tensors and numbers of the run among its arguments.

    Attributes:
        arrays: the arrays among them.
        writable: the function changes some of its arguments.
        locked: the array that may not be written all the same.
        constants: copies of arrays among them that no run decides, and these; never written.
        opened: the copies may be written, so that a function says what it does with them.
        length: how long open dimensions of the last sample are.
        lengths: those for which the function has given something.
        further: the last sample was made because others did not tell.
    """

    length: int
    further: bool

    def __init__(self, function: Function, arguments: list[Any], options: dict[str, Any]) -> None:
        self.function = function
        self.arrays: list[RunArray] = []
        self.constants: list[tuple[Any, Any]] = []
        self.opened = False
        self.lengths: set[int] = set()
        self._shipment = Shipment()
        self._rest = self._shipment.pack([self._slotted(arguments), self._slotted(options)])
        self.writable = False
        self.locked: int | None = None

    def _slotted(self, thing: object) -> Any:
        """``thing`` with slots in the place of arrays of the run, and copies of constant ones."""
        if isinstance(thing, RunArray):
            known = [index for index, array in enumerate(self.arrays) if array is thing]
            self.arrays.extend([] if known else [thing])
            return _Slot(known[0] if known else len(self.arrays) - 1)
        if isinstance(thing, np.ndarray):
            self.constants.append((thing.copy(), thing))
            return self.constants[-1][0]
        return _mapped(self._slotted, thing)

    @property
    def values(self) -> list[Any]:
        """What a run needs."""
        return [*(array.value for array in self.arrays), *self._shipment.values]

    def apply(self, contents: list[Any], others: list[Any]) -> Any:
        """Call the function.

        Args:
            contents: an array of NumPy for each array of the run.
            others: a tensor or number for each other value.
        """
        for index, array in enumerate(contents):
            if isinstance(array, np.ndarray):
                array.flags.writeable = self.writable and index != self.locked
        for copy, _ in self.constants:
            copy.flags.writeable = self.opened

        def filled(thing: object) -> Any:
            if isinstance(thing, _Slot):
                return contents[thing.number]
            return _mapped(filled, thing)

        arguments, options = map(filled, self._rest(tuple(others)))
        return self.function(*arguments, **options)

    def samples(self) -> Iterator[tuple[list[Any], list[Any]]]:
        """Contents and others for :meth:`apply`, several times."""
        large = sum(np.size(array.sample()) for array in self.arrays) > _LARGE
        self.lengths = set()
        yield from self._samples(_CONTENTS[: 2 if large else None])
        varies = any(-1 in array.value.shape for array in self.arrays)
        if len(self.lengths) < 1 + varies:
            yield from self._samples(_OF_SHARES)

    def _samples(self, several: _Contents) -> Iterator[tuple[list[Any], list[Any]]]:
        for of, odd, number in several:
            self.length = odd
            self.further = several is _OF_SHARES
            others = []
            for value in self._shipment.values:
                kind = number_kind(value)
                if kind is not None:
                    others.append(kind(number))
                    continue
                made = RunArray.made(value).sample(of, odd)
                with bridge.outside_of_capture():
                    others.append(paddle.to_tensor(made))
            yield [array.sample(of, odd) for array in self.arrays], others


def _mapped(use: Function, thing: object) -> Any:
    """``thing`` with ``use`` of each part, if it is looked into."""
    return map_children(use, thing, slices=True) if _is_looked_into(thing) else thing


def _is_looked_into(thing: object) -> bool:
    """Whether it is a list, tuple, dict or slice; of a user's class, a named tuple only."""
    kind = type(thing)
    if is_user_class(kind) and not hasattr(kind, "_make"):
        return False
    return is_sequence(thing) or is_mapping(thing) or kind is slice


# -- what a function gives -------------------------------------------------------------------------


def _flat(result: object, leaves: list[Any]) -> Any:
    """``result`` with positions in the place of arrays and numbers, which ``leaves`` gets."""
    if type(result) is not np.ndarray and isinstance(result, np.ndarray):
        raise Odd(type(result).__name__)  # as one with a mask, which a tensor has no room for
    if isinstance(result, np.ndarray | np.generic) or type(result) in NUMBERS:
        leaves.append(result)
        return _Slot(len(leaves) - 1)
    if result is None or isinstance(result, str) or result is NotImplemented:
        return result
    mapped = _mapped(lambda part: _flat(part, leaves), result)
    if mapped is result:
        raise Odd(type(result).__name__)
    return mapped


@dataclass
class _Form:
    """What a function gives, as the samples show it.

    Attributes:
        tree: the result, with slots for its leaves.
        leaves: what these are.
        changed: which of the arguments it changes.
    """

    tree: Any
    leaves: list[Leaf]
    changed: set[int]


def _form_of(call: _Call) -> _Form:
    """What the function gives.

    Raises:
        NotStaticError: (D2S208) the samples do not tell.
        Exception: what the function raises, whatever the arrays hold.
    """
    form: _Form | None = None
    raised: list[Exception] = []
    for contents, others in call.samples():
        before = [np.array(array) for array in contents]
        leaves: list[Any] = []
        try:
            with (
                np.errstate(all="ignore"),
                warnings.catch_warnings(),
                bridge.outside_of_capture(),  # tensors among the samples compute
            ):
                warnings.simplefilter("ignore")
                tree = _flat(call.apply(contents, others), leaves)
                found = [leaf_of(leaf, contents) for leaf in leaves]
        except Odd as error:
            raise _refused(call, f"gives a {error}, which no program has") from None
        except Exception as error:
            if "read-only" in str(error) and not call.writable:
                call.writable = True
                return _form_of(call)
            if call.constants and not call.opened:  # not every function says "read-only"
                call.opened = True
                return _form_of(call)
            raised.extend([] if call.further else [error])
            continue
        call.lengths.add(call.length)
        if any(not _is_same(*pair) for pair in call.constants):
            raise _refused(call, "writes into an array that no run decides")
        pairs = enumerate(zip(before, contents, strict=True))
        changed = {index for index, pair in pairs if not _is_same(*pair)}
        form = _joined(call, form, _Form(tree, found, changed))
    if form is not None:
        written = _written(call) if call.writable else set()
        return _Form(form.tree, form.leaves, form.changed | written)
    if len({(type(error), str(error)) for error in raised}) == 1 and isinstance(
        raised[0], TypeError | ValueError | IndexError | AttributeError
    ):
        raise raised[0].with_traceback(None)
    raise _refused(call, f"raises {raised[0]!r} for every sample that d2s knows") from raised[0]


def _is_same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other, equal_nan=other.dtype.kind in "fc"))


def _written(call: _Call) -> set[int]:
    """Which arrays the function writes into: what it writes may be what was there."""
    found = set()
    for index in range(len(call.arrays)):
        call.locked = index
        for contents, others in call.samples():
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call.apply(contents, others)
            except Exception as error:  # any other one says nothing of this array
                if "read-only" in str(error):
                    found.add(index)
                    break
    call.locked = None
    return found


def _joined(call: _Call, form: _Form | None, other: _Form) -> _Form:
    """What two samples show."""
    if form is None:
        return other
    leaves = [mine.joined(theirs) for mine, theirs in zip(form.leaves, other.leaves, strict=False)]
    if form.tree != other.tree or any(leaf is None for leaf in leaves):
        raise _refused(call, "gives things of several types, as the contents of its arrays are")
    kept = [leaf for leaf in leaves if leaf is not None]
    return _Form(form.tree, kept, form.changed | other.changed)


def _name(function: Function) -> str:
    return str(attribute(function, "__name__", "a function of NumPy"))


def _refused(call: _Call, what: str) -> Exception:
    return error_here(
        NotStaticError,
        f"{_name(call.function)}(), called with an array that each run decides, {what}",
        "compute it with other functions of NumPy or with tensors, or outside of the function",
    )


# -- the call --------------------------------------------------------------------------------------

_SAVING: Final = (np.save, np.savez, np.savez_compressed, np.savetxt)
"""Functions that write into a file, which samples must not be written into."""


def call(function: Function, arguments: list[Any], options: dict[str, Any]) -> Any:
    """``function(*arguments, **options)``, on each run, with arrays of the run among these."""
    chosen = _first_choice([arguments, options])
    if chosen is not None:
        return each(
            lambda found: call(function, *_with([arguments, options], chosen, found)),
            chosen,
            none=True,
        )
    check_errors()
    lowered = lowered_call(function, arguments, options)
    if lowered is not None:
        return lowered
    made = _Call(function, arguments, options)
    saves = any(function is each for each in _SAVING)
    if saves or any(hasattr(each, "write") for each in arguments):
        raise _refused(made, "writes them to a file")
    form = _form_of(made)
    changed = sorted(form.changed)
    kinds = [type(array) for array in made.arrays]
    count = len(kinds)
    given = [leaf for leaf in form.leaves if leaf.same is None]

    def host(*values: Any) -> list[Any]:
        contents = [kind.on_host(value) for kind, value in zip(kinds, values, strict=False)]
        leaves: list[Any] = []
        tree = _flat(made.apply(contents, list(values[count:])), leaves)
        found = [leaf_of(leaf, contents) for leaf in leaves]
        if tree != form.tree or not all(map(Leaf.fits, form.leaves, found)):
            raise _disagrees(function, form.leaves, found)
        results = [
            leaf for leaf, known in zip(leaves, form.leaves, strict=True) if known.same is None
        ]
        return [*results, *(contents[index] for index in changed)] or [True]

    metas = [_meta(leaf) for leaf in given]
    metas += [(list(made.arrays[i].value.shape), made.arrays[i].dtype.name) for i in changed]
    if not (metas or form.leaves):
        return form.tree
    note("host", text=f"calls {_name(function)}()")
    values = host_values(host, made.values, metas or [([], "bool")], _name(function))
    for index, value in zip(changed, values[len(given) :], strict=False):
        write(made.arrays[index], value)
    result = _built(form, made, values)
    made.arrays.clear()  # what a run needs of them it has; a view may outlive its base
    return result


def _meta(leaf: Leaf) -> tuple[list[int], str]:
    if leaf.kind is not None:
        return [], {bool: "bool", int: "int64", float: "float64"}[leaf.kind]
    return list(leaf.shape), leaf.dtype.name


def _built(form: _Form, made: _Call, values: list[Any]) -> Any:
    """The result, with arrays of the run."""
    rest = iter(values)
    parts: list[Any] = []
    for leaf in form.leaves:
        if leaf.same is not None:
            parts.append(made.arrays[leaf.same])
        elif leaf.kind is not None:
            parts.append(mark_number(next(rest), leaf.kind))
        else:
            part = RunArray.made(next(rest), scalar=leaf.scalar)
            for index in sorted(leaf.shares):
                unknown_view(part, made.arrays[index])
            parts.append(part)

    def filled(thing: object) -> Any:
        return parts[thing.number] if isinstance(thing, _Slot) else _mapped(filled, thing)

    return filled(form.tree)


def _disagrees(function: Function, known: list[Leaf], found: list[Leaf]) -> Exception:
    """The error of a run that gives something else than the samples did."""
    words = [", ".join(leaf.words() for leaf in leaves) for leaves in (found, known)]
    return NotStaticError(
        f"{_name(function)}() gives {words[0]}, and the program was captured for {words[1]}",
        cure="compute it with other functions of NumPy or with tensors, or outside of the function",
    )


def _first_choice(thing: object) -> Choice | None:
    """The first choice among the arguments."""
    if isinstance(thing, Choice):
        return thing
    if type(thing) is slice or not _is_looked_into(thing):
        return None
    return next((found for found in map(_first_choice, children(thing)) if found is not None), None)


def _with(thing: object, chosen: Choice, found: object) -> Any:
    if thing is chosen:
        return found
    return _mapped(lambda part: _with(part, chosen, found), thing)


def _holds(thing: object, is_it: Callable[[object], bool], depth: int) -> bool:
    if is_it(thing):
        return True
    if not depth or not _is_looked_into(thing):
        return False
    return any(_holds(part, is_it, depth - 1) for part in children(thing, slices=True))


def holds_arrays(thing: object, depth: int = 4) -> bool:
    """Whether an array of the run is among the arguments of a function."""
    return _holds(thing, lambda part: isinstance(part, RunArray), depth)


def holds_tensors(thing: object) -> bool:
    """Whether a tensor of the program is among them."""
    return _holds(thing, lambda part: bridge.is_value(part) and number_kind(part) is None, 5)


def holds_values(thing: object) -> bool:
    """Whether anything that the run decides is among them."""
    return _holds(
        thing,
        lambda part: isinstance(part, RunArray | Choice | DynamicList) or bridge.is_value(part),
        5,
    )


TAKING_SIZES: Final = frozenset[Any](
    getattr(np, name)
    for name in (
        *("arange", "empty", "eye", "full", "geomspace", "identity", "indices"),
        *("linspace", "logspace", "ones", "tri", "zeros"),
    )
)
"""Functions that take a tensor for a number or for a shape, and do not ask it for its array."""


def is_numpys(function: object) -> bool:
    """Whether ``function`` is one of NumPy."""
    if isinstance(function, np.ufunc):
        return True
    if isinstance(function, type):
        return issubclass(function, np.generic) or function is np.ndarray
    home = str(attribute(function, "__module__", "") or "")
    return home == "numpy" or home.startswith("numpy.")

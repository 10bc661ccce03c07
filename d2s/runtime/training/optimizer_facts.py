"""What a captured step relies on of its optimizer, and what is known ahead of its scheduler.

Each run holds the first against the optimizer, and asks a copy of the scheduler for the second.
What a step of a scheduler reads must not change behind it, where a run makes the step last.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import dis
import functools
import math
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import paddle
from paddle.optimizer import Optimizer
from paddle.optimizer.lr import LRScheduler

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import here
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import open_trace
from d2s.runtime.values.fields import attributes_of, is_object
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tensors import LEAVES
from d2s.runtime.values.tree import children

SCALARS: Final = (bool, int, float, str, type(None))


@dataclass
class Facts:
    """What a captured step relies on of its optimizer."""

    optimizer: Optimizer
    keys: tuple[str, ...]
    scalars: tuple[Any, ...]
    parts: tuple[tuple[object, dict[str, Any]], ...]
    parameters: tuple[tuple[paddle.Tensor, bool], ...]
    accumulators: tuple[tuple[dict[str, paddle.Tensor], str, paddle.Tensor], ...]

    def hold(self) -> bool:
        """Whether it is all as it was."""
        # Plain loops: this is part of every call.
        fields = vars(self.optimizer)
        if tuple(map(fields.get, self.keys)) != self.scalars:
            return False
        parts = _parts(self.optimizer)
        if len(parts) != len(self.parts):
            return False
        for now, (part, before) in zip(parts, self.parts, strict=True):
            if now is not part or _plain_fields(part) != before:
                return False
        parameters = _parameters(self.optimizer)
        if len(parameters) != len(self.parameters):
            return False
        for now, (tensor, flag) in zip(parameters, self.parameters, strict=True):
            if now is not tensor or tensor.stop_gradient != flag:
                return False
        for table, name, kept in self.accumulators:  # noqa: SIM110 - a generator costs more
            if table.get(name) is not kept:
                return False
        return True


_CHANGING: Final = frozenset(("_learning_rate", "_need_refuse", "_fuse_buffer_version"))
"""Fields of an optimizer that steps change, or that each run asks for."""


def facts_of(optimizer: Optimizer, before: dict[int, paddle.Tensor]) -> Facts:
    """The facts of ``optimizer``; ``before`` are the accumulators by their identity."""
    fields = {
        key: value
        for key, value in vars(optimizer).items()
        if isinstance(value, SCALARS) and key not in _CHANGING
    }
    return Facts(
        optimizer,
        tuple(fields),
        tuple(fields.values()),
        tuple((part, _plain_fields(part)) for part in _parts(optimizer)),
        tuple((tensor, tensor.stop_gradient) for tensor in _parameters(optimizer)),
        tuple(
            (table, name, tensor)
            for table in optimizer._accumulators.values()
            for name, tensor in table.items()
            if id(tensor) in before
        ),
    )


def _parts(optimizer: Optimizer) -> list[object]:
    """The objects that say how ``optimizer`` clips and decays, and its groups."""
    found = [optimizer._grad_clip, optimizer.regularization]
    groups = optimizer._param_groups
    for group in groups if isinstance(groups[0], dict) else ():
        found += [group, group.get("grad_clip"), group.get("weight_decay")]
    return [part for part in found if part is not None and not isinstance(part, SCALARS)]


def _plain_fields(part: object) -> dict[str, Any]:
    fields = part if isinstance(part, dict) else vars(part)
    return {key: value for key, value in fields.items() if isinstance(value, SCALARS)}


def _parameters(optimizer: Optimizer) -> list[paddle.Tensor]:
    groups: list[Any] = optimizer._param_groups
    if not isinstance(groups[0], dict):
        return groups
    return [tensor for group in groups for tensor in group["params"]]


_HOME: Final = LRScheduler.__module__

_PLAIN_FUNCTIONS: Final = frozenset(
    ("abs", "bool", "divmod", "float", "int", "len", "max", "min", "pow", "range", "round", "sum")
)
"""Built-in functions that change nothing and depend on their arguments alone."""

_MOST: Final = 10_000
"""So many things are looked through for what a scheduler may read."""

_LIBRARIES: Final = sys.stdlib_module_names | {"paddle", "numpy", "d2s"}

_CHANGING_CODE: Final = ("STORE_GLOBAL", "STORE_DEREF", "DELETE_", "IMPORT_", "YIELD_", "SEND")


def is_foreseen(scheduler: LRScheduler) -> bool:
    """Whether a copy of ``scheduler`` tells its rates.

    Paddle's code alone computes them, with functions of the user's that change nothing, and depend
    on constants alone.
    """
    parts = [type(scheduler), *vars(scheduler).values()]
    parts += [type(each) for each in parts if isinstance(each, LRScheduler)]
    inner = [each for each in parts if isinstance(each, LRScheduler)]
    return all(map(is_foreseen, inner)) and all(
        getattr(each, "__module__", None) == _HOME or _is_formula(each)
        for each in parts
        if callable(each)
    )


def _is_formula(function: Any, around: tuple[object, ...] = ()) -> bool:
    """Whether calls of ``function`` change nothing, and depend on constants alone."""
    if isinstance(function, functools.partial):
        given = (*function.args, *function.keywords.values())
        return all(map(_is_constant, given)) and _is_formula(function.func, around)
    if not isinstance(function, types.FunctionType) or function in around:
        return False
    code = function.__code__
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    if not all(map(_is_constant, defaults)) or any(map(_changes, dis.get_instructions(code))):
        return False
    if any(isinstance(each, types.CodeType) for each in code.co_consts):
        return False
    around = (*around, function)
    return not _is_changed(function) and all(_is_known(each, around) for each in _read(function))


def _is_changed(function: types.FunctionType) -> bool:
    """Whether the code that is being captured has bound a variable of ``function`` anew."""
    read: dict[int, tuple[str, ...]] = {id(cell): ("cell",) for cell in function.__closure__ or ()}
    read[id(function.__globals__)] = function.__code__.co_names
    for record in open_trace().watched():
        names = read.get(id(record.scope), ())
        now = record.now() if names else {}
        if any(name in now and now[name] is not record.before.get(name) for name in names):
            return True
    return False


def _read(function: types.FunctionType) -> Iterator[object]:
    """What a function reads besides its arguments; for what it does not know, the function."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield function
    for name in function.__code__.co_names:
        known = {**vars(builtins), **function.__globals__}
        yield known[name] if name in known else vars(math).get(name, function)


def _is_known(thing: object, around: tuple[object, ...]) -> bool:
    plain = isinstance(thing, type | types.BuiltinFunctionType) and (
        vars(math).get(thing.__name__) is thing
        or (thing.__name__ in _PLAIN_FUNCTIONS and vars(builtins)[thing.__name__] is thing)
    )
    return thing is math or plain or _is_constant(thing) or _is_formula(thing, around)


def _is_constant(thing: object) -> bool:
    return isinstance(thing, SCALARS) or (
        type(thing) is tuple and all(_is_constant(item) for item in thing)
    )


def _changes(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith(_CHANGING_CODE)


def ahead(scheduler: LRScheduler, count: int, number: Callable[[LRScheduler], Any]) -> Any:
    """``number`` of ``scheduler`` when it has stepped ``count`` times more."""
    with bridge.in_dygraph():
        if not count:
            return number(scheduler)
        copied = copy.deepcopy(scheduler)
        copied.verbose = False
        for _ in range(count):
            copied.step()
        return number(copied)


class ReadBySteps:
    """What the schedulers that have stepped may read, as it was then.

    A run steps schedulers when the program has run, and so later than the function says::

        scheduler.step()          # LambdaDecay(0.1, lambda epoch: 0.5 ** epoch * self.factor)
        self.factor *= 0.9        # a run has done this when the scheduler steps
    """

    def __init__(self) -> None:
        self._steps: list[tuple[dict[int, dict[object, object]], LRScheduler, Exception]] = []

    def note(self, scheduler: LRScheduler) -> None:
        """``scheduler`` steps now."""
        where = here()
        error = UnsupportedInGraphError(
            f"the function changes what a step of a scheduler ({type(scheduler).__name__}) in "
            "front of it reads, and a run makes the step last",
            cure="step the scheduler behind the change, or outside of the converted function",
            file=None if where is None else where.file,
            line=None if where is None else where.line,
        )
        self._steps.append((_contents(), scheduler, error))

    def check(self) -> None:
        """Refuse changes behind a step of what it reads.

        Raises:
            UnsupportedInGraphError: (D2S205).
        """
        if not self._steps:
            return
        for then, scheduler, error in self._steps:
            read = _reached(scheduler)
            for record in open_trace().watched():
                number = id(record.scope)
                known = read is None or not read.isdisjoint((number, id(record.object)))
                if not known or record.large or record.library:
                    continue
                now, before = _entries(record.now()), _entries(record.before)
                if not _are_same(now, {**before, **then[number]} if number in then else before):
                    raise error


def _contents() -> dict[int, dict[object, object]]:
    """What each part of the state holds, by its id."""
    return {
        id(each.scope): _entries(each.now())
        for each in open_trace().watched()
        if not (each.large or each.library)
    }


def _entries(held: object) -> dict[object, object]:
    return held if isinstance(held, dict) else dict(enumerate(children(held)))


def _are_same(now: dict[object, object], then: dict[object, object]) -> bool:
    return now.keys() == then.keys() and all(now[key] is then[key] for key in now)


def _reached(scheduler: LRScheduler) -> set[int] | None:
    """The ids of what a step of ``scheduler`` may read; ``None`` where that is too much."""
    found: set[int] = set()
    waiting: list[object] = [scheduler]
    while waiting:
        if len(found) > _MOST:
            return None
        thing = waiting.pop()
        if id(thing) in found or type(thing) in LEAVES:
            continue
        found.add(id(thing))
        if isinstance(thing, types.FunctionType):
            found.add(id(thing.__globals__))
        elif isinstance(thing, types.ModuleType):
            found.add(id(vars(thing)))
        waiting += _below(thing)
    return found


def _below(thing: object) -> Iterator[object]:
    """What ``thing`` holds, or its code reads; Paddle's own code reads what it is given."""
    if isinstance(thing, types.FunctionType):
        if thing.__globals__.get("__name__", "").partition(".")[0] in _LIBRARIES:
            return
        names = thing.__globals__.keys() & set(thing.__code__.co_names)
        yield from (thing.__globals__[name] for name in names)
        yield from thing.__closure__ or ()
        yield from (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
    elif isinstance(thing, types.CellType):
        with contextlib.suppress(ValueError):  # it is empty
            yield thing.cell_contents
    elif isinstance(thing, types.MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, functools.partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif isinstance(thing, type):
        yield from vars(thing).values() if is_user_class(thing) else ()
    elif not isinstance(thing, types.ModuleType):
        yield from children(thing)
        yield type(thing)
        if hasattr(thing, "__dict__"):
            yield vars(thing)
        yield from attributes_of(thing).values() if is_object(thing) else ()

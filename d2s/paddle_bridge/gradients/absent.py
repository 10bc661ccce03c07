"""Gradients that a run has none of, since the branch that it has taken reads something else.

Dygraph goes back through what a run has done.  A program goes back through all of it, with zeros
where a branch has left something out::

    v = log(x)
    y = if(c) { yield v } else { yield 2 * x }

The zero that goes back into ``log`` is divided by ``x``, and ``0 / 0`` is no zero.  So what
comes out of such operations counts only where the branch has read what they made; else it is zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.walks import arguments_of, blocks_of, inside

_IF: Final = "pd_op.if"
_WHILE: Final = "pd_op.while"

_ADDING: Final = ("pd_op.add", "pd_op.add_", "pd_op.add_n", "pd_op.add_n_", "builtin.combine")
"""Operations all of whose operands are gradients."""

_HANDING_ON: Final = frozenset(
    f"pd_op.{name}"
    for name in [
        "add_grad",
        "assign",
        "cast",
        "concat_grad",
        "expand_grad",
        "flatten_grad",
        "gather_grad",
        "mean_grad",
        "reshape",
        "reshape_grad",
        "scale",
        "slice_grad",
        "split_grad",
        "squeeze_grad",
        "stack_grad",
        "subtract_grad",
        "sum",
        "sum_grad",
        "transpose",
        "transpose_grad",
        "unsqueeze_grad",
    ]
) | {"builtin.combine", "builtin.split", "builtin.slice"}
"""Operations that make zeros of zeros."""


_Runs = frozenset[frozenset[tuple[str, bool]]]
"""Runs: those on which, for one of the sets, all conditions in it (their ids) are as they say."""

_ALWAYS: Final[_Runs] = frozenset([frozenset()])

_MOST: Final = 8
"""So many sets are kept apart."""


_COUNTS: Final = (paddle.bool, paddle.uint8, paddle.int8, paddle.int16, paddle.int32, paddle.int64)
"""Of these dtypes are sizes, positions and conditions."""


@dataclass(frozen=True)
class _Absent:
    """That a gradient is zero but on some runs, and that something else may have become of it.

    Attributes:
        runs: these runs.
        changed: it has gone through an operation that need not keep a zero.
    """

    runs: _Runs
    changed: bool = False


class _Block:
    """The operations of one block that were made for gradients, in their order."""

    def __init__(self, operations: list[Any]) -> None:
        self.operations = operations
        self.absent: dict[str, _Absent] = {}
        self.made: set[str] = set()
        self.conditions: dict[str, Any] = {}
        self.loops: dict[str, Any] = {}

    def settle(self) -> None:
        """Let nothing but zeros come of gradients that are absent."""
        for operation in self.operations:
            for block in blocks_of(operation):
                inner = _Block(list(block.ops))
                inner.made = self.made | {argument.id for argument in arguments_of(block)}
                inner.settle()
            self._follow(operation)
            self._follow_choice(operation)
            if self._is_of_gradients(operation):
                self.made |= {result.id for result in operation.results()}

    def _is_of_gradients(self, operation: Any) -> bool:
        """Whether what it makes comes of a gradient, which itself begins with ones."""
        if operation.name() == "pd_op.full_like":
            return not _is_zero(operation.result(0))
        taken = operation.operands_source()
        if blocks_of(operation):
            taken = [*taken, *pir.get_used_external_value(operation)]
        return any(
            each.id in self.made or each.is_dense_tensor_array_type()
            for each in taken
            if not pir.is_fake_value(each)
        )

    def _follow(self, operation: Any) -> None:
        if blocks_of(operation):
            self._leave(operation)
            return
        operands = [
            index
            for index in range(operation.num_operands())
            if not pir.is_fake_value(operation.operand_source(index))
        ]
        known = {
            index: self.absent[operation.operand_source(index).id]
            for index in operands
            if operation.operand_source(index).id in self.absent
        }
        if not known:
            return
        gradients = [
            index
            for index in operands
            if operation.name() in _ADDING or operation.operand_source(index).id in self.made
        ]
        one = len({each.runs for each in known.values()}) == 1
        every = set(gradients) <= known.keys()
        if one and every and operation.name() != "cf.yield":
            changed = any(each.changed for each in known.values())
        else:
            changed = False
            for index, each in known.items():
                value = operation.operand_source(index)
                if each.changed and value.is_dense_tensor_type():
                    pir.set_insertion_point(operation)
                    operation.operand(index).set_source(self.zero_unless(value, each))
        runs = frozenset().union(*(each.runs for each in known.values()))
        if every and _are_some(runs):
            changed = changed or operation.name() not in _HANDING_ON
            for result in operation.results():
                if _is_gradient(result):
                    self.absent[result.id] = _Absent(runs, changed)

    def _follow_choice(self, operation: Any) -> None:
        """What :meth:`zero_unless` has made of an earlier gradient is differentiated."""
        if operation.name() not in ("pd_op.where", "pd_op.where_grad"):
            return
        origin = operation.operand_source(0).get_defining_op()
        if origin is None or origin.name() != "pd_op.logical_and":
            return
        has, result = origin.operand_source(1), operation.result(0)
        if has.shape or not _is_gradient(result):
            return
        if operation.name() == "pd_op.where_grad" or _is_zero(operation.operand_source(2)):
            self.conditions[has.id] = has
            self.absent[result.id] = _Absent(frozenset([frozenset([(has.id, True)])]))

    def _leave(self, operation: Any) -> None:
        """What a branch or loop hands on."""
        taken = [each for each in pir.get_used_external_value(operation) if each.id in self.made]
        known = [self.absent[each.id] for each in taken if each.id in self.absent]
        every = bool(known) and len(known) == len(taken)
        around = frozenset().union(*(each.runs for each in known)) if every else _ALWAYS
        changed = every and any(each.changed for each in known)
        if not every or operation.name() not in (_IF, _WHILE):
            self._settle_taken(operation, taken)
        if operation.name() not in (_IF, _WHILE):
            return
        sides = [block.ops[-1].operands_source() for block in blocks_of(operation)]
        for index, result in enumerate(operation.results()):
            truth = True
            if operation.name() == _IF:
                nothing = [_is_zero(side[index]) for side in sides]
                some, truth = nothing[0] is not nothing[1], nothing[1]
            else:  # a loop of no trips
                some = _is_zero(operation.operand_source(index + 1))
            here = frozenset([(self.condition(operation), truth)] if some else [])
            runs = frozenset(each | here for each in around)
            if _are_some(runs) and _is_gradient(result):
                self.absent[result.id] = _Absent(runs, changed)

    def _settle_taken(self, operation: Any, taken: list[Any]) -> None:
        for value in taken:
            known = self.absent.get(value.id)
            if known is None or not known.changed or not value.is_dense_tensor_type():
                continue
            pir.set_insertion_point(operation)
            settled = self.zero_unless(value, known)
            for each in (operation, *inside(operation)):
                for index in range(each.num_operands()):
                    if each.operand_source(index).id == value.id:
                        each.operand(index).set_source(settled)

    def condition(self, operation: Any) -> str:
        """The condition of a branch, or of the first trip of a loop, which writes into its own."""
        value = operation.operand_source(0)
        if value.id not in self.conditions:
            self.conditions[value.id] = value
            if operation.name() != _IF:
                self.loops[value.id] = operation
        return str(value.id)

    def zero_unless(self, value: Any, absent: _Absent) -> Any:
        """``value`` on the runs that have it, else zero."""
        has = _folded(
            paddle.logical_or,
            (
                _folded(paddle.logical_and, (self._is(*each) for each in sorted(every)))
                for every in sorted(absent.runs, key=sorted)
            ),
        )
        # expand_as fails for no elements
        mask = paddle.logical_and(paddle.ones_like(value, "bool"), has)
        made = paddle.where(mask, value, paddle.zeros_like(value))
        made.stop_gradient = value.stop_gradient
        return made

    def _is(self, number: str, truth: bool) -> Any:
        if number in self.loops:
            here = pir.get_current_insertion_point()
            pir.set_insertion_point(self.loops.pop(number))
            self.conditions[number] = paddle.assign(self.conditions[number])
            pir.set_insertion_point(here)
        value = self.conditions[number]
        value = paddle.reshape(value, []) if value.shape else value
        return value if truth else paddle.logical_not(value)


def _are_some(runs: _Runs) -> bool:
    """Whether ``runs`` are few enough to tell, and not all."""
    single = {condition for every in runs if len(every) == 1 for condition in every}
    whole = any((number, not truth) in single for number, truth in single)
    return len(runs) <= _MOST and all(runs) and not whole


def _folded(operation: Callable[[Any, Any], Any], values: Iterable[Any]) -> Any:
    return functools.reduce(operation, values)


def _is_gradient(value: Any) -> bool:
    if pir.is_fake_value(value):
        return False
    if value.is_combine():
        return True
    return bool(value.is_dense_tensor_type()) and value.dtype not in _COUNTS


def _is_zero(value: Any) -> bool:
    origin = value.get_defining_op()
    name = "" if origin is None else origin.name()
    if name == "pd_op.assign":
        return _is_zero(origin.operand_source(0))
    if name == "pd_op.full_like":
        return _is_zero(origin.operand_source(1))
    return name == "pd_op.full" and float(origin.attrs()["value"]) == 0


def without_absent(
    block: Any, before: Iterable[int], seeds: Iterable[Any] | None, gradients: Any
) -> list[Any]:
    """``gradients``, of which nothing but zeros comes on runs that have none.

    Args:
        block: where they were built.
        before: ids of the operations that were there.
        seeds: the gradients that these began with; ``None`` for ones.
        gradients: values, or ``None``.
    """
    known = frozenset(before)
    here = pir.get_current_insertion_point()
    made = _Block([each for each in block.ops if each.id() not in known])
    made.made = {seed.id for seed in seeds or () if seed is not None}
    made.settle()
    pir.set_insertion_point(here)
    absent = [None if each is None else made.absent.get(each.id) for each in gradients]
    return [
        made.zero_unless(value, each) if each is not None and each.changed else value
        for value, each in zip(gradients, absent, strict=True)
    ]

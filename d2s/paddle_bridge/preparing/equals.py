"""Whether Paddle's pass that merges equal operations comes to an end in time.

Paddle 3.3.1 compares two operations by comparing what they read, and merges none before all have
been compared.  Two copies of a chain whose links read the one before twice (``z = z + 0.5 * z``,
a residual block) are compared in a time that doubles with each link::

    f(x) * f(x)      20 links: 7 s      40 links: three months

The same comparisons are counted here, in one walk over the operations.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_MANY: Final = 100_000
"""Comparisons of two operations that take less than a second."""

_SINGLE: Final = ("builtin.parameter", "pd_op.data", "builtin.constant")
"""What is equal to nothing else, although it reads nothing."""


class _Class(NamedTuple):
    """Operations that may be equal.

    Attributes:
        number: the same for all of them, negative.
        cost: the comparisons that find what the first of them reads equal to earlier values.
    """

    number: int
    cost: int


def merges_in_time(program: Any) -> bool:
    """Whether Paddle finds the equal operations of ``program`` within about a second.

    Attributes of operations are not looked at, nor the order of what they read: more are taken
    for equal here than are.
    """
    classes: dict[tuple[Any, ...], _Class] = {}
    numbers: dict[int, int] = {}  # of a value: the same for equal ones
    costs: dict[int, int] = {}  # of a value: the comparisons that find it equal to an earlier one
    count = total = 0
    blocks = [iter(program.global_block().ops)]
    while blocks:
        operation = next(blocks[-1], None)
        if operation is None:
            blocks.pop()
            continue
        count += 1
        name, cost, number = operation.name(), 0, -count
        if operation.num_regions():
            blocks.extend(iter(block.ops) for block in operation.blocks())
        elif name not in _SINGLE:
            read = [value.hash() for value in operation.operands_source()]
            reads = sum(costs.get(value, 0) for value in read)
            key = (name, *sorted(numbers.get(value, value) for value in read))
            known = classes.setdefault(key, _Class(number, reads))
            if known.number != number:
                number, cost = known.number, 1 + reads + known.cost
                total += cost
                if total > _MANY:
                    return False
        for index, result in enumerate(operation.results()):
            value = result.hash()
            numbers[value] = hash((number, index)) if index else number
            if cost:
                costs[value] = cost
    return True

"""The operations of a captured program: found, walked, removed where nobody reads them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.values import is_fake, shape_of

CONSTANTS: Final = ("pd_op.full", "pd_op.full_int_array")
"""Operations that make a tensor of nothing but their attributes."""

GIVEN: Final = ("pd_op.data", "pd_op.feed", "builtin.parameter")
"""Operations that stand for the inputs of a program, and for what it reads as its parameters."""

HOST: Final = "py_op.d2s_host"
"""With what the names of our host operators begin."""

_FRAME: Final = ("builtin.", "cf.", "pd_op.data", "pd_op.feed", "pd_op.fetch")
"""Operations that hand values in and out, and compute nothing."""


_RANDOM: Final = (
    "dropout", "uniform", "gaussian", "randint", "randperm", "bernoulli", "multinomial",
    "poisson", "exponential", "binomial", "gamma", "rrelu", "gumbel",
)  # fmt: skip


def draws_numbers(program: Any) -> bool:
    """Whether an operation draws random numbers; a dropout in eval mode does not."""
    return any(
        any(word in operation.name() for word in _RANDOM)
        and not operation.attrs().get("is_test", False)
        for operation in operations(program)
    )


def erase_unread(program: Any, prefix: str) -> int:
    """Remove operations whose name begins with ``prefix`` and whose results nobody reads."""

    def sweep(block: Any) -> int:
        count = 0
        for operation in list(block.ops):
            for inner in blocks_of(operation):
                count += sweep(inner)
            if operation.name().startswith(prefix) and all(
                result.use_empty() for result in operation.results()
            ):
                block.remove_op(operation)
                count += 1
        return count

    return sweep(program.global_block())


def without_copies(program: Any) -> None:
    """Let blocks take and hand out 0-D values that were made for them, where no copy is needed.

    The copies are there for gradients, and for values that are handed out twice or read again.  A
    program that is saved has no gradients, and Paddle2ONNX takes the copy of a loop's 0-D counter
    for a tensor of one dimension.  Larger tensors keep theirs: without it, oneDNN fails in Paddle
    Inference ("could not create a primitive descriptor for a reorder primitive").
    """
    for operation in list(operations(program)):
        if operation.name() == "cf.yield":
            taken = {value.id for value in operation.operands_source()}
            for index, (copy, source) in _copies(operation):
                if source.id not in taken:
                    taken.add(source.id)
                    operation.operand(index).set_source(source)
                    remove_unread(copy)
        elif operation.name() == "pd_op.while":
            for index, (copy, source) in _copies(operation):
                others = [user for user in source.all_used_ops() if user.id() != copy.id()]
                if all(_comes_before(user, operation) for user in others):
                    operation.operand(index).set_source(source)
                    remove_unread(copy)


def _copies(operation: Any) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """Operands that are copies of values that an operation of the same block has made."""
    block = operation.get_parent_block()
    for index in range(operation.num_operands()):
        copy = operation.operand_source(index).get_defining_op()
        if copy is None or copy.name() != "pd_op.assign" or copy.get_parent_block() != block:
            continue
        source = copy.operand_source(0)
        maker = source.get_defining_op()
        if maker is None or maker.get_parent_block() != block or shape_of(source) != []:
            continue
        if maker.name() not in ("pd_op.if", "pd_op.while", "pd_op.data", "builtin.parameter"):
            yield index, (copy, source)


def remove_unread(operation: Any) -> None:
    """Remove an operation if nobody reads its results."""
    if all(result.use_empty() for result in operation.results()):
        operation.get_parent_block().remove_op(operation)


def _comes_before(one: Any, other: Any) -> bool:
    """Whether ``one`` stands before ``other`` in the same block."""
    for operation in other.get_parent_block().ops:
        if operation.id() == other.id():
            return False
        if operation.id() == one.id():
            return True
    return False


def never_free(program: Any) -> None:
    """Keep a program in which a value is read outside of its block, past the interpreter's end.

    Paddle aborts the process when it takes such a program apart.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(program))


def is_chosen(value: Any) -> bool:
    """Whether ``value`` comes out of a branch or loop, or is carried by one."""
    operation = value.get_defining_op()
    return operation is None or operation.name() in ("pd_op.if", "pd_op.while")


_NOT: Final = ("pd_op.logical_not", "pd_op.bitwise_not")
_AND: Final = ("pd_op.logical_and", "pd_op.bitwise_and")
_OR: Final = ("pd_op.logical_or", "pd_op.bitwise_or")
_SAME: Final = ("pd_op.assign", "pd_op.reshape", "pd_op.share_data_")
"""Operations whose first result is a truth value where their first operand is."""


Facts = dict[int, tuple[Any, bool]]
"""Bool values of the program and their truth, by their ids."""


def implied(flag: Any, truth: bool, known: Facts) -> Facts:
    """What follows where the bool value ``flag`` is ``truth``.

    Args:
        flag, truth: that.
        known: what is known besides.
    """
    found: Facts = {}
    queue = [(flag, truth)]
    while queue:
        value, truth = queue.pop()
        if value.id in found or "bool" not in str(value.dtype):
            continue
        found[value.id] = value, truth
        queue += _parts(value, truth)
        choice = between(value)
        if choice is not None:
            queue += _implied_by_choice(*choice, truth, known)
    return found


def _parts(value: Any, truth: bool) -> list[tuple[Any, bool]]:
    """What follows from the operation that makes ``value`` alone."""
    operation = value.get_defining_op()
    name = "" if operation is None else operation.name()
    if name in _NOT or name in _SAME:
        return [(operation.operand_source(0), truth == (name in _SAME))]
    if name in (_AND if truth else _OR):
        return [(operation.operand_source(index), truth) for index in (0, 1)]
    return []


def between(value: Any) -> tuple[Any, list[Any]] | None:
    """The condition of the choice that makes ``value``, and between which values it is."""
    operation = value.get_defining_op()
    name = "" if operation is None else operation.name()
    if name == "pd_op.where":
        test, *sides = operation.operands_source()
        return test, sides
    if name != "pd_op.if":
        return None
    index = [each.id for each in operation.results()].index(value.id)
    sides = [block.ops[-1].operand_source(index) for block in blocks_of(operation)]
    return operation.operand_source(0), sides


def handed_on(value: Any, begins: dict[int, Any]) -> list[Any]:
    """The values one of which a branch or loop gives as ``value``; none if it makes no choice.

    Args:
        value: any value that an operation makes.
        begins: is told of the variables of a loop what each begins with, by their ids.
    """
    operation = value.get_defining_op()
    name = operation.name()
    if name == "pd_op.if":
        return between(value)[1]  # type: ignore[index]
    if name != "pd_op.while":
        return []
    index = [each.id for each in operation.results()].index(value.id)
    (body,) = blocks_of(operation)
    sources = operation.operands_source()[1:]
    begins.update(zip((each.id for each in arguments_of(body)), sources, strict=True))
    return [sources[index], body.ops[-1].operands_source()[1 + index]]


def known_truth(flag: object, facts: Facts) -> bool | None:
    """What is known of the bool value ``flag``."""
    for truth in (True, False):
        for number, (value, holds) in implied(flag, truth, facts).items():
            if number in facts and facts[number][1] is not holds:
                return not truth
            if _constant(value) is (not holds):
                return not truth
    return None


def _constant(value: Any) -> bool | None:
    """The truth of a bool value that is the same on every run."""
    operation = value.get_defining_op()
    if operation is None or operation.name() != "pd_op.full":
        return None
    return bool(operation.attrs()["value"])


def _implied_by_choice(
    test: Any, sides: list[Any], truth: bool, known: Facts
) -> list[tuple[Any, bool]]:
    """What follows from a choice between two values one of which cannot have been taken."""
    if test.id in known:
        return [(sides[0] if known[test.id][1] else sides[1], truth)]
    possible = [
        _may_be(side, truth, _plainly(test, holds))
        for side, holds in zip(sides, (True, False), strict=True)
    ]
    if all(possible) or not any(possible):
        return []
    taken = possible[0]
    return [(test, taken), (sides[0] if taken else sides[1], truth)]


def _plainly(flag: Any, truth: bool) -> dict[Any, bool]:
    """:func:`implied` without choices: each would have to be looked into for two truths."""
    found: dict[Any, bool] = {}
    queue = [(flag, truth)]
    while queue:
        value, truth = queue.pop()
        if value.id not in found:
            found[value.id] = truth
            queue += _parts(value, truth)
    return found


def _may_be(value: Any, truth: bool, known: dict[Any, bool]) -> bool:
    """Whether ``value`` may have this truth, where those of ``known`` have theirs."""
    while value.id not in known:
        same = _constant(value)
        if same is not None:
            return same == truth
        operation = value.get_defining_op()
        name = "" if operation is None else operation.name()
        if name == "pd_op.where":
            test, *sides = operation.operands_source()
            if test.id not in known:
                return any(_may_be(each, truth, known) for each in sides)
            value = sides[0 if known[test.id] else 1]
            continue
        if name in _NOT:
            truth = not truth
        elif name not in _SAME:
            return True
        value = operation.operand_source(0)
    return known[value.id] == truth


def misplaced(program: Any) -> tuple[Any, Any] | None:
    """The first operation that uses a value of a block that it cannot see, with the value."""

    def check(block: Any, visible: set[int]) -> tuple[Any, Any] | None:
        visible = visible | {argument.id for argument in arguments_of(block)}
        for operation in block.ops:
            for value in operation.operands_source():
                if not pir.is_fake_value(value) and value.id not in visible:
                    return operation, value
            for inner in blocks_of(operation):
                found = check(inner, visible)
                if found is not None:
                    return found
            visible.update(result.id for result in operation.results())
        return None

    return check(program.global_block(), set())


def is_visible(value: Any, block: Any = None) -> bool:
    """Whether operations of ``block`` can use ``value``; ``None``: the one that is made next."""
    if block is None:
        block = paddle.pir.get_current_insertion_point().block()
    operation = value.get_defining_op()
    home = None if operation is None else operation.get_parent_block()
    while block is not None:
        if home is None and any(value.id == each.id for each in arguments_of(block)):
            return True
        if block == home:
            return True
        outer = block.parent_op
        block = None if outer is None else outer.get_parent_block()
    return False


def holder_of(value: Any) -> Any:
    """The branch or loop that is over by now and has made ``value``.

    ``None`` where it is not over, or ``value`` is an argument of a block.
    """
    here = paddle.pir.get_current_insertion_point().block()
    around = [here, *_around(here)]
    at = value.get_defining_op()
    while at is not None and all((home := at.get_parent_block()) != block for block in around):
        at = None if home is None else home.parent_op
    if at is None:  # an argument of a block, or it was taken out of the program
        return None
    open_ = any(block.parent_op is not None and block.parent_op.id() == at.id() for block in around)
    return None if open_ else at


def is_inner(value: Any) -> bool:
    """Whether ``value`` was made in the block that is being written, or in one inside of it."""
    here = paddle.pir.get_current_insertion_point().block()
    operation = value.get_defining_op()
    if operation is None:  # an argument of a block
        return all(value.id != each.id for block in _around(here) for each in arguments_of(block))
    return all(operation.get_parent_block() != block for block in _around(here))


def depth_of(value: Any = None) -> int:
    """In how many blocks ``value`` was made, an argument of one here; or where this is."""
    operation = None if value is None else value.get_defining_op()
    here = paddle.pir.get_current_insertion_point().block()
    home = here if operation is None else operation.get_parent_block()
    return sum(1 for _ in _around(home))


def _around(block: Any) -> Iterator[Any]:
    """The blocks that ``block`` is in, from the inside out."""
    while (outer := block.parent_op) is not None:
        block = outer.get_parent_block()
        if block is None:
            return
        yield block


def overwritten(program: Any, parameters: list[Any]) -> list[int]:
    """Indexes of the ``parameters`` of ``program`` that one of its operations writes into."""
    indexes = {value.id: index for index, value in enumerate(parameters)}
    found = set()
    for operation in operations(program):
        if not operation.name().endswith("_"):
            continue
        targets = operation.operands_source()
        if operation.name() == "pd_op.assign_out_":
            targets = targets[1:]
        else:  # running statistics, not the weights beside them
            targets = [value for value in targets if not is_fake(value) and value.stop_gradient]
        found |= {indexes[value.id] for value in targets if value.id in indexes}
    return sorted(found)


def is_only_written(value: Any) -> bool:
    """Whether no result depends on ``value``: running statistics of a layer that trains."""
    return all(
        user.name() == "pd_op.batch_norm_"
        and not (user.attrs()["is_test"] or user.attrs()["use_global_stats"])
        and value.id in (user.operand_source(1).id, user.operand_source(2).id)
        for user in value.all_used_ops()
    )


def blocks_of(operation: Any) -> Any:
    """The blocks of ``operation``; nearly all have none, and ten times faster say so this way."""
    return operation.blocks() if operation.num_regions() else ()


def operations(program: Any) -> Iterator[Any]:
    """Every operation of ``program``, those inside branches and loops too."""
    stack = [program.global_block()]
    while stack:
        for operation in stack.pop().ops:
            yield operation
            stack.extend(blocks_of(operation))


def computes(operation: Any) -> bool:
    """Whether an operation is more than a part of the frame around others."""
    return not str(operation.name()).startswith(_FRAME)


def size_of(program: Any) -> int:
    """How many operations compute in ``program``, those inside branches and loops too."""
    return sum(map(computes, operations(program)))


def inside(operation: Any) -> Iterator[Any]:
    """Every operation in the blocks of ``operation``, in the order of the program."""
    for block in blocks_of(operation):
        yield from under(block)


def has_differentiable_loop(program: Any) -> bool:
    """Whether gradients may go through a ``while`` of ``program``.

    They come to its results, and to tensors that its trips write in place.  Paddle makes gradients
    of arrays even where none comes to them.
    """
    loops = [each for each in operations(program) if each.name() == "pd_op.while"]
    ends = [value for loop in loops for value in loop.results()]
    for each in (each for loop in loops for each in inside(loop)):
        read = [value for value in each.operands_source() if not pir.is_fake_value(value)]
        if any(value.is_dense_tensor_array_type() for value in read):
            return True
        ends += read if each.name().endswith("_") else []
    return any(not value.stop_gradient for value in ends if not pir.is_fake_value(value))


def under(block: Any) -> Iterator[Any]:
    """Every operation of ``block``, those of inner blocks too, in the order of the program."""
    for inner in block.ops:
        yield inner
        for below in blocks_of(inner):
            yield from under(below)


def tensor_operands(operation: Any) -> Iterator[int]:
    """The positions of the operands of ``operation`` that are single tensors."""
    for index in range(operation.num_operands()):
        value = operation.operand_source(index)
        if not pir.is_fake_value(value) and value.is_dense_tensor_type():
            yield index


def parts_of(values: Any) -> list[Any]:
    """The values of which the list ``values`` was made, or into which it is taken apart."""
    origin = values.get_defining_op()
    if origin.name() == "builtin.combine":
        return list(origin.operands_source())
    (split,) = (user for user in values.all_used_ops() if user.name() == "builtin.split")
    return list(split.results())


def arguments_of(block: Any) -> list[Any]:
    """The arguments of ``block``, as values of their own.

    What Paddle's ``args`` gives are no values but references into the list of the block, which
    moves when it grows and goes with the block.  Where a reference lives longer, pybind gives it
    again for whatever value comes to lie at its address, of another program: that one is read
    after it is gone, and the process dies.
    """
    return [reference._clone() for reference in block.args()]


def keywords_of(block: Any) -> dict[str, Any]:
    """The keyword arguments of ``block``, by name, as values of their own: :func:`arguments_of`."""
    copies = pir.IrMapping()
    found: dict[str, Any] = {}
    for name, reference in block.kwargs().items():
        copies.add(reference, reference)
        found[name] = copies.look_up(reference)
    return found


def values_of(program: Any) -> list[Any]:
    """All values of ``program``, those in its blocks too.

    Paddle's own holds what it has found in a cycle, which stays until Python collects garbage.
    """
    found = list(keywords_of(program.global_block()).values())
    for operation in under(program.global_block()):
        found.extend(operation.results())
        for block in blocks_of(operation):
            found.extend(keywords_of(block).values())
    return found

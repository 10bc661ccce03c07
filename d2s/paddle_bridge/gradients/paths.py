"""The branches and loops that a gradient in a branch or loop goes through.

What a branch or loop saves for its gradient lies on a stack, which the gradient takes back once.
That is once too often where the gradient stands in a loop that the saving does not stand in.  A
loop's gradient goes back until the stack is empty; what a trip or call has left there, as it has
not come to the branch with the gradient, goes into the next one's.
"""

from __future__ import annotations

from typing import Any, Final

from d2s.errors import LoopGradientError
from d2s.paddle_bridge.capturing.leaves import is_cut
from d2s.paddle_bridge.names import pir
from d2s.paddle_bridge.walks import blocks_of

_LOOP: Final = "pd_op.while"


def beside(outputs: list[Any], inputs: list[Any], visible: list[Any]) -> set[int]:
    """Ids of the branches and loops among ``visible`` that do not lead from inputs to outputs.

    Args:
        outputs: what is differentiated.
        inputs: by which.
        visible: operations, each before those that use what it makes.
    """
    wanted = {value.id for value in outputs}
    reached = {value.id for value in inputs}
    before, after = set(), set()
    for operation in reversed(visible):
        if any(value.id in wanted for value in _given(operation)):
            before.add(operation.id())
            wanted |= {value.id for value in _taken(operation)}
    for operation in visible:
        if not is_cut(operation) and any(value.id in reached for value in _taken(operation)):
            after.add(operation.id())
            reached |= {value.id for value in _given(operation)}
    return {
        operation.id()
        for operation in visible
        if blocks_of(operation) and operation.id() not in before & after
    }


def _taken(operation: Any) -> list[Any]:
    """The values that ``operation`` reads and that may have a gradient."""
    values = (
        pir.get_used_external_value(operation)
        if blocks_of(operation)
        else operation.operands_source()
    )
    return [value for value in values if not pir.is_fake_value(value) and not value.stop_gradient]


def _given(operation: Any) -> list[Any]:
    """What ``operation`` makes, and the arrays that it may write into."""
    arrays = [value for value in _taken(operation) if value.is_dense_tensor_array_type()]
    return [*operation.results(), *arrays]


def refuse_unpaired(gradient: list[Any], here: Any) -> None:
    """Refuse a gradient that does not take back once what each entry has saved.

    Args:
        gradient: its operations, those of its blocks too.
        here: the block that it stands in.

    Raises:
        LoopGradientError: (D2S307).
    """
    asking = _holders(here)
    for operation in gradient:
        if operation.name() not in ("cf.tuple_pop", "cf.has_elements"):
            continue
        stack = operation.operand_source(0).get_defining_op()
        push = stack.result(1).first_use().owner()
        if any(_begins_a_loop(value) for value in push.operands_source()[1:]):
            raise LoopGradientError(
                "a gradient is asked for in a branch or loop, and goes through a loop inside of "
                "another loop or branch, of whose first values Paddle keeps none",
                cure="ask for the gradient outside of the branch or loop",
            )
        saving = _holders(push.get_parent_block())
        asked = [name for block, name in asking.items() if block not in saving]
        saved = [name for block, name in saving.items() if block not in asking]
        if _LOOP not in asked and not (asked and _LOOP in saved):
            continue
        where, what = ("loop" if _LOOP in names else "branch" for names in (asked, saved))
        raise LoopGradientError(
            f"a gradient is asked for in a {where}, and goes through a {what} before the {where}, "
            "which has saved its values for one gradient",
            cure=f"ask for the gradient right behind the {what}, or compute what it goes through "
            "where the gradient is asked for",
        )


def _begins_a_loop(value: Any) -> bool:
    return any(user.name() == _LOOP for user in value.all_used_ops())


def _holders(block: Any) -> dict[Any, str]:
    """The blocks around, this one too, with the names of the operations that they belong to."""
    found = {}
    while block.parent_block is not None:
        found[block] = block.parent_op.name()
        block = block.parent_block
    return found

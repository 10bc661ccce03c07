"""Paddle's own builder of gradients, with its text corrected where a gradient is wrong.

Each entry of ``_REPAIRS`` is a piece of the text of Paddle, and what it has to be.  Where the
text differs, nothing is corrected, and gradients of nested control flow are refused (D2S307).
"""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any, Final

import paddle

from d2s.paddle_bridge.capturing.leaves import is_cut
from d2s.paddle_bridge.capturing.parameters import keeping_no_parameters
from d2s.paddle_bridge.gate import static_lock
from d2s.paddle_bridge.gradients.absent import without_absent
from d2s.paddle_bridge.gradients.current import as_written
from d2s.paddle_bridge.gradients.saved import save_what_is_read
from d2s.paddle_bridge.names import build_while_op, cf_yield, core, ir_backward, pir
from d2s.paddle_bridge.values import is_array
from d2s.paddle_bridge.walks import arguments_of, blocks_of, inside, remove_unread

_REPAIRS: Final = (
    (
        "[input[0] for input in inputs[1:]],",
        "[*origin_inputs[1:], *[item[0] for item in inputs[len(origin_inputs):]]],",
    ),
    ("[input[0] for input in inputs],", "list(origin_inputs),"),
    (
        "0.0, input, input, sub_state, backward_ops",
        "0.0, return_map_value(input, control_flow_value_to_copyvalue_map), input, "
        "sub_state, backward_ops",
    ),
    (
        "                    # all(zero_flag) support this op has no contribution for grad\n",
        "                    if _hands_on_nothing(op):\n                        continue\n",
    ),
    (
        "                                if len(sub_state.value_to_valuegrad[input]) > 1:\n"
        "                                    append_add_n(\n"
        "                                        op,\n"
        "                                        input,\n"
        "                                        state,\n",
        "                                if len(sub_state.value_to_valuegrad[input]) > 1:\n"
        "                                    append_add_n(\n"
        "                                        op,\n"
        "                                        input,\n"
        "                                        sub_state,\n",
    ),
    (
        "or sub_state.value_to_valuegrad[input] == []\n",
        "or sub_state.value_to_valuegrad[input] == []\n"
        "or sub_state.value_to_valuegrad[input][0][0] is None\n",
    ),
    (
        "new_cond = paddle.base.libpaddle.pir.cf_has_elements(base_op)",
        "new_cond = _more_trips(base_op, control_flow_value_to_copyvalue_map)",
    ),
    (
        "if while_prune_check(while_tuple_ops):",
        "if not _marked(base_op) and _is_unread(while_tuple_ops):",
    ),
    (
        "                        # update grad_op structure\n                        (\n",
        "                        _enter_again(op, grad_op, control_flow_value_to_copyvalue_map)\n"
        "                        (\n",
    ),
    (
        "total_ops = parent_total_ops(block)",
        "total_ops = _differentiated(visible_to(block))",
    ),
    (
        "    if all_stop_gradient_true(block):\n",
        "    if block.parent_block is None and all_stop_gradient_true(block):\n",
    ),
    (
        "    if is_inplace_net(forward_ops):\n",
        "    forward_ops = _in_question(_differentiated(forward_ops), state, base_op)\n"
        "    if is_inplace_net(forward_ops):\n",
    ),
    ("get_real_op_inputs(op), get_grad_sem", "_inputs_of(op), get_grad_sem"),
    (
        'if op.name() == "pd_op.if":\n'
        "                        origin_inputs = get_real_op_inputs(op)",
        'if op.name() == "pd_op.if":\n                        origin_inputs = _inputs_of(op)',
    ),
    (
        'if op.name() == "pd_op.while":\n'
        "                        origin_inputs = get_real_op_inputs(op)",
        'if op.name() == "pd_op.while":\n                        origin_inputs = _inputs_of(op)',
    ),
    ("get_used_external_value(while_block)", "_without_stacks(while_block)"),
    (
        "pir_op_name_guard(op.name() + '_grad'),\n"
        "                        ):\n"
        "                            input_grads = paddle.framework.core.call_vjp(",
        "pir_op_name_guard(op.name() + '_grad'),\n"
        "                        ):\n"
        "                            input_grads = _derivative(",
    ),
    (
        "    # now value_to_valuegrad should be value <-> value",
        "    for input in inputs:\n"
        "        if len(state.value_to_valuegrad[input]) > 1:\n"
        "            append_add_n(\n"
        "                input.get_defining_op(), input, state, backward_ops, ValueDict()\n"
        "            )\n"
        "    # now value_to_valuegrad should be value <-> value",
    ),
)
"""What is wrong in Paddle 3.3's ``ir_backward``, and what it should be.

Inside the gradient of a branch or loop, the values of an inner ``if`` or ``while`` are looked up
by their saved copies instead of by themselves, so no gradient is found and zero is yielded: the
gradient of an ``if`` inside a ``while`` is silently 0.  The third one uses a value of the forward
block, instead of its saved copy, for the shape of a zero.  The fourth leaves out branches and
loops that hand on nothing differentiable, which otherwise read saved values before they are back.
The fifth adds up all uses of a value behind a loop before it goes into the loop's accumulator, not
only the first of them.  The sixth gives a loop a zero to start from for a value that has had no
gradient from the code behind it, where Paddle passes ``None`` on and fails.  The next three belong
to :func:`mark_inner_loops`: how far a loop goes back, that its mark is not dropped unread, and
whether it is entered at all.  The others are for several gradients of one program, which Paddle
knows as gradients of gradients only: operations of earlier gradients and of optimizers are left
out (and arrays beside them: :func:`_in_question`), and so are the stacks on which a block has saved
for an earlier gradient; and the gradients of all uses of an input are added up also where the
operation that has made it is left out.  The last but one is for derivatives that are differentiated
again: :func:`_derivative`.
"""

LEFT_OUT: set[int] = set()
"""Operations that no gradient goes through: optimizers' steps and earlier gradients."""


_IN_PARTS: Final = (
    "pd_op.add",
    "pd_op.subtract",
    "pd_op.multiply",
    "pd_op.divide",
    "pd_op.reshape",
)
"""Operations whose second derivatives have none in a program."""

_AGAIN: list[bool] = []
"""Not empty while derivatives are built that may be differentiated again."""


@contextlib.contextmanager
def derivatives_to_come() -> Iterator[None]:
    """Let the derivatives that are built meanwhile have derivatives themselves."""
    _AGAIN.append(True)
    try:
        yield
    finally:
        _AGAIN.pop()


def _derivative(
    operation: Any, inputs: Any, outputs: Any, gradients: Any, stops: list[list[bool]]
) -> Any:
    """The gradients of the inputs of ``operation``.

    Where they are to be differentiated once more, or are second derivatives,

    - ``exp_grad``, ``where_grad`` and their like, which have no derivative in a program, are made
      of operations that have one;
    - the others have a result for every input.  Without one, what differentiates them takes the
      derivative for zero, or another number, or ends the process.

    Args:
        operation: of the forward part.
        inputs, outputs: its values, as lists of tensors.
        gradients: those of the outputs.
        stops: whether no gradient goes to the tensors of each input that may have one.
    """
    inputs, outputs = as_written(operation, inputs, outputs)
    if not _AGAIN and not operation.name().endswith("_grad"):
        return core.call_vjp(operation, inputs, outputs, gradients, stops)
    if _AGAIN and operation.name() in _IN_PARTS:
        with _primitive():
            return core.call_vjp(operation, inputs, outputs, gradients, stops)
    semantic = zip(inputs, ir_backward.get_grad_semantic_info(operation), strict=False)
    differentiable = [values for values, wanted in semantic if wanted]
    every = [
        [stop and not _is_floating(value) for value, stop in zip(values, flags, strict=True)]
        for values, flags in zip(differentiable, stops, strict=True)
    ]
    made = core.call_vjp(operation, inputs, outputs, gradients, every)
    maker = next(
        (value.get_defining_op() for values in made for value in values if value is not None), None
    )
    if _AGAIN and maker is not None and not core.has_vjp(maker):
        remove_unread(maker)
        with _primitive():
            return core.call_vjp(operation, inputs, outputs, gradients, stops)
    return [
        [None if stop else value for value, stop in zip(values, flags, strict=True)]
        for values, flags in zip(made, stops, strict=True)
    ]


@contextlib.contextmanager
def _primitive() -> Iterator[None]:
    before = core._is_bwd_prim_enabled()  # type: ignore[attr-defined]
    core._set_prim_backward_enabled(True)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        core._set_prim_backward_enabled(before)  # type: ignore[attr-defined]


def _is_floating(value: Any) -> bool:
    return not pir.is_fake_value(value) and paddle.is_floating_point(value)


def visible_to(block: Any) -> list[Any]:
    """The operations of ``block`` and, before those that hold it, of all blocks around it.

    Paddle's own stops at the second block, and takes the branch or loop that is being built for one
    that has been.
    """
    found = list(block.ops)
    while block.parent_block is not None:
        holder, block = block.parent_op.id(), block.parent_block
        ids = [each.id() for each in block.ops]
        found[:0] = block.ops[: ids.index(holder)]
    return found


def _is_in_block(value: Any, block: Any) -> bool:
    """Whether ``block``, or one around it, makes ``value``, or is a loop body that is given it."""
    maker = value.get_defining_op()
    around = block
    while around is not None:
        if maker is None and any(each.id == value.id for each in arguments_of(around)):
            return True
        if maker is not None and maker.get_parent_block() == around:
            return True
        around = around.parent_block
    return False


def _differentiated(operations_: list[Any]) -> list[Any]:
    return [
        operation
        for operation in operations_
        if operation.id() not in LEFT_OUT and not is_cut(operation)
    ]


def _in_question(operations_: list[Any], state: Any, around: Any) -> list[Any]:
    """The operations that gradients go back through, if others among them write into arrays.

    Paddle takes operations that do so as they stand, and all others as dygraph does, which decides
    the order in which the gradients of several uses are added up.  An array that a loop beside them
    fills must not change it.

    Args:
        operations_: those that can be seen.
        state: what Paddle knows of the gradients so far.
        around: the branch or loop in which they stand, if it is differentiated as a whole.
    """
    if around is not None or not ir_backward.is_inplace_net(operations_):
        return operations_
    wanted = {value.id for value in state.value_to_valuegrad.keys()}  # noqa: SIM118 - of Paddle's
    found: list[Any] = []
    for operation in reversed(operations_):
        if any(result.id in wanted for result in ir_backward.get_real_op_outputs(operation)):
            found.append(operation)
            wanted.update(value.id for value in ir_backward.get_real_op_inputs(operation))
    values = [value for each in found for value in (*each.operands_source(), *each.results())]
    if ir_backward.is_inplace_net(found) or any(map(is_array, values)):
        return operations_
    return found[::-1]


def _inputs_of(operation: Any) -> list[Any]:
    """The inputs of ``operation`` that may have gradients, and the condition."""
    if operation.name() == "pd_op.if":
        return _without_stacks(operation)
    if operation.name() == "pd_op.while":
        (body,) = operation.blocks()
        return [*operation.operands_source(), *_without_stacks(body)]
    return list(ir_backward.get_real_op_inputs(operation))


def _without_stacks(part: Any) -> list[Any]:
    """What ``part`` reads from outside, without stacks on which it saves for a gradient."""

    def wanted(value: Any) -> bool:
        return bool(
            pir.is_fake_value(value)
            or value.is_dense_tensor_type()
            or value.is_dense_tensor_array_type()
            or value.is_combine()
            or value.is_selected_row_type()
        )

    return [value for value in pir.get_used_external_value(part) if wanted(value)]


def _loop_variables(operation: Any) -> tuple[Any, Any]:
    """What the variables of a loop begin with, and the variable of each such value.

    Paddle's own function keeps what ``block_arguments`` gives, which are no values but references
    into the block: see :func:`arguments_of`.
    """
    begins, variables = ir_backward.ValueDict(), ir_backward.ValueDict()
    if operation.name() == "pd_op.while":
        (body,) = operation.blocks()
        inits = operation.operands_source()[1:]
        for variable, value in zip(arguments_of(body), inits, strict=True):
            begins[variable] = value
            variables[value] = variable
    return begins, variables


def _hands_on_nothing(operation: Any) -> bool:
    """Whether a branch or loop has no differentiable result and writes into no TensorArray."""
    return (
        operation.name() in ("pd_op.if", "pd_op.while")
        and all(value.stop_gradient for value in operation.results())
        and not any(inner.name() == "pd_op.array_write_" for inner in inside(operation))
    )


_MARKED: Final = "d2s_marked"
"""An attribute of the loops that :func:`mark_inner_loops` has made."""


def mark_inner_loops(program: Any) -> list[int]:
    """Let every ``while`` inside a ``while`` save which of its trips are first ones.

    Paddle keeps what the trips of a loop save on one stack, and the gradient of the loop takes
    trips back until the stack is empty.  For a loop inside another one that is too far: the first
    time that the outer loop goes back, the inner one takes back the trips of all its entries.
    So such a loop gets one variable more, which is false in the first trip after an entry and
    true in all others, and true behind the loop if there was a trip.  Its saved copies are the
    conditions of the gradient: :func:`_enter_again` and :func:`_more_trips`.

    Returns:
        The ids of the values that are gone, others having taken their place.
    """

    def treat(block: Any, inside: bool) -> None:
        for operation in list(block.ops):
            loop = operation.name() == "pd_op.while"
            for inner in blocks_of(operation):
                treat(inner, inside or loop)
            if loop and inside and not _marked(operation) and not _hands_on_nothing(operation):
                (body,) = operation.blocks()
                gone.extend(value.id for value in [*arguments_of(body), *operation.results()])
                _mark(operation)

    gone: list[int] = []
    with paddle.static.program_guard(program):
        treat(program.global_block(), False)
    return gone


def _mark(loop: Any) -> None:
    """Replace ``loop`` by the same one with the variable of :func:`mark_inner_loops` at the end.

    A loop that is complete cannot be given another variable, so its body moves into a new one.
    """
    (before,) = loop.blocks()
    paddle.pir.set_insertion_point(loop)
    pred, *inits = loop.operands_source()
    made = build_while_op(pred, [*inits, paddle.assign(paddle.full([], False, "bool"))])
    operation = made.as_operation()
    operation.set_bool_attr(_MARKED, True)
    with made.body() as body:
        later = paddle.full([], True, "bool")
        *trip, end = before.ops
        for inner in trip:
            inner.move_before(later.get_defining_op())
        cf_yield([*end.operands_source(), paddle.assign(later)])
    *arguments, mark = arguments_of(body)
    *results, entered = operation.results()
    mark.stop_gradient = entered.stop_gradient = True
    for old, new in zip(
        [*arguments_of(before), *loop.results()], [*arguments, *results], strict=True
    ):
        new.set_type(old.type())
        new.stop_gradient = old.stop_gradient
        old.replace_all_uses_with(new)
    loop.get_parent_block().remove_op(loop)


def _marked(operation: Any) -> bool:
    """Whether ``operation`` is a loop that :func:`mark_inner_loops` has made."""
    return bool(operation.has_attr(_MARKED))


def _is_unread(saving: list[Any]) -> bool:
    """Whether a stack on which a block saves can go.

    A loop asks its own for the number of trips, also where no value of it is read; Paddle ends the
    process then.

    Args:
        saving: takes values off the stack, puts them there, makes it; empty without one.
    """
    return bool(
        saving
        and saving[2].result(0).use_empty()
        and all(value.use_empty() for value in saving[0].results())
    )


def _more_trips(loop: Any, copies: Any) -> Any:
    """Whether the gradient of ``loop``, which is being built, has another trip to take back.

    Args:
        loop: the loop of the forward part.
        copies: the saved copy of each value.
    """
    if not _marked(loop):
        return pir.cf_has_elements(loop)
    (body,) = loop.blocks()
    return paddle.assign(copies[arguments_of(body)[-1]])


def _enter_again(loop: Any, gradient: Any, copies: Any) -> None:
    """Let the gradient of ``loop`` have a first trip only if this entry of ``loop`` had one."""
    if not _marked(loop):
        return
    asked = gradient.operand_source(0).get_defining_op()
    gradient.operand(0).set_source(copies[loop.results()[-1]])
    asked.get_parent_block().remove_op(asked)


def _repaired_gradients() -> Any:
    """Paddle's gradient function, repaired where this version has the defect."""
    text = inspect.getsource(ir_backward)
    if any(text.count(wrong) != 1 for wrong, _ in _REPAIRS):
        return ir_backward.grad  # another version: see refuse_untried
    for wrong, right in _REPAIRS:
        text = text.replace(wrong, right)
    module = types.ModuleType(ir_backward.__name__)
    module.__file__ = ir_backward.__file__
    for helper in (
        _derivative,
        _differentiated,
        _in_question,
        visible_to,
        _inputs_of,
        _without_stacks,
        _hands_on_nothing,
        _marked,
        _is_unread,
        _more_trips,
        _enter_again,
    ):
        module.__dict__[helper.__name__] = helper
    exec(compile(text, str(ir_backward.__file__), "exec"), module.__dict__)
    module.__dict__["value_in_block"] = _is_in_block  # Paddle's fails for a loop variable
    module.__dict__["argument_to_value"] = _loop_variables
    return module.grad


_gradients: Any = None


def gradient_function() -> Any:
    """:func:`_repaired_gradients`, made once."""
    global _gradients
    with static_lock:
        if _gradients is None:
            _gradients = _repaired_gradients()
        return _gradients


def differentiate(outputs: Any, inputs: Any, grad_outputs: Any) -> Any:
    """The gradients of ``inputs``, after which blocks save only what the gradients read."""
    program = paddle.static.default_main_program()
    block = program.global_block()
    before = [operation.id() for operation in block.ops]
    seeds = paddle.utils.flatten(grad_outputs or [])
    with keeping_no_parameters(program):
        found = gradient_function()(outputs, inputs, grad_outputs)
    made = without_absent(block, before, seeds, found)
    with paddle.static.program_guard(program):
        save_what_is_read(program)
    return made

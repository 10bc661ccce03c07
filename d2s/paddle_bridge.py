"""The only module that touches names of Paddle that are not public.

Tried on Paddle 3.3.1 (CPU).  Everything private is looked up here, once, at import, so that a
version where a name is gone fails at ``import d2s`` with one clear message (D2S104).

What each private name is for:

==============================  ==========================================================
``pir.build_if_op``             an ``if`` whose two sides can be unified after both are captured
``pir.build_while_op``          a ``while`` whose loop variables are known only after its body
``pir.cf_yield``                the values that a block hands out
``pir.create_shaped_type``      a loop variable whose dimension is relaxed to -1
``graph_tracing_guard``         tensors of dygraph become parameters of the program
``_convert_into_value``         one tensor of dygraph as a parameter of the program
``PartialProgramLayer``         forward/backward split and run of a captured program
``ConcreteProgram``             what ``paddle.jit.save`` and friends read
``ASTStaticFunction``           the base of our ``StaticFunction`` (G3)
``StaticPyLayerContext``        what a ``PyLayer`` saves for its backward, in a program
``ir_backward``                 gradients inside one program, repaired
``core.eager.run_backward``     a coded error that a backward raises reaches the user as it is
``apply_general_passes``        Paddle's passes over a program that is about to run, repaired
``core.globals``                the interpreter's trace mode, set and restored around a run
==============================  ==========================================================
"""

from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import threading
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import paddle

from d2s.errors import LoopGradientError, PaddleVersionError

TRIED: Final = ("3.3.1",)
"""Versions of Paddle on which the private names below were tried."""


def _refuse(reason: object, version: str = "") -> PaddleVersionError:
    version = version or str(getattr(paddle, "__version__", "unknown"))
    return PaddleVersionError(
        f"Paddle {version} is not one that d2s works with ({reason})",
        cure=f"install Paddle {TRIED[-1]}: pip install 'paddlepaddle=={TRIED[-1]}'",
    )


def check_version(version: str) -> None:
    """Refuse a Paddle that is not 3.x.

    Raises:
        PaddleVersionError: (D2S104) it is another one.
    """
    major = version.split(".")[0]
    if major != "3" and version != "0.0.0":  # 0.0.0 is a build from source
        raise _refuse(f"d2s needs 3.x, tried on {', '.join(TRIED)}", version)


check_version(str(getattr(paddle, "__version__", "unknown")))

try:
    from paddle.autograd import ir_backward
    from paddle.base import core
    from paddle.base.dygraph.base import in_to_static_mode, switch_to_static_graph
    from paddle.base.libpaddle import pir
    from paddle.jit.dy2static import pir_partial_program
    from paddle.jit.dy2static.parameter_recorder import (
        _global_inplace_map,
        _global_parameter_recorder,
    )
    from paddle.jit.dy2static.pir_partial_program import PartialProgramLayer
    from paddle.jit.dy2static.program_translator import ASTStaticFunction, ConcreteProgram
    from paddle.jit.dy2static.py_layer import StaticPyLayerContext
    from paddle.jit.dy2static.utils import Backend, graph_tracing_guard
    from paddle.pir.core import _convert_into_value
    from paddle.tensor.manipulation import tensor_array_to_tensor

    Value = paddle.pir.Value
    EagerTensor = core.eager.Tensor
    build_if_op, build_while_op, cf_yield = pir.build_if_op, pir.build_while_op, pir.cf_yield
    create_shaped_type = pir.create_shaped_type
    _passes = pir_partial_program.apply_general_passes
except (ImportError, AttributeError) as error:  # pragma: no cover - another Paddle
    raise _refuse(error) from error

__all__ = [
    "ASTStaticFunction",
    "Backend",
    "ConcreteProgram",
    "EagerTensor",
    "PartialProgramLayer",
    "Value",
    "switch_to_static_graph",
]


_build_lock: Final = threading.RLock()


# -- values --------------------------------------------------------------------------------------


def is_value(thing: object) -> bool:
    """Whether ``thing`` is a tensor of a program that is being captured."""
    return isinstance(thing, Value)


def is_fake(value: Any) -> bool:
    """Whether ``value`` stands for an absent operand."""
    return bool(pir.is_fake_value(value))


def is_eager(thing: object) -> bool:
    """Whether ``thing`` is a tensor of dygraph (a parameter too)."""
    return isinstance(thing, EagerTensor)


def as_value(tensor: Any) -> Any:
    """The value that stands for a dygraph tensor in the program being captured."""
    return _convert_into_value(tensor)


def tensor_of(value: Any) -> Any:
    """The dygraph tensor that ``value`` stands for, or ``None``."""
    for key, tensors in _global_parameter_recorder.params_dict.items():
        known = _global_parameter_recorder.tensor2value[key]
        for tensor in tensors:
            if known[id(tensor)].id == value.id:
                return tensor
    return None


def inside_to_static() -> bool:
    """Whether Paddle (or d2s) is capturing a function, rather than the user building a program."""
    return bool(in_to_static_mode())


def capturing() -> bool:
    """Whether operations go into a program rather than being run."""
    return not paddle.in_dynamic_mode()


def relax(value: Any, shape: Sequence[int]) -> None:
    """Give ``value`` the static shape ``shape`` (-1 for a dimension that may vary)."""
    value.set_type(create_shaped_type(value.type(), list(shape)))


def take_dtype(value: Any, like: Any) -> None:
    """Declare that ``value`` has the dtype of ``like``, where Paddle declares another."""
    value.set_type(create_shaped_type(like.type(), list(value.shape)))


def callstack(operation: Any) -> list[str]:
    """The Python call stack under which ``operation`` was made, as text."""
    return list(operation.callstack)


# -- control flow --------------------------------------------------------------------------------


class IfOp:
    """An ``if`` of a program: both sides are captured, then unified, then yield."""

    def __init__(self, pred: Any) -> None:
        self._op = build_if_op(pred)

    def side(self, which: bool) -> Any:
        """The context in which the true (or false) side is captured; may be entered again."""
        return self._op.true_block() if which else self._op.false_block()

    def makes(self, value: Any) -> bool:
        """Whether ``value`` is made inside one of the sides; code around cannot see it."""
        mine = self._op.as_operation().id()
        operation = value.get_defining_op()
        while operation is not None:
            block = operation.get_parent_block()
            operation = None if block is None else block.parent_op
            if operation is not None and operation.id() == mine:
                return True
        return False

    def finish(self, true: list[Any], false: list[Any]) -> list[Any]:
        """Yield the two lists of values, one for one, and return the results."""
        with self._op.true_block():
            cf_yield(true)
        with self._op.false_block():
            cf_yield(false)
        self._op.update_output()
        results = list(self._op.results())
        for result, left, right in zip(results, true, false, strict=True):
            result.stop_gradient = left.stop_gradient and right.stop_gradient
        return results

    def drop(self) -> None:
        """Take the operation out of the program again."""
        operation = self._op.as_operation()
        operation.get_parent_block().remove_op(operation)


class WhileOp:
    """A ``while`` of a program over values that are known to be loop variables."""

    def __init__(self, pred: Any, inits: list[Any]) -> None:
        # The loop writes its later conditions over the first one, which others may read.
        self._op = build_while_op(paddle.assign(pred), inits)
        self._inits = inits

    @contextlib.contextmanager
    def body(self) -> Iterator[list[Any]]:
        """The context in which the body is captured; gives the loop variables inside."""
        with self._op.body() as block:
            arguments = [argument._clone() for argument in block.args()]
            for argument, init in zip(arguments, self._inits, strict=True):
                argument.stop_gradient = init.stop_gradient
            yield arguments

    def finish(self, pred: Any, values: list[Any]) -> list[Any]:
        """Yield from within :meth:`body`; call :meth:`results` outside of it."""
        pred.stop_gradient = True
        cf_yield([pred, *values])
        return values

    def results(self) -> list[Any]:
        """The loop variables after the loop."""
        return list(self._op.optimize_update())

    def drop(self) -> None:
        """Take the operation out of the program again."""
        operation = self._op.as_operation()
        operation.get_parent_block().remove_op(operation)


def with_item(value: Any, key: Any, item: Any) -> Any:
    """A new value: ``value`` after ``value[key] = item``.

    ``paddle.static.setitem`` writes into its operand, whose old contents a gradient may need; the
    same operations exist without the writing.  The gradient of the operation that takes a
    constant is wrong (the overwritten item still gets one), so constants become tensors.
    """
    if isinstance(item, bool | int | float):
        item = paddle.full([], item, value.dtype)
    elif not is_value(item) and not is_eager(item):
        item = paddle.cast(paddle.to_tensor(item), value.dtype)
    operations_ = paddle._C_ops
    names = ("set_value_", "set_value_with_tensor_", "index_put_")
    with _build_lock:
        before = {name: getattr(operations_, name) for name in names}
        for name in names:
            setattr(operations_, name, getattr(operations_, name[:-1]))
        try:
            return paddle.static.setitem(value, key, item)
        finally:
            for name, original in before.items():
                setattr(operations_, name, original)


def array_to_tensor(array: Any) -> Any:
    """The elements of a TensorArray, stacked along a new first axis."""
    stacked, _ = tensor_array_to_tensor(array, axis=0, use_stack=True)
    return stacked


# -- capture -------------------------------------------------------------------------------------

_ARITHMETIC: Final = [
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__rtruediv__",
    "__floordiv__",
    "__rfloordiv__",
    "__mod__",
    "__rmod__",
    "__pow__",
    "__rpow__",
    "__matmul__",
    "__rmatmul__",
    "__and__",
    "__rand__",
    "__or__",
    "__ror__",
    "__xor__",
    "__rxor__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__eq__",
    "__ne__",
    "__neg__",
    "__invert__",
    "__getitem__",
    "__abs__",
]
_patch_lock = threading.RLock()
_patch_depth = 0
_saved: list[tuple[type, str, Any]] = []


def _eager_operator(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Any, *others: Any) -> Any:
        if paddle.in_dynamic_mode():
            return original(self, *others)
        return getattr(as_value(self), name)(*others)

    return operator


def _value_operator(
    name: str,
    original: Callable[..., Any],
    adapt: Callable[[Any, Any], Any],
    finish: Callable[[tuple[Any, ...], str, Any], Any],
) -> Any:
    if name == "__getitem__":
        return original

    def operator(self: Any, *others: Any) -> Any:
        adapted = [adapt(self, other) for other in others]
        if any(operand is NotImplemented for operand in adapted):
            return NotImplemented
        mine = adapt(others[0], self) if others and is_value(others[0]) else self
        return finish((self, *others), name, original(mine, *adapted))

    return operator


@contextlib.contextmanager
def tensors_as_values(
    adapt: Callable[[Any, Any], Any],
    finish: Callable[[tuple[Any, ...], str, Any], Any],
    refusals: dict[str, Callable[..., Any]],
) -> Iterator[None]:
    """While a program is captured, let dygraph tensors take part in expressions.

    Paddle 3.3 crashes when an operator of a dygraph tensor is called in static mode.  For the
    time of the capture the operators of both classes are wrapped; in dygraph mode (of another
    thread, say) the wrappers call the originals.

    Args:
        adapt: makes the second of two operands fit the first; ``NotImplemented`` leaves the
            expression to the second one.
        finish: sees the operands, the operator's name and the result, and gives the result.
        refusals: methods of values that are replaced, such as ``__bool__``.
    """
    global _patch_depth
    with _patch_lock:
        _patch_depth += 1
        if _patch_depth == 1:
            for name in _ARITHMETIC:
                for owner in (EagerTensor, Value):
                    original = getattr(owner, name, None)
                    if original is None:
                        continue
                    _saved.append((owner, name, original))
                    if owner is EagerTensor:
                        setattr(owner, name, _eager_operator(name, original))
                    else:
                        setattr(owner, name, _value_operator(name, original, adapt, finish))
            for name, method in refusals.items():
                _saved.append((Value, name, getattr(Value, name, None)))
                setattr(Value, name, method)
    try:
        yield
    finally:
        with _patch_lock:
            _patch_depth -= 1
            if _patch_depth == 0:
                while _saved:
                    owner, name, original = _saved.pop()
                    if original is None:
                        delattr(owner, name)
                    else:
                        setattr(owner, name, original)


_gc_lock = threading.Lock()
_gc_depth = 0
_gc_before = True


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Keep Python's cyclic garbage collector out while a program is captured or differentiated.

    With the collector running, Paddle 3.3.1 was now and then left with dangling values while it
    built gradients, and the process died (4 of 4 runs of 40 captures under an eager collector);
    without it, in none of 6.  That freeing the program of a function that is gone is what does it
    is our guess.
    """
    global _gc_depth, _gc_before
    with _gc_lock:
        _gc_depth += 1
        if _gc_depth == 1:
            _gc_before = gc.isenabled()
            gc.disable()
    try:
        yield
    finally:
        with _gc_lock:
            _gc_depth -= 1
            if _gc_depth == 0 and _gc_before:
                gc.enable()


@contextlib.contextmanager
def tracing(program: Any) -> Iterator[Any]:
    """Capture into ``program``; dygraph tensors become its parameters (``get_params…`` after)."""
    startup = paddle.static.Program()
    try:
        with (
            paddle.static.program_guard(program, startup),
            graph_tracing_guard(program) as context,
        ):
            yield context
    except BaseException:
        # Paddle keeps the parameters of a capture under the id of its program and forgets them
        # only when all went well; the next program with this id would get dangling values.
        _global_parameter_recorder.pop(program)
        _global_inplace_map.pop(program)
        raise


def erase_unread(program: Any, prefix: str) -> int:
    """Remove operations whose name begins with ``prefix`` and whose results nobody reads."""

    def sweep(block: Any) -> int:
        count = 0
        for operation in list(block.ops):
            for inner in operation.blocks():
                count += sweep(inner)
            if operation.name().startswith(prefix) and all(
                result.use_empty() for result in operation.results()
            ):
                block.remove_op(operation)
                count += 1
        return count

    return sweep(program.global_block())


def is_chosen(value: Any) -> bool:
    """Whether ``value`` comes out of a branch or loop, or is carried by one."""
    operation = value.get_defining_op()
    return operation is None or operation.name() in ("pd_op.if", "pd_op.while")


def misplaced(program: Any) -> tuple[Any, Any] | None:
    """The first operation that uses a value of a block that it cannot see, with the value."""

    def check(block: Any, visible: set[int]) -> tuple[Any, Any] | None:
        visible = visible | {argument.id for argument in block.args()}
        for operation in block.ops:
            for value in operation.operands_source():
                if not pir.is_fake_value(value) and value.id not in visible:
                    return operation, value
            for inner in operation.blocks():
                found = check(inner, visible)
                if found is not None:
                    return found
            visible.update(result.id for result in operation.results())
        return None

    return check(program.global_block(), set())


def is_visible(value: Any) -> bool:
    """Whether the operation that is made next can use ``value``."""
    block = paddle.pir.get_current_insertion_point().block()
    operation = value.get_defining_op()
    if operation is None:  # an argument of a block: of the loops around, the innermost ones'
        return True
    home = operation.get_parent_block()
    while block is not None:
        if block == home:
            return True
        outer = block.parent_op
        block = None if outer is None else outer.get_parent_block()
    return False


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


def operations(program: Any) -> Iterator[Any]:
    """Every operation of ``program``, those inside branches and loops too."""
    stack = [program.global_block()]
    while stack:
        for operation in stack.pop().ops:
            yield operation
            stack.extend(operation.blocks())


def _inside(operation: Any) -> Iterator[Any]:
    """Every operation in the blocks of ``operation``, in the order of the program."""
    for block in operation.blocks():
        for inner in block.ops:
            yield inner
            yield from _inside(inner)


def static_py_layer(
    forward: Callable[..., Any], backward: Callable[..., Any]
) -> Callable[[list[Any]], Any]:
    """From the inputs of a ``PyLayer`` with this forward and backward to its outputs."""
    context = StaticPyLayerContext()

    def apply(inputs: list[Any]) -> Any:
        return paddle.static.nn.static_pylayer(
            forward_fn=lambda *values: forward(context, *values),
            inputs=inputs,
            backward_fn=lambda *gradients: backward(context, *gradients),
        )

    return apply


# -- gradients -----------------------------------------------------------------------------------

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
        "if not _marked(base_op) and while_prune_check(while_tuple_ops):",
    ),
    (
        "                        # update grad_op structure\n",
        "                        _enter_again(op, grad_op, control_flow_value_to_copyvalue_map)\n",
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
gradient from the code behind it, where Paddle passes ``None`` on and fails.  The last three belong
to :func:`_mark_inner_loops`: how far a loop goes back, that its mark is not dropped unread, and
whether it is entered at all.
"""


def _hands_on_nothing(operation: Any) -> bool:
    """Whether a branch or loop has no differentiable result and writes into no TensorArray."""
    return (
        operation.name() in ("pd_op.if", "pd_op.while")
        and all(value.stop_gradient for value in operation.results())
        and not any(inner.name() == "pd_op.array_write_" for inner in _inside(operation))
    )


_MARKED: Final = "d2s_marked"
"""An attribute of the loops that :func:`_mark_inner_loops` has made."""


def _mark_inner_loops(program: Any) -> None:
    """Let every ``while`` inside a ``while`` save which of its trips are first ones.

    Paddle keeps what the trips of a loop save on one stack, and the gradient of the loop takes
    trips back until the stack is empty.  For a loop inside another one that is too far: the first
    time that the outer loop goes back, the inner one takes back the trips of all its entries.
    So such a loop gets one variable more, which is false in the first trip after an entry and
    true in all others, and true behind the loop if there was a trip.  Its saved copies are the
    conditions of the gradient: :func:`_enter_again` and :func:`_more_trips`.
    """

    def treat(block: Any, inside: bool) -> None:
        for operation in list(block.ops):
            loop = operation.name() == "pd_op.while"
            for inner in operation.blocks():
                treat(inner, inside or loop)
            if loop and inside and not _hands_on_nothing(operation):
                _mark(operation)

    with paddle.static.program_guard(program):
        treat(program.global_block(), False)


def _mark(loop: Any) -> None:
    """Replace ``loop`` by the same one with the variable of :func:`_mark_inner_loops` at the end.

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
    *arguments, mark = body.args()
    *results, entered = operation.results()
    mark.stop_gradient = entered.stop_gradient = True
    for old, new in zip([*before.args(), *loop.results()], [*arguments, *results], strict=True):
        new.set_type(old.type())
        new.stop_gradient = old.stop_gradient
        old.replace_all_uses_with(new)
    loop.get_parent_block().remove_op(loop)


def _marked(operation: Any) -> bool:
    """Whether ``operation`` is a loop that :func:`_mark_inner_loops` has made."""
    return bool(operation.has_attr(_MARKED))


def _more_trips(loop: Any, copies: Any) -> Any:
    """Whether the gradient of ``loop``, which is being built, has another trip to take back.

    Args:
        loop: the loop of the forward part.
        copies: the saved copy of each value.
    """
    if not _marked(loop):
        return pir.cf_has_elements(loop)
    (body,) = loop.blocks()
    return paddle.assign(copies[body.args()[-1]])


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
        return ir_backward.grad  # another version: see _refuse_untried
    for wrong, right in _REPAIRS:
        text = text.replace(wrong, right)
    module = types.ModuleType(ir_backward.__name__)
    module.__file__ = ir_backward.__file__
    for helper in (_hands_on_nothing, _marked, _more_trips, _enter_again):
        module.__dict__[helper.__name__] = helper
    exec(compile(text, str(ir_backward.__file__), "exec"), module.__dict__)
    return module.grad


_gradients: Any = None


def gradient_function() -> Any:
    """:func:`_repaired_gradients`, made once."""
    global _gradients
    with _build_lock:
        if _gradients is None:
            _gradients = _repaired_gradients()
        return _gradients


def _differentiate(outputs: Any, inputs: Any, grad_outputs: Any) -> Any:
    """The gradients of ``inputs``, after which blocks save only what the gradients read."""
    made = gradient_function()(outputs, inputs, grad_outputs)
    program = paddle.static.default_main_program()
    with paddle.static.program_guard(program):
        _save_what_is_read(program)
    return made


def _save_what_is_read(program: Any) -> None:
    """Let no block save a value that is not there when the program runs.

    Paddle saves everything that a block makes, read or not.  Some operations have results that
    their kernels leave empty, and a copy of one fails ("DenseTensor shouldn't be null"): what no
    gradient reads is not saved, for what one reads something else is, see :func:`_filled`.
    """
    for push in list(operations(program)):
        if push.name() != "cf.tuple_push":
            continue
        pops = push.operand_source(0).get_defining_op().result(2).all_used_ops()
        if any(pop.name() != "cf.tuple_pop" for pop in pops):
            continue
        nothing = None
        for index in range(1, push.num_operands()):
            value = push.operand_source(index)
            if not (value.is_dense_tensor_type() or value.is_combine()):
                continue
            saved = [pop.result(index - 1) for pop in pops]
            if all(copy.use_empty() for copy in saved):
                if nothing is None:
                    paddle.pir.set_insertion_point(push)
                    nothing = paddle.full([], False, "bool")
                filled = nothing
            else:
                filled = _filled(value)
            push.operand(index).set_source(filled)
            for copy in saved:
                copy.set_type(filled.type())


def _filled(value: Any) -> Any:
    """What a block saves for ``value``: the value, or an operand that can stand for it.

    The mask of a dropout that is not training is not read on the run; the ``xshape`` of an
    ``einsum`` is its operands.
    """
    origin = value.get_defining_op()
    name = "" if origin is None else origin.name()
    if name == "pd_op.dropout" and origin.attrs()["is_test"]:
        mask = origin.result(1)
        return origin.operand_source(0) if value.id == mask.id else value
    if name == "builtin.split":
        parts = origin.operand_source(0)
        source = parts.get_defining_op()
        if source.name() == "pd_op.einsum" and parts.id == source.result(2).id:
            index = [result.id for result in origin.results()].index(value.id)
            return _parts(source.operand_source(0))[index]
    return value


def _general_passes(program: Any, **options: Any) -> None:
    """Paddle's passes, after which no block reads a list of values that was made around it.

    The passes merge equal operations, those inside a block with those around it.  A block that
    reads a merged list of values without reading the values themselves frees them when it ends:
    for the next reader, "Tensor holds no memory".  So such a block makes its own list.
    """
    _passes(program, **options)

    def treat(block: Any, inside: bool) -> None:
        own: set[int] = set()
        for operation in list(block.ops):
            for operand in operation.operands() if inside else ():
                value = operand.source()
                if not pir.is_fake_value(value) and value.is_combine() and value.id not in own:
                    paddle.pir.set_insertion_point(operation)
                    operand.set_source(paddle._C_ops.builtin_combine(_parts(value)))
            own.update(result.id for result in operation.results())
            for inner in operation.blocks():
                treat(inner, True)

    with paddle.static.program_guard(program):
        treat(program.global_block(), False)


def _parts(values: Any) -> list[Any]:
    """The values of which the list ``values`` was made, or into which it is taken apart."""
    origin = values.get_defining_op()
    if origin.name() == "builtin.combine":
        return list(origin.operands_source())
    (split,) = (user for user in values.all_used_ops() if user.name() == "builtin.split")
    return list(split.results())


@contextlib.contextmanager
def _repaired_build() -> Iterator[None]:
    """Let Paddle build runnable programs with our corrections; under :data:`_build_lock`."""
    repaired = {"grad": _differentiate, "apply_general_passes": _general_passes}
    before = {name: getattr(pir_partial_program, name) for name in repaired}
    vars(pir_partial_program).update(repaired)
    try:
        yield
    finally:
        vars(pir_partial_program).update(before)


def _refuse_untried(program: Any) -> None:
    """Refuse gradients of nested branches and loops where the repairs do not fit.

    Raises:
        LoopGradientError: (D2S307) this version of Paddle is not one that was tried.
    """
    if gradient_function() is not ir_backward.grad:
        return
    nested = any(
        below.blocks()
        for operation in operations(program)
        for block in operation.blocks()
        for below in block.ops
    )
    if nested:
        raise LoopGradientError(
            f"gradients of nested branches and loops were not tried on Paddle {paddle.__version__}",
            cure=f"install Paddle {TRIED[-1]}, or train in dygraph",
        )


def _save_sources(program: Any) -> None:
    """Let a block save, instead of the first value of a loop variable, what it is a copy of.

    A ``while`` inside a branch consumes its first values, so the block around it cannot save
    them for its gradient ("DenseTensor shouldn't be null"); each is an ``assign`` of a value
    that can be saved.
    """
    for operation in operations(program):
        if operation.name() != "cf.tuple_push":
            continue
        for index in range(operation.num_operands()):
            value = operation.operand_source(index)
            origin = value.get_defining_op()
            if (
                origin is not None
                and origin.name() == "pd_op.assign"
                and any(user.name() == "pd_op.while" for user in value.all_used_ops())
            ):
                operation.operand(index).set_source(origin.operand_source(0))


def _copy_into_loops(program: Any) -> None:
    """Let branches inside a loop body read copies, made in that body, of values from outside.

    The gradient of a branch adds to the value that the accumulator had before the loop, not to
    the running one, when the branch reads a value from outside of the loop directly; a copy in
    the body is added up rightly.
    """

    def treat(body: Any) -> None:
        own = {argument.id for argument in body.args()}
        first = body.ops[0]
        own |= {result.id for operation in body.ops for result in operation.results()}
        copies: dict[int, Any] = {}
        for branch in list(body.ops):
            if branch.name() != "pd_op.if":
                continue
            made = set(own)
            for operation in _inside(branch):
                made |= {result.id for result in operation.results()}
                for block in operation.blocks():
                    made |= {argument.id for argument in block.args()}
            for operation in _inside(branch):
                for index in range(operation.num_operands()):
                    value = operation.operand_source(index)
                    if pir.is_fake_value(value) or value.id in made or value.stop_gradient:
                        continue
                    if not value.is_dense_tensor_type():
                        continue
                    if value.id not in copies:
                        paddle.pir.set_insertion_point(first)
                        copy = paddle.assign(value)
                        copy.stop_gradient = False
                        copies[value.id] = copy
                    operation.operand(index).set_source(copies[value.id])

    with paddle.static.program_guard(program):
        for operation in list(operations(program)):
            if operation.name() == "pd_op.while":
                (body,) = operation.blocks()
                treat(body)


def _keep_read_inside(program: Any) -> None:
    """Let the backward program have the contents of what its branches read.

    Paddle hands to it only shape and dtype of a value when those are all that its operations
    need, but does not look into branches: a branch that needs the contents fails with "Tensor
    holds no memory".

    Args:
        program: Paddle's pair of forward and backward, before it is run.
    """
    names = program.program_name_attr["no_need_buffers"]
    if not names:
        return
    block = program.backward_program.global_block()
    read = {
        value.id
        for operation in block.ops
        for inner in _inside(operation)
        for value in inner.operands_source()
        if not pir.is_fake_value(value)
    }
    given = block.kwargs()
    names[:] = [name for name in names if name not in given or given[name].id not in read]


# -- run -----------------------------------------------------------------------------------------

_TRACE: Final = "FLAGS_enable_pir_in_executor_trace_run"
_order_lock = threading.Lock()
_order_runs = 0
_order_before = False


@contextlib.contextmanager
def program_order() -> Iterator[None]:
    """Run programs in the interpreter's trace mode; the user's flag is restored at the end.

    Trace mode runs the operations one by one in the order of the program, so host operators keep
    theirs (serial mode does not: an operation runs as soon as its operands are there), and it is
    several times cheaper for small programs than the multi-thread mode.
    """
    global _order_runs, _order_before
    flags = core.globals()
    with _order_lock:
        _order_runs += 1
        if _order_runs == 1:
            _order_before = flags[_TRACE]
            flags[_TRACE] = True
    try:
        yield
    finally:
        with _order_lock:
            _order_runs -= 1
            if _order_runs == 0:
                flags[_TRACE] = _order_before


@contextlib.contextmanager
def _coded_gradients() -> Iterator[None]:
    """Give Paddle's failures to differentiate a program a code.

    Raises:
        LoopGradientError: (D2S307) Paddle fails, with its first line as the reason.
    """
    try:
        with warnings.catch_warnings():
            # Paddle's own backward asks values for their place, and warns that they have none.
            warnings.filterwarnings("ignore", message="Tensor do not have 'place' interface")
            yield
    except (RuntimeError, TypeError, ValueError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise LoopGradientError(
            f"Paddle cannot differentiate the branches and loops of this program ({reason})",
            cure="call the function under paddle.no_grad(), or train it in dygraph; append to "
            "lists once in each trip and pop outside of the loop",
        ) from error


class _BackwardError(threading.local):
    error: Exception | None = None


_backward = _BackwardError()
_backward_shown = False


def keep_backward_error(error: Exception) -> None:
    """Note what a backward function of ours is about to raise in this thread."""
    _backward.error = error


def show_backward_errors() -> None:
    """From now on ``backward`` and ``paddle.grad`` raise :func:`keep_backward_error`'s errors.

    Paddle turns whatever a ``PyLayer`` raises into an ``OSError`` with a traceback as its text.
    """
    global _backward_shown
    with _build_lock:
        if _backward_shown:
            return
        _backward_shown = True
        for name in ("run_backward", "run_partial_grad"):
            setattr(core.eager, name, _showing(getattr(core.eager, name)))


def _showing(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*arguments: Any, **options: Any) -> Any:
        _backward.error = None
        try:
            return original(*arguments, **options)
        except Exception:
            error, _backward.error = _backward.error, None
            if error is None:
                raise
        raise error.with_traceback(None)

    return run


class Program:
    """A captured program made ready to run: for inference, for training, or as one joint program.

    Args:
        main: the captured program; not changed after the first run.
        inputs: its input values.
        outputs: its output values, each once.
        parameters: dygraph tensors and the values that stand for them.
    """

    def __init__(
        self, main: Any, inputs: list[Any], outputs: list[Any], parameters: tuple[list[Any], ...]
    ) -> None:
        self.main = main
        self.inputs = inputs
        self.outputs = outputs
        self.parameters = parameters
        self._layer = PartialProgramLayer(main, inputs, outputs, parameters)
        # Paddle checks each output for a magic number and drops it; we never yield one.
        self._joint: tuple[Any, list[int]] | None = None
        self._lock = threading.RLock()

    def run(self, tensors: list[Any], *, training: bool) -> list[Any]:
        """Run the program; with ``training`` the outputs can be differentiated."""
        layer = self._layer
        attributes = self._prepared(layer, training)
        with self._lock:  # a program's scopes serve one thread at a time
            return list(layer.call_run_impl_with_hook(tensors, self.parameters[0], attributes))

    def gradients(
        self, tensors: list[Any], output_gradients: list[Any], parameters: list[Any]
    ) -> list[Any | None]:
        """Run the forward again together with its gradients, as one program.

        Args:
            tensors: the inputs of the forward.
            output_gradients: one tensor for each output with ``stop_gradient=False``.
            parameters: the tensors that the forward has read as its parameters.

        Returns:
            The gradient of each input and then of each parameter; ``None`` where there is none.
        """
        with self._lock:
            if self._joint is None:
                _refuse_untried(self.main)
                with _coded_gradients(), no_collection():
                    self._joint = self._build_joint()
                    self._prepared(self._joint[0], False)
        layer, found = self._joint
        attributes = self._prepared(layer, False)
        with self._lock, _coded_gradients():
            try:
                results = layer.call_run_impl_with_hook(
                    [*tensors, *output_gradients], parameters, attributes
                )
            except BaseException:
                self._joint = None  # its stacks hold what a run saved that did not end
                raise
        gradients: list[Any | None] = [None] * (len(self.inputs) + len(self.parameters[0]))
        for position, result in zip(found, results, strict=True):
            gradients[position] = result
        return gradients

    def _prepared(self, layer: Any, training: bool) -> Any:
        """What ``run_program`` needs; built on first use, with the repaired gradients."""
        with self._lock:
            layer.training = training
            built = "train_program" if training else "infer_program"
            if built in layer.__dict__:
                return layer._prepare_attributes(in_sot_mode=False)
            with _build_lock, no_collection(), _repaired_build():
                # Building a training program tells each parameter the type of its gradient,
                # which drops a gradient that it already has.
                gradients = [(tensor, tensor.grad) for tensor in layer._params]
                try:
                    if not training:
                        return layer._prepare_attributes(in_sot_mode=False)
                    _refuse_untried(self.main)
                    with _coded_gradients():
                        _keep_read_inside(layer.train_program)
                        return layer._prepare_attributes(in_sot_mode=False)
                finally:
                    for tensor, gradient in gradients:
                        if gradient is not None and tensor.grad is None:
                            tensor.grad = gradient

    @switch_to_static_graph  # type: ignore[untyped-decorator]
    def _build_joint(self) -> tuple[Any, list[int]]:
        copied = self._layer.origin_runnable_program.clone()
        inputs, parameters = list(copied.x_values), list(copied.param_values)
        outputs = list(copied.out_values)
        for copy, original in zip(outputs, self.outputs, strict=True):
            copy.stop_gradient = original.stop_gradient
        erase_unread(copied.program, "py_op.d2s_host")
        _copy_into_loops(copied.program)
        _mark_inner_loops(copied.program)
        with paddle.static.program_guard(copied.program):
            wanted = [value for value in outputs if not value.stop_gradient]
            seeds = []
            for index, value in enumerate(wanted):
                seed = paddle.static.data(f"d2s_gradient_{index}", value.shape, value.dtype)
                seeds.append(seed)
            made = _differentiate(wanted, [*inputs, *parameters], seeds)
        _save_sources(copied.program)
        found = [index for index, value in enumerate(made) if value is not None]
        with paddle.static.program_guard(copied.program):
            results = [paddle.assign(made[index]) for index in found]
        layer = PartialProgramLayer(
            copied.program, [*inputs, *seeds], results, (self.parameters[0], parameters)
        )
        return layer, found


def amp_state() -> tuple[Any, ...]:
    """What a program depends on of automatic mixed precision."""
    tracer = paddle.framework._dygraph_tracer()
    if tracer is None or tracer._amp_level == core.AmpLevel.O0:
        return ()
    return (str(tracer._amp_level), str(tracer._amp_dtype))

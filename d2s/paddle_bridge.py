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
``core.Scope``                  where the values of a run are, one for each run that goes on
``framework.global_var``        the mode of each thread, which a capture must not give to others
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
    from paddle.base import core, framework
    from paddle.base.core import _switch_tracer as switch_tracer  # type: ignore[attr-defined]
    from paddle.base.dygraph.base import in_to_static_mode, switch_to_static_graph
    from paddle.base.framework import dygraph_guard_if_declarative
    from paddle.base.libpaddle import pir
    from paddle.jit.dy2static import pir_partial_program
    from paddle.jit.dy2static.parameter_recorder import (
        _global_inplace_map,
        _global_parameter_recorder,
    )
    from paddle.jit.dy2static.pir_partial_program import PartialProgramLayer
    from paddle.jit.dy2static.program_translator import (
        ASTStaticFunction,
        ConcreteProgram,
        _program_hash,
    )
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


static_lock: Final = threading.RLock()
"""Held while a program is captured or built: Paddle makes one program at a time in a process."""


class _Gate:
    """Runs of programs go on side by side; what changes Paddle's tables of programs, alone.

    A run takes no lock: it notes that its thread is busy, and then looks whether the gate is
    closed; who closes the gate looks then whether a thread is busy.  One of them sees the other.
    """

    PATIENCE: Final = 30.0
    """Seconds that a closed gate waits for the runs that go on: they may wait for us."""

    def __init__(self) -> None:
        self._busy: dict[int, int] = {}
        self._closed_by: int | None = None
        self._changed = threading.Condition()

    def enter(self) -> int:
        """Begin a run for which Paddle has prepared all; what :meth:`leave` is given."""
        me = threading.get_ident()
        depth = self._busy.get(me, 0)
        self._busy[me] = depth + 1
        if self._closed_by is not None and self._closed_by != me and not depth:
            self._wait(me)
        return depth

    def leave(self, depth: int) -> None:
        """End the run."""
        me = threading.get_ident()
        if depth:
            self._busy[me] = depth
        else:
            self._busy.pop(me, None)
        if self._closed_by is not None:
            with self._changed:
                self._changed.notify_all()

    def _wait(self, me: int) -> None:
        """Let the one pass that has closed the gate."""
        with self._changed:
            while self._closed_by is not None:
                self._busy.pop(me, None)
                self._changed.notify_all()
                self._changed.wait()
            self._busy[me] = 1

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While nothing else runs, is captured or built."""
        me = threading.get_ident()
        with static_lock:
            outer = self._closed_by
            self._closed_by = me
            try:
                with self._changed:
                    self._changed.wait_for(lambda: not self._others(me), self.PATIENCE)
                yield
            finally:
                self._closed_by = outer
                with self._changed:
                    self._changed.notify_all()

    def _others(self, me: int) -> bool:
        return any(thread != me for thread in list(self._busy))


_gate: Final = _Gate()


class _Quiet(threading.local):
    depth = 0


_quiet = _Quiet()


@contextlib.contextmanager
def keep_mode() -> Iterator[None]:
    """While this thread captures or builds: threads that begin meanwhile are in dygraph mode.

    A thread takes its mode from a variable of the process when it first uses Paddle, and keeps
    it.  Paddle writes that variable whenever any thread changes its own mode: a thread that
    began during a capture would stay in static mode for ever, and write into the program.
    """
    _quiet.depth += 1
    try:
        yield
    finally:
        _quiet.depth -= 1


def _set_mode(self: Any, name: str, value: Any) -> None:
    if name == "_dygraph_tracer_":
        if not _quiet.depth:
            framework._dygraph_tracer_ = value
        switch_tracer(value)
    self.__dict__[name] = value


setattr(type(framework.global_var), "__setattr__", _set_mode)  # noqa: B010 - mypy


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
    if not is_value(value):
        return None
    for key, tensors in _global_parameter_recorder.params_dict.items():
        known = _global_parameter_recorder.tensor2value[key]
        for tensor in tensors:
            if known[id(tensor)].id == value.id:
                return tensor
    return None


def share_storage(one: Any, other: Any) -> bool:
    """Whether two dygraph tensors are one, or views of one storage."""
    if one is other:
        return True
    return bool(one.size and other.size and one._is_shared_buffer_with(other))


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


def shape_of(value: Any) -> list[int] | None:
    """The static shape of ``value``; ``None`` for what is no tensor (several, an array)."""
    return list(value.shape) if value.is_dense_tensor_type() else None


def producer(value: Any) -> tuple[str, list[Any], dict[str, Any]] | None:
    """The operation that makes ``value``: name without dialect, operands, attributes.

    ``None`` for a variable of a loop body, and what else no operation makes.  The name of an
    operation that works in place is that of the one that does not.
    """
    operation = value.get_defining_op()
    if operation is None:
        return None
    name = operation.name().split(".")[-1]
    return (
        name[:-1] if name.endswith("_") else name,
        list(operation.operands_source()),
        operation.attrs(),
    )


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

    def copying(plain: Callable[..., Any], writing: Callable[..., Any]) -> Callable[..., Any]:
        def operation(operand: Any, *others: Any) -> Any:  # other threads may be in dygraph
            return (plain if is_value(operand) else writing)(operand, *others)

        return operation

    with static_lock:
        before = {name: getattr(operations_, name) for name in names}
        for name in names:
            setattr(operations_, name, copying(getattr(operations_, name[:-1]), before[name]))
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
_COPYING: Final = ("clone", "detach")
"""Methods of dygraph tensors that crash in static mode, as the operators do."""

_READING: Final = (
    "item", "numpy", "tolist", "__array__", "__bool__", "__float__", "__int__", "__index__",
)  # fmt: skip
"""Methods of dygraph tensors that give their contents to Python."""

_patch_lock = threading.RLock()
_patch_depth = 0
_saved: list[tuple[type, str, Any]] = []


def _eager_operator(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Any, *others: Any) -> Any:
        if paddle.in_dynamic_mode():
            return original(self, *others)
        return getattr(as_value(self), name)(*others)

    return operator


def _reading_method(original: Callable[..., Any], noticed: Callable[[Any], None]) -> Any:
    def read(self: Any, *arguments: Any, **options: Any) -> Any:
        if not paddle.in_dynamic_mode():
            noticed(self)
        return original(self, *arguments, **options)

    return read


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
        if name == "__truediv__" and type(adapted[0]) in (int, float) and adapted[0] == 0:
            # Paddle takes the reciprocal while it captures, which Python refuses for zero.
            dtype = mine.dtype if mine.is_floating_point() else paddle.get_default_dtype()
            adapted = [paddle.full([], adapted[0], dtype)]
        return finish((self, *others), name, original(mine, *adapted))

    return operator


@contextlib.contextmanager
def tensors_as_values(
    adapt: Callable[[Any, Any], Any],
    finish: Callable[[tuple[Any, ...], str, Any], Any],
    refusals: dict[str, Callable[..., Any]],
    noticed: Callable[[Any], None] = lambda tensor: None,
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
        noticed: told of a dygraph tensor whose contents Python reads during the capture.
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
            for name in _COPYING:
                original = getattr(EagerTensor, name)
                _saved.append((EagerTensor, name, original))
                setattr(EagerTensor, name, _eager_operator(name, original))
            for name in _READING:
                original = getattr(EagerTensor, name)
                _saved.append((EagerTensor, name, original))
                setattr(EagerTensor, name, _reading_method(original, noticed))
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


@contextlib.contextmanager
def checked_operations(checks: dict[str, Callable[..., None]]) -> Iterator[None]:
    """Call ``checks`` with the arguments of these operations before they are made.

    Args:
        checks: by the name of the operation in ``paddle._C_ops``.
    """

    def checked(check: Callable[..., None], original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any, **options: Any) -> Any:
            check(*arguments)
            return original(*arguments, **options)

        return operation

    before = {name: getattr(paddle._C_ops, name) for name in checks}
    for name, check in checks.items():
        setattr(paddle._C_ops, name, checked(check, before[name]))
    try:
        yield
    finally:
        for name, original in before.items():
            setattr(paddle._C_ops, name, original)


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
                    _remove_unread(copy)
        elif operation.name() == "pd_op.while":
            for index, (copy, source) in _copies(operation):
                others = [user for user in source.all_used_ops() if user.id() != copy.id()]
                if all(_comes_before(user, operation) for user in others):
                    operation.operand(index).set_source(source)
                    _remove_unread(copy)


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


def _remove_unread(operation: Any) -> None:
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
        yield from _under(block)


def _under(block: Any) -> Iterator[Any]:
    """Every operation of ``block``, those of inner blocks too, in the order of the program."""
    for inner in block.ops:
        yield inner
        yield from _inside(inner)


def _tensor_operands(operation: Any) -> Iterator[int]:
    """The positions of the operands of ``operation`` that are single tensors."""
    for index in range(operation.num_operands()):
        value = operation.operand_source(index)
        if not pir.is_fake_value(value) and value.is_dense_tensor_type():
            yield index


def pass_into_blocks(
    program: Any,
    chosen: Callable[[Any], bool],
    before: Callable[[Any], Any],
    inside: Callable[[Any, Any], Any],
) -> None:
    """Let blocks read some values from outside of them in another form.

    Args:
        program: the program; its operations are rewired in place.
        chosen: whether a value that a block reads from outside is meant.
        before: makes the form that goes in; its operations come before the branch or loop.
        inside: makes, from that form and the value, what is read; they come first in the block.
    """

    def treat(block: Any) -> None:
        for operation in list(block.ops):
            if operation.name() not in ("pd_op.if", "pd_op.while"):
                continue
            outer: dict[int, Any] = {}
            for part in operation.blocks():
                enter(part, operation, outer)
            for part in operation.blocks():
                treat(part)

    def enter(part: Any, operation: Any, outer: dict[int, Any]) -> None:
        reading = [(inner, index) for inner in _under(part) for index in _tensor_operands(inner)]
        own = {argument.id for argument in part.args()}
        for inner in _under(part):
            own |= {result.id for result in inner.results()}
            own |= {argument.id for block in inner.blocks() for argument in block.args()}
        if not part.ops:  # the missing side of an `if`
            return
        first = part.ops[0]
        forms: dict[int, Any] = {}
        for inner, index in reading:
            value = inner.operand_source(index)
            if value.id in own or not chosen(value):
                continue
            if value.id not in outer:
                pir.set_insertion_point(operation)
                outer[value.id] = before(value)
            if value.id not in forms:
                pir.set_insertion_point(first)
                forms[value.id] = inside(outer[value.id], value)
            inner.operand(index).set_source(forms[value.id])

    with paddle.static.program_guard(program):
        treat(program.global_block())
        pir.set_insertion_point_to_block_end(program.global_block())


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
    (
        "total_ops = parent_total_ops(block)",
        "total_ops = _differentiated(parent_total_ops(block))",
    ),
    (
        "    if is_inplace_net(forward_ops):\n",
        "    forward_ops = _differentiated(forward_ops)\n    if is_inplace_net(forward_ops):\n",
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
to :func:`_mark_inner_loops`: how far a loop goes back, that its mark is not dropped unread, and
whether it is entered at all.  The others are for several gradients of one program, which Paddle
knows as gradients of gradients only: operations of earlier gradients and of optimizers are left
out, and so are the stacks on which a block has saved for an earlier gradient.
"""


_left_out: set[int] = set()
"""Operations that no gradient goes through: optimizers' steps and earlier gradients."""


def _differentiated(operations_: list[Any]) -> list[Any]:
    return [operation for operation in operations_ if operation.id() not in _left_out]


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


def _hands_on_nothing(operation: Any) -> bool:
    """Whether a branch or loop has no differentiable result and writes into no TensorArray."""
    return (
        operation.name() in ("pd_op.if", "pd_op.while")
        and all(value.stop_gradient for value in operation.results())
        and not any(inner.name() == "pd_op.array_write_" for inner in _inside(operation))
    )


_MARKED: Final = "d2s_marked"
"""An attribute of the loops that :func:`_mark_inner_loops` has made."""


def _mark_inner_loops(program: Any) -> list[int]:
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
            for inner in operation.blocks():
                treat(inner, inside or loop)
            if loop and inside and not _marked(operation) and not _hands_on_nothing(operation):
                (body,) = operation.blocks()
                gone.extend(value.id for value in [*body.args(), *operation.results()])
                _mark(operation)

    gone: list[int] = []
    with paddle.static.program_guard(program):
        treat(program.global_block(), False)
    return gone


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
    for helper in (
        _differentiated,
        _inputs_of,
        _without_stacks,
        _hands_on_nothing,
        _marked,
        _more_trips,
        _enter_again,
    ):
        module.__dict__[helper.__name__] = helper
    exec(compile(text, str(ir_backward.__file__), "exec"), module.__dict__)
    return module.grad


_gradients: Any = None


def gradient_function() -> Any:
    """:func:`_repaired_gradients`, made once."""
    global _gradients
    with static_lock:
        if _gradients is None:
            _gradients = _repaired_gradients()
        return _gradients


def _differentiate(outputs: Any, inputs: Any, grad_outputs: Any) -> Any:
    """The gradients of ``inputs``, after which blocks save only what the gradients read."""
    made = gradient_function()(outputs, inputs, grad_outputs)
    program = paddle.static.default_main_program()
    _read_no_saved_shapes(program)
    with paddle.static.program_guard(program):
        _save_what_is_read(program)
    return made


_SHAPES_ONLY: Final = ("pd_op.add_grad", "pd_op.subtract_grad")
"""Gradients that ask the first two operands for their shapes alone."""


def _read_no_saved_shapes(program: Any) -> None:
    """Let what is read for its shape be something that a block saves for its contents anyway.

    The gradient of ``x + y`` asks ``x`` and ``y`` for their shapes only.  Another saved tensor of
    that shape can stand for one, and the block saves one tensor less.
    """
    for pop in list(operations(program)):
        if pop.name() != "cf.tuple_pop":
            continue
        kept: dict[Any, Any] = {}
        asked: list[tuple[Any, int, Any]] = []
        for value in pop.results():
            if not value.is_dense_tensor_type() or any(size < 0 for size in value.shape):
                continue
            key = (str(value.dtype), tuple(value.shape))
            users = value.all_used_ops()
            if any(user.name() not in _SHAPES_ONLY for user in users):
                kept.setdefault(key, value)
                continue
            for user in users:
                for index in (0, 1):
                    if user.operand_source(index).id == value.id:
                        asked.append((user, index, key))
        for user, index, key in asked:
            if key in kept and user.operand_source(2).get_defining_op().id() != pop.id():
                user.operand(index).set_source(kept[key])


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


_SECOND: Final = ("_double_grad", "_triple_grad")
"""How the names of operations end that differentiate a derivative."""


def _general_passes(program: Any, **options: Any) -> None:
    """Paddle's passes, after which no block reads a list of values that was made around it.

    The passes merge equal operations, those inside a block with those around it.  A block that
    reads a merged list of values without reading the values themselves frees them when it ends:
    for the next reader, "Tensor holds no memory".  So such a block makes its own list.

    Where derivatives are differentiated, equal operations stay two: what they are merged into is
    read twice by one operation, which the in-place pass lets write over it in between.
    """
    if any(operation.name().endswith(_SECOND) for operation in operations(program)):
        options["enable_cse"] = False
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
    """Let Paddle build runnable programs with our corrections; under :data:`static_lock`."""
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


# -- training inside a program -------------------------------------------------------------------


def gradients_here(
    outputs: list[Any], inputs: list[Any], seeds: list[Any] | None, left_out: set[int]
) -> tuple[list[Any], list[int], set[int]]:
    """Gradients of the program that is being captured; it goes on behind them.

    Args:
        outputs: values of it, at its top level.
        inputs: the values of which the gradients are wanted.
        seeds: the gradient of each output; ``None`` for ones.
        left_out: ids of operations that no gradient goes through.

    Returns:
        The gradient of each input, or ``None``; the ids of values that are gone, and of the
        operations that are there for gradients.

    Raises:
        LoopGradientError: (D2S307) Paddle cannot differentiate the program.
    """
    program = paddle.static.default_main_program()
    _refuse_untried(program)
    before = {operation.id() for operation in operations(program)}
    with _coded_gradients(), static_lock:
        _copy_into_loops(program)
        gone = _mark_inner_loops(program)
        _left_out.update(left_out)
        try:
            made = _differentiate(outputs, inputs, seeds)
        finally:
            _left_out.clear()
        _save_sources(program)
    pir.set_insertion_point_to_block_end(program.global_block())
    return list(made), gone, {operation.id() for operation in operations(program)} - before


_HOOKS: Final = "d2s_hooks"


def _counting_hooks() -> None:
    """Let tensors know how many gradient hooks they have, which Paddle does not tell."""
    register, remove = EagerTensor._register_grad_hook, EagerTensor._remove_grad_hook

    def noting_register(self: Any, hook: Any) -> Any:
        known = register(self, hook)
        with contextlib.suppress(AttributeError):
            setattr(self, _HOOKS, getattr(self, _HOOKS, frozenset()) | {known})
        return known

    def noting_remove(self: Any, known: Any) -> Any:
        with contextlib.suppress(AttributeError):
            setattr(self, _HOOKS, getattr(self, _HOOKS, frozenset()) - {known})
        return remove(self, known)

    EagerTensor._register_grad_hook = noting_register
    EagerTensor._remove_grad_hook = noting_remove


_counting_hooks()


def has_hooks(tensor: Any) -> bool:
    """Whether a dygraph tensor has gradient hooks that were set since d2s was imported."""
    return bool(getattr(tensor, _HOOKS, ()))


@contextlib.contextmanager
def in_dygraph() -> Iterator[None]:
    """Run operations, and no longer put them into the program that is being captured."""
    with dygraph_guard_if_declarative():
        yield


def renew(tensor: Any, value: Any) -> None:
    """Let ``value`` stand for the dygraph tensor from here on, in the program being captured."""
    _known_tensors()[id(tensor)] = value


def filled_like(value: Any, number: float) -> Any:
    """``paddle.full_like``, which in a program warns that a value has no place."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Tensor do not have 'place' interface")
        return paddle.full_like(value, number)


def _known_tensors() -> Any:
    key = _program_hash(paddle.static.default_main_program())
    return _global_parameter_recorder.tensor2value.get(key, {})


def write_into(value: Any, fresh: Any) -> Any:
    """Write ``fresh`` over the contents of a tensor; the value for them afterwards."""
    return paddle._C_ops.assign_out_(fresh, value)


_INPLACE_NAMES: Final = {"output": "out", "x": "out"}


def overwriting(start: int) -> Iterator[tuple[int, Any]]:
    """What the operations from ``start`` on in the program write over: id, and the new value."""
    block = paddle.static.default_main_program().global_block()
    for operation in block.ops[start:]:
        if not operation.name().endswith("_"):
            continue
        results = dict(zip(operation.get_output_names(), operation.results(), strict=True))
        for name, value in zip(
            operation.get_input_names(), operation.operands_source(), strict=True
        ):
            fresh = results.get(f"{name}_out", results.get(_INPLACE_NAMES.get(name, "")))
            if fresh is not None and not pir.is_fake_value(value):
                yield value.id, fresh


def length() -> int:
    """How many operations the top level of the program has; for :func:`overwriting`."""
    return len(paddle.static.default_main_program().global_block().ops)


def share_constants(start: int) -> None:
    """Let the operations from ``start`` on make every constant once.

    A call of ``adam_`` makes three constants of its own, for every parameter.
    """
    block = paddle.static.default_main_program().global_block()
    known: dict[Any, Any] = {}
    written = {number for number, _ in overwriting(start)}
    for operation in block.ops[start:]:
        if operation.name() != "pd_op.full" or operation.result(0).id in written:
            continue
        facts = operation.attrs()
        key = tuple(str(facts[name]) for name in ("value", "dtype", "shape", "place"))
        first = known.setdefault(key, operation)
        if first is not operation:
            operation.result(0).replace_all_uses_with(first.result(0))
            block.remove_op(operation)


def id_of_maker(value: Any) -> int:
    """The id of the operation that makes ``value``."""
    return int(value.get_defining_op().id())


def ids_from(start: int) -> set[int]:
    """The ids of the operations from ``start`` on."""
    block = paddle.static.default_main_program().global_block()
    return {operation.id() for operation in block.ops[start:]}


def is_made_of_constants(value: Any) -> bool:
    """Whether what makes ``value`` has no operand with a gradient, and no block."""
    operation = value.get_defining_op()
    return (
        operation is not None
        and not list(operation.blocks())
        and all(
            pir.is_fake_value(operand) or operand.stop_gradient
            for operand in operation.operands_source()
        )
    )


def sources(value: Any) -> list[Any]:
    """The values that what makes ``value`` reads, in its blocks too; all of one block."""
    operation = value.get_defining_op()
    if operation is None:
        return []
    home = operation.get_parent_block()
    found = []
    for each in (operation, *_inside(operation)):
        for source in each.operands_source():
            origin = None if pir.is_fake_value(source) else source.get_defining_op()
            if origin is not None and (each is operation or origin.get_parent_block() == home):
                found.append(source)
    return found


def makes_sparse_gradients() -> bool:
    """Whether dygraph would have sparse gradients where the program so far has dense ones."""
    return any(
        operation.name() == "pd_op.embedding"
        and operation.attrs().get("sparse")
        and not operation.operand_source(1).stop_gradient
        for operation in operations(paddle.static.default_main_program())
    )


@contextlib.contextmanager
def methods_replaced(table: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Classes with other methods for a while.

    Args:
        table: by class and name, what the class has in place of its own.
    """
    before = {key: vars(key[0]).get(key[1]) for key in table}
    for (owner, name), method in table.items():
        setattr(owner, name, method)
    try:
        yield
    finally:
        for (owner, name), original in before.items():
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


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


def show_backward_errors(twice: Callable[[], Exception]) -> None:
    """From now on ``backward`` and ``paddle.grad`` raise :func:`keep_backward_error`'s errors.

    Paddle turns whatever a ``PyLayer`` raises into an ``OSError`` with a traceback as its text.

    Args:
        twice: gives the error for a program that is gone back through a second time.
    """
    global _backward_shown
    with static_lock:
        if _backward_shown:
            return
        _backward_shown = True
        for name in ("run_backward", "run_partial_grad"):
            setattr(core.eager, name, _showing(getattr(core.eager, name), twice))


def _kept_backward_error() -> Exception | None:
    error, _backward.error = _backward.error, None
    return error


def _showing(original: Callable[..., Any], twice: Callable[[], Exception]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*arguments: Any, **options: Any) -> Any:
        _backward.error = None
        try:
            return original(*arguments, **options)
        except Exception as raised:
            error = _kept_backward_error()
            if error is None and "TensorWrappers of Dy2StGradNode" in str(raised):
                error = twice()
            if error is None:
                raise
        raise error.with_traceback(None)

    return run


class _Runnable:
    """A program that is built, and the scopes that it runs in.

    A scope holds the values of a run; after the forward of a training program it holds them
    until the backward.  Paddle remembers by a scope's address what it has prepared for it, so a
    scope is never given up while the program lives.  One program runs in one thread at a time,
    different ones side by side: with a scope for each thread and no lock, Paddle 3.3.1 mixed up
    values of two runs of one program ("Variable Id 503511712 is not registered").

    Args:
        attributes: what ``run_program`` needs besides tensors.
        lock: held while it runs; its program's other forms have the same.
        joint: forward and gradients are in it.
    """

    def __init__(self, attributes: Any, lock: Any, *, joint: bool) -> None:
        self._attributes = attributes
        self._joint = joint
        self._free: list[Any] = []
        self._held: list[Any] = []
        self._broken: list[Any] = []
        self._lock = lock

    def run(self, tensors: list[Any], parameters: list[Any]) -> list[Any]:
        """Run it."""
        depth = _gate.enter()  # before the lock: who has closed the gate may want it
        try:
            with self._lock:
                scope = self._scope()
                if scope is not None:
                    return self._run_in(scope, tensors, parameters)
        finally:
            _gate.leave(depth)
        # Paddle prepares a program for each scope: nothing else runs then.
        with _gate.alone(), self._lock:
            return self._run_in(core.Scope(), tensors, parameters)

    def _run_in(self, scope: Any, tensors: list[Any], parameters: list[Any]) -> list[Any]:
        given = PartialProgramLayer._valid_vars
        try:
            results = list(
                paddle._C_ops.run_program(
                    given(tensors), given(parameters), [scope], *self._attributes
                )
            )
        except BaseException:
            # The stacks of a joint program hold what a run saved that did not end.
            spoilt = self._broken if self._joint else self._free
            (spoilt if scope._can_reused else self._held).append(scope)
            raise
        (self._free if scope._can_reused else self._held).append(scope)
        return results

    def _scope(self) -> Any:
        """A scope that no run uses; ``None`` if there is none."""
        if self._free:
            return self._free.pop()
        for index, scope in enumerate(self._held):
            if scope._can_reused:
                return self._held.pop(index)
        return None


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
        self._ready: dict[tuple[Any, bool], _Runnable] = {}
        self._lock = threading.RLock()

    def run(
        self, tensors: list[Any], *, training: bool, parameters: list[Any] | None = None
    ) -> list[Any]:
        """Run the program; with ``training`` the outputs can be differentiated.

        Args:
            tensors: the inputs.
            training: whether the outputs can be differentiated.
            parameters: what it reads as its parameters, if other tensors than usual.
        """
        read = self.parameters[0] if parameters is None else parameters
        return self._prepared(self._layer, training).run(tensors, read)

    def prepare(self, *, training: bool) -> None:
        """Build what :meth:`run` needs, so that what cannot be built is known before."""
        self._prepared(self._layer, training)

    def prepare_gradients(self) -> None:
        """Build what :meth:`gradients` runs."""
        if self._joint is not None:
            return
        with static_lock, keep_mode():
            if self._joint is None:
                _refuse_untried(self.main)
                with _coded_gradients(), no_collection():
                    joint = self._build_joint()
                    self._prepared(joint[0], False)
                self._joint = joint

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
        self.prepare_gradients()
        joint = self._joint
        assert joint is not None
        layer, found = joint
        with _coded_gradients():
            results = self._prepared(layer, False).run([*tensors, *output_gradients], parameters)
        gradients: list[Any | None] = [None] * (len(self.inputs) + len(self.parameters[0]))
        for position, result in zip(found, results, strict=True):
            gradients[position] = result
        return gradients

    def _prepared(self, layer: Any, training: bool) -> _Runnable:
        """What is run; built on first use, with the repaired gradients."""
        known = self._ready.get((layer, training))
        if known is not None:
            return known
        with static_lock, keep_mode(), no_collection(), _repaired_build():
            known = self._ready.get((layer, training))
            if known is None:
                joint = layer is not self._layer
                known = _Runnable(self._attributes(layer, training), self._lock, joint=joint)
                self._ready[layer, training] = known
            return known

    def _attributes(self, layer: Any, training: bool) -> Any:
        layer.training = training
        # Building a training program tells each parameter the type of its gradient, which drops
        # a gradient that it already has.
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

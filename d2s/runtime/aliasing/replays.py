"""What dygraph says where Paddle refuses to put an operation into a program.

Paddle looks at types and dtypes before an operation goes into a program, and refuses them with
other classes and words than its kernels have.  The operation that was refused is done once more,
in dygraph, with tensors of zeros in the place of the program's: what that raises, the user's code
raises.  Only functions of Paddle's are done again that write nowhere; no code of the user's.
"""

from __future__ import annotations

import copy
import dis
import functools
import inspect
import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_paddle
from d2s.diagnostics.defects import as_defect, defect_of
from d2s.diagnostics.location import Location, here, is_hidden
from d2s.errors import D2SError, DefectError, NotStaticError
from d2s.runtime.trace import current, tentatively
from d2s.runtime.values.objects import attribute, owner_of
from d2s.runtime.values.tensors import is_tensor, number_kind
from d2s.runtime.values.tree import any_leaf, map_children

COMPUTING: Final = ("paddle.tensor.", "paddle.nn.functional.")
"""Modules of functions that compute tensors from tensors."""

_LAYERS: Final = "paddle.nn.layer."

_HARMLESS: Final = (
    *COMPUTING,
    _LAYERS,
    "paddle.base.dygraph.generated_tensor_methods_patch",
    "paddle.base.libpaddle.",
    "paddle.fft",
    "paddle.geometric.",
    "paddle.incubate.nn.functional.",
    "paddle.signal",
    "paddle.vision.ops",
)
"""Modules of functions that write into nothing but what they are given."""

_UNKNOWN: Final = (2, 3)
"""What stands in for sizes that are open: what is said of both alike does not come from them."""

_NUMBERS: Final = (1, 2)
"""What stands in for numbers of the run."""

_MOST: Final = 1 << 26
"""Elements of the largest tensor that is made; for larger ones Paddle's own words stay."""

_NESTS: Final = (list, tuple, dict, slice)
"""Containers of Python's own classes, as a key or an argument of Paddle has them."""

_KEPT: Final = (
    bool, int, float, complex, str, bytes, type(None), type(...), np.ndarray, np.generic,
    paddle.dtype)  # fmt: skip
"""What a function is given as it is."""


class _NotDoneError(Exception):
    """An operation is not done again."""


class Method:
    """A method of the first argument, such as ``__add__``, as a function."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, owner: object, *others: object, **options: object) -> Any:
        if isinstance(owner, int | float) and len(others) == 1:
            if hasattr(operator, self.name):  # which a number may lack, and which raises
                return getattr(operator, self.name)(owner, *others)
            if swapped := getattr(operator, self.name.replace("__r", "__", 1), None):
                return swapped(*others, owner)
        return getattr(owner, self.name)(*others, **options)


def done(
    operation: Callable[..., Any], meant: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """``operation(*arguments, **options)``; where that is refused, what dygraph says of ``meant``.

    Args:
        operation: puts something into the program.
        meant: what the user's code does, given the same.
        arguments, options: what both are given.
    """
    try:
        return operation(*arguments, **options)
    except Exception as error:
        said = as_in_dygraph(error, meant, arguments, options)
    try:
        raise said
    finally:
        del said  # which knows this frame


def as_in_dygraph(
    error: Exception,
    function: Callable[..., Any],
    arguments: Iterable[Any],
    options: dict[str, Any],
) -> Exception:
    """What dygraph raises for ``function(*arguments, **options)``; ``error`` if it raises nothing.

    Args:
        error: what Paddle has raised, while it is handled.
        function: a function of Paddle's, a method of a tensor, or a layer's call.
        arguments, options: what it was given.
    """
    if current() is None or isinstance(error, D2SError) or not _is_said_by_paddle(error):
        return error
    given = list(arguments)
    said = _said(function, given, options)
    wants = isinstance(function, Method) or _belongs_to_paddle(function)
    if said in (None, _NOTHING) and wants and _any_within([given, options], _is_number):
        return _wants_python(error, function, here())
    if said is _NOTHING:
        return as_defect(error, _shown(function))
    return said or error


def _shown(function: object) -> str:
    """A function of Paddle's, whose version may be why it fails."""
    return f"{getattr(function, '__name__', 'a call')}() of Paddle {paddle.__version__}"


class _Nothing(Exception):
    """Dygraph raises nothing."""


_NOTHING: Final = _Nothing()


def _said(
    function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]
) -> Exception | None:
    """What dygraph raises; ``None`` if that is not known, or speaks of what the run knows."""
    given = [function, arguments, options]
    sizes = _UNKNOWN if _any_within(given, _is_open) else _UNKNOWN[:1]
    numbers = _NUMBERS if _any_within(given, _is_number) else _NUMBERS[:1]
    found = [
        _raised(_Unknown(size, number), function, arguments, options)
        for size in sizes
        for number in numbers
    ]
    if len({None if each is None else (type(each), str(each)) for each in found}) == 1:
        return found[0]
    return None


def _wants_python(
    error: Exception, function: Callable[..., Any], place: Location | None
) -> D2SError:
    """The refusal of a function that takes no number of the run, as a Paddle error has it.

    Raises:
        NeedsPythonError: the number might be a Python one.
    """
    capture = current()
    assert capture is not None
    capture.needs_python()
    name = attribute(function, "__name__", type(function).__name__)
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    refusal = NotStaticError(
        f"{name}() is given a number that only the run knows, where Paddle's programs take a "
        f"Python number ({reason})",
        cure="give it a number that depends on no tensor, or compute the same with functions that "
        "take tensors, such as paddle.where",
        file=None if place is None else place.file,
        line=None if place is None else place.line,
    )
    capture.refused.append(refusal)
    return refusal


def calling(function: Callable[..., Any], /, *arguments: object, **options: object) -> Any:
    """``function(*arguments, **options)``, code of the user's, with what it calls of Paddle so.

    Most calls of Paddle are not converted; what they were given is still in their frames.
    """
    try:
        return function(*arguments, **options)
    except Exception as error:
        said = in_its_call(error)
        if said is error:
            said = _missing(error) or error
        capture = current()
        if isinstance(said, DefectError) and capture is not None and capture.refused:
            said = capture.refused[0]  # Python has put words of its own in the place of this
            said.__cause__ = None
    try:
        raise said
    finally:
        del said  # which knows this frame


def in_its_call(error: Exception) -> Exception:
    """What dygraph says of the call of Paddle's, made by the user's code, that ``error`` is of."""
    capture = current()
    if capture is None or id(error) in capture.over or isinstance(error, D2SError):
        return error
    frames: list[types.FrameType] = []
    place: Location | None = None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_hidden(code.co_filename):
            frames.append(trace.tb_frame)
        else:
            frames, place = [], Location(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    if not frames or not _is_paddles(frames[0]) or not all(map(_speaks_for_paddle, frames)):
        return error
    call = next(filter(None, map(_call_of, frames)), None)
    said = None if call is None else _said(*call)
    given = list(frames[0].f_locals.values()) if call is None else list(call[1:])
    if said in (None, _NOTHING) and _any_within(given, _is_number):
        said = _wants_python(error, _function_of(frames[0]), place)
    if said is _NOTHING:
        return as_defect(error, _shown(None if call is None else call[0]))
    return error if said is None else said.with_traceback(error.__traceback__)


def _missing(error: Exception) -> Exception | None:
    """The coded error for an attribute that tensors of dygraph have, and values have not."""
    name, owner = str(getattr(error, "name", "")), getattr(error, "obj", None)
    if bridge.is_value(owner) and hasattr(bridge.EagerTensor, name):
        return as_defect(error, f"the attribute {name!r} of a tensor")
    with tentatively():  # what it says may be a text of the run
        return defect_of(error)


def _is_paddles(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("paddle.")


def _speaks_for_paddle(frame: types.FrameType) -> bool:
    return is_paddle(frame) or frame.f_globals is globals()


def _call_of(frame: types.FrameType) -> tuple[Any, list[Any], dict[str, Any]] | None:
    """The function of ``frame``, and what it was given; ``None`` if that is not known for sure."""
    code, known = frame.f_code, dict(frame.f_locals)
    function = _function_of(frame)
    if _is_wrapper(code):
        given = known.get("processed_args", known.get("args", ()))
        return function, list(given), known.get("processed_kwargs", known.get("kwargs", {}))
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if function is None or not is_harmless(function) or not set(names) <= known.keys():
        return None
    if any(_holds_tensors(known[name]) for name in names if name in _rebound(code)):
        return None
    rest = code.co_varnames[len(names) :]
    others = list(known[rest[0]]) if code.co_flags & inspect.CO_VARARGS else []
    options = (
        known[rest[bool(code.co_flags & inspect.CO_VARARGS)]]
        if code.co_flags & inspect.CO_VARKEYWORDS
        else {}
    )
    places = names[: code.co_argcount]
    options = {**options, **{name: known[name] for name in names[code.co_argcount :]}}
    return function, [*(known[name] for name in places), *others], options


def _function_of(frame: types.FrameType) -> Any:
    """The function whose call ``frame`` is; ``None`` if it cannot be found."""
    code = frame.f_code
    if _is_wrapper(code):
        return frame.f_locals["func"]
    function = frame.f_globals.get(code.co_name)
    while attribute(function, "__code__", code) is not code:
        function = attribute(function, "__wrapped__")
    return function


def _is_wrapper(code: types.CodeType) -> bool:
    """Whether ``code`` is of one of Paddle's decorators."""
    return code.co_name == "wrapper" and "func" in code.co_freevars


@functools.cache
def _rebound(code: types.CodeType) -> frozenset[str]:
    """The variables that ``code`` assigns."""
    return frozenset(
        str(each.argval)
        for each in dis.get_instructions(code)
        if each.opname.startswith(("STORE_", "DELETE_"))
    )


def _holds_tensors(thing: object) -> bool:
    return any_leaf(is_tensor, thing)


# -- what a program takes, and dygraph does not ----------------------------------------------------


def check(
    operation: Callable[..., Any], arguments: Iterable[Any], options: dict[str, Any] | None = None
) -> None:
    """Raise what dygraph raises for an operation, if it raises something."""
    said = _said(operation, list(arguments), options or {})
    if said is not None and said is not _NOTHING:
        raise said


def _check_floats(operation: Callable[..., Any], *arguments: object, **options: object) -> None:
    """Tensors of two floating dtypes: a program converts one of them."""
    given = [*arguments, *options.values()]
    dtypes = {item.dtype for item in given if bridge.is_value(item)}
    if len(dtypes) > 1 and not bridge.autocasts():
        check(operation, arguments, options)


def _check_sizes(operation: Callable[..., Any], *arguments: object, **options: object) -> None:
    """An axis or a shape that is none: the process ends when the program runs."""
    named = [item for name, item in options.items() if name in _SIZES]
    if any(
        bridge.is_value(item) and ("int" not in str(item.dtype) or len(item.shape) > 1)
        for item in [*arguments[1:], *named]
    ):
        check(operation, arguments, options)


_SIZES: Final = ("axes", "axis", "dim", "perm", "repeat_times", "shape")
"""Names of axes and shapes among the parameters of Paddle's functions."""


def _check_list(operation: Any, *arguments: Any, **options: Any) -> None:
    """A tensor in the place of a list, and ``None`` in the list, which is left out."""
    things = [*arguments, *options.values()][0]
    if bridge.is_value(things) or (
        any(item is None for item in things) and any(map(bridge.is_value, things))
    ):
        check(operation, arguments, options)


def _check_python(operation: Callable[..., Any], *arguments: object, **options: object) -> None:
    """A value among numbers that a program keeps as an attribute: the process ends at capture."""
    _check_sizes(operation, *arguments, **options)
    place = _ATTRIBUTES[operation.__name__]
    named = [item for name, item in options.items() if name in _SIZES]
    if _any_within([*arguments[place : place + 1], *named], bridge.is_value):
        refusal = TypeError(f"argument {place + 1} must be int, but got Tensor")
        raise _wants_python(refusal, operation, here())


_ATTRIBUTES: Final = {
    **dict.fromkeys(("all", "amax", "amin", "any", "flip", "logsumexp", "transpose"), 1),
    **dict.fromkeys(("fft_c2c", "fft_c2r", "fft_r2c", "slice", "strided_slice"), 1),
    "roll": 2,
}
"""Which argument of an operation holds such numbers."""

CHECKS: Final[dict[str, Callable[..., None]]] = {
    **dict.fromkeys(("matmul", "linear_v2"), _check_floats),
    **dict.fromkeys(("add_n", "broadcast_tensors", "concat", "stack"), _check_list),
    **dict.fromkeys(
        (
            "expand", "max", "mean", "min", "prod", "reshape", "squeeze", "sum", "tile",
            "unsqueeze",
        ),
        _check_sizes,
    ),
    **dict.fromkeys(_ATTRIBUTES, _check_python),
}  # fmt: skip
"""What is looked at before it goes into a program, by the name of Paddle's operation."""


def _is_said_by_paddle(error: Exception) -> bool:
    """Whether no code of the user's has run between our call and what has raised ``error``."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    if any(not is_hidden(frame.f_code.co_filename) for frame in frames):
        return False
    # The caller's frame alone: Paddle's C++.  A call inside of Paddle's may have been looked at.
    return len(frames) == 1 or _speaks_for_paddle(frames[-1])


class _Unknown(NamedTuple):
    """What stands in for what only the run knows: the sizes of open dimensions, and numbers."""

    size: int
    number: int


def _raised(
    unknown: _Unknown, function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]
) -> Exception | None:
    """What dygraph raises with these sizes and numbers; ``None`` if it cannot be asked."""
    with bridge.outside_of_capture(), paddle.no_grad():
        try:
            again = _again(unknown, function)
            arguments = [_stand_in(unknown, item) for item in arguments]
            options = {name: _stand_in(unknown, item) for name, item in options.items()}
        except Exception:  # something that cannot be made in dygraph
            return None
        state = paddle.get_rng_state()
        try:
            return _redo(again, arguments, options)
        finally:
            paddle.set_rng_state(state)


def _redo(
    function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]
) -> Exception | None:
    try:
        function(*arguments, **options)
    except (D2SError, MemoryError):
        return None
    except Exception as error:
        error.__context__ = None
        return error
    return _NOTHING


def _again(unknown: _Unknown, function: Callable[..., Any]) -> Any:
    """What does in dygraph what ``function`` does in a program, and writes nowhere."""
    if isinstance(function, Method):
        return function
    owner = owner_of(function)
    if bridge.is_value(owner):
        return getattr(_stand_in(unknown, owner), function.__name__)
    if is_harmless(function):
        return function
    raise _NotDoneError


def _copied(layer: paddle.nn.Layer) -> Any:
    """A copy of a layer of Paddle's, which may be written into."""
    for part in [layer, *layer.sublayers()]:
        hooks = part._forward_pre_hooks or part._forward_post_hooks
        if hooks or not type(part).__module__.startswith(_LAYERS):
            raise _NotDoneError  # it may run code of the user's
    shared = {id(each): each for each in layer.parameters() if not each.stop_gradient}
    return copy.deepcopy(layer, shared)


def _belongs_to_paddle(function: Callable[..., Any]) -> bool:
    return str(attribute(function, "__module__", "")).startswith("paddle.")


def is_harmless(function: Callable[..., Any]) -> bool:
    """Whether ``function`` is one of Paddle's that writes into nothing but what it is given."""
    return str(attribute(function, "__module__", "")).startswith(_HARMLESS)


def _stand_in(unknown: _Unknown, thing: Any) -> Any:
    """``thing`` for dygraph: tensors are of zeros."""
    if type(thing) in _NESTS:
        return map_children(functools.partial(_stand_in, unknown), thing, slices=True)
    if isinstance(thing, paddle.nn.Layer):
        return _copied(thing)
    if is_tensor(thing):
        kind = number_kind(thing)
        return _zeros(unknown.size, thing) if kind is None else kind(unknown.number)
    if isinstance(thing, _KEPT):
        return thing
    raise _NotDoneError


def _zeros(size: int, value: paddle.Tensor) -> Any:
    shape = [size if known < 0 else known for known in value.shape]
    if math.prod(shape) > _MOST:
        raise _NotDoneError
    return paddle.zeros(shape, value.dtype)


def _any_within(thing: object, asked: Callable[[Any], bool]) -> bool:
    """Whether a value of the program in ``thing``, or one whose method it is, is ``asked`` for."""

    def is_asked(leaf: object) -> bool:
        value = leaf if bridge.is_value(leaf) else owner_of(leaf)
        return bridge.is_value(value) and asked(value)

    return any_leaf(is_asked, thing)


def _is_open(value: paddle.Tensor) -> bool:
    return any(size < 0 for size in value.shape)


def _is_number(value: paddle.Tensor) -> bool:
    return number_kind(value) is not None

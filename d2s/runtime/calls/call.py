"""``d2s.call(f)``: what to call in place of ``f`` (rule E2).

A Python function of the user's becomes its converted form, a built-in its operator, a layer one
whose ``forward`` is converted; Paddle, C functions, the standard library and what is named in
``ignore_module`` or ``not_to_static`` stay as they are.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import functools
import inspect
import itertools
import logging
import random
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle
from paddle.autograd import PyLayer

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note_function
from d2s.errors import (
    ContainerInGraphError,
    TensorRecursionError,
    UnsupportedInGraphError,
)
from d2s.runtime.aliasing import inplace, ranks, replays
from d2s.runtime.aliasing.replays import COMPUTING
from d2s.runtime.builtins import dispatch, ranked
from d2s.runtime.calls import coroutines, padding, py_layers
from d2s.runtime.calls.spellings import in_pythons_words, rewrapped, spelt
from d2s.runtime.host import breakpoints, messages, streams
from d2s.runtime.lists import iteration
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.loops import comprehensions
from d2s.runtime.python import casts, making
from d2s.runtime.python.arrays import numpy_calls
from d2s.runtime.python.arrays.array import array, asarray, memoryview_, numpy_
from d2s.runtime.python.comparing import is_late_key
from d2s.runtime.python.kinds import type_
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import Capture, capture_into, current, error_here
from d2s.runtime.training import clip_functions
from d2s.runtime.training import functions as training
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.fields import slots_of
from d2s.runtime.values.objects import attribute, is_library, is_user_object, owner_of, stays
from d2s.runtime.values.tensors import (
    ArrayAskedError,
    LibrarySizeError,
    as_value,
    cast_plain,
    is_tensor,
    mark_number,
    no_hash,
    number_kind,
    shape,
)
from d2s.runtime.values.unbound import UNBOUND

SKIP: Final = "__d2s_not_to_static__"
"""The attribute that ``d2s.not_to_static`` sets on a function."""

RECURSION_LIMIT: Final = 60
"""How often a function may call itself under a tensor condition before it counts as endless."""

_converter: Callable[[types.FunctionType], Callable[..., Any]] | None = None


def set_converter(converter: Callable[[types.FunctionType], Callable[..., Any]]) -> None:
    """Tell how a plain function is converted; called once, by ``d2s.conversion``."""
    global _converter
    _converter = converter


def call_method(thing: Any) -> Any:
    """The ``__call__`` that the class of ``thing`` defines, or ``None``."""
    for owner in type(thing).__mro__:
        if "__call__" in vars(owner):
            return vars(owner)["__call__"]
    return None


def call(function: Any) -> Any:
    """The function to call in place of ``function``."""
    if type(function) is types.FunctionType:
        return _function(function)
    if function is breakpoint or (current() is not None and breakpoints.is_stop(function)):
        return breakpoints.stop(function)
    if current() is not None and _is_random(function):
        return functools.partial(_drawn, function)
    if current() is not None and streams.writes(function):
        return functools.partial(streams.write, function)
    if current() is not None and any(function is known for known in _SEEDING):
        return functools.partial(_seeded, function)
    if type(function) is types.MethodType:
        return _method(function)
    if type(function) is _CACHED and current() is not None:
        return functools.partial(_remembered, function)
    if isinstance(function, Choice):
        return lambda *args, **options: each(lambda each_: call(each_)(*args, **options), function)
    operator = _operator_of(function)
    if operator is not None:
        return operator
    if isinstance(function, bridge.ASTStaticFunction):
        return call(function.dygraph_function)
    if isinstance(function, functools.partial):
        return functools.partial(call(function.func), *function.args, **function.keywords)
    if isinstance(function, paddle.nn.Layer):
        return _layer(function)
    if isinstance(function, type | types.BuiltinFunctionType | types.BuiltinMethodType):
        capture = current()
        owner = owner_of(function)
        if capture is not None and bridge.is_eager(owner) and inplace.is_inplace(function.__name__):
            return inplace.method(owner, function.__name__)  # one that is written in C
        if capture is not None and isinstance(owner, type) and issubclass(owner, PyLayer):
            return functools.partial(py_layers.apply, owner, call)
        if isinstance(function, type) and capture is not None and capture.adopt is not None:
            capture.adopt(function)
            if _makes_empty_objects(function):
                return functools.partial(_made, capture, function)
        return _plain(function)
    implementation = call_method(function)
    if isinstance(implementation, types.FunctionType):
        converted = _function(implementation, function)
        if converted is not implementation:
            return types.MethodType(converted, function)
    return _plain(function)


class _Unpacked:
    """What stands behind ``*`` or ``**`` in a call, and is one of several; in place of an argument.

    Attributes:
        either: lists or tuples of different lengths, or dicts with different keys.
    """

    def __init__(self, either: Choice) -> None:
        self.either = either


def unpacked(things: Any) -> Any:
    """What stands behind ``*`` in a call."""
    if not isinstance(things, Choice) or things.single:
        return things
    kinds = [type(leaf) for leaf in things.leaves() if leaf is not UNBOUND]
    return [_Unpacked(things)] if set(kinds) <= {list, tuple} else things


def keywords(options: Any) -> Any:
    """What stands behind ``**`` in a call."""
    if not isinstance(options, Choice) or options.single:
        return options
    return {f"<keywords {id(options)}>": _Unpacked(options)}


def call_unpacked(function: Any) -> Any:
    """:func:`call`, for a call with ``*`` or ``**``: one for each thing that may stand there."""
    found = call(function)
    return found if current() is None else functools.partial(_called, found)


def _called(function: Any, /, *arguments: Any, **options: Any) -> Any:
    for position, given in enumerate(arguments):
        if isinstance(given, _Unpacked):
            return each(
                functools.partial(_called_with, function, arguments, position, options),
                given.either,
            )
    for name, given in options.items():
        if isinstance(given, _Unpacked):
            return each(
                functools.partial(_called_under, function, arguments, options, name), given.either
            )
    return function(*arguments, **options)


def _called_with(
    function: Any, arguments: tuple[Any, ...], position: int, options: dict[str, Any], found: Any
) -> Any:
    before, after = arguments[:position], arguments[position + 1 :]
    return _called(function, *before, *found, *after, **options)


def _called_under(
    function: Any, arguments: tuple[Any, ...], options: dict[str, Any], name: str, found: Any
) -> Any:
    return _called(function, *arguments, **_put(function, options, name, found))


def _put(function: Any, options: dict[str, Any], name: str, found: Any) -> dict[str, Any]:
    """``options`` with those that ``found`` holds in the place of the one called ``name``.

    Raises:
        TypeError: one of them is given already; in the words of ``function``.
    """
    others = {key: value for key, value in options.items() if key != name}
    if others.keys() & set(found):
        function(**others, **found)
    made: dict[str, Any] = {}
    for key, value in options.items():
        made |= dict(**found) if key == name else {key: value}
    return made


def _makes_empty_objects(kind: type) -> bool:
    """Whether ``kind`` has no ``__init__`` of the user's that would tell of a new object."""
    if kind is types.SimpleNamespace:
        return True
    plain = vars(object)
    return all(getattr(kind, name) is plain[name] for name in ("__init__", "__new__"))


def _made(capture: Capture, kind: type, *arguments: Any, **options: Any) -> Any:
    fresh = kind(*arguments, **options)
    if is_user_object(fresh) or slots_of(type(fresh)):
        capture.born[id(fresh)] = fresh
    return fresh


_CACHED: Final = type(functools.lru_cache(lambda: None))


def _remembered(function: Any, *arguments: Any, **options: Any) -> Any:
    """A function under ``functools.lru_cache``: what it remembers is made in dygraph.

    With tensors of the program, which are others on each call, nothing would be found again.
    """
    if not _is_outside([arguments, options]):
        return call(function.__wrapped__)(*arguments, **options)
    with bridge.outside_of_capture():
        return function(*arguments, **options)


def _is_outside(thing: Any) -> bool:
    """Whether no tensor of the program is in ``thing``, as far as its lists and attributes go."""
    if type(thing) in (list, tuple):
        return all(map(_is_outside, thing))
    if type(thing) is dict:
        return all(map(_is_outside, thing.values()))
    return not (bridge.is_value(thing) or isinstance(thing, Choice | DynamicList))


_RANDOM: Final = (random.Random, np.random.RandomState, np.random.Generator)

_OF_NUMPY: Final = (np.random.seed, np.random.ranf, np.random.sample)
"""Functions that use NumPy's generator, and are no methods of it."""


_SEEDING: Final = (random.Random, np.random.RandomState, np.random.default_rng)
"""What makes a generator of a seed."""


def _seeded(function: Any, *arguments: Any, **options: Any) -> Any:
    """A generator that the function makes: with a known seed it gives the same on each call.

    Raises:
        UnsupportedInGraphError: (D2S205) the run decides the seed.
    """
    capture = current()
    seeds = [*arguments, *options.values()]
    if not _is_outside(seeds):
        raise error_here(
            UnsupportedInGraphError,
            "a tensor is the seed of a generator of Python or NumPy, which a program cannot draw "
            "from",
            "pass the seed as a Python number, or draw with paddle.rand, paddle.randint",
        )
    made = function(*arguments, **options)
    if capture is not None and seeds and all(type(seed) in (int, str) for seed in seeds):
        capture.seeded[id(made)] = made
    return made


def _register_hook(tensor: Any, hook: Any) -> Any:
    """``tensor.register_hook(hook)``: from here on the tensor is one whose gradient is changed."""
    capture = current()
    assert capture is not None
    looped = any(block.kind == "loop" for block in capture.blocks)
    if looped or not bridge.is_value(tensor) or not tensor.use_empty():
        raise error_here(
            UnsupportedInGraphError,
            "a gradient hook is set on a tensor that was used before, or inside a static loop",
            "set the hook as soon as the tensor is made, outside of loops",
        )
    converted = call(hook)

    def gradient(_: Any, received: Any) -> Any:
        with capture_into(capture):
            changed = converted(received)
        return paddle.assign(received) if changed is None else changed

    hooked = bridge.static_py_layer(lambda _, value: paddle.assign(value), gradient)([tensor])
    hooked.stop_gradient = tensor.stop_gradient
    inplace.bind_anew(tensor, hooked, ".register_hook()")
    return None


def _is_random(function: Any) -> bool:
    """Whether ``function`` uses a generator of Python's or NumPy's."""
    return isinstance(owner_of(function), _RANDOM) or any(function is known for known in _OF_NUMPY)


def _drawn(function: Any, *arguments: Any, **options: Any) -> Any:
    """A random number of Python or NumPy: each run draws it, if the program always does.

    Raises:
        UnsupportedInGraphError: (D2S205) the program would repeat what was drawn at capture.
    """
    capture = current()
    if capture is None:
        return function(*arguments, **options)
    owner = owner_of(function)
    if id(owner) in capture.seeded:
        iteration.going_on(owner, "draws from the generator", "draw")
        return function(*arguments, **options)
    number = None if capture.draw is None else capture.draw(function, arguments, options)
    if number is None:
        raise error_here(
            UnsupportedInGraphError,
            f"{attribute(function, '__name__', 'a random function')}() of Python or NumPy would be "
            "drawn once, while the program is captured, and repeated on every run",
            "draw a single number outside of branches and loops that a tensor decides, draw with "
            "paddle.rand, paddle.randint or paddle.randperm, or pass the number as an argument",
        )
    return number


def _function(function: types.FunctionType, owner: Any = None) -> Any:
    special = _SPECIAL.get(function)
    if special is not None:
        return special
    if function in _LOGGING:
        return messages.log_(function)
    if breakpoints.is_stop(function):
        return breakpoints.stop(function)
    if getattr(function, SKIP, False) or stays(function):
        if current() is not None and _changes_argument(function):
            return inplace.function(function)
        chooses = None if current() is None else _dispatch_of(function)
        if chooses is not None:
            return functools.partial(_dispatched, chooses)
        wrapped = _rewrapped(function, owner)
        if wrapped is not None:
            return wrapped
        return _plain(function)
    assert _converter is not None
    converted = _converter(function)
    _watch_recursion(function, converted)
    capture = current()
    if capture is not None and capture.on_call is not None:
        note_function(function)
        capture.on_call(function, owner, converted)
        if owner is not None and capture.adopt is not None:
            capture.adopt(owner)
    return converted


def _rewrapped(function: types.FunctionType, owner: Any) -> Any:
    """A library's wrapper of a user's function, as ``paddle.no_grad()`` makes it, converted."""
    inner = getattr(function, "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or is_library(inner.__code__.co_filename):
        return None
    return rewrapped(function, inner, _function(inner, owner))


def _changes_argument(function: Any) -> bool:
    """Whether ``function`` is one of Paddle that changes its first argument, as ``relu_``."""
    home = getattr(function, "__module__", None) or ""
    return home.startswith("paddle") and inplace.is_inplace(function.__name__)


def _dispatch_of(function: types.FunctionType) -> Callable[[Any], Any] | None:
    """What chooses by type, for ``functools.singledispatch`` and ``singledispatchmethod``."""
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        chooses: Callable[[Any], Any] = function.dispatch
        return chooses
    code = function.__code__
    if code.co_filename != functools.__file__ or code.co_name != "_method":
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    held = {name: cell.cell_contents for name, cell in cells.items()}
    dispatch = held["dispatch"] if "dispatch" in held else held["self"].dispatcher.dispatch
    return lambda kind: dispatch(kind).__get__(held["obj"], held["cls"])


def _dispatched(chooses: Any, first: Any, *arguments: Any, **options: Any) -> Any:
    """A function that is chosen by the type of its argument: by what dygraph has there."""
    if isinstance(first, Choice):
        return each(lambda found: _dispatched(chooses, found, *arguments, **options), first)

    def chosen(kind: Any) -> Any:
        return call(chooses(kind))(first, *arguments, **options)

    return each(chosen, type_(first))


def _method(method: types.MethodType) -> Any:
    owner, function = method.__self__, method.__func__
    if isinstance(owner, DynamicList):
        return method
    if bridge.is_value(owner) or isinstance(owner, Choice):
        return _tensor_method(owner, method)
    if bridge.is_eager(owner) and current() is not None and inplace.is_inplace(function.__name__):
        return inplace.method(owner, function.__name__)
    if bridge.is_eager(owner) and current() is not None and function.__name__ in _NUMBERS:
        return _tensor_method(owner, method)
    if bridge.is_eager(owner) and current() is not None and _is_computed(function):
        return _method(getattr(as_value(owner), function.__name__))
    if isinstance(owner, logging.Logger) and function.__name__ in messages.LOG_METHODS:
        return messages.log_(method)
    if isinstance(function, types.FunctionType):
        converted = _function(function, owner)
        if converted is function:
            return method
        return types.MethodType(converted, owner)
    return types.MethodType(call(function), owner)


_NUMBERS: Final = ("numpy", "tolist")
"""Methods of tensors that give their numbers."""


def _is_computed(function: Any) -> bool:
    """Whether a method of tensors is one of Paddle's functions, which values have as well."""
    name = function.__name__
    return (_module_of(function).startswith(COMPUTING) or name in _MOVING) and hasattr(
        bridge.Value, name
    )


def _tensor_method(owner: Any, method: Any) -> Any:
    name = method.__name__
    if name == "tolist":
        return functools.partial(tolist, owner)
    if name == "numpy":
        return lambda: numpy_(owner)
    if name == "register_hook":
        return functools.partial(_register_hook, owner)
    if name in _STOOD_IN:
        stood_in = getattr(paddle, name, None) or getattr(paddle.Tensor, name)
        return functools.partial(_SPECIAL[stood_in], owner)
    if name in ("item", "_item"):
        return lambda *index: _item(owner, *index)
    if inplace.is_inplace(name):
        return inplace.method(owner, name)
    return _plain(method)


_STOOD_IN: Final = (
    *("lerp", "masked_fill", "put_along_axis", "repeat", "repeat_interleave"),
    *("squeeze", "tile", "view", "view_as", "where"),
)
"""Methods of tensors that are functions of Paddle with a stand-in."""


def _tolist(x: Any) -> Any:
    """``paddle.tolist``."""
    return tolist(x) if current() is not None and is_tensor(x) else paddle.tolist(x)


def _data_parallel(*arguments: Any, **options: Any) -> Any:
    """``paddle.DataParallel`` of a layer, which a function may make for one process.

    Raises:
        UnsupportedInGraphError: (D2S205) there are several, which exchange gradients.
    """
    if current() is not None and paddle.distributed.get_world_size() > 1:
        raise error_here(
            UnsupportedInGraphError,
            "paddle.DataParallel is made for several processes while the program is captured",
            "make it once, outside of the function",
        )
    with bridge.outside_of_capture():
        return paddle.DataParallel(*arguments, **options)


def _view(x: Any, shape_or_dtype: Any, name: Any = None) -> Any:
    """``paddle.view``, with a shape."""
    if not isinstance(shape_or_dtype, list | tuple) and not is_tensor(shape_or_dtype):
        raise error_here(
            UnsupportedInGraphError,
            ".view() reads the memory of a tensor as another dtype, for which Paddle's programs "
            "have no operation",
            "use .astype() where the numbers are meant, or keep this part out of the function",
        )
    return _applied(paddle.reshape, [x, shape_or_dtype], {})


def _view_as(x: Any, other: Any, name: Any = None) -> Any:
    """``paddle.view_as``."""
    return _applied(paddle.reshape, [x, other.shape], {})


def _item(owner: Any, *index: Any) -> Any:
    """``.item()``: a 0-D value that stands for a Python number."""
    value = owner if not index else owner.flatten()[index[0]] if len(index) == 1 else owner[index]
    name = str(value.dtype).split(".")[-1]
    if name == "bool":
        return mark_number(cast_plain(value, "bool").reshape([]), bool)
    return casts.int_(value) if "int" in name else casts.float_(value)


def _plain(function: Any) -> Any:
    """``function`` as it is; while a program is captured, its arguments are made plain."""
    takes_callbacks = _module_of(function).startswith("paddle")
    of_numpy = numpy_calls.is_numpys(function)
    known = takes_callbacks or of_numpy
    sees_caller = attribute(function, "__name__", "") in _SEES_CALLER and not known
    if current() is None or sees_caller:
        return function

    def plain(*arguments: Any, **options: Any) -> Any:
        given = list(arguments)
        if takes_callbacks:  # recompute, say, or what a decorator of Paddle calls
            given = [call(item) if type(item) in _FUNCTIONS else item for item in given]
        if of_numpy and numpy_calls.holds_values([given, options]):
            return _of_numpy(function, given, options)
        return _applied(function, given, options)

    if isinstance(function, type) and function not in _TAKING_APART and not of_numpy:
        return function
    name = attribute(function, "__name__", "")
    owner = owner_of(function)
    if isinstance(owner, BaseException):  # its ``args``
        return function
    if name in _STORING and not isinstance(function, types.FunctionType):  # not ``paddle.add``
        return plain if is_tensor(owner) else function
    return plain


_MOVING: Final = frozenset(("cpu", "cuda", "to", "view", "view_as"))
"""Methods of tensors that have one form for dygraph and one for programs."""


def _module_of(function: Any) -> str:
    return str(attribute(function, "__module__", ""))


def _in_program(thing: Any) -> Any:
    """``thing`` with the values of the program in place of dygraph tensors."""
    if bridge.is_eager(thing):
        return as_value(thing)
    if type(thing) in (list, tuple) and any(bridge.is_eager(item) for item in thing):
        return type(thing)(as_value(item) if bridge.is_eager(item) else item for item in thing)
    return thing


_SEES_CALLER: Final = frozenset(
    [
        *("breakpoint", "set_trace", "warn", "currentframe", "stack", "_getframe"),
        *("globals", "locals", "vars", "dir", "eval", "exec"),
    ]
)
"""Functions that look at the frame that calls them: it has to be the user's."""

_FUNCTIONS: Final = (types.FunctionType, types.MethodType)


_TAKING_APART: Final = (str, bytes, list, tuple, dict, set, frozenset, complex, slice)
"""Built-in types whose constructor looks at its argument rather than keeping it."""

_STORING: Final = frozenset(
    ("append", "insert", "add", "setdefault", "appendleft", "put", "register_buffer", "setattr")
)
"""Built-in methods that only keep what they are given."""


def _applied(function: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
    """``function`` with plain arguments: a :class:`Choice` among them is resolved."""
    for places in (arguments, options):
        keys: Any = places if isinstance(places, dict) else range(len(places))
        for key in keys:
            found = _first_either(places[key])
            if found is None:
                continue

            # What was given is kept by itself: a branch puts back what lists have held, anew.
            one = functools.partial(_replaced, places[key], found)

            def use(value: Any, places: Any = places, key: Any = key, one: Any = one) -> Any:
                before = places[key]
                places[key] = one(value)
                try:
                    return _applied(function, arguments, options)
                finally:
                    places[key] = before

            return each(use, found, none=True, exact=True)
    if isinstance(owner_of(function), dict | set | frozenset) and _by_hash(function, arguments):
        raise no_hash()
    if current() is not None and _module_of(function).startswith(COMPUTING):
        arguments = [_in_program(item) for item in arguments]
        options = {name: _in_program(item) for name, item in options.items()}
    if current() is not None:
        arguments, options, out = _without_out(function, arguments, options)
        if out is not None:
            return inplace.put_into(out, _applied(function, arguments, options))
    capture = current()
    refused = 0 if capture is None else len(capture.refused)
    try:
        return function(*arguments, **options)
    except LibrarySizeError as error:
        converted = _of_open_sizes(function)
        if converted is None or capture is None:
            raise
        said: Exception = error
        del capture.refused[refused:]
    except Exception as error:
        given = _of_no_list(error, function, arguments)
        said = given or replays.as_in_dygraph(error, function, arguments, options)
        converted = None
        if capture is not None and any(map(_is_open, (*arguments, *options.values()))):
            converted = _of_open_sizes(function)
    try:
        if converted is None:
            raise said
        try:
            return converted(*arguments, **options)
        except Exception:
            if isinstance(said, LibrarySizeError):
                raise
            raise said from None
    finally:
        del said  # which knows this frame


def _of_numpy(function: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
    """A function of NumPy, called with something of the run among its arguments."""
    if not numpy_calls.holds_tensors([arguments, options]):
        if isinstance(function, np.ufunc) and numpy_calls.holds_arrays(arguments, 1):
            return _applied(function, arguments, options)  # which asks the array
        return numpy_calls.call(function, arguments, options)
    capture = current()
    refused = 0 if capture is None else len(capture.refused)
    try:
        return _applied(function, arguments, options)  # np.sum(x) is x.sum()
    except ArrayAskedError:
        if capture is not None:
            del capture.refused[refused:]
        return numpy_calls.call(function, arguments, options)


def _of_no_list(error: Exception, function: Any, arguments: list[Any]) -> Exception | None:
    """The refusal of a list of the run that ``function``, which is written in C, does not take."""
    lists = [item for item in arguments if isinstance(item, DynamicList)]
    in_c = isinstance(function, types.BuiltinFunctionType | types.BuiltinMethodType)
    if not lists or not in_c or not isinstance(error, TypeError):
        return None
    return error_here(
        ContainerInGraphError,
        f"{function.__name__}() is given {lists[0].name!r}, a list whose length a tensor decides",
        "use the methods of the list, sorted() and min(), or functions of Paddle on a stack of it",
    )


def _of_open_sizes(function: Any) -> Any:
    """A function or layer of Paddle, converted as the user's are; ``None`` for other things.

    What it computes with a size that only the run knows becomes part of the program.
    """
    assert _converter is not None
    if type(function) is types.FunctionType and _module_of(function).startswith("paddle"):
        return _converter(function)
    if isinstance(function, functools.partial) and function.args:
        layer, plain = function.args[0], getattr(type(function.args[0]), "forward", None)
        if isinstance(layer, paddle.nn.Layer) and type(plain) is types.FunctionType:
            forward = types.MethodType(_converter(plain), layer)
            return functools.partial(_with_forward, layer, forward, function)
    return None


def _is_open(thing: Any) -> bool:
    """Whether ``thing`` is, or holds, a tensor with a size that only the run knows."""
    if type(thing) in (list, tuple):
        return any(map(_is_open, thing))
    return bridge.is_value(thing) and any(size < 0 for size in bridge.shape_of(thing) or ())


def _with_forward(
    layer: Any, forward: Any, run: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    with _swapped(layer.__dict__, {"forward": forward}):
        return run(*arguments, **options)


def _without_out(
    function: Any, arguments: list[Any], options: dict[str, Any]
) -> tuple[list[Any], dict[str, Any], Any]:
    """The arguments of a function of Paddle without ``out``, which a program ignores, and that.

    ``out`` is ``None`` if it is not given.
    """
    if not _module_of(function).startswith("paddle"):
        return arguments, options, None
    position = _position_of_out(function) if type(function) is types.FunctionType else None
    out = options.get("out")
    if position is not None and position < len(arguments):
        out = arguments[position]
    found = out[0] if isinstance(out, list | tuple) and out else out
    if not is_tensor(found):
        return arguments, options, None
    if getattr(function, "__name__", "").startswith("bitwise_"):  # dygraph writes nothing either
        out = None
    kept = [None if place == position else item for place, item in enumerate(arguments)]
    return kept, {name: item for name, item in options.items() if name != "out"}, out


@functools.lru_cache(maxsize=1024)
def _position_of_out(function: Any) -> int | None:
    """Which positional argument of a function of Paddle is ``out``."""
    parameters = list(inspect.signature(function).parameters.values())
    names = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    return names.index("out") if "out" in names else None


APPLYING: Final = _applied.__code__
"""The code that calls functions that are not converted."""


def _by_hash(method: Any, arguments: list[Any]) -> bool:
    """Whether a method of a dict or set would look for a number of the run by its hash."""
    found = [is_late_key(item) for item in arguments]
    return any(found) if isinstance(method.__self__, set | frozenset) else any(found[:1])


def _first_either(thing: Any) -> Choice | None:
    if isinstance(thing, Choice):
        return thing
    if type(thing) in (list, tuple):
        for item in thing:
            if isinstance(item, Choice):
                return item
    return None


def _replaced(thing: Any, found: Choice, value: Any) -> Any:
    if thing is found:
        return value
    return type(thing)(value if item is found else item for item in thing)


def _layer(layer: Any) -> Any:
    """``layer`` as a function; its hooks run, its ``forward`` is converted."""
    if current() is None:
        return layer if _forward_of(layer)[1] is None else functools.partial(_run_layer, layer)
    return layer  # the class's __call__ converts while a program is captured


def _forward_of(layer: Any) -> tuple[Any, Any]:
    """The ``forward`` of ``layer`` without a converter around it, and its converted form if any."""
    forward = layer.forward
    if isinstance(forward, bridge.ASTStaticFunction):
        forward = forward.dygraph_function
    converted = call(forward) if type(forward) is types.MethodType else forward
    function = getattr(forward, "__func__", None)
    if converted is forward or getattr(converted, "__func__", None) is function:
        return forward, None
    return forward, converted


def _run_layer(layer: Any, *arguments: Any, **options: Any) -> Any:
    with _swapped(layer.__dict__, {"forward": _forward_of(layer)[1]}):
        return layer(*arguments, **options)


def layer_call(
    layer: Any, original: Callable[..., Any], arguments: Any, options: dict[str, Any]
) -> Any:
    """A call of ``layer`` during a capture, by whomever: ``forward`` and hooks are converted.

    Args:
        layer: the layer.
        original: what ``nn.Layer`` does when it is called.
        arguments, options: the call's.
    """
    capture = current()
    assert capture is not None
    if capture.adopt is not None:
        capture.adopt(layer)
    if id(layer) in capture.prepared:
        return _applied(functools.partial(original, layer), list(arguments), options)
    _, converted = _forward_of(layer)
    hooks = [table for table in (layer._forward_pre_hooks, layer._forward_post_hooks) if table]
    with contextlib.ExitStack() as stack:
        capture.prepared.add(id(layer))
        stack.callback(capture.prepared.discard, id(layer))
        if converted is not None:
            stack.enter_context(_swapped(layer.__dict__, {"forward": converted}))
        for table in hooks:
            before = table is layer._forward_pre_hooks
            found = {key: _hook(call(hook), before=before) for key, hook in table.items()}
            stack.enter_context(_swapped(table, found))
        if converted is not None:
            return original(layer, *arguments, **options)
        return _applied(functools.partial(original, layer), list(arguments), options)


def _hook(hook: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    """A hook of a layer; where it may return ``None``, it returns what that leaves in place."""

    def run(layer: Any, *given: Any) -> Any:
        result = hook(layer, *given)
        if not isinstance(result, Choice) or not any(leaf is None for leaf in result.leaves()):
            return result

        def as_given(leaf: Any) -> Any:
            if leaf is None:
                return given[-1]
            return (leaf,) if before and not isinstance(leaf, tuple) else leaf

        return each(lambda found: found, result.spread(as_given), plainly=True)

    return run


_ABSENT: Final = object()


@contextlib.contextmanager
def _swapped(table: Any, values: dict[Any, Any]) -> Iterator[None]:
    """``table`` with other values under some keys, for a while."""
    before = {key: table.get(key, _ABSENT) for key in values}
    table.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is _ABSENT:
                table.pop(key, None)
            else:
                table[key] = value


def _watch_recursion(function: types.FunctionType, converted: Any) -> None:
    """Refuse endless capture: a function that calls itself under a tensor condition (E3)."""
    capture = current()
    if capture is None or not capture.guarded:
        return
    code, count = converted.__code__, 0
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        count += frame.f_code is code or frame.f_code == code
        if count > RECURSION_LIMIT:
            raise error_here(
                TensorRecursionError,
                f"{function.__name__!r} calls itself under a condition that only the run can "
                "decide",
                "write the recursion as a while loop",
            )
        frame = frame.f_back


def _map(function: Any, /, *things: Any) -> Any:
    return map(call(function), *(iteration.items_of(thing) for thing in things))


def _filter(function: Any, things: Any, /) -> Any:
    if current() is None or type(things) not in (list, tuple) or not any(map(is_tensor, things)):
        return filter(None if function is None else call(function), iteration.items_of(things))
    accept = (lambda item: item) if function is None else call(function)
    return comprehensions.list_(things, lambda item: item, lambda item: accept(item))


def _keyed(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator`` with its ``key`` converted."""

    def run(*things: Any, key: Any = None, **options: Any) -> Any:
        return operator(*things, key=None if key is None else call(key), **options)

    return run


def _ranking(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator`` with its third argument, ``key``, converted."""

    def rank(n: Any, iterable: Any, key: Any = None) -> Any:
        return operator(n, iterable, None if key is None else call(key))

    return rank


def _reduce(function: Any, things: Any, /, *others: Any, **options: Any) -> Any:
    return functools.reduce(call(function), iteration.items_of(things), *others, **options)


def _accumulate(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    function = None if func is None else call(func)
    return itertools.accumulate(iteration.items_of(iterable), function, initial=initial)


def _starmap(function: Any, things: Any, /) -> Any:
    return itertools.starmap(call(function), iteration.items_of(things))


def _into(out: Any) -> dict[str, Any]:
    return {} if out is None else {"out": out}


def _stack(x: Any, axis: int = 0, name: Any = None, *, out: Any = None) -> Any:
    if not isinstance(x, DynamicList):
        return _applied(paddle.stack, [x, axis], _into(out))
    stacked = x.stacked()
    if axis not in (0, -len(stacked.shape)):
        stacked = paddle.moveaxis(stacked, 0, axis)
    return stacked if out is None else inplace.put_into(out, stacked)


def _concat(x: Any, axis: Any = 0, name: Any = None, *, out: Any = None) -> Any:
    if not isinstance(x, DynamicList):
        if is_tensor(x):  # which a program would take
            replays.check(paddle.concat, [x])
        return _applied(paddle.concat, [x, axis], _into(out))
    stacked = x.stacked()
    rank = len(stacked.shape) - 1
    axis = axis + rank if axis < 0 else axis
    moved = paddle.moveaxis(stacked, 0, axis)
    shape = paddle.shape(moved).astype("int64")
    sizes: list[Any] = [
        shape[index] if size < 0 else size for index, size in enumerate(moved.shape)
    ]
    joined = paddle.reshape(moved, [*sizes[:axis], -1, *sizes[axis + 2 :]])
    return joined if out is None else inplace.put_into(out, joined)


def _tile(x: Any, repeat_times: Any, name: Any = None) -> Any:
    """``paddle.tile``: one number may stand for a list of it, which a program does not take."""
    alone = isinstance(repeat_times, Choice) or number_kind(repeat_times) is not None
    times = [repeat_times] if alone else repeat_times
    return _applied(paddle.tile, [x, times], {})


def _repeat(input: Any, repeats: Any) -> Any:
    """``x.repeat``."""
    return _tile(input, repeats)


def _squeeze(x: Any, axis: Any = None, name: Any = None) -> Any:
    return _applied(ranks.squeeze, [x, axis], {})


def _normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: Any = None) -> Any:
    """``paddle.normal``, which takes a number of the run for a tensor and forgets the shape."""
    numbers = [number_kind(each) is not None for each in (mean, std)]
    if not all(numbers) or not any(map(bridge.is_value, (mean, std))):
        return _applied(paddle.normal, [mean, std, shape], {})
    return mean + std * _applied(paddle.normal, [0.0, 1.0, shape], {})


def _pad(
    x: Any, pad: Any, mode: Any = "constant", value: Any = 0.0, data_format: Any = None,
    pad_from_left_axis: Any = True, name: Any = None,
) -> Any:  # fmt: skip
    """``paddle.nn.functional.pad``."""
    if padding.is_decided(pad, mode):
        return padding.padded(x, pad, value, data_format, pad_from_left_axis)
    given = [x, pad, mode, value, data_format, pad_from_left_axis]
    return _applied(paddle.nn.functional.pad, given, {})


def _joining(original: Any) -> Callable[..., Any]:
    """``hstack`` and its like, which bring the items to a rank and join them."""
    lifted, axis = _JOINING[original.__name__]

    def join(x: Any, name: Any = None) -> Any:
        if not isinstance(x, DynamicList):
            return _applied(original, [x], {})
        rank = len(x.stacked().shape) - 1
        if rank >= lifted:
            return _concat(x, 0 if rank == 1 else axis)
        stacked = x.stacked()
        if rank == 0:  # every item has one element
            shape = [-1 if place == min(axis, lifted - 1) else 1 for place in range(lifted)]
            return paddle.reshape(stacked, shape)
        if axis == 0:
            return stacked
        last = paddle.moveaxis(stacked, 0, -1)
        return last.unsqueeze(0) if rank == 1 and lifted == 3 else last

    return join


_JOINING: Final = {
    "hstack": (1, 1),
    "vstack": (2, 0),
    "row_stack": (2, 0),
    "column_stack": (2, 1),
    "dstack": (3, 2),
}
"""The rank that the items have at least, and the axis along which they are joined."""


def _add_n(inputs: Any, name: Any = None) -> Any:
    if isinstance(inputs, DynamicList):
        return inputs.stacked().sum(0)
    return _applied(paddle.add_n, [inputs], {})


def _assign(x: Any, output: Any = None) -> Any:
    """``paddle.assign``; into another tensor, it changes that one in place."""
    if training.writes(output):
        return training.write(x, output)
    if bridge.is_value(x) and number_kind(x) is not None:
        x = as_value(x).reshape([1])  # as dygraph makes a tensor of a Python number
    if current() is not None and is_tensor(output):
        return _applied(inplace.assigned, [output, x], {})
    return _applied(paddle.assign, [x] if output is None else [x, output], {})


def _set_state_dict(
    layer: Any, state_dict: Any, use_structured_name: bool = True
) -> tuple[list[str], list[str]]:
    """``Layer.set_state_dict``: each run writes into the parameters."""
    if current() is None:
        known: tuple[list[str], list[str]] = paddle.nn.Layer.set_state_dict(
            layer, state_dict, use_structured_name
        )
        return known
    missing, matched = [], set()
    for key, kept in layer.state_dict(use_hook=False).items():
        name = key if use_structured_name else kept.name
        found = state_dict.get(name)
        problem = f"{name} is not found in the provided dict."
        if found is not None and list(found.shape) != list(kept.shape):
            problem = (
                f"{name} receives a shape {list(found.shape)}, but the expected shape is "
                f"{list(kept.shape)}."
            )
            found = None
        if found is None:
            missing.append(name)
            warnings.warn(f"Skip loading for {key}. {problem}", stacklevel=2)
            continue
        matched.add(name)
        if training.writes(kept):
            training.write(found, kept)
        else:
            inplace.method(kept, "set_value")(found)
    return missing, [key for key in state_dict if key not in matched]


def _register_buffer(layer: Any, name: Any, tensor: Any, persistable: bool = True) -> None:
    """``Layer.register_buffer``: each run sets the buffer, as it sets attributes."""
    capture = current()
    if capture is None or not bridge.is_value(tensor):
        paddle.nn.Layer.register_buffer(layer, name, tensor, persistable)
        return
    if id(layer) in capture.born:
        capture.makes()
    paddle.nn.Layer.register_buffer(layer, name, None, persistable)
    layer._buffers[name] = tensor


def _making(operator: Callable[..., Any]) -> Callable[..., Any]:
    def make(*arguments: Any, **options: Any) -> Any:
        return _applied(operator, [making.settled(item) for item in arguments], options)

    return make


def _auto_cast(enable: Any = True, *others: Any, **options: Any) -> Any:
    """``paddle.amp.auto_cast``: as in dygraph it has no effect on a CPU, where a program casts."""
    if current() is not None and paddle.get_device() == "cpu":
        enable = False
    return paddle.amp.auto_cast(enable, *others, **options)


_MAKING: Final[dict[Any, Callable[..., Any]]] = {
    function: _making(operator) for function, operator in making.OPERATORS.items()
}


def _as_dtype_of(x: Any, number: Any) -> Any:
    return cast_plain(number, as_value(x).dtype)


def _as_default(_: Any, number: Any) -> Any:
    """A float as a tensor that is made of one."""
    is_float = number_kind(number) is float
    return cast_plain(number, paddle.get_default_dtype()) if is_float else number


def _taking_numbers(
    original: Any, names: tuple[str, ...], made: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """A function of Paddle that makes tensors of numbers, which takes those of the run as well.

    Args:
        original: the function.
        names: the parameters that may be numbers.
        made: from the first argument and a number to what the function's operation takes.
    """
    parameters = list(inspect.signature(original).parameters)

    def run(*arguments: Any, **options: Any) -> Any:
        given = dict(zip(parameters, arguments, strict=False)) | options
        first = given.get(parameters[0])
        places, named = list(arguments), dict(options)
        for name in names:
            number = given.get(name)
            if first is None or not bridge.is_value(number) or number_kind(number) is None:
                continue
            if name in options:
                named[name] = made(first, number)
            else:
                places[parameters.index(name)] = made(first, number)
        return _applied(original, places, named)

    return run


def _repeat_interleave(
    x: Any, repeats: Any, axis: Any = None, name: Any = None, **options: Any
) -> Any:
    """``paddle.repeat_interleave``: a program takes one number for each element."""
    if bridge.is_value(repeats) and not list(repeats.shape):
        x = as_value(x)
        if axis is None:
            x, axis = x.flatten(), 0
        repeats = paddle.expand(repeats.reshape([1]), [shape(x)[axis]])
    return _applied(paddle.repeat_interleave, [x, repeats, axis], options)


_STANDING_IN: Final[dict[Any, Callable[..., Any]]] = {
    paddle.lerp: _taking_numbers(paddle.lerp, ("weight",), _as_dtype_of),
    paddle.masked_fill: _taking_numbers(paddle.masked_fill, ("value",), _as_dtype_of),
    paddle.put_along_axis: _taking_numbers(paddle.put_along_axis, ("values",), _as_dtype_of),
    paddle.repeat_interleave: _repeat_interleave,
    paddle.where: _taking_numbers(paddle.where, ("x", "y"), _as_default),
    **{function: _ranking(operator) for function, operator in ranked.OF_PYTHON.items()},
    paddle.nn.functional.pad: _pad,
    paddle.Tensor.repeat: _repeat,
    paddle.squeeze: _squeeze,
    paddle.stack: _stack,
    paddle.concat: _concat,
    paddle.add_n: _add_n,
    **{
        function: _joining(function)
        for function in (getattr(paddle, name, None) for name in _JOINING)
        if function is not None
    },
    paddle.amp.auto_cast: _auto_cast,
    paddle.grad: training.grad_,
    paddle.tile: _tile,
    paddle.normal: _normal,
    paddle.tensor.array_length: casts.len_,
    paddle.view: _view,
    paddle.view_as: _view_as,
    paddle.tolist: _tolist,
    paddle.assign: _assign,
    **_MAKING,
    paddle.autograd.backward: training.backward_of,
    paddle.nn.utils.clip_grad_norm_: clip_functions.clip_grad_norm_,
    paddle.nn.utils.clip_grad_value_: clip_functions.clip_grad_value_,
    asyncio.gather: coroutines.gather,
    paddle.nn.Layer.set_state_dict: _set_state_dict,
    paddle.nn.Layer.register_buffer: _register_buffer,
}

_SPECIAL: Final[dict[Any, Callable[..., Any]]] = {
    function: spelt(function, operator) for function, operator in _STANDING_IN.items()
}

_LOGGING: Final = frozenset(getattr(logging, name) for name in messages.LOG_METHODS)


def _in_pythons_words(operators: dict[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    return {
        function: in_pythons_words(function, operator) for function, operator in operators.items()
    }


_CALLING_BACK: Final[dict[Any, Callable[..., Any]]] = _in_pythons_words(
    {
        warnings.warn: messages.warn_,
        builtins.filter: _filter,
        builtins.map: _map,
        builtins.sorted: _keyed(dispatch.KEYED[builtins.sorted]),
        functools.reduce: _reduce,
        itertools.accumulate: _accumulate,
        itertools.starmap: _starmap,
    }
)
"""Functions that see who calls them, or call back, also when no program is being captured."""

_BUILTINS: Final[dict[Any, Callable[..., Any]]] = {
    **_in_pythons_words(
        {builtins.list: comprehensions.list_of, builtins.tuple: comprehensions.tuple_of}
    ),
    paddle.DataParallel: _data_parallel,
    builtins.memoryview: memoryview_,
    np.asarray: asarray,
    np.array: array,
    paddle.tensor: _MAKING[paddle.tensor],  # an object that stands for a module, too
    **_in_pythons_words(dispatch.OPERATORS),
    **_in_pythons_words(
        {function: _keyed(operator) for function, operator in dispatch.KEYED.items()}
    ),
    **_CALLING_BACK,
}


def _operator_of(function: Any) -> Any:
    """The operator of a built-in, while a program is being captured."""
    if type(function) is types.BuiltinMethodType and current() is not None:
        found = _method_operator(function)
        if found is not None:
            return found
    try:
        found = (_CALLING_BACK if current() is None else _BUILTINS).get(function)
    except Exception:  # not hashable, or a user's __hash__ that fails: no built-in
        return None
    return found


def _method_operator(method: Any) -> Any:
    """The operator of a method of a built-in type, such as ``list.sort``."""
    owner = method.__self__
    key = (type(owner), method.__name__)
    if key in dispatch.METHODS:
        operator = functools.partial(dispatch.METHODS[key], owner)
        return in_pythons_words(method, operator)
    if key in dispatch.KEYED_METHODS:
        operator = functools.partial(_keyed(dispatch.KEYED_METHODS[key]), owner)
        return in_pythons_words(method, operator)
    return None

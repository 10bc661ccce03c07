"""Calls of what is not converted: functions of Paddle, of NumPy, of libraries, written in C.

They get plain arguments: one of several things is resolved, a dygraph tensor becomes a value, and
``out=`` is written by us.  Where a function of Paddle computes in Python with a size that only the
run knows, it is converted after all.
"""

from __future__ import annotations

import functools
import random
import re
import types
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ContainerInGraphError, D2SError, NotStaticError
from d2s.runtime.aliasing import identities, inplace, replays
from d2s.runtime.aliasing.replays import COMPUTING
from d2s.runtime.aliasing.snapshots import changed_double, is_double
from d2s.runtime.calls.callables import swapped
from d2s.runtime.calls.converter import converter
from d2s.runtime.calls.host_functions import NUMBER_ASKED, on_each_run
from d2s.runtime.calls.spellings import without_out
from d2s.runtime.calls.stand_ins.putting import of_arrays, of_lists, refuse_lists, taken_from
from d2s.runtime.host import world
from d2s.runtime.lists.becoming import become
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.python.arrays import numpy_calls
from d2s.runtime.python.keys import is_undecided
from d2s.runtime.trace import current, error_here
from d2s.runtime.training.methods import if_training
from d2s.runtime.values.choice import Choice, Use, each, possible
from d2s.runtime.values.objects import attribute, is_user_class, owner_of
from d2s.runtime.values.tensors import (
    ArrayAskedError,
    LibrarySizeError,
    as_value,
    is_array,
    is_tensor,
)
from d2s.runtime.values.tree import (
    any_leaf,
    first_leaf,
    is_hashed,
    is_mapping,
    is_mutable,
    is_plain_sequence,
    map_children,
    pairs,
    replaced,
)


def plain(function: Any, call: Callable[[Any], Any]) -> Any:
    """``function`` as it is; while a program is captured, its arguments are made plain.

    Args:
        function: the function.
        call: gives what to call in place of a function of the user's.
    """
    takes_callbacks = module_of(function).startswith("paddle")
    of_numpy = numpy_calls.is_numpys(function)
    known = takes_callbacks or of_numpy
    name = attribute(function, "__name__", "")
    sees_caller = name in _SEES_CALLER and not known
    if current() is None or sees_caller:
        return function

    def run(*arguments: Any, **options: Any) -> Any:
        given = list(arguments)
        world.check_given(function, [*arguments, *options.values()])
        if name not in world.ASKING:
            taken_from(*arguments, *options.values())
        if takes_callbacks:  # recompute, say, or what a decorator of Paddle calls
            given = [call(item) if type(item) in _FUNCTIONS else item for item in given]
        if of_numpy and numpy_calls.holds_values([given, options]):
            return _of_numpy(function, given, options)
        return applied(function, given, options)

    if isinstance(function, type) and function not in _TAKING_APART and not of_numpy:
        return functools.partial(_instance, function) if _reads(function) else function
    owner = owner_of(function)
    capture = current()
    if capture is not None and name in _CHANGING:
        capture.check_placed(owner)
        if is_double(owner):
            raise changed_double(owner)
    if isinstance(owner, BaseException):  # its ``args``
        return function
    held = is_hashed(owner)
    if held and name == "update" and not isinstance(function, types.FunctionType):
        return functools.partial(_updated, function)
    stores = name in _STORING or (held and name == "__setitem__")  # of ``super()``
    if stores and not isinstance(function, types.FunctionType):  # not ``paddle.add``
        if held:
            return functools.partial(_into_hashed, function, owner)
        return run if is_tensor(owner) else functools.partial(_stored, function)
    return run


def _reads(kind: type) -> bool:
    """Whether a class computes with what it is given when an object is made, as ``timedelta``."""
    keeps = issubclass(kind, _KEEPING) or hasattr(kind, "__enter__")
    return not (is_user_class(kind) or keeps or module_of(kind).startswith("paddle"))


def _instance(kind: type, *arguments: Any, **options: Any) -> Any:
    """An object of a library's class, for each of several things that an argument may be.

    Raises:
        NotStaticError: (D2S208) the class does not take a number of the run.
    """
    world.check_given(kind, [*arguments, *options.values()])
    taken_from(*arguments, *options.values())
    for at, given in enumerate(arguments):
        if isinstance(given, Choice):
            before, behind = arguments[:at], arguments[at + 1 :]
            use = functools.partial(_between, kind, before, behind, options)
            return each(use, given, none=True, exact=True)
    for name, given in options.items():
        if isinstance(given, Choice):
            use = functools.partial(_between, kind, arguments, (), options, name=name)
            return each(use, given, none=True, exact=True)
    try:
        return kind(*arguments, **options)
    except (TypeError, ValueError) as error:
        late = any(is_tensor(item) for item in (*arguments, *options.values()))
        if not late or isinstance(error, D2SError):
            raise
        raise _needs_value(kind) from None


def _between(
    kind: type,
    before: tuple[Any, ...],
    behind: tuple[Any, ...],
    options: dict[str, Any],
    found: object,
    name: str | None = None,
) -> Any:
    """:func:`_instance` with ``found`` between arguments, or as the option ``name``."""
    if name is not None:
        return _instance(kind, *before, **{**options, name: found})
    return _instance(kind, *before, found, *behind, **options)


def _stored(function: Any, *arguments: Any, **options: Any) -> Any:
    """``append`` and the like: what is kept is what it may be here, whoever asks for it later."""
    first, *rest = map(possible, arguments) if arguments else (None,)
    if isinstance(first, Choice) and attribute(function, "__name__", "") == "insert":
        use = lambda position: function(position, *rest)  # noqa: E731
        return _each_change(use, first, owner_of(function), function)
    return function(*map(possible, arguments), **options)


def _updated(function: Callable[..., Any], *arguments: object, **options: object) -> None:
    """``update`` of a set or dict: what has a name is kept as it is."""
    if arguments:
        taken_from(*arguments)
        applied(function, list(arguments), {})
    if options or not arguments:
        function(**{name: possible(item) for name, item in options.items()})


def _into_hashed(function: Any, owner: Any, *arguments: Any, **options: Any) -> Any:
    """``add`` or ``setdefault`` of a set or dict."""
    if _by_hash(owner, arguments):
        return _of_keys(owner, function.__name__)(*arguments, **options)
    return _stored(function, *identities.with_stored(owner, arguments), **options)


def module_of(function: object) -> str:
    """The module that a function says it is of."""
    return str(attribute(function, "__module__", ""))


def in_program(given: object) -> Any:
    """``given`` with the values of the program in place of dygraph tensors."""
    if bridge.is_eager(given):
        return as_value(given)
    if is_array(given) and given.scalar:
        return given.item()
    if is_plain_sequence(given) and any_leaf(bridge.is_eager, given, 1):
        return map_children(lambda item: as_value(item) if bridge.is_eager(item) else item, given)
    return given


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


_KEEPING: Final = (BaseException, functools.partial, types.SimpleNamespace, type)
"""Classes whose objects hold what they are given."""


_STORING: Final = frozenset(
    ("append", "insert", "add", "setdefault", "appendleft", "put", "register_buffer", "setattr")
)
"""Built-in methods that only keep what they are given."""

_CHANGING: Final = frozenset((
    "append", "insert", "extend", "pop", "remove", "clear", "sort", "reverse", "update",
    "setdefault", "popitem", "__setitem__", "add", "discard", "subtract", "appendleft",
    "extendleft", "popleft", "rotate", "move_to_end", "difference_update", "intersection_update",
    "symmetric_difference_update",
))  # fmt: skip
"""Methods that change a list, dict, set or deque in place."""

_READING: Final = frozenset(
    [
        *("count", "copy", "difference", "get", "index", "intersection", "isdisjoint"),
        *("issubset", "issuperset", "items", "join", "keys", "most_common", "union", "values"),
        *("symmetric_difference", "total", "elements", "__contains__", "__getitem__"),
    ]
)
"""Methods of lists, dicts and the like that change nothing."""

_CHANGERS: Final = ("_bisect", "_heapq", "_operator", "bisect", "heapq", "operator", "random")
"""Modules whose functions may change the list or dict that they are given first."""


def _changed_by(function: Any, owner: object, arguments: list[Any]) -> object:
    """The list or dict that ``function`` may change, or itself if that changes parameters."""
    first = arguments[0] if arguments else None
    module = module_of(function)
    of_python = isinstance(function, types.FunctionType) and not module.startswith(COMPUTING)
    if of_python or isinstance(function, types.MethodDescriptorType):  # list.extend(items, more)
        owner = first
    if is_mutable(owner):
        return None if attribute(function, "__name__", "") in _READING else owner
    known = module in _CHANGERS or type(owner) is random.Random
    return first if known and is_mutable(first) else if_training(function, first)


def _each_change(use: Use, choice: Choice, changed: object, function: object) -> Any:
    """``use`` of each of several things, which may change a list or dict besides.

    Raises:
        ContainerInGraphError: (D2S207) its length would depend on the one that is meant.
    """
    if changed is None:
        return each(use, choice, none=True, exact=True)
    own = any(leaf is changed for leaf in choice.leaves())
    try:
        if not own:
            return each(use, choice, none=True, exact=True, changes=True)
        said: ContainerInGraphError | None = None
    except ContainerInGraphError as error:
        said = error
    kind, name = type(changed).__name__, attribute(function, "__name__", "a function")
    mine = error_here(
        ContainerInGraphError,
        f"{name}() changes a {kind} with one of several things, which a tensor decides, and "
        "its length or keys depend on it",
        "change it in a for loop over them, or with += of a variable",
    )
    raise mine if said is None or said.line == mine.line else said


def applied(function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    """``function`` with plain arguments: a :class:`Choice` among them is resolved."""
    owner = owner_of(function)
    if is_hashed(owner) and _by_hash(owner, arguments):
        return _of_keys(owner, function.__name__)(*arguments, **options)
    arguments = identities.with_stored(owner, arguments)
    for places in (arguments, options):
        for key, given in pairs(places):
            choice = _first_choice(given)
            if choice is not None:
                # What was given is kept by itself: a branch puts back what lists have held, anew.
                one = functools.partial(replaced, given, choice)
                place = places, key
                use = functools.partial(_applied_at, function, arguments, options, place, one)
                return _each_change(use, choice, _changed_by(function, owner, arguments), function)
    asking = module_of(function).startswith((*COMPUTING, "paddle.nn.layer.rnn"))
    if current() is not None and (asking or is_tensor(owner)):
        refuse_lists(function, [*arguments, *options.values()])
        arguments = [in_program(item) for item in arguments]
        options = {name: in_program(item) for name, item in options.items()}
    if current() is not None:
        arguments, options, out = without_out(function, arguments, options)
        if out is not None:
            return inplace.put_into(out, applied(function, arguments, options))
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
        said, converted = _otherwise(error, function, arguments, options, refused)
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


def _otherwise(
    error: Exception,
    function: Callable[..., Any],
    arguments: list[Any],
    options: dict[str, Any],
    refused: int,
) -> tuple[Exception, Callable[..., Any] | None]:
    """What dygraph says of a call that a program refuses, and what does the same in a program."""
    capture = current()
    given = (
        of_arrays(error, function, [*arguments, *options.values()])
        or _of_no_list(error, function, arguments)
        or _of_no_value(error, function)
    )
    said = given or replays.as_in_dygraph(error, function, arguments, options)
    if capture is not None and given is None and isinstance(said, NUMBER_ASKED):
        hosted = on_each_run(function, arguments, options)
        if hosted is not None:
            del capture.refused[refused:]
            return said, hosted
    is_open = capture is not None and any_leaf(_is_open, [arguments, options])
    return said, _of_open_sizes(function) if is_open else None


def _applied_at(
    function: Callable[..., Any],
    arguments: list[Any],
    options: dict[str, Any],
    place: tuple[Any, Any],
    one: Callable[[object], object],
    value: object,
) -> Any:
    """:func:`applied` with what ``one`` makes of a value at a place: a container and a key."""
    places, key = place
    before = places[key]
    places[key] = one(value)
    try:
        return applied(function, arguments, options)
    finally:
        places[key] = before


APPLYING: Final = applied.__code__
"""The code that calls functions that are not converted."""


def _of_numpy(function: Callable[..., Any], arguments: list[Any], options: dict[str, Any]) -> Any:
    """A function of NumPy, called with something of the run among its arguments."""
    if function in numpy_calls.TAKING_SIZES:
        return numpy_calls.call(function, arguments, options)
    if not numpy_calls.holds_tensors([arguments, options]):
        if isinstance(function, np.ufunc) and numpy_calls.holds_arrays(arguments, 1):
            return applied(function, arguments, options)  # which asks the array
        return numpy_calls.call(function, arguments, options)
    capture = current()
    refused = 0 if capture is None else len(capture.refused)
    try:
        return applied(function, arguments, options)  # np.sum(x) is x.sum()
    except ArrayAskedError:
        if capture is not None:
            del capture.refused[refused:]
        return numpy_calls.call(function, arguments, options)


def _of_no_list(
    error: Exception, function: Callable[..., Any], arguments: list[Any]
) -> Exception | None:
    """The refusal of a list of the run that a library, or what is written in C, does not take."""
    in_c = isinstance(function, types.BuiltinFunctionType | types.BuiltinMethodType)
    if isinstance(error, D2SError):
        return None
    if (in_c and isinstance(error, TypeError)) or module_of(function).startswith("paddle."):
        return of_lists(function, arguments)
    return None


_OURS: Final = re.compile(r"\b(Value|HostText|DynamicList|RunArray|Choice)\b")
"""Classes of what stands for things of dygraph in a program, of which no user should read."""


def _of_no_value(error: Exception, function: Callable[..., Any]) -> Exception | None:
    """The refusal of what the run decides, which a library has met and does not take."""
    found = None if isinstance(error, D2SError) else _OURS.search(str(error))
    if found is None or (found[0] == "Value" and not _is_of_python(error, function)):
        return None
    return _needs_value(function)


def _needs_value(function: Callable[..., Any]) -> D2SError:
    return error_here(
        NotStaticError,
        f"{attribute(function, '__name__', 'a function')}(), which stays Python, needs what only "
        "the run knows",
        "call it outside of the converted function, or from a function under @d2s.host",
    )


def _is_of_python(error: Exception, function: Callable[..., Any]) -> bool:
    """Whether an error is of Python's own; Paddle calls its values so, too."""
    return isinstance(error, TypeError | AttributeError) and not module_of(function).startswith(
        "paddle"
    )


def _of_open_sizes(function: Callable[..., Any]) -> Any:
    """A function or layer of Paddle, converted as the user's are; ``None`` for other things.

    What it computes with a size that only the run knows becomes part of the program.
    """
    convert = converter().convert
    if type(function) is types.FunctionType and module_of(function).startswith("paddle"):
        return convert(function)
    if isinstance(function, functools.partial) and function.args:
        layer, plain = function.args[0], getattr(type(function.args[0]), "forward", None)
        if isinstance(layer, paddle.nn.Layer) and type(plain) is types.FunctionType:
            forward = types.MethodType(convert(plain), layer)
            return functools.partial(_with_forward, layer, forward, function)
    return None


def _is_open(given: object) -> bool:
    """Whether ``given`` is a tensor with a size that only the run knows."""
    return bridge.is_value(given) and any(size < 0 for size in bridge.shape_of(given) or ())


def _with_forward(
    layer: paddle.nn.Layer,
    forward: Callable[..., Any],
    run: Callable[..., Any],
    *arguments: object,
    **options: object,
) -> Any:
    with swapped(layer.__dict__, {"forward": forward}):
        return run(*arguments, **options)


def _of_keys(owner: Any, name: str) -> Any:
    """A method of a dict or set that is called with what only the run knows."""
    return lambda *arguments, **options: getattr(
        become(owner, element_of(_item_for(owner, name, arguments))), name
    )(*arguments, **options)


def _item_for(owner: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """What a dict or set has to have room for when a method of it is called."""
    if not is_mapping(owner):
        return arguments[0]
    known = next(iter(owner.values()), None)
    return arguments[0], (*arguments[1:], known)[0] if name == "setdefault" else known


def _by_hash(owner: object, arguments: Sequence[Any]) -> bool:
    """Whether a method of a dict or set would look for a number of the run by its hash."""
    keys = arguments[:1] if is_mapping(owner) else arguments
    return any(map(is_undecided, keys))


def _first_choice(given: object) -> Choice | None:
    """``given``, or an item of it, if that is one of several things."""
    choice = isinstance(given, Choice) or is_plain_sequence(given)
    return first_leaf(lambda part: isinstance(part, Choice), given, 1) if choice else None

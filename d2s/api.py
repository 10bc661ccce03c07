"""``to_static`` and its friends; the only place that wires the floors together."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import paddle

from d2s import conversion
from d2s import paddle_bridge as bridge
from d2s.diagnostics.leaving import leaving
from d2s.diagnostics.location import here
from d2s.errors import ArgumentsError, NotAFunctionError, SaveError
from d2s.pipeline import Trace
from d2s.program.dispatch.info import ProgramInfo
from d2s.program.dispatch.options import is_whole, kept_options
from d2s.program.dispatch.saving import loaded, path_of, saved
from d2s.program.islands.breaks import Break, tell
from d2s.program.keys.callables import written
from d2s.program.running.loaded import explaining, write_sources
from d2s.program.static_coroutine import StaticCoroutine
from d2s.program.static_function import StaticFunction
from d2s.runtime.calls.call import SKIP
from d2s.runtime.calls.call import call as converted_of
from d2s.runtime.calls.callables import call_method
from d2s.runtime.host.debuggers import step_over_ours
from d2s.runtime.values import objects
from d2s.runtime.values.container_kinds import Registered
from d2s.runtime.values.tree import PYTHONS, children, register
from d2s.runtime.values.tree import kind_of as kind_of_container
from d2s.selfcheck.check import CheckedFunction, Checker
from d2s.syntax.printer import to_source
from d2s.syntax.source import kind_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from d2s.typed import LoadOptions, SaveOptions

F = TypeVar("F")
_all: Final[weakref.WeakSet[StaticFunction]] = weakref.WeakSet()


@leaving
def to_static(
    function: Any = None,
    input_spec: Any = None,
    build_strategy: Any = None,
    backend: Any = None,
    **options: Any,
) -> Any:
    """Make a function, method or layer run as a captured Paddle program.

    Args:
        function: a function, method, callable object or ``paddle.nn.Layer``; without it a
            decorator is returned.
        input_spec: a list with one ``paddle.static.InputSpec`` (or structure of them, or Python
            value) for each argument. A dimension of ``None`` may vary from call to call.
        build_strategy, backend: accepted so that calls of ``paddle.jit.to_static`` need no change;
            what they ask for is left out, with a warning.
        **options: a function that cannot be one program becomes several, with Python between
            them; ``full_graph=True`` refuses it; ``None`` is as the option ``full_graph`` says.
            ``property=True`` leaves the function as it is; ``save`` keeps what it gives.
            ``check=True`` (or a ``d2s.Checker``) compares every new program with dygraph.

    Returns:
        The converted function; for a layer the same layer, its ``forward`` converted.

    Raises:
        NotAFunctionError: (D2S102) ``function`` is a class, a text, or the like; with
            ``full_graph=True`` a function of C, too.
        InputSpecError: (D2S302) ``input_spec`` does not fit the function.
        ArgumentsError: (D2S301) an option is unknown, or has a value that is not supported.
        CheckError: (D2S601) with ``check``, by a call whose program differs from dygraph.

    Examples:
        >>> import paddle
        >>> @to_static
        ... def relu_or_double(x):
        ...     if x.sum() > 0:
        ...         return x * 2
        ...     return paddle.nn.functional.relu(x)
        >>> [relu_or_double(paddle.to_tensor([x])).item() for x in (2.0, -1.0)]
        [4.0, 0.0]
    """
    options = _options_of(options | {"build_strategy": build_strategy, "backend": backend})
    if function is None:
        return functools.partial(to_static, input_spec=input_spec, **options)
    if isinstance(function, paddle.nn.Layer):
        return _layer(function, input_spec, options)
    if isinstance(function, StaticFunction):
        if input_spec is None and not options.get("check"):
            return function
        input_spec = function._spec if input_spec is None else input_spec
        function = function.dygraph_function
    elif isinstance(function, bridge.PaddlesFunction):
        function = function.dygraph_function
    return _function(function, input_spec, options)


def _function(function: Any, input_spec: Any, options: dict[str, Any]) -> Any:
    """A function, as the user has written it, that runs as a program."""
    if isinstance(function, staticmethod):
        return staticmethod(to_static(function.__func__, input_spec, **options))
    if isinstance(function, classmethod):
        return _ClassMethod(function.__func__, input_spec, options)
    if _stays_plain(function, options):
        return function
    _check(function)
    if isinstance(function, types.MethodType):
        # As the method does, it keeps its object alive: Model().run has no other reference.
        made = _made(function.__func__, input_spec, options, function.__self__)
        made.hold()
        return made
    return _made(function, input_spec, options)


def _made(
    function: Any, input_spec: Any, options: dict[str, Any], instance: Any = None
) -> StaticFunction:
    rest = {name: value for name, value in options.items() if name != "check"}
    check = options.get("check")
    if check:
        checker = check if isinstance(check, Checker) else Checker()
        made: StaticFunction = CheckedFunction(
            function, input_spec, instance=instance, checker=checker, **rest
        )
    else:
        kind = StaticCoroutine if inspect.iscoroutinefunction(function) else StaticFunction
        made = kind(function, input_spec, instance=instance, **rest)
    _all.add(made)
    return made


def _options_of(given: dict[str, Any]) -> dict[str, Any]:
    """The options that are honoured.

    Raises:
        ArgumentsError: (D2S301) one is unknown, or has a value that is not supported.
    """
    if not isinstance(given.get("check"), Checker | bool | None):
        raise ArgumentsError(
            f"to_static does not support check={given['check']!r}",
            cure="write check=True, or check=d2s.Checker(...) for other tolerances",
        )
    return kept_options(given)


class _ClassMethod:
    """A class method that runs as a program, one for each class that it is called on."""

    def __init__(self, function: Any, input_spec: Any, options: dict[str, Any]) -> None:
        self.function = function
        self.input_spec = input_spec
        self.options = options
        self._made: weakref.WeakKeyDictionary[type, StaticFunction] = weakref.WeakKeyDictionary()

    def __get__(self, instance: Any, owner: type) -> StaticFunction:
        made = self._made.get(owner)
        if made is None:
            made = self._made[owner] = _made(self.function, self.input_spec, self.options, owner)
        return made


def _layer(layer: Any, input_spec: Any, options: dict[str, Any]) -> Any:
    forward = layer.forward
    if isinstance(forward, StaticFunction):
        if input_spec is None and not options.get("check"):
            return layer
        input_spec = forward._spec if input_spec is None else input_spec
        forward = forward.dygraph_function
    elif isinstance(forward, bridge.PaddlesFunction):
        forward = forward.dygraph_function
    function = getattr(forward, "__func__", forward)
    if _stays_plain(function, options):
        return layer
    _check(function)
    made = _made(function, input_spec, options, layer)
    layer.forward = made
    return layer


def _stays_plain(function: Any, options: dict[str, Any]) -> bool:
    """Whether ``function`` is one of C that runs in dygraph; the user is told."""
    if _has_python(function) or not inspect.isroutine(function) or is_whole(options):
        return False
    at = here()
    file, line = ("", 0) if at is None else (at.file, at.line)
    cause = f"{kind_of(function)} has no text"
    tell(function.__qualname__, Break(file, line, NotAFunctionError.code, cause, ""), whole=True)
    return True


def _has_python(function: Any) -> bool:
    """Whether calling ``function`` calls a Python function that can be converted."""
    callable_object = isinstance(call_method(function), types.FunctionType)
    return (
        isinstance(function, types.FunctionType | types.MethodType | functools.partial)
        or callable_object
    ) and not inspect.isclass(function)


def _check(function: Any) -> None:
    """Refuse what cannot be converted.

    Raises:
        NotAFunctionError: (D2S102).
    """
    if _has_python(function):
        return
    raise NotAFunctionError(
        f"{kind_of(function)} cannot be converted",
        cure="pass a Python function, a method or a paddle.nn.Layer"
        + (" instance, not the class" if inspect.isclass(function) else ""),
    )


@leaving
def convert(function: F) -> F:
    """The rewritten Python function, without capture.

    On Python values it behaves exactly like the original; inside a capture its branches and
    loops become static control flow.

    Args:
        function: a function or method.

    Raises:
        NotAFunctionError, NoSourceError: (D2S102, D2S101).

    Examples:
        >>> def sign(n):
        ...     return 1 if n > 0 else -1
        >>> convert(sign)(-3)
        -1
    """
    _check(function)
    step_over_ours()
    if isinstance(function, StaticFunction):
        return convert(function.dygraph_function)  # type: ignore[return-value]
    if isinstance(function, types.FunctionType):
        return conversion.convert_function(function)  # type: ignore[return-value]
    return converted_of(function)  # type: ignore[no-any-return]


def plain_function(function: Any) -> types.FunctionType:
    """The plain Python function that ``function`` is about.

    Raises:
        NotAFunctionError: (D2S102) there is none.
    """
    if isinstance(function, paddle.nn.Layer):
        function = function.forward
    original = getattr(function, "d2s_original", None)
    if original is not None:
        function = original
    elif isinstance(function, bridge.PaddlesFunction):
        function = function.dygraph_function
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    _check(function)
    while not isinstance(function, types.FunctionType):
        if isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        else:
            function = type(function).__call__
        _check(function)
    return function


def trace(function: Any, *, keep_steps: bool = True) -> Trace:
    """What the transformation makes of ``function``, with the tree after each pass."""
    return conversion.trace_of(written(plain_function(function)), keep_steps=keep_steps)


def code(function: Any) -> str:
    """The text of the rewritten function.

    Args:
        function: a function, method or layer, converted or not.

    Raises:
        NotAFunctionError, NoSourceError: (D2S102, D2S101).

    Examples:
        >>> def f(x):
        ...     return x if x > 0 else -x
        >>> print(code(f))
        def f(x):
            return d2s.ifelse(x > 0, lambda: x, lambda: -x)
        <BLANKLINE>
    """
    return to_source(trace(function, keep_steps=False).tree).text


@overload
def not_to_static(function: F) -> F: ...
@overload
def not_to_static(function: None = None) -> Callable[[F], F]: ...


def not_to_static(function: Any = None) -> Any:
    """Leave ``function`` as it is when converted code calls it; with ``()`` or without.

    Args:
        function: a function; without it a decorator is returned.

    Examples:
        >>> @not_to_static
        ... def logged(x):
        ...     return x
    """
    if function is None:
        return not_to_static
    setattr(function, SKIP, True)
    return function


def ignore_module(modules: Any) -> None:
    """Leave every function of some modules as it is.

    Args:
        modules: a module or a list of modules; their submodules are meant too.

    Raises:
        NotAFunctionError: (D2S102) one of them is no module.

    Examples:
        >>> ignore_module([paddle.vision])
    """
    for module in children(modules) if kind_of_container(modules) else [modules]:
        if not isinstance(module, types.ModuleType):
            raise NotAFunctionError(
                f"{kind_of(module)} is no module",
                cure="pass modules, as in ignore_module([einops])",
            )
        objects.ignore_module(module)


C = TypeVar("C")


@leaving
def register_container(
    kind: type[C],
    *,
    flatten: Callable[[C], tuple[Sequence[Hashable], Sequence[Any]]],
    rebuild: Callable[[Sequence[Hashable], list[Any]], C],
    refill: Callable[[C, Sequence[Hashable], list[Any]], None] | None = None,
) -> None:
    """Let objects of a class be containers, as lists and dicts are.

    Their items may be tensors: they are arguments and results, state of branches and loops, items
    of lists, and are read from globals, closures and attributes.  Register a class before the
    first call of what meets it.

    Args:
        kind: the class; classes derived of it are registered on their own.
        flatten: gives the keys of the items, any hashable objects, and the items.  Two objects
            with equal keys can share a program.
        rebuild: makes another object of keys and items; it may run while a program is captured, and
            does not look into the items.
        refill: gives an object other items in place, so that changes of it in a branch or loop
            are taken back and made by the run; ``None`` for a class whose objects do not change.

    Raises:
        ArgumentsError: (D2S301) ``kind`` is no class, or one that is a container already.

    Examples:
        >>> class Pair:
        ...     def __init__(self, left, right):
        ...         self.left, self.right = left, right
        >>> register_container(
        ...     Pair,
        ...     flatten=lambda pair: (("left", "right"), (pair.left, pair.right)),
        ...     rebuild=lambda keys, items: Pair(*items),
        ... )
        >>> @to_static
        ... def swapped(pair):
        ...     return Pair(pair.right, pair.left * 2)
        >>> pair = swapped(Pair(paddle.to_tensor([1.0]), paddle.to_tensor([3.0])))
        >>> pair.left.item(), pair.right.item()
        (3.0, 2.0)
    """
    if not isinstance(kind, type):
        raise ArgumentsError(
            f"{kind!r} is no class", cure="pass the class whose objects are containers"
        )
    if issubclass(kind, PYTHONS):
        raise ArgumentsError(
            f"objects of {kind.__name__} are containers already",
            cure="leave the registration out: classes derived of Python's containers are known",
        )
    register(Registered(kind, flatten, rebuild, refill))


@leaving
def save(function: Any, path: str, input_spec: Any = None, **options: Unpack[SaveOptions]) -> None:
    """Save a converted function or layer for deployment, as ``paddle.jit.save`` does.

    Args:
        function: a layer, or what ``to_static`` returned; a plain layer is converted first.
        path: path without suffix; ``.json`` and ``.pdiparams`` are added by Paddle.
        input_spec: the ``InputSpec(shape, dtype)`` of each argument, unless ``to_static`` was given
            one; a ``None`` in a shape is a dimension of any size.
        **options: to ``paddle.jit.save``; ``output_spec`` takes ``forward.outputs`` and positions.

    Raises:
        SaveError: (D2S401) it is something else, or its result has no static form.

    Examples:
        >>> import tempfile
        >>> spec = paddle.static.InputSpec([None, 8], "float32")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(paddle.nn.Linear(8, 2), f"{folder}/linear", [spec])
        ...     list(load(f"{folder}/linear")(paddle.ones([3, 8])).shape)
        [3, 2]
    """
    if not isinstance(function, paddle.nn.Layer | StaticFunction):
        try:
            function = to_static(function)
        except NotAFunctionError as error:
            raise SaveError(f"{kind_of(function)} cannot be saved", cure=error.cure) from None
    elif isinstance(function, bridge.PirTranslatedLayer):
        pass  # it has been loaded: Paddle saves the program that it has
    elif isinstance(function, paddle.nn.Layer) and not isinstance(function.forward, StaticFunction):
        function = to_static(function)
    place = path_of(path)
    saved(function, place, {**options, "input_spec": input_spec})
    write_sources(place, _sources(function))


def _sources(function: Any) -> dict[str, Any]:
    """Where the operations come from of all that a saved layer or function has."""
    if isinstance(function, StaticFunction):
        return {"forward": function.d2s_sources}
    found = ((name, getattr(function, name, None)) for name in dir(function))
    return {name: made.d2s_sources for name, made in found if isinstance(made, StaticFunction)}


@leaving
def load(path: str, **options: Unpack[LoadOptions]) -> Any:
    """Load a saved program, as ``paddle.jit.load`` does; ``save`` has an example.

    Args:
        path: the path that was given to ``save``, without suffix.
        **options: to ``paddle.jit.load``: the names of files that are called otherwise.

    Returns:
        A ``paddle.jit.TranslatedLayer``, which takes what the ``input_spec`` describes.

    Raises:
        LoadError: (D2S402) there is no saved program at ``path``, or a part of it is missing.
    """
    place = path_of(path)
    return explaining(loaded(place, dict(options)), place)


def clear_cache() -> None:
    """Drop every conversion and every captured program.

    Examples:
        >>> clear_cache()
    """
    conversion.forget_all()
    for made in list(_all):
        made.clear_programs()


__all__ = ["ProgramInfo", "StaticFunction"]

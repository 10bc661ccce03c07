"""From a Python function to its converted form, once per code object.

Joins source, pipeline, loader and operators.  The code of a function is transformed on the first
call; every function object (a new closure, say) only gets its own cells.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from d2s import config, disk_cache
from d2s.analysis.reads import Reads, reads_in_tree
from d2s.diagnostics.log import event
from d2s.errors import NoSourceError, SyntaxNotSupportedError
from d2s.passes.base import Context
from d2s.passes.names import privates
from d2s.pipeline import (
    BOUND,
    CUT,
    CUT_BOUND,
    HANDED,
    HANDED_BOUND,
    PIPELINE,
    PROBED,
    STEPPED,
    STEPPED_BOUND,
    WATCHED,
    Trace,
    transform,
)
from d2s.runtime import NAMESPACE
from d2s.runtime.calls.converter import Converter, register
from d2s.runtime.lists.probes import probing
from d2s.runtime.trace import current
from d2s.splitting import IslandTree, split
from d2s.syntax.depth import deep
from d2s.syntax.load import bind, compile_tree
from d2s.syntax.source import give_source, is_given, source_of
from d2s.syntax.trees import copied

_lock = threading.RLock()


@dataclass
class _Converted:
    """The transformed code of one code object, and the user's tree that it was made of.

    Attributes:
        tree: ``None`` where it was not made in this process, and what it reads is known.
        ahead: it was made ahead of time.
    """

    code: types.CodeType
    namespace: str
    tree: Any
    ahead: bool = False

    @functools.cached_property
    def reads(self) -> Reads:
        """What the user's code names; asked for by captures, and not by a conversion alone."""
        return reads_in_tree(self.tree)


_Key = tuple[int, str]
"""A code object, whether it is converted with care, and the name of the pipeline."""

_PIPELINES: Final = {
    "usual": PIPELINE,
    "probed": PROBED,
    "watched": WATCHED,
    "cut": CUT,
    "handed": HANDED,
    "usual, bound": BOUND,
    "cut, bound": CUT_BOUND,
    "handed, bound": HANDED_BOUND,
    "stepped": STEPPED,
    "stepped, bound": STEPPED_BOUND,
}

_known: dict[_Key, tuple[weakref.ref[types.CodeType], _Converted]] = {}
_made: dict[int, weakref.ref[types.CodeType]] = {}
_plain: dict[int, weakref.ref[types.CodeType]] = {}


def resolver(function: types.FunctionType) -> Callable[[str], Any]:
    """What a name means in ``function`` now: closure, globals, built-ins; else ``None``."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def resolve(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                return None
        scope = function.__globals__
        if name in scope:
            return scope[name]
        builtins = scope.get("__builtins__", {})
        return (builtins if isinstance(builtins, dict) else vars(builtins)).get(name)

    return resolve


def trace_of(
    function: types.FunctionType,
    *,
    keep_steps: bool = False,
    pipeline: str = "usual",
) -> Trace:
    """What the transformation makes of ``function``, afresh.

    Args:
        function: a plain Python function.
        keep_steps: keep the tree after each pass.
        pipeline: ``usual``, or one of those of the self-check: ``probed``, ``watched``.

    Raises:
        NotAFunctionError, NoSourceError, SyntaxNotSupportedError: see ``syntax.source``.
    """
    return transform(
        source_of(function),
        resolve=resolver(function),
        keep_steps=keep_steps,
        passes=_PIPELINES[pipeline],
    )


def convert_function(
    function: types.FunctionType, *, pipeline: str = "usual"
) -> types.FunctionType:
    """The converted form of a plain Python function; a converted one is returned as it is.

    Args:
        function: the function.
        pipeline: the name of the pipeline.
    """
    code = function.__code__
    made = _made.get(id(code))
    if made is not None and made() is code:
        return function
    key = id(code), pipeline
    known = _known.get(key)
    if known is None or known[0]() is not code:
        with _lock:
            known = _known.get(key)
            if known is None or known[0]() is not code:
                known = _convert(function, pipeline)
    converted = known[1]
    return bind(converted.code, function, {converted.namespace: NAMESPACE})


def _convert(
    function: types.FunctionType, pipeline: str
) -> tuple[weakref.ref[types.CodeType], _Converted]:
    code = function.__code__
    begin = time.perf_counter()
    found, tree = _found(function, pipeline), None
    if found is None:
        compiled, trace = _transformed(function, pipeline)
        tree, passes = trace.source.tree, trace.ran
        made = _Converted(compiled, trace.namespace, tree)
        if not is_given(code):
            entry = disk_cache.Entry(compiled, trace.namespace, made.reads, passes)
            disk_cache.keep(function, pipeline, resolver(function), tree, entry)
    else:
        passes = found.passes
        made = _Converted(found.code, found.namespace, None)
        made.reads = found.reads
    note_made(made.code)
    seconds = time.perf_counter() - begin
    how = f"by {', '.join(passes) or 'no pass'}" if found is None else "from the disk cache"
    event(
        "passes", "converted", function.__qualname__,
        f"converted in {seconds * 1000:.1f} ms {how}",
        code=code, seconds=round(seconds, 6), passes=passes, pipeline=pipeline,
        cached=found is not None,
    )  # fmt: skip
    return _keep(code, pipeline, made)


def _found(function: types.FunctionType, pipeline: str) -> disk_cache.Entry | None:
    """What another process has converted it to; not where each pass is to be checked."""
    if config.get().verify or is_given(function.__code__):
        return None
    return disk_cache.find(function, pipeline, resolver(function))


def _transformed(function: types.FunctionType, pipeline: str) -> tuple[types.CodeType, Trace]:
    """The code of the converted function, and how it came about."""
    code = function.__code__
    try:
        with deep():
            trace = trace_of(function, pipeline=pipeline)
        free = (*code.co_freevars, trace.namespace)
        compiled = compile_tree(trace.tree, free, code, trace.generated, function.__qualname__)
    except RecursionError:
        raise SyntaxNotSupportedError(
            f"the code of {function.__qualname__!r} is nested too deeply to be converted; a long "
            "chain of elif, of operators or of method calls counts as nested",
            cure="split it into several functions or statements, or loop over a list",
            file=code.co_filename,
            line=code.co_firstlineno,
        ) from None
    return compiled, trace


def _keep(
    code: types.CodeType, pipeline: str, converted: _Converted
) -> tuple[weakref.ref[types.CodeType], _Converted]:
    key = id(code), pipeline
    entry = weakref.ref(code, lambda ref: _drop(_known, key, ref)), converted
    _known[key] = entry
    return entry


def bound(pipeline: str) -> str:
    """The name of ``pipeline`` with operands that wait for a call bound to variables."""
    return f"{pipeline}, bound"


def convert_ahead(function: types.FunctionType, pipeline: str) -> tuple[types.CodeType, str, Reads]:
    """What :func:`give_converted` takes, to be kept in a file.

    Raises:
        NoSourceError, SyntaxNotSupportedError: it cannot be converted.
    """
    compiled, trace = _transformed(function, pipeline)
    return compiled, trace.namespace, reads_in_tree(trace.source.tree)


def give_converted(
    code: types.CodeType, pipeline: str, made: types.CodeType, namespace: str, reads: Reads
) -> None:
    """Tell what functions of ``code`` become, which were converted ahead of time."""
    note_made(made)
    converted = _Converted(made, namespace, None, ahead=True)
    converted.reads = reads
    _keep(code, pipeline, converted)


def reads_of(function: types.FunctionType) -> Reads:
    """What a function that was converted reads; nothing is known of others."""
    code = id(function.__code__)
    for pipeline in ("usual", "probed", bound("usual")):
        known = _known.get((code, pipeline))
        if known is not None:
            return known[1].reads
    made = _made.get(code)
    if made is None or made() is not function.__code__:
        return Reads((), ())
    # Generated code whose source was converted somewhere else, such as a printed form of it.
    codes = [function.__code__, *codes_in(function.__code__)]
    names = tuple(sorted({name for each in codes for name in each.co_names}))
    return Reads((*names, *function.__code__.co_freevars), names)


def originals() -> Iterator[types.CodeType]:
    """The code of the functions that are converted, as the user wrote it."""
    for reference, _ in list(_known.values()):
        code = reference()
        if code is not None:
            yield code


def origin_of(made: types.CodeType) -> types.CodeType | None:
    """The user's code, as it was handed to a conversion, that ``made`` is a part of."""
    for reference, converted in list(_known.values()):
        if converted.code is made or any(inner is made for inner in codes_in(converted.code)):
            return reference()
    return None


@dataclass(frozen=True)
class Driven:
    """A function as a driver and its islands, none of them converted yet.

    Attributes:
        tree: the driver.
        bind: from the object under whose name it reaches its islands to the function.
        islands: the islands, each with its function.
        drives: calls in the driver go through the drivers of what is called.
    """

    tree: Any
    bind: Callable[[Any], types.FunctionType]
    islands: list[tuple[IslandTree, types.FunctionType]]
    drives: bool


def driven(
    function: types.FunctionType,
    broken: frozenset[int],
    *,
    calls: frozenset[int],
    least: int,
    stay: frozenset[tuple[int, int]],
) -> Driven:
    """A function as a driver and its islands.

    Args:
        function: a plain Python function.
        broken: the lines on which it needs Python.
        calls: those on which it calls what has a driver.
        least: so many operations make a stretch an island.
        stay: the first and last lines of stretches that are to be no islands.

    Raises:
        NoSourceError: (D2S101) its text cannot be found.
    """
    source = source_of(function)
    with deep():
        tree = privates.run(copied(source.tree), Context.of(source))
        source = dataclasses.replace(source, tree=tree)
        parts = split(
            source,
            broken,
            calls=calls,
            least=least,
            stay=stay,
            resolve=resolver(function),
        )
        code = _compiled_part(parts.driver, function, parts.namespace)
        islands = [(each, island_function(each, function)) for each in parts.islands]
    return Driven(
        parts.driver,
        lambda words: bind(code, function, {parts.namespace: words}),
        islands,
        parts.drives,
    )


def _compiled_part(tree: Any, function: types.FunctionType, *names: str) -> types.CodeType:
    code = function.__code__
    return compile_tree(tree, (*code.co_freevars, *names), code, frozenset(), function.__qualname__)


def island_function(island: IslandTree, function: types.FunctionType) -> types.FunctionType:
    """A stretch of ``function`` as a Python function of its own.

    Args:
        island: the stretch.
        function: the function that it is part of, or another function made of the same stretch.
    """
    source = source_of(function)
    code = _compiled_part(island.tree, function)
    free = code.co_freevars
    give_source(
        code,
        dataclasses.replace(source, tree=island.tree, first_line=island.lines[0], free=free),
    )
    made = bind(code, function, {})
    made.__defaults__ = made.__kwdefaults__ = None
    made.__annotations__ = {}
    made.__dict__.clear()
    return made


def note_made(code: types.CodeType) -> None:
    """Remember that ``code`` and the functions in it are converted already.

    What stands in a class is the user's text still: passes enter no class.
    """
    key = id(code)
    _made[key] = weakref.ref(code, lambda ref: _drop(_made, key, ref))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and constant.co_flags & inspect.CO_OPTIMIZED:
            note_made(constant)


def _drop(table: dict[Any, Any] | None, key: Any, ref: Any) -> None:
    if table is None:  # the interpreter is shutting down and has emptied this module
        return
    entry = table.get(key)
    if entry is not None and (entry is ref or (isinstance(entry, tuple) and entry[0] is ref)):
        del table[key]


def forget_all() -> None:
    """Drop every conversion but those made ahead; the next call of a function converts it again."""
    with _lock:
        for key, (_, converted) in list(_known.items()):
            if not converted.ahead:
                _known.pop(key, None)
        _plain.clear()


def convert_callee(function: types.FunctionType) -> types.FunctionType:
    """What converted code calls in place of ``function``.

    Outside of a capture nothing depends on the conversion: a function that has none (made by
    ``exec``, as the methods of data classes are) is called as it is (rule A1).

    Raises:
        NoSourceError, SyntaxNotSupportedError: while a program is being captured.
    """
    capture = current()
    if capture is not None:
        usual = bound("usual") if capture.bound else "usual"
        return convert_function(function, pipeline="probed" if probing() else usual)
    code = function.__code__
    plain = _plain.get(id(code))
    if plain is not None and plain() is code:
        return function
    try:
        return convert_function(function, pipeline="watched" if probing() else "usual")
    except (NoSourceError, SyntaxNotSupportedError):
        key = id(code)
        _plain[key] = weakref.ref(code, lambda ref: _drop(_plain, key, ref))
        return function


def _original_of(function: types.FunctionType) -> types.FunctionType | None:
    """The user's function that ``function`` is the converted form of, with the same cells."""
    code = function.__code__
    made = _made.get(id(code))
    if made is None or made() is not code:
        return function
    original = _original_code(code)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if original is None or not cells.keys() >= set(original.co_freevars):
        return None
    closure = tuple(cells[name] for name in original.co_freevars)
    found = types.FunctionType(
        original, function.__globals__, function.__name__, function.__defaults__, closure
    )
    found.__kwdefaults__ = function.__kwdefaults__
    found.__qualname__ = function.__qualname__
    return found


def _original_code(made: types.CodeType) -> types.CodeType | None:
    """The user's code that became ``made``; functions in a function are told by name and line."""
    for reference, converted in list(_known.values()):
        original = reference()
        if original is None:
            continue
        if converted.code is made:
            return original
        if any(inner is made for inner in codes_in(converted.code)):
            place = made.co_name, made.co_firstlineno
            return next(
                (u for u in codes_in(original) if (u.co_name, u.co_firstlineno) == place), None
            )
    return None


def codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of the functions, classes and comprehensions in ``code``, at any depth."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from codes_in(constant)


def ended(function: types.FunctionType, pipeline: str) -> types.FunctionType | None:
    """The generator ``function`` as one that does not yield; ``None`` where it has another form.

    Args:
        function: a generator function, converted or not.
        pipeline: ``cut``, ``handed`` or ``stepped``.
    """
    original = _original_of(function)
    if original is None:
        return None
    try:
        capture = current()
        binds = capture is not None and capture.bound
        made = convert_function(original, pipeline=bound(pipeline) if binds else pipeline)
    except (NoSourceError, SyntaxNotSupportedError):
        return None
    return None if inspect.isgeneratorfunction(made) else made


register(Converter(convert_callee, ended))

"""Where functions cannot be one program: the lines on which a capture was refused.

A refusal in a callee is a break of the callee, at the line that was refused, and of each caller,
at the line of the call.  What is noted belongs to the user's code and lasts as long as that.
"""

from __future__ import annotations

import functools
import itertools
import types
import warnings
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import gast

from d2s.analysis.walk import walk
from d2s.conversion import origin_of
from d2s.diagnostics.defects import defect_of
from d2s.diagnostics.leaving import forget_frames
from d2s.diagnostics.location import is_ours, user_level
from d2s.errors import (
    AmbiguousValueError,
    ArgumentsError,
    BreakWarning,
    ConditionError,
    ContainerInGraphError,
    D2SError,
    DefectError,
    InplaceError,
    LeakedValueError,
    LoopGradientError,
    LoopMismatchError,
    NoSourceError,
    NotStaticError,
    PassError,
    SyntaxNotSupportedError,
    TensorRecursionError,
    UnsupportedInGraphError,
)
from d2s.runtime.values.objects import WEAK_CURE


@dataclass(frozen=True)
class Break:
    """What stands in the way on one line.

    Attributes:
        file, line: where.
        code: the code of the error, as ``D2S208``.
        cause: one sentence about the user's code.
        cure: what to write instead; may be empty.
    """

    file: str
    line: int
    code: str
    cause: str
    cure: str


@dataclass
class Breaks:
    """The breaks of one function.

    Attributes:
        lines: those on a line of it.
        calls: the lines of these on which what is called has a break, with the codes of that.
        idle: a driver would be the function itself, as nothing in it is worth a program.
        whole: what keeps all of it from being converted, if anything does.
        seconds: how long captures took that were refused.
        drivers: how many were made, of as many closures.
    """

    lines: dict[int, Break] = field(default_factory=dict)
    calls: dict[int, set[types.CodeType]] = field(default_factory=dict)
    idle: bool = False
    whole: Break | None = None
    seconds: float = 0.0
    drivers: int = 0

    @property
    def version(self) -> int:
        """Another number after each change."""
        return 2 * len(self.lines) + (self.whole is not None)

    def driven(self) -> frozenset[int]:
        """The lines on which something is called that has a driver which is worth it."""
        return frozenset(
            line for line, codes in self.calls.items() if any(not _of(code).idle for code in codes)
        )


LONGEST: Final = 5.0
"""Seconds that the captures of a function may take before no further break is looked for."""


class Noted:
    """What has been noted of all functions.

    Attributes:
        count: another number after each change.
    """

    count = 0


def changed() -> None:
    """Something that drivers are made of is another now."""
    Noted.count += 1


_table: Final[dict[int, tuple[weakref.ref[types.CodeType], Breaks]]] = {}
_homes: Final[dict[int, tuple[weakref.ref[types.CodeType], types.CodeType]]] = {}


def _forget(table: dict[int, Any], key: int, _: object) -> None:
    """Code is gone; while Python ends, the names of this module may be, too."""
    table.pop(key, None)


def belongs_to(part: types.CodeType, home: types.CodeType) -> None:
    """Let the breaks of ``part``, an island, be those of the function that it is a part of."""
    key = id(part)
    _homes[key] = weakref.ref(part, functools.partial(_forget, _homes, key)), home_of(home)


def home_of(code: types.CodeType) -> types.CodeType:
    """The code of the user's function that ``code`` is an island of, or ``code`` itself."""
    found = _homes.get(id(code))
    return code if found is None or found[0]() is not code else found[1]


def breaks_of(code: types.CodeType) -> Breaks | None:
    """What is noted of functions of ``code``."""
    found = _table.get(id(code))
    return None if found is None or found[0]() is not code else found[1]


def broken_calls(code: types.CodeType) -> Iterator[types.CodeType]:
    """What has breaks and is called on a broken line of ``code``, at any depth, each once."""
    seen, open_ = {code}, [code]
    while open_:
        known = breaks_of(open_.pop())
        calls = {} if known is None else known.calls
        found = {each for codes in calls.values() for each in codes} - seen
        for each in sorted(found, key=lambda each: (each.co_filename, each.co_firstlineno)):
            seen.add(each)
            open_.append(each)
            yield each


def _of(code: types.CodeType) -> Breaks:
    known = breaks_of(code)
    if known is None:
        key = id(code)
        known = Breaks()
        _table[key] = weakref.ref(code, functools.partial(_forget, _table, key)), known
    return known


def note(error: Exception, code: types.CodeType, seconds: float) -> Break | None:
    """Note where ``error`` has ended the capture of a function.

    Args:
        error: what was raised, as it was caught.
        code: the code of the function.
        seconds: how long the capture took; when all those of a function have taken too long, what
            is left of it runs in dygraph.

    Returns:
        The break that the user is to be told of; ``None`` if nothing of it is new.
    """
    home = home_of(code)
    _of(home).seconds += seconds
    chain = list(_chain(error))
    forget_frames(error)
    for (each, line), (callee, _) in itertools.pairwise(chain):
        if callee is not each:
            _of(each).calls.setdefault(line, set()).add(callee)
    changed()
    refused = error.line if isinstance(error, D2SError) and error.file == code.co_filename else None
    if refused is not None and _holds(code, refused):
        chain.insert(0, (home, refused))
    mine = [line for each, line in chain if each is home and _holds(code, line)]
    if isinstance(error, D2SError) and error.cure == WEAK_CURE:
        # Islands before and behind it would keep alive what they are given.
        told = [note_whole(error, each, line) for each, line in (chain or [(home, 0)])]
        return next((made for made in reversed(told) if made is not None), None)
    if not mine or _of(home).seconds > LONGEST:
        return note_whole(error, code)
    new = [made for each, line in chain if (made := _add(each, line, error)) is not None]
    return new[-1] if new else None


def note_whole(error: Exception, code: types.CodeType, line: int = 0) -> Break | None:
    """Note that ``error`` keeps all of a function from being converted; see :func:`note`."""
    known = _of(code)
    changed()
    line = line or code.co_firstlineno
    told = None if known.whole else _described(error, code.co_filename, line)
    known.whole = known.whole or told
    return told


def note_reads(name: str, value: Any, tree: Any, code: types.CodeType) -> None:
    """Note the lines that read the variable ``name``, which holds what a program does not take.

    Args:
        name: the variable.
        value: what it holds.
        tree: the island that was to take it.
        code: the code of the island.
    """
    kind = type(value).__name__
    for node in walk(tree):
        if isinstance(node, gast.Name) and node.id == name and isinstance(node.ctx, gast.Load):
            cause = f"{name!r} holds a {kind}, which is no part of a program"
            error = NotStaticError(cause, file=code.co_filename, line=node.lineno)
            _add(home_of(code), node.lineno, error)


REFUSALS: Final = (
    NoSourceError,
    SyntaxNotSupportedError,
    LoopMismatchError,
    AmbiguousValueError,
    ConditionError,
    UnsupportedInGraphError,
    TensorRecursionError,
    ContainerInGraphError,
    NotStaticError,
    ArgumentsError,
    InplaceError,
    LeakedValueError,
    LoopGradientError,
    PassError,
    DefectError,
)
"""Errors of a capture that dygraph does not have."""


def leaves_graph(error: Exception) -> bool:
    """Whether a capture that ended with ``error`` says nothing of what dygraph does."""
    if isinstance(error, D2SError):
        return isinstance(error, REFUSALS)
    return defect_of(error) is not None


def tell(name: str, found: Break, *, whole: bool = False) -> None:
    """Warn that a function is not one program, once for each break.

    Args:
        name: of the function.
        found: what stands in the way.
        whole: all of it runs in dygraph.
    """
    where = f"{found.file}:{found.line}"
    cure = f"; {found.cure}" if found.cure else ""
    runs = "in dygraph" if whole else "as several programs with Python between them"
    warnings.warn(
        f"{name!r} is not one program: {where}: {found.cause} [{found.code}]\n"
        f"  cure: leave it, as it runs {runs}{cure}  [{BreakWarning.code}]",
        BreakWarning,
        stacklevel=user_level(),
    )


def _add(code: types.CodeType, line: int, error: Exception) -> Break | None:
    """The new break on a line; ``None`` if there is one already."""
    lines = _of(code).lines
    if line in lines:
        return None
    made = lines[line] = _described(error, code.co_filename, line)
    changed()
    return made


def _described(error: Exception, file: str, line: int) -> Break:
    if isinstance(error, D2SError):
        return Break(file, line, error.code, error.cause, error.cure)
    said = f"{type(error).__name__}: {error}"
    return Break(file, line, DefectError.code, said, "")


def _chain(error: BaseException) -> Iterator[tuple[types.CodeType, int]]:
    """The user's functions that were being captured, each with the line it had come to."""
    found = [
        (home_of(code), line)
        for made, line in _frames(error)
        if (code := origin_of(made)) is not None and not is_ours(code.co_filename)
    ]
    for _, calls in itertools.groupby(found, key=lambda pair: id(pair[0])):
        yield list(calls)[-1]


def _frames(error: BaseException) -> Iterator[tuple[types.CodeType, int]]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code, step.tb_lineno
        step = step.tb_next


def _holds(code: types.CodeType, line: int) -> bool:
    lines = [number for _, _, number in code.co_lines() if number is not None]
    return min(lines, default=0) <= line <= max(lines, default=0)

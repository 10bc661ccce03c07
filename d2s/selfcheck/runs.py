"""One call and all that can be seen of it; and in what two such calls differ."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import paddle

from d2s.errors import D2SError
from d2s.runtime.values.objects import is_library
from d2s.selfcheck.raising import raising_line
from d2s.selfcheck.report import Difference
from d2s.selfcheck.snapshot import Snapshot
from d2s.selfcheck.values import (
    Array,
    Fact,
    Mismatch,
    Tolerance,
    array_of,
    dtype_of,
    facts,
    floats_in,
    mismatches,
)

_COTANGENT: Final = 20240

_CPLUSPLUS: Final = "(at /paddle/"
"""Marks the text of an error that comes out of Paddle's own code."""

_PADDLE: Final = str(Path(paddle.__file__).parent)

_FLAG: Final = re.compile(r"(?<=stop_gradient=)(True|False)\b")
"""What a printed tensor says of its gradient."""

_ZERO: Final = re.compile(r"-(?=0\.0*(?!\d))")
"""The sign of a zero: a number that a tensor decides is a factor of another operation."""

Call = Callable[[dict[str, Any]], Any]
"""Makes the call, with these arguments by name."""


@dataclass(frozen=True)
class Raised:
    """An exception as the caller sees it."""

    error: Exception = field(compare=False)
    type: type[Exception]
    message: str
    line: int | None
    file: str = field(default="", compare=False)
    paddles: bool = field(default=False, compare=False)

    @classmethod
    def by(cls, error: Exception) -> Raised:
        """Describe ``error``; the line is that of the user's innermost frame."""
        innermost, file, line = _place(error)
        paddles = innermost.startswith(_PADDLE) or _CPLUSPLUS in str(error)
        return cls(error, type(error), _message(error), line, file, paddles)

    def like(self, other: object) -> bool:
        """Whether ``other``, of the program, is the same exception.

        Paddle words its own errors in one way in dygraph and in another in a program.
        """
        if not isinstance(other, Raised):
            return False
        same = self.type is other.type and self.line == other.line
        return same and (self.paddles or _says(self.message, other.message))

    @property
    def place(self) -> str:
        """File and line, short; empty where no frame is the user's."""
        return f"{Path(self.file).name}:{self.line}" if self.file else ""

    def __str__(self) -> str:
        text = self.message.strip().split("\n")[0]
        return f"{self.type.__name__}: {text}" if text else self.type.__name__


@dataclass
class Seen:
    """What is to be seen of one call."""

    outcome: list[Fact] | Raised
    arguments: list[Fact] = field(default_factory=list)
    state: list[Fact] = field(default_factory=list)
    gradients: dict[str, Any] | Raised | None = None
    text: str = ""
    logged: tuple[str, ...] = ()

    @property
    def refused(self) -> D2SError | None:
        """The error with which d2s refuses the function."""
        return _refusal(self.outcome)

    @property
    def without_gradients(self) -> D2SError | None:
        """The error with which d2s refuses to differentiate the result."""
        return _refusal(self.gradients)


def _refusal(found: object) -> D2SError | None:
    if isinstance(found, Raised) and isinstance(found.error, D2SError):
        return found.error
    return None


def observe(call: Call, snapshot: Snapshot, *, gradients: bool, start: Callable[[], None]) -> Seen:
    """Make a call on copies of the arguments, look, and put the state back.

    Args:
        call: makes the call.
        snapshot: what to put back.
        gradients: differentiate the result.
        start: called before the call, on the state as it was.
    """
    snapshot.restart()
    arguments = snapshot.copies()
    sources = _sources(arguments, snapshot) if gradients and paddle.is_grad_enabled() else None
    start()
    try:
        with _output() as text, _logs() as logged:
            try:
                result = call(arguments)
                seen = Seen(facts("result", result))
            except Exception as error:
                result = None
                seen = Seen(Raised.by(error))
        seen.text, seen.logged = text.getvalue(), tuple(logged)
        for name, value in arguments.items():
            seen.arguments += facts(name, value, objects=False)
        seen.state = snapshot.facts()
        if sources is not None and not isinstance(seen.outcome, Raised):
            seen.gradients = _gradients(result, sources)
    finally:
        snapshot.restart()
    return seen


def _sources(arguments: dict[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """What there are gradients of, by name: tensors of the arguments and of the state."""
    wanted = [pair for name, value in arguments.items() for pair in floats_in(name, value)]
    names = snapshot.names()
    for key, tensor in snapshot.tensors.items():
        if paddle.is_floating_point(tensor):
            wanted.append((names.get(key, f"tensor {len(wanted)}"), tensor))
    found: dict[int, tuple[str, Any]] = {}
    for name, tensor in wanted:
        if not tensor.stop_gradient:
            found.setdefault(id(tensor), (name, tensor))  # Paddle takes none twice
    return dict(found.values())


def _gradients(result: Any, sources: dict[str, Any]) -> dict[str, Any] | Raised | None:
    """Gradients of a weighted sum of the floating results, by the name of what they are of.

    Under equal weights many a wrong gradient is right by chance.
    """
    weights = np.random.RandomState(_COTANGENT)
    losses = []
    for _, tensor in floats_in("result", result):
        weight = weights.uniform(0.5, 1.5, tensor.shape).astype("float32")
        if not tensor.stop_gradient and tensor.size:
            wide = tensor if dtype_of(tensor) == "float64" else tensor.astype("float32")
            losses.append((wide * paddle.to_tensor(weight, dtype=wide.dtype)).sum())
    if not sources:
        return None
    if not losses:
        return dict.fromkeys(sources)
    try:
        total = losses[0].astype("float64")
        for loss in losses[1:]:
            total = total + loss.astype("float64")
        with _output():
            found = paddle.grad([total], list(sources.values()), allow_unused=True)
    except Exception as error:
        return Raised.by(error)
    return {
        name: None if gradient is None else _array(gradient)
        for name, gradient in zip(sources, found, strict=True)
    }


def _array(tensor: Any) -> Array:
    return Array("Tensor", dtype_of(tensor), tuple(tensor.shape), array_of(tensor))


# -- comparing -----------------------------------------------------------------------------------


def differences(want: Seen, got: Seen, tolerance: Tolerance, call: int = 1) -> list[Difference]:
    """Everything in which a call of the program differs from one in dygraph."""
    found: list[Difference] = []

    def add(kind: str, name: str, dygraph: object, static: object, detail: str = "") -> None:
        found.append(Difference(kind, name, str(dygraph), str(static), detail, call=call))

    def add_all(kind: str, mismatches: Iterator[Mismatch]) -> None:
        for item in mismatches:
            add(kind, item.name, item.dygraph, item.static, item.detail)

    if isinstance(want.outcome, Raised) or isinstance(got.outcome, Raised):
        if not (isinstance(want.outcome, Raised) and want.outcome.like(got.outcome)):
            add("exception", "the exception", *_exceptions(want.outcome, got.outcome))
    else:
        add_all("result", mismatches(want.outcome, got.outcome, tolerance))
    if not _says(want.text, got.text):
        add("output", "the printed text", *_texts(want.text, got.text))
    logs = ["\n".join(each.logged) for each in (want, got)]
    if not _says(*logs):
        add("log", "the log", *_texts(*logs))
    add_all("argument", mismatches(want.arguments, got.arguments, tolerance))
    add_all("state", mismatches(want.state, got.state, tolerance))
    if not found:
        add_all("gradient", _gradient_mismatches(want.gradients, got.gradients, tolerance))
    return found


def _exceptions(want: list[Fact] | Raised, got: list[Fact] | Raised) -> tuple[str, str]:
    texts = [str(item) if isinstance(item, Raised) else "none" for item in (want, got)]
    if texts[0] == texts[1] and isinstance(want, Raised) and isinstance(got, Raised):
        if want.line != got.line:
            return f"{texts[0]} (line {want.line})", f"{texts[1]} (line {got.line})"
        return repr(want.message), repr(got.message)
    return texts[0], texts[1]


def _says(want: str, got: str) -> bool:
    """Whether the program gives a text.

    A tensor that has a gradient on one path says ``stop_gradient=False`` on all of them.  Zeros
    are equal whatever their sign, which makes columns of numbers wider, too.
    """
    texts = [_FLAG.sub("", text) for text in (want, got)]
    if any(map(_ZERO.search, texts)):
        texts = ["".join(_ZERO.sub("", text).split()) for text in texts]
    if texts[0] != texts[1]:
        return False
    pairs = zip(_FLAG.findall(want), _FLAG.findall(got), strict=True)
    return all(left == right or right == "False" for left, right in pairs)


def _texts(want: str, got: str) -> tuple[str, str]:
    """The first line in which two texts differ."""
    left, right = want.splitlines(), got.splitlines()
    for number in range(max(len(left), len(right))):
        one = repr(left[number]) if number < len(left) else "nothing"
        other = repr(right[number]) if number < len(right) else "nothing"
        if one != other:
            where = f"line {number + 1} "
            return where + one, where + other
    return repr(want[-40:]), repr(got[-40:])


def _gradient_mismatches(want: Any, got: Any, tolerance: Tolerance) -> Iterator[Mismatch]:
    if not isinstance(want, dict) or _refusal(got) is not None:
        return  # there is nothing to compare with
    if isinstance(got, Raised):
        yield Mismatch("the gradient", "one", str(got))
        return
    for name, right in want.items():
        mine = (got or {}).get(name)
        if right is None and mine is None:
            continue
        like: Any = right if right is not None else mine
        # A program with both sides of a branch cannot tell a zero gradient from none.
        zero = Array(like.kind, like.dtype, like.shape, np.zeros_like(like.data))
        path = f"gradient of {name}"
        for item in mismatches([(path, right or zero)], [(path, mine or zero)], tolerance):
            yield Mismatch(
                path,
                "none" if right is None else item.dygraph,
                "none" if mine is None else item.static,
                item.detail,
            )


def _message(error: Exception) -> str:
    """The text of an exception; of Paddle's pages of C++ the line that says what happened."""
    text = str(error)
    if "C++ Traceback" not in text and _CPLUSPLUS not in text:
        return text
    quoted = re.findall(r"^\s*\w*Error: (.*)$", text, re.MULTILINE)
    return str(quoted[-1] if quoted else text.strip().split("\n")[0]).strip()


def _place(error: BaseException) -> tuple[str, str, int | None]:
    """The file of the innermost frame, and file and line of the user's innermost frame."""
    innermost, file, line = "", "", None
    trace = error.__traceback__
    while trace is not None:
        innermost = trace.tb_frame.f_code.co_filename
        if not is_library(innermost):
            file, line = innermost, raising_line(trace, error)
        trace = trace.tb_next
    return innermost, file, line


# -- what a call writes --------------------------------------------------------------------------


@contextlib.contextmanager
def _output() -> Iterator[io.StringIO]:
    """Catch what Python prints."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        yield text


@contextlib.contextmanager
def _logs() -> Iterator[list[str]]:
    """Catch what the user's code logs in this thread."""
    logger: Any = logging.Logger
    original = logger.callHandlers
    thread = threading.get_ident()
    found: list[str] = []

    def collect(self: Any, record: Any) -> None:
        ours = record.name.partition(".")[0] == "d2s"
        librarys = ours or record.pathname.startswith(_PADDLE)
        if librarys or threading.get_ident() != thread:
            original(self, record)
        else:
            found.append(f"{record.levelname} {record.name}: {record.getMessage()}")

    logger.callHandlers = collect
    try:
        yield found
    finally:
        logger.callHandlers = original

"""Run a case in dygraph and converted, call by call, and report the first thing that differs.

Compared after each call: the result (values, dtype, shape, structure, exact types of Python
scalars), the arguments (a function may change them), buffers, parameters and the attributes in
``STATE``, the gradients of floating inputs and parameters, the printed text if the case asks
for it; for an exception its type, its message and the line of the program that it came from.

The inputs are visited twice, so that the second round finds every program captured already. In
train mode each call is followed by one step of gradient descent, so that a parameter frozen at
capture shows.

The loss that is differentiated is a sum of all floating outputs with unequal weights: under
equal weights the gradient of, say, a softmax would be zero. A missing gradient equals one that
is all zero, because a program that contains both sides of a branch cannot tell them apart.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import paddle

from corpus.case import Case
from corpus.facts import Fact, array_of, difference, facts, far_apart, tensors

SEED = 2024
ROUNDS = 2
LEARNING_RATE = 0.01

Convert = Callable[..., Any]


@dataclass(frozen=True)
class Result:
    """The verdict on one case; its text starts with right, refused, WRONG or failed.

    ``remark`` is what the comparison cannot see: ``converters.LEAVES`` or nothing.
    """

    name: str
    verdict: str
    calls: int = 0
    seconds: float = 0.0
    trace: str = ""
    remark: str = ""

    @property
    def kind(self) -> str:
        """The first word of the verdict."""
        return self.verdict.split(maxsplit=1)[0]

    @property
    def bad(self) -> bool:
        """Whether a user would be harmed; a refusal with a code is honest."""
        return self.kind in ("WRONG", "failed")


@dataclass(frozen=True)
class Raised:
    """An exception as a caller sees it: what, with which text, from which line of the program."""

    error: Exception = field(compare=False)
    type: type[Exception]
    message: str
    line: int | None

    @classmethod
    def by(cls, error: Exception, path: Path) -> Raised:
        """Describe ``error``; the line is that of the innermost frame in the case's file."""
        lines = [
            f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path
        ]
        return cls(error, type(error), str(error), lines[-1] if lines else None)

    def __str__(self) -> str:
        # Paddle wraps the text of another exception; its last headline says what happened.
        quoted = re.findall(r"^\s*[\w.]+(?:Error|Exception): (.*)$", self.message, re.MULTILINE)
        first = quoted[-1] if quoted else self.message.strip().split("\n")[0]
        return f"{self.type.__name__}: {first.strip()}" if first else self.type.__name__


@dataclass(frozen=True)
class Observation:
    """Everything seen of one call."""

    where: str
    outcome: list[Fact] | Raised
    arguments: list[Fact]
    state: list[Fact]
    gradients: Mapping[str, np.ndarray | None]
    stdout: str


def run_case(case: Case, convert: Convert) -> Result:
    """Run ``case`` in dygraph and through ``convert`` on the same inputs, and compare."""
    start = time.perf_counter()
    with paddle.set_grad_enabled(paddle.is_grad_enabled()):  # a case may leave another mode
        expected = list(observe(case, lambda built, **_: built))
        problem = _broken(case, expected)
        if problem:
            return Result(case.name, f"failed the case itself: {problem}")
        verdict, calls, trace = _judge(case, convert, expected)
    return Result(case.name, verdict, calls, time.perf_counter() - start, trace)


def _judge(case: Case, convert: Convert, expected: list[Observation]) -> tuple[str, int, str]:
    """The verdict, the number of calls compared, and the traceback of an unexpected exception."""
    calls = 0
    try:
        for want, got in zip(expected, observe(case, convert), strict=True):
            if isinstance(got.outcome, Raised):
                code = _code(got.outcome.error)
                if code:
                    return f"refused {code}", calls, _trace(got.outcome.error)
                if not isinstance(want.outcome, Raised):
                    return f"failed {got.outcome} ({got.where})", calls, _trace(got.outcome.error)
            text = compare(case, want, got)
            if text:
                return f"WRONG {text} ({got.where})", calls, ""
            calls += 1
    except ConversionError as wrapper:
        error = wrapper.error
        code = _code(error)
        said = Raised.by(error, case.path)
        return (f"refused {code}" if code else f"failed {said} (conversion)"), calls, _trace(error)
    return "right", calls, ""


class ConversionError(Exception):
    """``convert`` itself raised, before any call."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def observe(case: Case, convert: Convert) -> Iterator[Observation]:
    """Build the program, convert it, and yield what each call shows."""
    paddle.seed(SEED)
    built = case.build()
    options = {} if case.input_spec is None else {"input_spec": case.input_spec()}
    try:
        with captured_stdout():
            converted = convert(built, **options)
    except Exception as error:
        raise ConversionError(error) from error
    # Read the layer through the object that was built: a converter must not hide state in a copy.
    owner = built if isinstance(built, paddle.nn.Layer) else getattr(built, "__self__", None)
    for mode in case.modes:
        if isinstance(owner, paddle.nn.Layer):
            getattr(owner, mode)()
        for round_ in range(1, ROUNDS + 1):
            paddle.seed(SEED)
            for index, arguments in enumerate(list(case.inputs())):
                paddle.seed(SEED + index)
                where = f"input {index}, {mode}, round {round_}"
                case.before(index)
                yield _call(case, converted, owner, arguments, where, learn=mode == "train")


def _call(
    case: Case, converted: Any, owner: Any, arguments: tuple[Any, ...], where: str, *, learn: bool
) -> Observation:
    leaves = list(tensors("arguments", arguments)) if case.grad else []
    for _, tensor in leaves:
        tensor.stop_gradient = False
    parameters = list(owner.named_parameters()) if isinstance(owner, paddle.nn.Layer) else []
    gradients: dict[str, np.ndarray | None] = {}
    outcome: list[Fact] | Raised
    with captured_stdout() as text:
        try:
            result = converted(*arguments)
            outcome = facts("result", result)
            if case.grad:
                _backward(result)
                gradients = {path: _gradient(t) for path, t in [*leaves, *parameters]}
        except Exception as error:
            outcome = Raised.by(error, case.path)
    for _, parameter in parameters:
        if learn and parameter.grad is not None:
            with paddle.no_grad():
                parameter.set_value(parameter - LEARNING_RATE * parameter.grad)
        parameter.clear_gradient(False)
    return Observation(
        where, outcome, facts("arguments", arguments), _state(case, owner), gradients, text()
    )


def _backward(result: object) -> None:
    losses = []
    for _, tensor in tensors("result", result):
        if not tensor.stop_gradient:
            weights = paddle.linspace(0.5, 1.5, max(tensor.size, 1)).reshape(tensor.shape)
            losses.append((tensor.astype("float32") * weights).sum())
    if losses:
        paddle.add_n(losses).backward()


def _gradient(tensor: paddle.Tensor) -> np.ndarray | None:
    return None if tensor.grad is None else array_of(tensor.grad)


def _state(case: Case, owner: Any) -> list[Fact]:
    found = facts("OBSERVED", case.observed())
    if isinstance(owner, paddle.nn.Layer):
        for name, tensor in [*owner.named_buffers(), *owner.named_parameters()]:
            found += facts(f"self.{name}", tensor)
    for name in case.state:
        value = owner
        for part in name.split("."):
            value = getattr(value, part)
        found += facts(f"self.{name}", value)
    return found


def compare(case: Case, want: Observation, got: Observation) -> str | None:
    """A sentence about the first thing in which two calls differ, or None."""
    if isinstance(want.outcome, Raised) or isinstance(got.outcome, Raised):
        text = _compare_exceptions(want.outcome, got.outcome)
    else:
        text = difference(want.outcome, got.outcome, rtol=case.rtol, atol=case.atol)
    return (
        text
        or _compare_stdout(case, want.stdout, got.stdout)
        or difference(want.arguments, got.arguments, rtol=case.rtol, atol=case.atol)
        or _compare_gradients(case, want.gradients, got.gradients)
        or difference(want.state, got.state, rtol=case.rtol, atol=case.atol)
    )


def _compare_exceptions(want: list[Fact] | Raised, got: list[Fact] | Raised) -> str | None:
    if not isinstance(got, Raised):
        return f"returned, should raise {want}"
    if not isinstance(want, Raised):
        return f"raised {got}, should return"
    if want.type is not got.type or want.message != got.message:
        return f"raised {got}, should raise {want}"
    if want.line != got.line:
        return f"{want.type.__name__} came from line {got.line}, should be line {want.line}"
    return None


def _compare_stdout(case: Case, want: str, got: str) -> str | None:
    if not case.stdout or want == got:
        return None
    return f"printed {got!r}, should print {want!r}"


def _compare_gradients(
    case: Case, want: Mapping[str, np.ndarray | None], got: Mapping[str, np.ndarray | None]
) -> str | None:
    for path, right in want.items():
        mine = got.get(path)
        if right is None and mine is None:
            continue
        if mine is None:
            mine = np.zeros_like(right)
        if right is None:
            right = np.zeros_like(mine)
        if mine.shape != right.shape:
            return f"gradient of {path} has shape {list(mine.shape)}, should be {list(right.shape)}"
        text = far_apart(right, mine, case.rtol, case.atol)
        if text:
            return f"gradient of {path} {text}"
    return None


def _broken(case: Case, expected: list[Observation]) -> str | None:
    """What makes the case worthless as a test: it would pass whatever the converter did."""
    if not expected:
        return "inputs() yields nothing"
    for seen in expected:
        index = int(seen.where.split(",")[0].removeprefix("input "))
        announced = case.raises.get(index)
        if isinstance(seen.outcome, Raised) and seen.outcome.type is not announced:
            return f"dygraph raised {seen.outcome} ({seen.where}), which RAISES does not announce"
        if announced and not isinstance(seen.outcome, Raised):
            return f"dygraph did not raise the announced {announced.__name__} ({seen.where})"
    moving = any(g is not None and np.any(g) for seen in expected for g in seen.gradients.values())
    if case.grad and not moving:
        return "every gradient is zero in dygraph; say GRAD = False and why"
    if case.stdout and not any(seen.stdout for seen in expected):
        return "ASSERT_STDOUT is set and nothing is printed"
    return None


def _code(error: BaseException) -> str | None:
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and code.startswith("D2S") else None


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


@contextlib.contextmanager
def captured_stdout() -> Iterator[Callable[[], str]]:
    """Catch what Python prints and what C++ writes to the descriptor, in the order of writing."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        sys.stdout.flush()
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        text = ""
        with os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1) as stream:
            stream.reconfigure(write_through=True)
            try:
                with contextlib.redirect_stdout(stream):
                    yield lambda: text
            finally:
                stream.flush()
                os.dup2(saved, 1)
                os.close(saved)
                file.seek(0)
                text = file.read()

"""``Checker``: hold the program of one call against the same call in dygraph.

The verdict is about the very program that a user runs.  Only when it differs are both run again
with probes, to find the first line.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import random
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import here
from d2s.errors import D2SError, NotAFunctionError, StaticModeError
from d2s.program.static_function import StaticFunction
from d2s.runtime.calls.call import call as converted_of
from d2s.runtime.calls.callables import call_method
from d2s.runtime.lists.probes import probes
from d2s.selfcheck.locate import Record, first_difference
from d2s.selfcheck.report import Difference, Report
from d2s.selfcheck.runs import Call, Raised, Seen, differences, observe
from d2s.selfcheck.snapshot import Snapshot, plain_of
from d2s.selfcheck.values import Tolerance
from d2s.syntax.source import kind_of


@dataclass(frozen=True)
class Checker:
    """Compares the program of a call with the call in dygraph.

    Attributes:
        rtol, atol: tolerances of floating values; by their dtype unless given.
        gradients: compare gradients too.
        seed: for Paddle's, Python's and NumPy's generators; they are left as they are unless
            given, and in either case afterwards they are as before.
        input_spec: the ``InputSpec`` of each argument, as ``to_static`` takes it.
        lines: look for the first line that differs, which takes some calls more.

    Examples:
        >>> import paddle
        >>> def f(x):
        ...     if x.sum() > 0:
        ...         x = x * 2
        ...     return x
        >>> print(Checker(rtol=1e-4)(f, paddle.to_tensor([1.0, 2.0])))
        f: the program agrees with dygraph in result, arguments, printed text
    """

    rtol: float | None = None
    atol: float | None = None
    gradients: bool = True
    seed: int | None = None
    input_spec: Any = None
    lines: bool = True

    def __call__(self, function: Any, /, *args: Any, **kwargs: Any) -> Report:
        """Check ``function`` on these arguments; nothing is changed by it.

        Raises:
            NotAFunctionError: (D2S102) it is a class, a text, a C function or the like.
            NotCheckableError: (D2S602) an argument is used up by a call.
            StaticModeError: (D2S306) Paddle is in static mode.
            TypeError: the arguments do not fit the function.
        """
        if not paddle.in_dynamic_mode():
            raise StaticModeError(
                "a function is checked in static mode", cure="call paddle.disable_static() first"
            )
        return self.report(target_of(function, self.input_spec), args, kwargs)

    # -- the parts -------------------------------------------------------------------------------

    @property
    def tolerance(self) -> Tolerance:
        """How far floating values may be apart."""
        return Tolerance(self.rtol, self.atol)

    def report(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
        """Compare; see ``__call__``."""
        work = Work(self, target, args, kwargs)
        want = work.dygraph()
        report = work.report(want)
        for number in (1, 2):
            got = work.static()
            if got.refused is not None:
                return replace(report, refused=got.refused)
            found = differences(want, got, self.tolerance, number)
            if found:
                return work.explained(report, want, found)
            lost = got.without_gradients
            if lost is not None:
                report = replace(report, remark=f"gradients are not compared: {lost}")
        return report


@dataclass(frozen=True)
class Target:
    """What is checked.

    Attributes:
        function: the user's function, method or layer.
        converted: it, converted.
        run: calls the program.
        specs: its ``input_spec``.
        options: other options of its conversion.
    """

    function: Any
    converted: StaticFunction
    run: Callable[..., Any]
    specs: Any
    options: dict[str, Any] = field(default_factory=dict)

    def again(self) -> Callable[..., Any]:
        """The program's call, with programs of its own."""
        return _runner(self.function, _converted(self.function, self.specs, self.options))


def target_of(function: Any, specs: Any, **options: Any) -> Target:
    """What ``function`` is about.

    Raises:
        NotAFunctionError: (D2S102).
    """
    if isinstance(function, bridge.PaddlesFunction):
        specs = getattr(function, "_spec", None) if specs is None else specs
        function = function.dygraph_function
    elif isinstance(function, paddle.nn.Layer) and specs is None:
        specs = getattr(function.forward, "_spec", None)
    callable_object = isinstance(call_method(function), types.FunctionType)
    if isinstance(function, type) or not (
        callable_object
        or isinstance(function, types.FunctionType | types.MethodType | functools.partial)
    ):
        raise NotAFunctionError(
            f"{kind_of(function)} cannot be checked",
            cure="pass a Python function, a method or a paddle.nn.Layer"
            + (" instance, not the class" if isinstance(function, type) else ""),
        )
    options = {"full_graph": True, **options}
    converted = _converted(function, specs, options)
    return Target(function, converted, _runner(function, converted), specs, options)


def _converted(function: Any, specs: Any, options: dict[str, Any]) -> StaticFunction:
    if isinstance(function, paddle.nn.Layer):
        forward = function.forward
        if isinstance(forward, bridge.PaddlesFunction):
            forward = forward.dygraph_function
        plain = getattr(forward, "__func__", forward)
        return StaticFunction(plain, specs, instance=function, **options)
    if isinstance(function, types.MethodType):
        return StaticFunction(function.__func__, specs, instance=function.__self__, **options)
    return StaticFunction(function, specs, **options)


def _runner(function: Any, converted: StaticFunction) -> Callable[..., Any]:
    if not isinstance(function, paddle.nn.Layer):
        return converted

    def run(*args: Any, **kwargs: Any) -> Any:
        """The layer with its hooks, and a converted ``forward``."""
        fields = function.__dict__
        before = fields.get("forward")
        fields["forward"] = converted
        try:
            return function(*args, **kwargs)
        finally:
            if before is None:
                del fields["forward"]
            else:
                fields["forward"] = before

    return run


class Work:
    """One check: the calls that it makes.

    Args:
        checker: the options.
        target: what is checked.
        args, kwargs: the arguments of the call.
    """

    def __init__(
        self, checker: Checker, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.checker = checker
        self.target = target
        self.bound = target.converted._signature.fit(args, kwargs)
        self.snapshot = Snapshot(target.function, dict(self.bound.arguments))

    def dygraph(self) -> Seen:
        """The call in dygraph."""
        return self.observe(self.target.function, program=False)

    def static(self) -> Seen:
        """The call of the program."""
        return self.observe(self.target.run, program=True)

    def observe(
        self, function: Any, *, program: bool, gradients: bool = True, tried: bool = False
    ) -> Seen:
        """One call of ``function`` on copies of the arguments, with converted functions or not.

        Args:
            function: what is called.
            program: converted functions run as programs.
            gradients: whether they are compared.
            tried: it runs in dygraph, too, where that is faster.
        """

        def call(arguments: dict[str, Any]) -> Any:
            bound = inspect.BoundArguments(self.bound.signature, type(self.bound.arguments)())
            bound.arguments.update(arguments)
            with _enabled(self.target.converted, program, tried):
                return function(*bound.args, **bound.kwargs)

        made: Call = call
        around = here()
        seen = observe(
            made,
            self.snapshot,
            gradients=gradients and self.checker.gradients,
            start=self._seed,
        )
        for error in filter(None, (seen.refused, seen.without_gradients)):
            if around is not None and (error.file, error.line) == around[:2]:
                self._place(error)
        return seen

    def _place(self, error: D2SError) -> None:
        """Let an error without a line of its own name the function, and not who asks for this."""
        plain = plain_of(self.target.function)
        if plain is not None:
            error.file, error.line = plain.__code__.co_filename, plain.__code__.co_firstlineno

    def _seed(self) -> None:
        seed = self.checker.seed
        if seed is not None:
            paddle.seed(seed)
            random.seed(seed)
            np.random.seed(seed % 2**32)

    def report(self, want: Seen) -> Report:
        """A report without differences."""
        compared = ["exception"] if isinstance(want.outcome, Raised) else ["result"]
        compared += ["arguments"] if self.bound.arguments else []
        compared += ["state"] if want.state else []
        compared += ["printed text"]
        compared += ["gradients"] if isinstance(want.gradients, dict) else []
        plain = plain_of(self.target.function)
        code = None if plain is None else plain.__code__
        return Report(
            getattr(self.target.function, "__qualname__", type(self.target.function).__name__)
            .split("<locals>.")[-1],
            compared=tuple(compared),
            file=None if code is None else code.co_filename,
            line=None if code is None else code.co_firstlineno,
        )  # fmt: skip

    # -- where -----------------------------------------------------------------------------------

    def explained(self, report: Report, want: Seen, found: list[Difference]) -> Report:
        """The report with the differences, and the first line that differs."""
        again = differences(want, self.dygraph(), self.checker.tolerance)
        unsteady = {item.name for item in again}
        if unsteady:
            found = [item for item in found if item.name not in unsteady]
            listed = ", ".join(sorted(unsteady))
            remark = f"dygraph itself differs from one call to the next in {listed}"
            if not found:
                return replace(report, remark=remark + ", which is not compared")
            return replace(report, differences=tuple(found), remark=remark)
        if not self.checker.lines:
            return replace(report, differences=tuple(found))
        first, remark = self._first(want, found)
        return replace(report, differences=tuple(found), first=first, remark=remark)

    def _first(self, want: Seen, found: list[Difference]) -> tuple[Difference | None, str]:
        """The first line that differs; if there is none, what is known instead."""
        records = Record(), Record()
        run = self.target.again()
        calls = found[0].call
        with probes(records[0].note):
            self.observe(lambda *a, **k: converted_of(self.target.function)(*a, **k),
                          program=False, gradients=False)  # fmt: skip
        for _ in range(calls):
            records[1].entries.clear()
            with probes(records[1].note):
                got = self.observe(run, program=True, gradients=False)
        refusal: D2SError | None = got.refused
        if refusal is not None:
            return None, f"no line was found: with probes in it the program is refused ({refusal})"
        first = first_difference(*records, self.checker.tolerance)
        if first is not None:
            return first, ""
        if all(item.kind == "gradient" for item in found):
            return None, "every value on the way is right; only gradients differ"
        if not differences(want, replace(got, gradients=want.gradients), self.checker.tolerance):
            return None, (
                "no line was found: the program differs only without the probes that look for it; "
                "with them it is right"
            )
        cut = "that were looked at " if records[0].full or records[1].full else ""
        return None, f"no line was found: all values {cut}that statements bind are right"


@contextlib.contextmanager
def _enabled(static: StaticFunction, flag: bool, tried: bool) -> Iterator[None]:
    """Converted functions run as programs, or as they are."""
    before, is_tried = static._program_trans.enable_to_static, static.tried
    paddle.jit.enable_to_static(flag)
    static.tried = tried
    try:
        yield
    finally:
        paddle.jit.enable_to_static(before)
        static.tried = is_tried


class CheckedFunction(StaticFunction):
    """A converted function that holds every new program against dygraph, on the call it is for.

    The state afterwards is that of one call, and so is what is printed.

    Args:
        checker: the options.
    """

    def __init__(self, function: Any, input_spec: Any = None, *, checker: Checker, **options: Any):
        super().__init__(function, input_spec, checker=checker, **options)
        self._checker = checker

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Check the call if it needs a new program; then make it.

        Raises:
            CheckError: (D2S601) the program differs from dygraph; it is not kept.
        """
        divided = self._driver is not None  # checked on the call that has divided it
        if not divided and self._program_trans.enable_to_static and paddle.in_dynamic_mode():
            call = self._signature.call(args, kwargs, self._modes())
            if self._new.fitting(call) is None:
                self._verify(args, kwargs)
        return super().__call__(*args, **kwargs)

    def _verify(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        program = super().__call__
        target = Target(self.dygraph_function, self, program, self._spec)
        try:
            self._checker.report(target, args, kwargs).raise_for_difference()
        except BaseException:
            self.clear_programs()
            raise


def check(function: Any, /, *args: Any, **kwargs: Any) -> Report:
    """Run a function in dygraph and as a program on the same input, and compare.

    Compared are values, dtypes, shapes and structure of the result, arguments that are changed in
    place, attributes, buffers, globals and closure afterwards, exceptions with their lines, printed
    and logged text, and gradients.  Where something differs, the report names the first source
    line whose value does.  Nothing is changed: state and random generators are put back.

    Args:
        function: a function, method, callable object or layer, converted or not.
        *args, **kwargs: the arguments of the call.  ``Checker`` takes options.

    Returns:
        The report; ``report.ok``, ``print(report)``, ``report.raise_for_difference()``.

    Raises:
        NotAFunctionError: (D2S102) it is a class, a text, a C function or the like.
        NotCheckableError: (D2S602) an argument is used up by a call.
        StaticModeError: (D2S306) Paddle is in static mode.
        TypeError: the arguments do not fit the function.

    Examples:
        >>> import paddle
        >>> def f(x):
        ...     return x * 2 if x.sum() > 0 else -x
        >>> check(f, paddle.to_tensor([1.0, 2.0])).ok
        True
    """
    return Checker()(function, *args, **kwargs)

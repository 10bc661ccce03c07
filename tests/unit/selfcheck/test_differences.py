"""What the self-check says of texts, lines and results that differ."""

from __future__ import annotations

import contextlib
import itertools
import logging
from typing import Any

import paddle

import d2s
from d2s.runtime.lists.probes import probing
from tests.helpers import function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def trainable(*values: float) -> Any:
    made = tensor(*values)
    made.stop_gradient = False
    return made


def kinds(report: Any) -> list[tuple[str, str]]:
    return [(item.kind, item.name) for item in report.differences]


def test_what_dygraph_itself_gives_otherwise_each_time() -> None:
    """F4: it is not held against the program; what else differs still is."""
    clock = map(int, itertools.count())

    @d2s.not_to_static
    def now() -> float:
        return float(next(clock))

    def steady(x):
        return x * 2, x * now()

    report = d2s.check(steady, PLUS)
    assert report.ok, report
    assert report.remark.startswith("dygraph itself differs from one call to the next in result[1]")
    assert report.remark.endswith("which is not compared")

    def wrong(x):
        return x * (2 if paddle.in_dynamic_mode() else 3), x * now()

    report = d2s.check(wrong, PLUS)
    assert kinds(report) == [("result", "result[0]")]
    assert report.remark == "dygraph itself differs from one call to the next in result[1]"


class Doubled(paddle.autograd.PyLayer):
    """There is no gradient of it."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        raise RuntimeError("there is no gradient")


class DoubledOnceMore(Doubled):
    """The run finds out that there is no gradient."""

    @staticmethod
    def backward(ctx, dy):
        if dy.sum() > -100:
            raise RuntimeError("there is no gradient")
        return dy


def never(x):
    return Doubled.apply(x)


def never_on_the_run(x):
    return x * 2 if paddle.in_dynamic_mode() else DoubledOnceMore.apply(x)


def test_a_gradient_that_raises() -> None:
    """C7: what cannot be differentiated is refused; an exception in place of a gradient differs."""
    report = d2s.check(never, trainable(1.0, 2.0))
    assert report.refused is not None
    assert report.refused.code == "D2S307"
    assert "gradients" not in report.compared
    report = d2s.check(never_on_the_run, trainable(1.0, 2.0))
    (item,) = report.differences
    assert (item.kind, item.dygraph) == ("gradient", "one")
    assert "there is no gradient" in item.static


def test_the_log_and_the_end_of_a_text() -> None:
    """F1: a record of another level differs, and so does a line that is not ended."""
    logger = logging.getLogger("tests.rare")
    logger.setLevel(logging.DEBUG)

    def logs(x):
        logger.log(logging.INFO if paddle.in_dynamic_mode() else logging.DEBUG, "the sum")
        return x + 1

    def ends(x):
        print("the sum", end="\n" if paddle.in_dynamic_mode() else "")
        return x + 1

    (item,) = d2s.check(logs, PLUS).differences
    assert (item.kind, item.dygraph, item.static) == (
        "log",
        "line 1 'INFO tests.rare: the sum'",
        "line 1 'DEBUG tests.rare: the sum'",
    )
    (item,) = d2s.check(ends, PLUS).differences
    assert (item.kind, item.dygraph, item.static) == ("output", "'the sum\\n'", "'the sum'")


def test_exceptions_that_only_the_line_or_the_rest_of_the_text_tells_apart() -> None:
    """F1: their first lines are the same, so the report says what is not."""

    def line(x):
        if paddle.in_dynamic_mode():
            raise ValueError("no")
        raise ValueError("no")

    def rest(x):
        raise ValueError("no\n" + ("dygraph" if paddle.in_dynamic_mode() else "program"))

    (item,) = d2s.check(line, PLUS).differences
    first = line.__code__.co_firstlineno
    assert (item.dygraph, item.static) == (
        f"ValueError: no (line {first + 2})",
        f"ValueError: no (line {first + 3})",
    )
    (item,) = d2s.check(rest, PLUS).differences
    assert (item.dygraph, item.static) == ("'no\\ndygraph'", "'no\\nprogram'")


def test_a_line_that_has_no_text() -> None:
    """The report names the place; a file that is gone has no line to show."""
    function = function_of(
        """
        def f(x):
            y = x * (2 if paddle.in_dynamic_mode() else 3)
            return y
        """
    )
    report = d2s.check(function, PLUS)
    assert "y = x *" in str(report)
    import linecache

    text = linecache.cache.pop(function.__code__.co_filename)
    try:
        shown = str(report)
    finally:
        linecache.cache[function.__code__.co_filename] = text
    assert "y = x *" not in shown
    assert f"first at {report.first.file}:2" in shown


def returns_nothing(x, seen):
    seen.append(x * (2 if paddle.in_dynamic_mode() else 3))
    return


def enters(x):
    y = x * 2
    with contextlib.nullcontext(x * 3) as tripled, paddle.no_grad():
        (lambda: [y])()[0][0] = tripled[0]
        y = y + (0 if paddle.in_dynamic_mode() else 1)
    return y


def looks_at_its_frame(x):
    y = x + (0 if paddle.in_dynamic_mode() else 1)
    return y, locals()["x"]


def test_the_first_line_in_functions_with_few_values() -> None:
    """A bare ``return`` shows no value, a ``with`` binds, and ``locals()`` allows no probes."""
    report = d2s.check(returns_nothing, PLUS, [])
    assert kinds(report) == [("argument", "seen[0]")]
    report = d2s.check(enters, PLUS)
    assert kinds(report) == [("result", "result")]
    assert report.first is not None
    assert report.first.line == enters.__code__.co_firstlineno + 4
    report = d2s.check(looks_at_its_frame, PLUS)
    assert kinds(report) == [("result", "result[0]")]
    assert report.first is None
    assert "no line was found" in report.remark


def test_what_is_refused_with_probes_in_it() -> None:
    """The report names no line then, and says why."""

    @d2s.not_to_static
    def value(x):
        if paddle.in_dynamic_mode():
            return x * 2
        return x * float(x.sum()) if probing() else x * 3

    report = d2s.check(lambda x: value(x), PLUS)
    assert kinds(report) == [("result", "result")]
    assert report.first is None
    assert "with probes in it the program is refused" in report.remark
    assert "D2S208" in report.remark


def raises_unbound_itself(x, how):
    if how == "own":
        raise UnboundLocalError("how it is said elsewhere")
    if how == "deleted":
        y = x
        del y
        del y
    return x


def test_a_variable_that_is_not_bound_is_missed_on_its_line() -> None:
    """F1, B2: also where no variable is read: an error of the user's own, a second ``del``."""
    for how in ("own", "deleted"):
        report = d2s.check(raises_unbound_itself, PLUS, how)
        assert report.ok, report
        assert "exception" in report.compared

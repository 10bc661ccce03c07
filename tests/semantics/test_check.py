"""The self-check finds what a conversion gets wrong, and where; and nothing else.

Defects are planted: an operator or a function of Paddle does something else while a program is
being captured.  The assertions in these functions are part of what is compared:
PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import logging
import random
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from corpus.case import load
from corpus.facts import tensors
from d2s.errors import CheckError
from d2s.runtime import NAMESPACE
from d2s.runtime.lists.probes import probing
from d2s.runtime.trace import current
from tests.helpers import scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def line_of(function: Any, text: str) -> int:
    """The line of ``function`` that contains ``text``."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    (found,) = [first + index for index, line in enumerate(lines) if text in line]
    return found


def trainable(*values: float) -> Any:
    made = tensor(*values)
    made.stop_gradient = False
    return made


@pytest.fixture
def wrong_side(monkeypatch: Any) -> None:
    """In a capture every ``if`` on a tensor takes the other side."""
    right = NAMESPACE.if_

    def if_(test, body, orelse, names):
        if current() is not None and not isinstance(test, bool):
            body, orelse = orelse or (lambda: None), body
        return right(test, body, orelse, names)

    monkeypatch.setattr(NAMESPACE, "if_", if_)


def lossy(monkeypatch: Any, change: Any) -> None:
    """In a capture ``paddle.add(a, b)`` gives ``change(a, b)``."""
    right = paddle.add

    @d2s.not_to_static  # no code of the user's
    def add(a, b):
        return right(a, b) if paddle.in_dynamic_mode() else d2s.not_to_static(change)(a, b)

    monkeypatch.setattr(paddle, "add", add)


# -- nothing to find -----------------------------------------------------------------------------


def test_a_right_program_passes() -> None:
    """A function with branch, loop, containers, print: everything is compared."""

    def f(x, n=3):
        y = x
        for i in range(n):
            if y.sum() > 0:
                y = y - i
            print("y", y)
        return {"y": y, "n": n}

    for given in (PLUS, MINUS, trainable(1.0, 5.0)):
        report = d2s.check(f, given)
        assert report.ok, report
        assert bool(report)
        assert report.first is None
        assert report.differences == ()
    assert report.compared == ("result", "arguments", "printed text", "gradients")
    assert str(report).endswith(
        "f: the program agrees with dygraph in result, arguments, printed text, gradients"
    )
    report.raise_for_difference()


class Net(paddle.nn.Layer):
    scale = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)
        self.norm = paddle.nn.BatchNorm1D(2)
        self.drop = paddle.nn.Dropout(0.5)
        self.register_buffer("seen", paddle.zeros([]))
        self.count = 0
        self.history: list[Any] = []

    def forward(self, x):
        self.count += 1
        self.seen = self.seen + x.mean()
        self.history.append(self.seen)
        y = self.norm(self.linear(x))
        if y.sum() > self.seen:
            y = y * self.scale
        return self.drop(y)


@pytest.mark.parametrize("converted", [False, True])
def test_a_layer_passes_and_nothing_is_changed(converted: bool) -> None:
    """F3, F5: parameters, buffers, attributes and random numbers agree, and are put back."""
    net = Net()
    if converted:
        d2s.to_static(net)
    x = paddle.rand([4, 2])
    before = {key: value.numpy().copy() for key, value in net.state_dict().items()}
    forward = net.__dict__.get("forward")
    states = random.getstate(), np.random.get_state()[1].copy()
    paddle.seed(3)
    want = paddle.rand([3]).tolist()
    paddle.seed(3)
    report = d2s.check(net, x)
    assert report.ok, report
    assert report.compared == ("result", "arguments", "state", "printed text", "gradients")
    assert paddle.rand([3]).tolist() == want
    assert states[0] == random.getstate()
    assert (states[1] == np.random.get_state()[1]).all()
    assert net.count == 0
    assert net.history == []
    assert net.__dict__.get("forward") is forward
    for key, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    assert all(parameter.grad is None for parameter in net.parameters())
    if converted:
        assert net.forward.programs == []


class Caller:
    factor = 3.0

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, x):
        return self.method(x) + 1

    def method(self, x):
        self.total = self.total + x.sum()
        if self.total > 0:
            return x * self.factor
        return x

    @classmethod
    def of_class(cls, x):
        return x * cls.factor if x.sum() > 0 else x

    @staticmethod
    def static(x):
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    "function",
    [
        Caller().method,
        Caller(),
        Caller.of_class,
        Caller.static,
        functools.partial(lambda k, x: x * k if x.sum() > 0 else x, 2),
        d2s.to_static(lambda x: -x if x.sum() > 0 else x),
        d2s.to_static(Caller.static, input_spec=[paddle.static.InputSpec([None], "float32")]),
    ],
)
def test_every_kind_of_function(function: Any) -> None:
    """G1: methods, callable objects, class and static methods, partials, converted functions."""
    for given in (PLUS, MINUS):
        assert d2s.check(function, given).ok


COUNTS = {"calls": 0}
NUMBER = 0


def changes_globals(x):
    global NUMBER
    COUNTS["calls"] += 1
    NUMBER = NUMBER + 1
    return x * NUMBER


def test_what_the_function_changes_is_put_back() -> None:
    """Globals, closures, dicts, lists and arrays among the arguments."""
    counter = 0
    kept: list[Any] = []

    def f(x, things, table):
        nonlocal counter
        counter += 1
        kept.append(x)
        things.append(x * 2)
        table["x"] = x.sum()
        return changes_globals(x) + counter

    things, table = [PLUS], {"a": 1}
    report = d2s.check(f, PLUS, things, table=table)
    assert report.ok, report
    assert counter == 0
    assert kept == []
    assert COUNTS == {"calls": 0}
    assert NUMBER == 0
    assert len(things) == 1
    assert things[0] is PLUS
    assert table == {"a": 1}


def test_arguments_changed_in_place() -> None:
    """B4: a tensor that is changed in place is the check's own copy."""

    def f(x):
        x[0] = 7.0
        x.add_(paddle.ones([2]))
        return x.sum()

    x = tensor(1.0, 2.0)
    assert d2s.check(f, x).ok
    assert x.tolist() == [1.0, 2.0]


def test_one_tensor_under_two_names() -> None:
    """A1: an argument that the state holds as well is that one object."""
    kept = trainable(1.0, 2.0)

    def f(x):
        return x * 2 + kept if x.sum() > 0 else kept

    report = d2s.check(f, kept)
    assert report.ok, report
    assert report.compared == ("result", "arguments", "state", "printed text", "gradients")


def test_exceptions_agree() -> None:
    """F1: type, message and line."""

    def f(x):
        if x.sum() > 0:
            raise ValueError(f"positive: {x.sum()}")
        assert x.sum() > -1, "very negative"
        return x[5]

    for given in (PLUS, MINUS, tensor(-0.25, -0.25)):
        report = d2s.check(f, given)
        assert report.ok, report
        assert "exception" in report.compared


def test_log_records_agree_and_are_not_shown(caplog: Any) -> None:
    """F1: log records are compared, and not handed on."""
    logger = logging.getLogger("tests.check")

    def f(x):
        logger.warning("x is %s", x)
        return x

    with caplog.at_level(logging.INFO):
        assert d2s.check(f, PLUS).ok
    assert not [record for record in caplog.records if record.name == "tests.check"]


def test_nothing_is_printed(capfd: Any) -> None:
    """The printed text is compared, not shown."""

    def f(x):
        print("seen", x)
        return x

    assert d2s.check(f, PLUS).ok
    assert "seen" not in capfd.readouterr().out


def test_nan_is_equal_to_nan() -> None:
    def f(x):
        return x / x if x.sum() == 0 else x

    assert d2s.check(f, tensor(0.0, 0.0)).ok


def test_random_numbers_of_three_generators() -> None:
    """F5: each of the calls draws the same numbers."""

    def f(x):
        return x * random.random() + np.random.rand() + paddle.rand([2])

    assert d2s.check(f, PLUS).ok
    assert d2s.Checker(seed=11)(f, PLUS).ok


# -- planted defects -----------------------------------------------------------------------------


def test_a_wrong_side_is_found_at_its_if(wrong_side: None) -> None:
    """B1: the line of the condition."""

    def f(x):
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        else:
            y = y * 3
        return y - 1

    report = d2s.check(f, PLUS)
    assert not report.ok
    assert report.first.file == __file__
    assert report.first.line == line_of(f, "if y.sum()")
    assert (report.first.name, report.first.dygraph) == ("the condition", "the bool True")
    assert [(item.kind, item.name) for item in report.differences] == [("result", "result")]
    assert "largest difference 3 at [1]" in report.differences[0].detail
    text = str(report)
    assert f"first at {__file__}:{report.first.line}\n      if y.sum() > 0:" in text


def test_a_wrong_side_in_a_nested_function(wrong_side: None) -> None:
    """E2: the line is the one of the function that is called."""

    def helper(z):
        z = z * 2
        if z.max() > 3:
            z = z - 1
        return z

    def f(x):
        y = x
        for i in range(3):
            y = helper(y) + i
        return y

    assert d2s.check(f, MINUS).first.line == line_of(helper, "if z.max()")


def test_a_wrong_value_in_a_static_loop(monkeypatch: Any) -> None:
    """C1: the trip is the run's, the line the user's."""
    lossy(monkeypatch, lambda a, b: a + b * 1.001)

    def f(x, n):
        total = x
        for i in range(n):
            step = x * i
            total = paddle.add(total, step)
        return total

    report = d2s.check(f, PLUS, scalar(4))
    assert report.first.line == line_of(f, "paddle.add")
    assert (report.first.kind, report.first.name) == ("value", "total")
    assert report.first.dygraph == "float32[2] [2., 4.]"
    assert report.first.detail.startswith("largest difference 0.00199")
    assert d2s.Checker(rtol=1e-2)(f, PLUS, scalar(4)).ok
    assert d2s.Checker(atol=1.0)(f, PLUS, scalar(4)).ok


def test_a_wrong_value_in_a_branch(monkeypatch: Any) -> None:
    """B1: dtype and shape count."""

    def f(x):
        y = x
        if x.sum() > 0:
            y = paddle.add(x, x)
            z = y * 2
            y = z + y
        return y

    lossy(monkeypatch, lambda a, b: (a * 2).astype("float64"))
    first = d2s.check(f, PLUS).first
    assert first is not None
    assert first.line == line_of(f, "paddle.add")
    assert first.detail == "another dtype"
    lossy(monkeypatch, lambda a, b: (a * 2).reshape([1, 2]))
    first = d2s.check(lambda x: paddle.add(x, x), PLUS).first
    assert first is not None
    assert first.detail == "another shape"


def test_a_trip_too_few(monkeypatch: Any) -> None:
    """C1: a loop that ends early is named by its own line."""
    right = NAMESPACE.while_

    def while_(test, body, names, *others):
        if current() is None:
            return right(test, body, names, *others)
        (cell,) = test.__closure__
        return right(lambda: test() & (cell.cell_contents < 3.0), body, names, *others)

    monkeypatch.setattr(NAMESPACE, "while_", while_)

    def f(x):
        while x < 6:
            x = x + 1
        y = x * 2
        return y

    first = d2s.check(f, scalar(1.0)).first
    assert (first.kind, first.line) == ("path", line_of(f, "while x"))
    assert first.dygraph == "another trip"
    assert first.static.startswith("none, but line")


def test_an_exception_that_is_lost(monkeypatch: Any) -> None:
    """F1: the program returns where dygraph raises."""
    right = NAMESPACE.assert_
    monkeypatch.setattr(
        NAMESPACE, "assert_", lambda *given: right(*given) if current() is None else None
    )

    def f(x):
        y = x * 2
        assert y.sum() < 0, "not negative"
        z = y + 1
        return z

    report = d2s.check(f, PLUS)
    (only,) = [item for item in report.differences if item.kind == "exception"]
    assert (only.dygraph, only.static) == ("AssertionError: not negative", "none")
    assert report.first.kind == "path"
    assert report.first.line == line_of(f, "z = y + 1")


def test_an_exception_with_another_text(monkeypatch: Any) -> None:
    """F1: the message counts."""
    lossy(monkeypatch, lambda a, b: a)

    def f(x):
        total = paddle.add(x.sum(), x.sum())
        if total > 0:
            raise ValueError(f"total {float(total)}")
        return x

    report = d2s.check(f, PLUS)
    assert [item.kind for item in report.differences] == ["exception"]
    assert report.differences[0].dygraph == "ValueError: total 6.0"
    assert report.first.line == line_of(f, "paddle.add")


def test_a_gradient_alone(monkeypatch: Any) -> None:
    """C7: values agree, gradients do not."""
    lossy(monkeypatch, lambda a, b: a + b.detach())
    w = paddle.create_parameter([2], "float32")

    def f(x):
        return paddle.add(x, x * w)

    report = d2s.check(f, trainable(1.0, 2.0))
    assert {(item.kind, item.name) for item in report.differences} == {
        ("gradient", "gradient of x"),
        ("gradient", "gradient of w"),
    }
    assert report.first is None
    assert report.remark == "every value on the way is right; only gradients differ"
    assert d2s.Checker(gradients=False)(f, trainable(1.0, 2.0)).ok
    with paddle.no_grad():
        assert d2s.check(f, trainable(1.0, 2.0)).ok
    with pytest.raises(CheckError, match="gradient of w"):
        d2s.to_static(f, check=True)(tensor(1.0, 2.0))


class Keeper(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.last = None
        self.register_buffer("mean", paddle.zeros([2]))

    def forward(self, x):
        self.last = paddle.add(x, x)
        self.mean = paddle.add(self.mean, x)
        return x * 2


def test_state_alone(monkeypatch: Any) -> None:
    """F3: the result agrees, what the layer keeps does not."""
    lossy(monkeypatch, lambda a, b: a + b + 0.5)
    report = d2s.check(Keeper(), PLUS)
    assert {(item.kind, item.name) for item in report.differences} == {
        ("state", "self.last"),
        ("state", "self.mean"),
    }
    assert (report.first.name, report.first.line) == (
        "self.last",
        line_of(Keeper.forward, "self.last ="),
    )


def test_an_argument_and_the_text(monkeypatch: Any) -> None:
    """F1, B4: containers of the caller's, and what is printed."""
    lossy(monkeypatch, lambda a, b: a)

    def f(x, things):
        things.append(paddle.add(x, x))
        print("sum", paddle.add(x, x).sum())
        return x

    report = d2s.check(f, PLUS, [])
    assert [(item.kind, item.name) for item in report.differences] == [
        ("output", "the printed text"),
        ("argument", "things[0]"),
    ]
    assert report.differences[0].dygraph == "line 2 '       6.)'"
    assert report.first is None
    assert "no line was found" in report.remark


def test_only_without_probes(monkeypatch: Any) -> None:
    """A defect that the probes hide is still one, and the report says so."""
    lossy(monkeypatch, lambda a, b: a + b if probing() else a)

    def f(x):
        return paddle.add(x, x)

    report = d2s.check(f, PLUS)
    assert not report.ok
    assert report.first is None
    assert "differs only without the probes" in report.remark


def test_what_happens_at_capture_only() -> None:
    """F4: an effect that a program does not have shows on the second call."""
    seen: list[int] = []

    @d2s.not_to_static
    def note() -> None:
        seen.append.__self__.append(1)

    def f(x):
        note()
        return x * 2

    report = d2s.check(f, PLUS)
    assert not report.ok
    assert {item.kind for item in report.differences} == {"state"}
    assert seen == []


def test_dygraph_that_is_no_function_of_its_input() -> None:
    """What dygraph itself gives otherwise on the next call is not held against the program."""
    clock = map(float, itertools.count())

    def f(x):
        return x * 1.0, d2s.host(lambda: next(clock), result=float)()

    report = d2s.check(f, PLUS)
    assert report.ok or report.refused is not None, report
    if report.refused is None:
        assert "dygraph itself differs" in report.remark


# -- refusals and bad input ----------------------------------------------------------------------


def test_a_refusal_is_no_difference() -> None:
    """E5: the coded error is the report's."""

    def f(x):
        return hash(x.sum().item()) + x

    report = d2s.check(f, PLUS)
    assert not report.ok
    assert report.differences == ()
    assert report.refused is not None
    assert report.refused.code == "D2S208"
    assert "refused" in str(report)
    assert "D2S208" in str(report)
    with pytest.raises(type(report.refused), match="hashed"):
        report.raise_for_difference()
    with pytest.raises(type(report.refused), match="hashed"):
        d2s.to_static(f, check=True)(PLUS)


@pytest.mark.parametrize("thing", [len, int, paddle.nn.Linear, "f", 3, None, d2s.Checker])
def test_what_is_no_function(thing: Any) -> None:
    with pytest.raises(d2s.D2SError) as caught:
        d2s.check(thing, PLUS)
    assert caught.value.code == "D2S102"


@pytest.mark.parametrize(
    "thing", [iter([PLUS]), (x for x in [PLUS]), zip([PLUS], [PLUS], strict=True)]
)
def test_an_argument_that_a_call_uses_up(thing: Any) -> None:
    def f(things):
        return sum(x.sum() if not isinstance(x, tuple) else x[0].sum() for x in things)

    with pytest.raises(d2s.D2SError, match="uses up") as caught:
        d2s.check(f, [thing][0])
    assert caught.value.code == "D2S602"
    with pytest.raises(d2s.D2SError) as caught:
        d2s.check(lambda table: table, {"things": [thing]})
    assert caught.value.code == "D2S602"


def test_other_bad_input() -> None:
    with pytest.raises(TypeError, match=r"<lambda>\(\) missing 1 required positional argument"):
        d2s.check(lambda x, y: x, PLUS)
    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(lambda x: x, check=3)
    assert caught.value.code == "D2S301"
    assert "Checker" in caught.value.cure
    paddle.enable_static()
    try:
        with pytest.raises(d2s.D2SError) as caught:
            d2s.check(lambda x: x, 3)
    finally:
        paddle.disable_static()
    assert caught.value.code == "D2S306"


def test_keywords_of_the_function_are_its_own() -> None:
    """Options are the checker's, so every keyword goes to the function."""

    def f(x, rtol, function=1, self=2, seed=3):
        return x * rtol + function + self + seed

    assert d2s.check(f, PLUS, rtol=2.0, function=1.0, seed=4.0).ok
    assert d2s.Checker(rtol=1e-3)(f, PLUS, rtol=2.0, self=5.0).ok


# -- to_static(check=True) -----------------------------------------------------------------------


def test_a_checked_function_acts_like_one_call(capfd: Any) -> None:
    """State, printed text and random numbers are those of one call."""

    class Model:
        def __init__(self) -> None:
            self.calls = 0
            self.total = tensor(0.0, 0.0)

        def step(self, x, things):
            self.calls += 1
            self.total = self.total + x
            things.append(x)
            print("step", self.calls)
            return x * paddle.rand([2]) if x.sum() > 0 else x

    plain, checked = Model(), Model()
    step = d2s.to_static(checked.step, check=True)
    for given in (PLUS, PLUS, MINUS, tensor(1.0, 2.0)):
        theirs: list[Any] = []
        mine: list[Any] = []
        paddle.seed(5)
        capfd.readouterr()
        want = plain.step(given, theirs)
        text = capfd.readouterr().out
        after = paddle.rand([2]).tolist()
        paddle.seed(5)
        got = step(given, mine)
        assert capfd.readouterr().out == text
        assert paddle.rand([2]).tolist() == after
        np.testing.assert_allclose(got.numpy(), want.numpy())
        assert len(mine) == len(theirs) == 1
        assert checked.calls == plain.calls
        np.testing.assert_allclose(checked.total.numpy(), plain.total.numpy())


def test_only_new_programs_are_checked(monkeypatch: Any) -> None:
    """G2: a call that finds its program costs what it always costs."""
    checked: list[Any] = []
    right = d2s.Checker.report
    monkeypatch.setattr(
        d2s.Checker, "report", lambda *given: checked.append(given) or right(*given)
    )

    @d2s.to_static(check=d2s.Checker(seed=1))
    def f(x, k):
        return x * k if x.sum() > 0 else x

    for given in (PLUS, MINUS, PLUS):
        f(given, 2)
    assert len(checked) == 1
    f(PLUS, 3)
    assert len(checked) == 2


def test_a_checked_function_raises_and_forgets(wrong_side: None) -> None:
    """The wrong program is not kept: the next call is checked again."""

    @d2s.to_static(check=True)
    def f(x):
        y = x + 1
        if y.sum() > 0:
            y = y * 2
        return y

    for _ in range(2):
        with pytest.raises(CheckError) as caught:
            f(PLUS)
        error = caught.value
        assert error.code == "D2S601"
        assert (error.file, error.line) == (__file__, line_of(f.d2s_original, "if y.sum()"))
        assert "the condition" in str(error)
        assert "cure:" in str(error)
        assert isinstance(error.report, d2s.Report)
        assert not error.report.ok
        assert f.programs == []


def test_checked_methods_and_layers() -> None:
    """G1: the option holds for methods of each instance, and for layers."""

    class Model:
        @d2s.to_static(check=True)
        def double(self, x):
            return x * 2 if x.sum() > 0 else x

        @classmethod
        def of(cls, x):
            return x

    model = Model()
    assert model.double(PLUS).tolist() == [2.0, 4.0]
    assert type(model.double).__name__ == "CheckedFunction"
    net = d2s.to_static(Net(), check=True)
    x = paddle.rand([4, 2])
    net(x)
    assert net.count == 1
    assert len(net.history) == 1
    net.train()
    y = net(x)
    y.sum().backward()
    assert net.linear.weight.grad is not None
    assert net.count == 2


def test_a_checked_function_raises_what_dygraph_raises() -> None:
    """F1: an exception that both raise is that of the call."""

    @d2s.to_static(check=True)
    def f(x):
        if x.sum() > 0:
            raise KeyError("positive")
        return x

    with pytest.raises(KeyError, match="positive"):
        f(PLUS)
    assert f(MINUS).tolist() == MINUS.tolist()


def test_a_checked_function_inside_another() -> None:
    """E2: it becomes part of the program around it, unchecked by itself."""

    @d2s.to_static(check=True)
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    @d2s.to_static(check=True)
    def outer(x):
        return inner(x) + 1

    assert outer(PLUS).tolist() == [3.0, 5.0]
    assert inner.programs == []


def test_gradients_flow_through_arguments_of_a_checked_function() -> None:
    """C7: the caller's own graph is untouched by the check."""

    @d2s.to_static(check=True)
    def f(x):
        return (x * x).sum() if x.sum() > 0 else x.sum()

    w = trainable(1.0, 2.0)
    f(w * 3).backward()
    assert w.grad.tolist() == [18.0, 36.0]


@dataclasses.dataclass
class Box:
    value: Any
    seen: int = 0


def test_data_classes_and_objects_among_the_arguments() -> None:
    """G1: an object is no copy; what the call does to it is undone."""

    def f(box):
        box.seen += 1
        box.value = box.value * 2
        return box.value.sum()

    box = Box(PLUS)
    report = d2s.check(f, box)
    assert report.ok, report
    assert box.seen == 0
    assert box.value is PLUS


# -- the corpus ----------------------------------------------------------------------------------

PROGRAMS = (
    "newton", "collatz", "lstm_over_time", "dropout_batchnorm", "adaptive_ode", "key_value_cache",
    "assert_and_print", "attribute_set_in_branch", "batchnorm_in_loop", "buffer_in_loop",
    "raise_in_branch", "caught_error", "closure_counts_until_break", "dict_state",
    "inplace_in_branches", "setitem_in_tensor_loop", "return_between_two_counts",
    "print_in_tensor_loop", "random_module_per_call", "two_input_linear",
    "entry_changes_list_argument", "changed_global_dict",
)  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_corpus_passes(name: str) -> None:
    """What is right is found right: no false alarm, and no input is worn out."""
    case = load(name)
    built = case.build()
    options = {} if case.input_spec is None else {"input_spec": case.input_spec()}
    checker = d2s.Checker(rtol=case.rtol, atol=case.atol, gradients=case.grad, seed=1, **options)
    for index, arguments in enumerate(case.inputs()):
        case.before(index)
        for _, leaf in tensors("arguments", arguments) if case.grad else ():
            leaf.stop_gradient = False
        report = checker(built, *arguments)
        assert report.ok, f"input {index}: {report}"

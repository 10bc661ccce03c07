"""What state the self-check compares, puts back and names."""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import paddle
import pytest

import d2s
from d2s.selfcheck.snapshot import Snapshot
from d2s.selfcheck.values import Tolerance, facts, mismatches
from tests.helpers import function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def trainable(*values: float) -> Any:
    made = tensor(*values)
    made.stop_gradient = False
    return made


class Borg:
    """All of them share their attributes."""

    common: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.__dict__ = Borg.common


class Counts(list[int]):
    def __init__(self) -> None:
        super().__init__([1, 2])
        self.total = 3


class Slots:
    __slots__ = ("filled", "other", "unset")

    def __init__(self) -> None:
        self.filled, self.other = 1, tensor(1.0)


def test_state_in_objects_that_few_have(tmp_path: Path, monkeypatch: Any) -> None:
    """F3: all of it is put back: shared fields, slots, lists with attributes, globals that come to
    be, defaults, wrapped functions, modules of the user's, generators.
    """
    (tmp_path / "rare_module.py").write_text(
        "import os\nlimit = [1]\ntimes = 1\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import rare_module  # type: ignore[import-not-found]

    one, two, counts, slots = Borg(), Borg(), Counts(), Slots()
    one.value = 1
    array, fixed = np.zeros(2), np.ones(2)
    fixed.flags.writeable = False
    legacy = np.random.RandomState(3)
    weight = trainable(1.0)
    pair = ([0], (weight, "text"), frozenset([1]), rare_module)

    def original(items: Any = [5]) -> Any:  # noqa: B006
        items.append(6)
        return len(items)

    @functools.wraps(original)
    def wrapper() -> Any:
        return original()

    function = function_of(
        """
        def f():
            global made_here
            made_here = 1
            one.value += 1
            two.more = 2
            counts.append(4)
            counts.total += 4
            slots.filled += 1
            array[0] = 7.0
            legacy.rand()
            weight.stop_gradient = True
            pair[0].append(1)
            module.limit.append(2)
            module.times = len(module.os.sep) + 4
            return wrapper(), fixed.sum()
        """,
        one=one, two=two, counts=counts, slots=slots, array=array, fixed=fixed, legacy=legacy,
        weight=weight, pair=pair, module=rare_module, wrapper=wrapper,
    )  # fmt: skip
    scope = function.__globals__
    drawn = legacy.get_state()[1].tolist()
    snapshot = Snapshot(function, {})
    before = [str(fact) for fact in snapshot.facts()]
    assert function() == (2, 2.0)
    assert scope["made_here"] == 1
    assert [str(fact) for fact in snapshot.facts()] != before
    snapshot.restart()
    assert [str(fact) for fact in snapshot.facts()] == before
    assert "made_here" not in scope
    assert (one.value, hasattr(one, "more")) == (1, False)
    assert (list(counts), counts.total) == ([1, 2], 3)
    assert (slots.filled, hasattr(slots, "unset")) == (1, False)
    assert array.tolist() == [0.0, 0.0]
    assert legacy.get_state()[1].tolist() == drawn
    assert weight.stop_gradient is False
    assert pair[0] == [0]
    assert (rare_module.limit, rare_module.times) == ([1], 1)
    assert original.__defaults__ == ([5],)
    sys.modules.pop("rare_module")


def test_cells_that_are_empty_before_or_shared() -> None:
    """F3: a variable that the call binds is unbound again; two functions may share a cell."""

    def make() -> Any:
        def helper() -> Any:
            nonlocal count
            count += 1
            return count

        def f() -> Any:
            nonlocal late
            late = helper() + count
            return late

        count = 1
        if count < 0:
            late = 0
        return f

    f = make()
    cells = dict(zip(f.__code__.co_freevars, f.__closure__, strict=True))
    snapshot = Snapshot(f, {})
    assert f() == 4
    assert cells["late"].cell_contents == 4
    snapshot.restart()
    assert cells["count"].cell_contents == 1
    with pytest.raises(ValueError, match="empty"):
        _ = cells["late"].cell_contents


def test_two_variables_of_one_name() -> None:
    """F3: closures of other functions have variables of the same names."""

    def counter(items: list[int]) -> Any:
        def add() -> int:
            items.append(1)
            return len(items)

        return add

    items = [1, 2, 3]
    others, mine = counter([]), counter(items)

    def f(x):
        items.append(others() + mine())
        return x * len(items)

    snapshot = Snapshot(f, {})
    assert {path.split("[")[0] for path, _ in snapshot.facts()} == {"items", "items'"}
    f(PLUS)
    assert len(items) == 5
    snapshot.restart()
    assert (items, others.__closure__[0].cell_contents) == ([1, 2, 3], [])


def test_a_gradient_that_was_there_is_there_again() -> None:
    """F3: of a parameter that the call differentiates, and of one that it clears."""
    left, right, same = trainable(1.0), trainable(2.0), trainable(3.0)
    for each in (left, right, same):
        (each * 2).sum().backward()

    def f() -> None:
        (left * left).sum().backward()
        right.clear_gradient(False)
        kept = same.grad.clone()
        same.clear_gradient(False)
        same.grad = kept

    snapshot = Snapshot(f, {})
    f()
    assert left.grad.tolist() == [4.0]
    assert right.grad is None
    snapshot.restart()
    assert [each.grad.tolist() for each in (left, right, same)] == [[2.0], [2.0], [2.0]]


def scaled_by(x, parameter, function, opaque, things):
    things.append(opaque)
    return function(x) * parameter


def test_parameters_functions_and_opaque_objects_among_the_arguments() -> None:
    """G1: they are handed on as they are; the state of a function among them is put back."""
    seen: list[int] = []

    def note(x):
        seen.append(1)
        return x + len(seen)

    parameter = paddle.create_parameter([2], "float32")
    report = d2s.check(scaled_by, trainable(1.0, 2.0), parameter, note, object(), [])
    assert report.ok, report
    assert seen == []
    assert parameter.grad is None


def test_the_state_of_a_function_that_paddle_has_converted() -> None:
    """F3: what it holds is state, as that of any other function."""
    seen: list[int] = []

    def note(x):
        seen.append(1)
        return x

    static = paddle.jit.to_static(note, full_graph=True)
    snapshot = Snapshot(lambda: static(PLUS), {})
    seen.append(2)
    snapshot.restart()
    assert seen == []
    assert d2s.check(static, PLUS).ok


class Holder(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)
        self.register_buffer("steps", paddle.zeros([], "int64"))
        self.first = self.second = [1]
        self.pair = (self.linear, self.linear)

    def forward(self, x):
        self.steps += 1
        if x.sum() > 0:
            x = self.linear(x)
        return x


def test_a_layer_with_whole_numbers_and_one_object_twice() -> None:
    """F3: an integer buffer has no gradient; the second way to an object only names the first."""
    layer = Holder()
    for x in (PLUS, MINUS):
        report = d2s.check(layer, x)
        assert report.ok, report
    assert layer.steps.item() == 0
    found = dict(facts("layer", layer))
    assert str(found["layer.pair[1]"]) == "the object at layer.linear"


def test_what_is_missing_below_something_missing_is_said_once() -> None:
    """The outermost thing that is missing tells it all."""
    want, got = {"a": {"b": [1, 2]}, "c": 1}, {"c": 1}
    for one, other in ((want, got), (got, want)):
        found = mismatches(facts("r", one), facts("r", other), Tolerance())
        names = [item.name for item in found]
        assert "r['a']" in names
        assert not any(name.startswith("r['a'][") for name in names)


def test_a_module_among_the_items_is_no_state() -> None:
    """A module in a list is neither copied nor looked into."""
    things = [types, [1]]

    def f(x):
        things[1].append(2)
        return x * len(things)

    assert d2s.check(f, PLUS).ok
    assert things == [types, [1]]


def asserting(x: Any) -> Any:
    assert x.shape[0] == 2  # pytest has rewritten it: the code names modules of pytest's
    with pytest.raises(ValueError, match="two"):
        raise ValueError("two")
    return x * 2


def test_what_runs_the_program_is_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that no one can write, and pytest itself, lead to all that pytest keeps: minutes."""
    assert "@pytest_ar" in asserting.__code__.co_names
    snapshot = Snapshot(asserting, {})
    homes = {getattr(thing, "__module__", None) for thing in snapshot._seen.values()}
    assert not {home for home in homes if str(home).startswith(("_pytest", "pluggy"))}
    assert len(snapshot.facts()) < 100
    assert d2s.check(asserting, PLUS).ok

"""The parts of the self-check: facts and mismatches, snapshots, records of probes, reports."""

from __future__ import annotations

import collections
import random
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.diagnostics.location import Location
from d2s.errors import CheckError, NotStaticError
from d2s.runtime.lists.probes import HIDDEN, probe, probes
from d2s.selfcheck import locate
from d2s.selfcheck.locate import Record, first_difference
from d2s.selfcheck.report import Difference, Report
from d2s.selfcheck.runs import _says
from d2s.selfcheck.snapshot import Snapshot
from d2s.selfcheck.values import Tolerance, facts, mismatches
from tests.helpers import tensor


def differ(want: Any, got: Any, **options: Any) -> list[str]:
    """The mismatches of two values, in words."""
    found = mismatches(facts("r", want), facts("r", got), Tolerance(**options))
    return [str(item) for item in found]


# -- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, True, None, "text", b"bytes", 2j, float("nan"), range(3), slice(1, 2), ...,
        [1, [2.0]], (1,), {"a": [1]}, {1, 2}, collections.deque([1]), int, len,
        tensor(1.0, float("nan")), np.array([1, 2]), np.float32(2.0), paddle.float32,
        collections.namedtuple("P", "x")(1), random.Random(1), collections.OrderedDict(a=1),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_equals_itself(value: Any) -> None:
    assert differ(value, value) == []


@pytest.mark.parametrize(
    ("want", "got", "says"),
    [
        (1, 2, "r is the int 2, in dygraph the int 1"),
        (1, 1.0, "r is the float 1.0, in dygraph the int 1"),
        (1, True, "r is the bool True, in dygraph the int 1"),
        (None, 0, "r is the int 0, in dygraph None"),
        ("a", "b", "r is the str 'b', in dygraph the str 'a'"),
        (1.0, 1.1, "(largest difference 0.1, 1 of 1 differ)"),
        ([1], (1,), "r is a tuple of 1, in dygraph a list of 1"),
        ([1], [1, 2], "r is a list of 2, in dygraph a list of 1"),
        ({"a": 1}, {"b": 1}, "r['a'] is missing, in dygraph the int 1"),
        (tensor(1.0), tensor(2.0), "r is float32[1] [2.], in dygraph float32[1] [1.]"),
        (tensor(1.0), np.ones(1, "float32"), "(another kind of array)"),
        (tensor(1.0), tensor(1.0).astype("float64"), "(another dtype)"),
        (tensor(1.0), tensor(1.0, 1.0), "(another shape)"),
        (tensor(1, dtype="int64"), tensor(2, dtype="int64"), "largest difference 1 at [0]"),
        (tensor(1.0) > 0, tensor(1.0) < 0, "(1 of 1 differ)"),
        (tensor(float("nan")), tensor(1.0), "largest difference inf"),
        (tensor(1.0), 1.0, "r is the float 1.0, in dygraph float32[1] [1.]"),
    ],
)
def test_what_differs(want: Any, got: Any, says: str) -> None:
    (first, *_) = differ(want, got)
    assert says in first


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        ("stop_gradient=True", "stop_gradient=False", True),
        ("stop_gradient=False", "stop_gradient=True", False),
        ("stop_gradient=True, 1", "stop_gradient=False, 2", False),
        ("stop_gradient=True", "", False),
        ("[0., 0.]", "[0. , -0.]", True),
        ("[1., -0.5]", "[1. , 0.5]", False),
        ("[-0.0, 1.0]", "[0.0, 1.5]", False),
        ("[-10.]", "[10.]", False),
    ],
)
def test_a_printed_tensor_may_have_another_flag_or_sign_of_zero(
    want: str, got: str, same: bool
) -> None:
    assert _says(want, got) is same


def test_tolerance_goes_by_dtype() -> None:
    one = tensor(1.0)
    for dtype, near, far in (
        ("float32", 5e-6, 5e-5), ("float64", 5e-8, 5e-7), ("float16", 1e-3, 1e-2),
        ("bfloat16", 1e-2, 1e-1),
    ):  # fmt: skip
        base = one.astype(dtype)
        assert not differ(base, (one.astype("float64") + near).astype(dtype)), dtype
        assert differ(base, (one.astype("float64") + far).astype(dtype)), dtype
    assert not differ(one, one + 0.1, rtol=0.2)
    assert not differ(one, one + 0.1, atol=0.2)
    assert differ(one, one + 1e-6, rtol=0.0, atol=0.0)


def test_an_object_inside_itself_ends() -> None:
    class Node:
        def __init__(self) -> None:
            self.next = self
            self.items: list[Any] = [self]

    items: list[Any] = [1]
    items.append(items)
    assert differ(Node(), Node()) == []
    assert differ(items, items) == []


def test_facts_are_copies() -> None:
    x = tensor(1.0)
    before = facts("x", [x])
    x[0] = 5.0
    assert [str(item) for item in mismatches(before, facts("x", [x]), Tolerance())]


def test_what_is_hidden_equals_anything() -> None:
    want, got = facts("r", [1, HIDDEN, 3]), facts("r", [1, [1, 2], 3])
    assert list(mismatches(want, got, Tolerance())) == []
    assert list(mismatches(got, want, Tolerance())) == []


# -- snapshots -----------------------------------------------------------------------------------


class Thing:
    shared = 1

    def __init__(self) -> None:
        self.number = 1
        self.items = [1, tensor(1.0)]
        self.table = {"a": np.zeros(2)}
        self.tags = {1}
        self.queue = collections.deque([1], 3)
        self.layer = paddle.nn.Linear(1, 1)
        self.random = random.Random(1)
        self.generator = np.random.default_rng(1)

    def change(self) -> None:
        self.number += 1
        self.items[1].set_value(tensor(9.0))
        self.items.append(2)
        self.table["a"][0] = 7
        self.table["b"] = 1
        self.tags.add(2)
        self.queue.append(5)
        self.layer.weight.set_value(self.layer.weight + 1)
        self.layer.extra = 1
        self.new = "new"
        self.random.random()
        self.generator.random()
        del self.layer.bias
        type(self).shared += 1


class Slotted:
    __slots__ = ("x",)

    def __init__(self) -> None:
        self.x = 1

    def change(self) -> None:
        self.x += 1


@pytest.mark.parametrize("kind", [Thing, Slotted])
def test_state_is_put_back(kind: Any) -> None:
    """Attributes, items, tensors in place, layers, class attributes, generators."""
    thing = kind()
    snapshot = Snapshot(thing.change, {})
    before = [str(fact) for fact in snapshot.facts()]
    draw = (thing.random.getstate(), thing.generator.bit_generator.state) if kind is Thing else 0
    thing.change()
    assert [str(fact) for fact in snapshot.facts()] != before
    snapshot.restart()
    assert [str(fact) for fact in snapshot.facts()] == before
    if kind is Thing:
        assert (thing.random.getstate(), thing.generator.bit_generator.state) == draw
        assert Thing.shared == 1
        assert not hasattr(thing, "new")
        assert thing.queue.maxlen == 3


def test_what_a_call_does_to_a_leaf_is_undone() -> None:
    """A tensor that an in-place operation has made part of a graph is a leaf again."""
    x, w = tensor(1.0), tensor(2.0)
    w.stop_gradient = False

    def f() -> Any:
        x.add_(w)
        (w * w).sum().backward()
        return x

    snapshot = Snapshot(f, {})
    f()
    assert not x.stop_gradient
    snapshot.restart()
    assert x.stop_gradient
    assert x.is_leaf
    assert x.tolist() == [1.0]
    assert w.grad is None


def test_arguments_are_copied_and_objects_are_not() -> None:
    thing, x = Thing(), tensor(1.0)
    given = {"x": x, "things": [x, {"y": x}], "thing": thing, "array": np.ones(1), "n": 1}
    made = Snapshot(lambda: None, given).copies()
    assert made["x"] is not x
    assert made["things"][0] is made["x"]
    assert made["things"][1]["y"] is made["x"]
    assert made["things"] is not given["things"]
    assert made["thing"] is thing
    assert made["array"] is not given["array"]
    assert made["n"] == 1


# -- records -------------------------------------------------------------------------------------


def recorded(*entries: tuple[int, str, str, Any]) -> Record:
    record = Record()
    for line, kind, name, value in entries:
        record.note(Location("net.py", line, "f"), kind, name, value)
    return record


def first(want: Record, got: Record) -> Difference | None:
    return first_difference(want, got, Tolerance())


A, B = (1, "value", "a", 1), (2, "value", "b", 2)


def test_the_first_entry_that_differs() -> None:
    assert first(recorded(A, B), recorded(A, B)) is None
    found = first(recorded(A, B), recorded(A, (2, "value", "b", 3)))
    assert found is not None
    assert (found.file, found.line, found.name, found.static) == ("net.py", 2, "b", "the int 3")


def test_another_way() -> None:
    found = first(recorded(A, B), recorded(A, (5, "value", "c", 2)))
    assert found is not None
    assert (found.kind, found.line, found.name) == ("path", 2, "the next step after line 1")
    assert (found.dygraph, found.static) == ("line 2", "line 5")
    found = first(recorded(A, B), recorded(A))
    assert found is not None
    assert (found.line, found.static) == (2, "an end")
    found = first(recorded(A), recorded(A, B))
    assert found is not None
    assert (found.line, found.dygraph) == (2, "an end")
    found = first(recorded((3, "for", "i", 0), B), recorded(B))
    assert found is not None
    assert (found.line, found.name, found.dygraph) == (3, "the loop", "another trip")


def test_a_record_has_an_end(monkeypatch: Any) -> None:
    """What lies behind the limit is not compared, and no path is taken for another."""
    monkeypatch.setattr(locate, "MOST_ENTRIES", 2)
    want, got = recorded(A, B, A), recorded(A, B, B)
    assert want.full
    assert first(want, got) is None


def test_a_probe_notes_the_line_and_hides_long_lists() -> None:
    seen: list[Any] = []
    probe("value", "nobody looks", 1)
    with probes(lambda *given: seen.append(given)):
        probe("value", "x", [1])
        probe("value", "long", [list(range(100)), {"a": dict.fromkeys(range(100))}])
    probe("value", "nobody looks", 1)
    (one, two) = seen
    assert one[0].file == __file__
    assert two[0].line == one[0].line + 1
    assert one[1:] == ("value", "x", [1])
    assert two[3] == [HIDDEN, {"a": HIDDEN}]


# -- reports -------------------------------------------------------------------------------------


def test_a_report_that_is_right_is_true() -> None:
    report = Report("f", compared=("result", "state"))
    assert report
    assert str(report) == "f: the program agrees with dygraph in result, state"
    report.raise_for_difference()


def test_a_report_with_many_differences() -> None:
    many = tuple(Difference("result", f"r[{n}]", "1", "2", call=1 + n % 2) for n in range(10))
    report = Report("f", many, file="net.py", line=3, remark="no line was found")
    assert not report
    text = str(report)
    assert "differs from dygraph in 10 things" in text
    assert "r[1] on the second call: the program gives 2, dygraph 1" in text
    assert "and 2 more" in text
    with pytest.raises(CheckError) as caught:
        report.raise_for_difference()
    error = caught.value
    assert (error.code, error.file, error.line) == ("D2S601", "net.py", 3)
    assert error.report is report
    assert "10 things differ in all" in str(error)
    assert isinstance(error, AssertionError)


def test_a_refusal_is_raised_as_it_is() -> None:
    refusal = NotStaticError("no", cure="do")
    report = Report("f", refused=refusal)
    assert not report.ok
    with pytest.raises(NotStaticError) as caught:
        report.raise_for_difference()
    assert caught.value is refusal


def test_public_names() -> None:
    assert {"check", "Checker", "Report"} <= set(d2s.__all__)
    assert d2s.Checker() == d2s.Checker(gradients=True)

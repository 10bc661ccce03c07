"""Guards checked fast say what the guards say (rule G2)."""

from __future__ import annotations

import types
from typing import Any

import pytest

import d2s
from d2s.program.keys.call_key import Identity
from d2s.program.state.guard_checks import Checks
from d2s.program.state.guards import Guard, form, scalar
from d2s.program.state.places import ABSENT, Member, Place, Reading, Slot
from tests.helpers import function_of, tensor


def same(place: Place) -> Guard:
    return Guard(place, Identity, Identity(place.get()), place.get())


class Holder:
    __slots__ = ("__dict__", "slot")
    shared = 1


def cell_of(value: Any) -> types.CellType:
    return types.CellType(value)


def test_each_kind_of_place() -> None:
    """What stands in a dict, list, cell, class, slot, and what a call gives."""
    one, two = object(), object()
    scope, items, cell, holder = {"k": one}, [one], cell_of(one), Holder()
    holder.slot, holder.name = one, one
    Holder.shared = one
    home = Place({"h": holder}, "h", "h")
    answers = [one]

    def swap(what: int, value: Any) -> None:
        if what == 0:
            scope["k"] = value
        elif what == 1:
            items[0] = value
        elif what == 2:
            cell.cell_contents = value
        elif what == 3:
            Holder.shared = value
        elif what == 4:
            holder.slot = value
        elif what == 5:
            holder.name = value
        else:
            answers[0] = value

    places = [
        Place(scope, "k", "k"),
        Place(items, 0, "items[0]"),
        Place(cell, "cell", "cell"),
        Member(Holder, "shared", "Holder.shared"),
        Slot(holder, "slot", "h.slot"),
        Place(holder.__dict__, "name", "h.name", home),
        Reading(answers, lambda found: found[0], "answers"),
    ]
    checks = Checks([same(place) for place in places])
    assert checks.hold()
    assert checks.hold()
    for what in range(len(places)):
        swap(what, two)
        assert not checks.hold(), places[what].path
        swap(what, one)
        assert checks.hold(), places[what].path
    cell.__init__()
    del cell.cell_contents
    assert not checks.hold()


def test_what_is_absent_may_appear() -> None:
    scope: dict[str, Any] = {}
    place = Place(scope, "later", "later")
    checks = Checks([Guard(place, scalar, scalar(ABSENT))])
    assert checks.hold()
    assert checks.hold()
    scope["later"] = 1
    assert not checks.hold()


def test_the_size_and_order_of_a_container() -> None:
    table = {"a": 1, "b": 2}
    place = Place({"t": table}, "t", "t")
    checks = Checks([Guard(place, form, form(table))])
    assert checks.hold()
    assert checks.hold()
    table["c"] = 3
    assert not checks.hold()
    del table["c"]
    assert checks.hold()
    table["a"] = table.pop("a")  # the order counts: a loop over it would be another one
    assert not checks.hold()


def test_an_equal_object_is_remembered() -> None:
    """A number that was replaced by an equal one costs the slow way once."""
    scope = {"n": 10**6}
    place = Place(scope, "n", "n")
    asked: list[Any] = []

    def test(value: Any) -> Any:
        asked.append(value)
        return scalar(value)

    checks = Checks([Guard(place, scalar, scalar(scope["n"]), scope["n"])])
    assert checks.hold()
    scope["n"] = int("1000000")
    assert checks.hold()
    assert checks.hold()
    checks = Checks([Guard(place, test, scalar(scope["n"]))])
    for _ in range(5):
        scope["n"] = int("1000000")
        assert checks.hold()
    assert len(asked) == 5


@pytest.mark.parametrize("calls", [3, 80])
def test_a_value_that_is_new_on_every_call(calls: int) -> None:
    """However often what was remembered is out of date, the answer is right."""
    f = function_of("LIST = [1]\ndef f(x):\n    return x * LIST[0]\n", "f")
    static = d2s.to_static(f)
    for _ in range(calls):
        f.__globals__["LIST"] = [int("1")]
        assert static(tensor(2.0)).tolist() == [2.0]
    f.__globals__["LIST"] = [5]
    assert static(tensor(2.0)).tolist() == [10.0]
    assert len(static.programs) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("__code__", (lambda x, a=1, *, b=2: x).__code__),
        ("__defaults__", (3,)),
        ("__kwdefaults__", {"b": 2}),
    ],
)
def test_what_a_function_is(name: str, value: Any) -> None:
    """Its code and its defaults, beside another slot and a function of which less is read."""

    def f(x: Any, a: int = 1, *, b: int = 2) -> Any:
        return x + a * b

    def other() -> None:
        """Of this one, only the code is read."""

    holder = Holder()
    holder.slot = 1
    slots = [Slot(f, each, each) for each in ("__code__", "__defaults__", "__kwdefaults__")]
    slots += [Slot(holder, "slot", "h.slot"), Slot(other, "__code__", "other")]
    checks = Checks([same(place) for place in slots])
    assert checks.hold()
    assert checks.hold()
    before = getattr(f, name)
    setattr(f, name, value)
    assert not checks.hold()
    setattr(f, name, before)
    assert checks.hold()
    holder.slot = 2
    assert not checks.hold()
    holder.slot = 1
    assert checks.hold()
    other.__code__ = same.__code__
    assert not checks.hold()


def test_the_second_call_is_a_warm_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """G2: what is guarded is looked up in the first call; later ones ask no guard by itself."""
    settings = types.SimpleNamespace(scale=2.0, names=["a", "b"])

    def f(x):
        return x * settings.scale + len(settings.names)

    static = d2s.to_static(f)
    x = tensor(1.0, 2.0)
    assert static(x).tolist() == [4.0, 6.0]
    asked: list[str] = []
    holds = Guard.holds
    monkeypatch.setattr(
        Guard, "holds", lambda self, *_: asked.append(self.place.path) or holds(self)
    )
    assert static(x).tolist() == [4.0, 6.0]
    assert not asked
    settings.scale = 3.0
    assert static(x).tolist() == [5.0, 8.0]
    assert asked

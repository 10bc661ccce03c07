"""Objects that were there before a call are known by reference, too (rules B4, D3, F3, F4).

They are in lists, dicts and attributes of the state, or in arguments, and a program puts some of
them into a list whose length a tensor decides.  What it changes of them is changed behind the call,
and each object stays itself.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import heapq
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of, tensor

INPUTS = (
    tensor(1.0, 2.0, 3.0),
    tensor(-1.0, -2.0, -3.0),
    tensor(5.0, -2.0, 1.0),
    tensor(2.0, 2.0, 2.0),
)


class Track:
    def __init__(self, box: Any, mark: Any = None) -> None:
        self.box, self.age, self.mark, self.next = box, 0, mark, None
        self.seen: list[Any] = []

    def tick(self) -> None:
        self.age += 1


@dataclasses.dataclass(eq=False)
class Plain:
    box: Any
    age: int = 0


class Team:
    """What holds the objects, some of them in several places."""

    def __init__(self, kind: Any = Track) -> None:
        self.all = [kind(paddle.to_tensor(value)) for value in (1.0, -1.0, 2.0)]
        self.first, self.pair = self.all[0], (1, self.all[1])
        self.by_name = {"a": self.all[0], "b": self.all[2]}
        self.queue = collections.deque(self.all[1:], maxlen=4)
        self.begun = list(self.all)
        self.boxes = [each.box for each in self.all]


def chosen(team: Any, x: Any) -> list[Any]:
    return [each for each in team.all if each.box * x.sum() > 0]


def select(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    for each in found:
        each.age += 1
    return found


def best_of_them(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    if len(found) > 0:
        best = max(found, key=lambda each: each.box * x.sum())
        best.age += 10
        return best, best is team.first, team.first.age, team.pair[1].age, best is team.by_name["b"]
    return None


def filter_and_add(team: Any, x: Any) -> Any:
    for v in x:
        if v > 2:
            team.all.append(Track(v))
    for each in team.all:
        each.tick()
    team.all = [each for each in team.all if each.age < 3]
    return [(each.box, each.age) for each in team.all]


def put_in_order(team: Any, x: Any) -> Any:
    team.all = sorted(team.all, key=lambda each: each.box * x.sum())
    team.all[0].age += 1
    return team.all[0]


def append_to_an_attribute(team: Any, x: Any) -> Any:
    for each in chosen(team, x):
        each.seen.append(x.sum())
    return [len(each.seen) for each in team.all]


def replace_an_attribute(team: Any, x: Any) -> Any:
    for each in chosen(team, x):
        each.seen = [*each.seen, x.sum()]
    return [len(each.seen) for each in team.all]


def link(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    made = Track(x[0])
    made.next = team.all[1]
    found.append(made)
    for each in found:
        each.age += 1
    team.all[0].next = made
    return found, made.next is team.all[1]


def bind_another(team: Any, x: Any) -> Any:
    for each in chosen(team, x):
        team.first = each
    team.first.age += 7
    team.pair = (2, team.all[2])
    return team.first


def keep_in_a_dict(team: Any, x: Any) -> Any:
    team.by_name["c"] = chosen(team, x)
    for each in team.by_name["c"]:
        each.tick()
    return len(team.by_name["c"])


def by_their_numbers(team: Any, x: Any) -> Any:
    found = {i: each for i, each in enumerate(team.all) if each.box * x.sum() > 0}
    for i, each in found.items():
        each.age += i
    return found


def texts(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    for each in found:
        each.mark = "again" if each.age > 1 else "new"
        each.age += 1
    return [each.mark for each in found]


def as_a_heap(team: Any, x: Any) -> Any:
    heap: list[Any] = []
    for i, each in enumerate(team.all):
        if each.box * x.sum() > 0:
            heapq.heappush(heap, (each.age, i, each))
    if len(heap) > 0:
        _, _, least = heapq.heappop(heap)
        least.age += 5
    return len(heap)


def copies(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    others = [copy.copy(each) for each in found]
    for each in others:
        each.age += 100
    return [each.age for each in others], [each.age for each in found]


def an_exception(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    for each in found:
        each.age += 1
    if x.sum() > 5:
        raise ValueError("large")
    for each in found:
        each.age += 1
    return found


def in_a_deque(team: Any, x: Any) -> Any:
    found = [each for each in team.queue if each.box * x.sum() > 0]
    for each in found:
        each.tick()
    if x[0] > 0:
        team.queue.append(Track(x[0]))
    return [each.age for each in team.queue]


def ask_of_them(team: Any, x: Any) -> Any:
    first, found = team.first, chosen(team, x)
    print([each.age for each in found])
    return isinstance(first, Track), type(first) is Track, hasattr(first, "age"), len(found)


def members(team: Any, x: Any) -> Any:
    found = chosen(team, x)
    if len(found) > 1:
        found.remove(team.by_name["b"])
    return [each in found for each in team.all], found


PROGRAMS: list[tuple[Callable[..., Any], type]] = [
    *(
        (each, Track)
        for each in (
            select, best_of_them, filter_and_add, put_in_order, append_to_an_attribute,
            replace_an_attribute, link, bind_another, keep_in_a_dict, by_their_numbers, texts,
            as_a_heap, an_exception, in_a_deque, ask_of_them,
        )
    ),
    *((each, Plain) for each in (copies, members, select, best_of_them)),
]  # fmt: skip


def seen_of(team: Team, results: list[Any], names: dict[int, int]) -> Any:
    """What there is behind a call, objects by the order in which they were met."""

    def show(thing: Any) -> Any:
        if isinstance(thing, Track | Plain):
            return "object", names.setdefault(id(thing), len(names))
        if isinstance(thing, dict):
            return {name: show(part) for name, part in thing.items()}
        if isinstance(thing, list | tuple | collections.deque):
            return [type(thing), *map(show, thing)]
        return (thing.tolist(), thing.stop_gradient) if isinstance(thing, paddle.Tensor) else thing

    attributes = [
        (type(each).__name__, show(vars(each)), each.box is box)
        for each, box in zip(team.begun, team.boxes, strict=True)
    ]
    return attributes, [show(part) for part in vars(team).values()], show(results[-1])


def calls_of(program: Callable[..., Any], kind: type, convert: Callable[..., Any]) -> list[Any]:
    team, names = Team(kind), dict[int, int]()
    step, results, found = convert(lambda x: program(team, x)), [], []
    for x in INPUTS:
        try:
            results.append(step(x))
        except ValueError as error:
            results.append(str(error))
        found.append(seen_of(team, results, names))
    return found


@pytest.mark.parametrize(
    ("program", "kind"), PROGRAMS, ids=lambda each: getattr(each, "__name__", None)
)
def test_objects_of_the_state(
    program: Callable[..., Any], kind: type, capsys: pytest.CaptureFixture[str]
) -> None:
    """F3: they are changed where the function changes them, and are the same ones afterwards."""
    wanted = calls_of(program, kind, lambda f: f)
    said = capsys.readouterr().out
    assert calls_of(program, kind, lambda f: d2s.to_static(f, full_graph=True)) == wanted
    assert capsys.readouterr().out == said


@dataclasses.dataclass
class Given:
    box: Any
    age: int = 0
    seen: list[Any] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("kind", ["Track", "Given"])
@pytest.mark.parametrize("form", ["list", "tuple"])
def test_objects_among_the_arguments(kind: str, form: str) -> None:
    """F4: the caller's objects are changed, and a result is the caller's object."""
    made: Any = {"Track": Track, "Given": Given}[kind]

    def f(given, x):
        found = [each for each in given if each.box * x.sum() > 0]
        for each in found:
            each.age += 1
            each.box = each.box + 1
            each.seen.append(x.sum())
        return found, given[0].age

    def seen(convert: Any) -> Any:
        step, shown = convert(f), []
        given = [made(paddle.to_tensor(value)) for value in (1.0, -1.0, 3.0)]
        for x in INPUTS:
            found, age = step(given if form == "list" else tuple(given), x)
            places = [next(i for i, mine in enumerate(given) if mine is each) for each in found]
            held = [(float(e.box), e.age, [float(s) for s in e.seen]) for e in given]
            shown.append((places, age, held))
        return shown

    assert seen(lambda f: d2s.to_static(f, full_graph=True)) == seen(lambda f: f)


def test_gradients_of_what_an_object_holds() -> None:
    """C7: a gradient arrives at the tensor that an object of the caller's holds."""

    def f(given, x):
        found = [each for each in given if each.box.sum() > 0]
        best = max(found, key=lambda each: each.box.sum())
        best.age += 1
        return (best.box * x).sum()

    shown = []
    for step in (f, d2s.to_static(f, full_graph=True)):
        weights = [tensor(1.0, 2.0), tensor(5.0, -2.0), tensor(-1.0, -2.0)]
        for weight in weights:
            weight.stop_gradient = False
        given = [Track(weight) for weight in weights]
        step(given, tensor(3.0, 4.0)).backward()
        grads = [None if w.grad is None else w.grad.tolist() for w in weights]
        shown.append((grads, [each.age for each in given]))
    dygraph, static = shown
    assert static[1] == dygraph[1]
    assert [grad or [0.0, 0.0] for grad in static[0]] == [g or [0.0, 0.0] for g in dygraph[0]]


class Node:
    def __init__(self, v: Any, parent: Any = None) -> None:
        self.v, self.parent, self.n = v, parent, 0
        self.children: list[Any] = []


def family() -> list[Any]:
    root = Node(paddle.to_tensor(0.5))
    kids = [Node(paddle.to_tensor(1.0), root), Node(paddle.to_tensor(-1.0), root)]
    root.children = kids
    leaf = Node(paddle.to_tensor(2.0), kids[0])
    kids[0].children = [leaf]
    return [root, *kids, leaf]


def test_objects_that_hold_each_other() -> None:
    """D3: a tree whose nodes know their parents is walked down, and up."""
    shown = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        nodes = family()
        root = nodes[0]

        def f(x, root=root, nodes=nodes):
            todo, seen = [nodes[0]], 0
            while len(todo) > 0:
                node = todo.pop()
                node.n += 1
                seen += 1
                for child in node.children:
                    if child.v * x.sum() > 0:
                        todo.append(child)
            return seen, nodes[0].children[0].parent is nodes[0]

        def g(x, nodes=nodes):
            found = [each for each in nodes if each.v * x.sum() > 0]
            node = max(found, key=lambda each: each.v) if len(found) > 0 else None
            while node is not None:
                node.n += 10
                node = node.parent

        for step in (convert(f), convert(g)):
            for x in INPUTS:
                shown.append((step(x), [each.n for each in nodes], root.n))
    assert shown[: len(shown) // 2] == shown[len(shown) // 2 :]


def test_many_calls_share_programs() -> None:
    """G2: a counter of an object is an input of the program when it has changed once."""
    team = Team()

    def f(x):
        for each in chosen(team, x):
            each.tick()
        return [each.age for each in team.all]

    static = d2s.to_static(f, full_graph=True)
    for _ in range(6):
        static(INPUTS[0])
    assert [each.age for each in team.all] == [6, 0, 6]
    assert len(static.programs) <= 3


REFUSED = {
    "known as a default, too": """
def g(first=team.all[0]):
    first.age += 10
def f(x):
    for each in chosen(team, x):
        each.tick()
    g()
""",
    "changed and replaced": """
def f(x):
    for each in chosen(team, x):
        each.seen = []
        each.seen.append(x.sum())
""",
    "its list has another name": """
def f(x):
    seen = team.all[0].seen
    for each in chosen(team, x):
        each.seen.append(x.sum())
    return len(seen)
""",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    """D3: what the tables would not see is an error with a code, and changes nothing."""
    team = Team()
    f = function_of(REFUSED[name], "f", team=team, chosen=chosen)
    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(f, full_graph=True)(INPUTS[0])
    assert caught.value.code == "D2S207"
    assert all(type(each) is Track and each.age == 0 and not each.seen for each in team.all)


def test_a_list_of_the_caller_that_grew_in_a_branch_is_iterated() -> None:
    """F4: it is still the caller's list behind a loop over it."""

    def f(tracks, x):
        if x[0] > 0:
            tracks.append(Plain(x[0]))
        for each in tracks:
            each.age += 1
        return len(tracks)

    static = d2s.to_static(f, full_graph=True)
    for x in INPUTS:
        mine, theirs = [Plain(x[1])], [Plain(x[1])]
        assert static(theirs, x) == f(mine, x)
        assert [each.age for each in theirs] == [each.age for each in mine]
        assert [float(each.box) for each in theirs] == [float(each.box) for each in mine]

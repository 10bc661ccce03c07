"""Generators that are gone on with, where a tensor decides what they yield (rules A6, C5)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor
from tests.semantics.test_generators import CALLS, GENERATORS

MORE = """
import collections

def batched(items, n):
    it = iter(items)
    while batch := list(itertools.islice(it, n)):
        yield batch

def counted(x):
    total, k = 0, 0
    for v in x:
        if v < 0:
            continue
        k += 1
        total = total + v
        yield k, total
        print("after", k)
    return total

def nested(x, y):
    for a in x:
        for b in y:
            if a * b > 1:
                break
            yield a + b
        else:
            yield a
    print("end")

def averaged(x):
    total, n = x.sum() * 0, 0
    v = yield total
    while True:
        if v is None:
            return n
        total, n = total + v, n + 1
        if total > 3:
            total = total / 2
        v = yield total / n
"""


def same(body: str, *calls: object, full_graph: bool = True) -> None:
    """``def f(x)`` with this body is what it is in dygraph."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    function = function_of(f"{GENERATORS}{MORE}\ndef f(x):\n{lines}\n", "f")
    static = d2s.to_static(function, full_graph=full_graph)
    assert_same(function, *(calls or CALLS[:3]), static=static)


GOING_ON = [
    "it = positive(x); return next(it, None), next(it, None)",
    "it = positive(x); return [next(it, x.sum()) for _ in range(5)]",
    "it = positive(x); return list(itertools.islice(it, 1)), list(it), list(it)",
    "it = positive(x); take = lambda: next(it, None); return take(), take(), take()",
    "it = numbered(x, 4); return next(it, None), [v for v in it], next(it, None)",
    "it = halves(x); a, b = next(it, None), next(it, None); return a, b",
    "it = endless(x.abs()); return next(it), next(it), next(it)",
    "it = nested(x, x); return next(it, None), list(itertools.islice(it, 3)), list(it)",
    "it = told(x, 'a'); return next(it, None), next(it, None)",
    "it = counted(x); return next(it, None), list(it), x.sum()",
    "return [paddle.stack(b).sum() for b in batched(positive(x), 2)]",
    "return [len(b) for b in batched(numbered(x, 3), 2)]",
    "return list(zip(positive(x), positive(-x)))",
    "it = enumerate(positive(x)); return next(it, None), list(it)",
    "it = (v * 2 for v in positive(x) if v < 3); return next(it, None), next(it, None)",
    "it = map(lambda v: v + 1, positive(x)); return next(it, None), list(it)",
    "it = filter(lambda v: v > 1, positive(x)); return next(it, None), list(it)",
    "it = itertools.chain(positive(x), [x.sum()]); return next(it), next(it, None), list(it)",
    "g = averaged(x); a = next(g); return a, g.send(x[0]), g.send(x[1] * 2), g.send(x.sum())",
    "g = positive(x); a = next(g, None); g.close(); return a, list(g)",
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("body", GOING_ON)
def test_a_generator_that_goes_on(body: str) -> None:
    """A6: where it has come to is known to the run."""
    same(body, *CALLS[:2])


def test_a_generator_that_goes_on_by_default() -> None:
    """A6, H1: it is one program by default, too."""
    same("it = positive(x); return next(it, None), list(it)", full_graph=False)


def test_the_order_of_effects() -> None:
    """A6, F1: the output of the generator comes where it is asked for an item."""
    same(
        """
it = told(x, "g")
print("made")
first = next(it, None)
print("first", first is None)
second = next(it, None)
print("second", second is None)
return first, second, x.sum()
"""
    )


def test_items_in_branches_and_loops() -> None:
    """A6, C5: a branch or loop that a tensor decides moves it on."""
    same(
        """
it = positive(x)
total = x.sum()
if total > 4:
    total = total + next(it, x[0]) * 2
for v in it:
    if v > 2:
        total = total * v
        break
    total = total - v
while total < 40:
    total = total.abs() + 3 + next(it, x[1] * 0)
return total, list(it)
"""
    )


def test_a_list_that_grows_meanwhile() -> None:
    """A6, D1: the generator sees what the function puts into its list, and the other way round."""
    same(
        """
def walk(todo, seen):
    for v in todo:
        seen.append(v * 2)
        if v > 0:
            yield v

todo, seen = [x[0], x[1], x[-1]], []
it = walk(todo, seen)
first = next(it, None)
todo.append(x.sum())
if x.sum() > 4:
    todo.append(x.max())
second = next(it, None)
return first, second, list(it), seen, len(todo)
"""
    )


def test_state_that_both_change() -> None:
    """A6, F3: each sees what the other one has assigned."""
    same(
        """
class Count:
    pass

count = Count()
count.n, count.last = 0, x[0]

def going(xs):
    for v in xs:
        count.n += 1
        if v > count.last:
            count.last = v
            yield count.n

it = going(x)
a = next(it, -1)
count.last = count.last / 4
b = next(it, -1)
return a, b, count.n, count.last, [k for k in it], count.n
"""
    )


@pytest.mark.parametrize("caught", ["ValueError", "KeyError"])
def test_an_exception_in_the_generator(caught: str) -> None:
    """A6, F1: it is raised where the item is asked for; the generator has ended then."""
    caught_in_a_loop = caught == "ValueError"  # which no program does
    same(
        f"""
def checked(x):
    for v in x:
        if v < -1.5:
            raise ValueError("low")
        if v > 0:
            yield v

it = checked(x)
first = next(it, None)
try:
    second = next(it, None)
except {caught}:
    second = x.sum()
return first, second
""",
        *CALLS[:2],
        (tensor(1.0, -2.0, 3.0, 4.0),),
        full_graph=not caught_in_a_loop,
    )


def test_an_exception_that_nobody_catches() -> None:
    """A6, F1: it is that of the generator, and no item too many was taken."""
    same(
        """
def checked(x):
    for v in x:
        assert v < 4, "high"
        if v > 0:
            yield v

it = checked(x)
first = next(it, None)
return first, next(it, None)
""",
        *CALLS[:2],
        (tensor(1.0, -2.0, 6.0, 4.0),),
    )


def test_a_generator_that_has_ended() -> None:
    """A6, A1: next() without a default raises."""
    same("it = positive(x); return next(it), next(it), next(it)")


def test_what_a_generator_returns() -> None:
    """A6, A1: it is the value of its StopIteration."""
    same(
        """
g = averaged(x)
total = next(g)
for v in x:
    if v > 0:
        total = total + g.send(v)
try:
    g.send(None)
except StopIteration as stop:
    n = stop.value
return total, n
""",
        *CALLS[:2],
    )


def test_generators_of_generators() -> None:
    """A6: ``yield from``, and one that goes on in another one."""
    same(
        """
def outer(xs):
    yield xs.sum()
    yield from positive(xs)
    inner = positive(-xs)
    yield next(inner, None)
    for v in inner:
        if v < 2:
            return
        yield v

it = outer(x)
return next(it), next(it, None), next(it, None), next(it, None), next(it, None)
""",
        full_graph=False,
    )


def test_objects_whose_iterator_is_a_generator() -> None:
    """A6, E2: ``__iter__`` of a class."""
    same(
        """
class Bag:
    def __init__(self, x):
        self.x, self.n = x, 0
    def __iter__(self):
        for v in self.x:
            self.n += 1
            if v > 0:
                yield v

bag = Bag(x)
it = iter(bag)
return next(it, None), bag.n, next(it, None), bag.n, list(bag), bag.n
"""
    )


def test_windows_in_batches() -> None:
    """A6: the recipe for batches over generators, left early by the loop."""
    same(
        """
def windows(signal, size):
    for start in range(0, signal.shape[0] - size + 1):
        yield signal[start : start + size]

def loud(frames, least):
    for frame in frames:
        if frame.abs().mean() >= least:
            yield frame

total, k = x.sum() * 0, 0
for group in batched(loud(windows(x, 2), 1.6), 2):
    for v in group:
        total = total + v.square().sum()
    k += len(group)
    if total > 20:
        break
return total, k
"""
    )


def test_a_list_that_grows_far_below() -> None:
    """A6, D1: a generator of generators sees it, too."""
    same(
        """
def walk(todo):
    for v in todo:
        if v > 0:
            yield v

def again(stream, by):
    for v in stream:
        yield v * by

todo = [x[0], x[1]]
it = again(again(again(again(walk(todo), 2), x[0]), 3), 1)
first = next(it, None)
if x.sum() > 4:
    todo.append(x.max())
second = next(it, None)
todo.append(x.min() + 9)
return first, second, next(it, None), next(it, None), len(todo)
"""
    )


def test_tensors_that_are_changed_meanwhile() -> None:
    """A6, F3: the generator reads what the function has written into its tensor, and likewise."""
    same(
        """
def reads(y, log):
    for k in range(len(y)):
        if y[k] > 0:
            log[0] = y[k] + log[0]
            yield y[k] * 2

y, log = x * 1, x.detach() * 0
it = reads(y, log)
first = next(it, None)
y[1] = x[0] * 3 + 7
if x.sum() > 4:
    y[2:] = 4.0
second = next(it, None)
log[1] = 5.0
return first, second, list(it), y, log.sum()
"""
    )


REFUSED = {
    "leaves the function": "it = positive(x); next(it, None); return it",
    "throw": "it = positive(x); next(it, None); it.throw(KeyError()); return x",
    "its frame": "it = positive(x); next(it, None); return it.gi_frame is None",
    "in a try": "it = guarded(x); next(it, None); return list(it)",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_no_program_does_with_a_generator(body: str) -> None:
    """A6: a coded error for one program."""
    guarded = """
def guarded(x):
    try:
        for v in x:
            if v > 0:
                yield v
    finally:
        print("over")
"""
    function = function_of(f"{GENERATORS}{guarded}\ndef f(x):\n    {body}\n", "f")
    with pytest.raises(UnsupportedInGraphError):
        d2s.to_static(function, full_graph=True)(*CALLS[0])

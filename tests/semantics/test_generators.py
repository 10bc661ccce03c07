"""Generators of which a tensor decides what they yield, and how often (rules A6, C5)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

GENERATORS = """
import functools, itertools

def positive(x):
    for v in x:
        if v > 0:
            yield v

def halves(x):
    while x.abs().sum() > 1:
        yield x
        x = x / 2

def numbered(x, n):
    seen = 0
    for v in x:
        seen += 1
        if v > n:
            return v
        if v < 0:
            continue
        yield seen, v

def told(x, tag):
    for k, v in enumerate(x):
        print(tag, k)
        if v > 0:
            yield v
        print(tag, "behind", k)
    print(tag, "end")

def whole(x):
    yield x[0]
    yield from positive(x)
    yield from [x[1], x.sum()]

def endless(x):
    while True:
        yield x
        x = x * 0.5

def asked(x):
    for v in x:
        answer = yield v
        assert answer is None
"""

CALLS = [
    (tensor(1.0, 2.0, -1.0, 3.0),),
    (tensor(-1.0, 5.0, 1.0, 3.0, 0.5),),
    (tensor(-1.0, -2.0),),
    (tensor(1.0, 2.0, -1.0, 3.0),),
]


def same(body: str) -> None:
    """``def f(x)`` with this body is what it is in dygraph."""
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    assert_same(function_of(f"{GENERATORS}\ndef f(x):\n{lines}\n", "f"), *CALLS)


LOOPS = {
    "break": """
total, k = x.sum(), 0
for v in {things}:
    total = total * 2 + v.sum()
    k += 1
    if total > 9:
        break
return total, k
""",
    "return": """
total = x.sum()
for v in {things}:
    if v.sum() > 2:
        return total, v
    total = total + v.sum()
return -total, None
""",
    "else": """
for v in {things}:
    if v.sum() > 4:
        break
else:
    x = x * 3
return x
""",
    "continue": """
kept = []
for v in {things}:
    if v.sum() > 4:
        continue
    kept.append(v.sum() * 2)
return kept, len(kept)
""",
    "state": """
found = {{"n": 0, "last": x[0]}}
for v in {things}:
    found["n"] += 1
    found["last"] = v.sum() + found["last"]
return found
""",
    "in a branch": """
total = x.sum()
if total > 1:
    for v in {things}:
        total = total + v.sum()
return total
""",
    "in a static loop": """
total = x.sum()
while total < 40:
    total = total.abs() + 1
    for v in {things}:
        total = total + v.sum().abs()
return total
""",
    "twice": """
total = x.sum()
for v in {things}:
    for w in {things}:
        total = total + v.sum() * w.sum()
return total
""",
}

THINGS = [
    "positive(x)",
    "halves(x)",
    "(v for _, v in numbered(x, 2))",
    "whole(x)",
    "map(lambda v: v * 2, positive(x))",
    "(v + 1 for v in positive(x) if v < 3)",
]


@pytest.mark.sampled(12, also=["continue-positive(x)", "else-whole(x)"])
@pytest.mark.parametrize("things", THINGS)
@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_loop_over_a_generator(loop: str, things: str) -> None:
    """A6: the body of the loop runs where the generator yields."""
    same(loop.format(things=things))


TAKEN = [
    "list(positive(x)), tuple(halves(x))",
    "sum(positive(x)), max(positive(x), default=x[0]), sorted(positive(x))",
    "[v * 2 for v in positive(x)], [v for v in whole(x) if v > 1]",
    "len([*positive(x)]), len({k for k, _ in numbered(x, 2)})",
    "[(k, v) for k, v in enumerate(positive(x), 1)]",
    "any(v > 2 for v in positive(x)), all(v < 3 for v in positive(x)), any(positive(x))",
    "next(positive(x), x.sum()), next((v for v in positive(x) if v > 1), None)",
    "list(zip([1, 2, 3], positive(x))), list(zip(positive(x), [1, 2, 3]))",
    "list(itertools.chain(positive(x), [x.sum()], positive(-x)))",
    "list(itertools.islice(positive(x), 2)), list(itertools.islice(positive(x), 0))",
    "functools.reduce(lambda a, b: a * 2 + b, positive(x), x[0])",
    "sum(map(lambda v: v + 1, positive(x))), list(filter(lambda v: v < 3, positive(x)))",
]


@pytest.mark.sampled(2, also=["len([*positive(x)]), len({k for k, _ in numbered(x, 2)})"])
@pytest.mark.parametrize("taken", TAKEN)
def test_functions_that_take_the_items(taken: str) -> None:
    """A6: what Python's functions give of the items."""
    same(f"return {taken}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "taken",
    [
        "any(v > 1 for v in told(x, 'a'))",
        "all(v < 3 for v in told(x, 'a'))",
        "next(told(x, 'a'), x.sum())",
        "[v for v, k in zip(told(x, 'a'), [1, 2])]",
        "[v for k, v in zip([1, 2], told(x, 'a'))]",
        "[v for v in itertools.islice(told(x, 'a'), 2)]",
        "[v for v in itertools.chain(told(x, 'a'), told(-x, 'b'))]",
    ],
)
def test_the_order_of_effects(taken: str) -> None:
    """A6, F1: no item is asked for earlier or later, and none too many."""
    same(f"found = {taken}\nreturn found, x.sum()")


def test_the_order_of_effects_of_a_loop() -> None:
    """A6, F1: the output of the generator and that of the loop take turns."""
    same(
        """
for v in told(x, "g"):
    print("loop", v.item())
    if v > 1:
        break
return x.sum()
"""
    )


def test_a_generator_without_an_end() -> None:
    """A6, C1: the loop that a tensor leaves is the generator's."""
    same(
        """
total = x.abs().sum()
for v in endless(total):
    total = total + v
    if v < 0.01:
        return total, v
"""
    )


def test_a_generator_that_is_sent_nothing() -> None:
    """A6: ``y = yield x`` in a loop gives None."""
    same("return [v * 2 for v in asked(x)]")


def test_generators_of_generators() -> None:
    """A6: each hands on to the next one; a name that is bound anew may lead to one."""
    same(
        """
def scaled(stream, by):
    for v in stream:
        if v < 3:
            yield v * by

stream = positive(x)
stream = scaled(stream, 2)
stream = scaled(stream, x[0])
stream = list(stream)
return stream, len([v for v in stream])
"""
    )


def test_a_tree_walked_by_recursion() -> None:
    """A6, E3: ``yield from`` of the same generator."""
    same(
        """
def walk(tree, bound):
    if isinstance(tree, list):
        for part in tree:
            yield from walk(part, bound)
    elif tree < bound:
        yield tree

return [v for v in walk([x[0], [x.sum(), [x[1]]], x.max()], x[1] + 1)]
"""
    )


def test_objects_that_are_iterated_by_a_generator() -> None:
    """A6, E2: ``__iter__`` and methods; the state of the object is that of both."""
    same(
        """
class Bag:
    def __init__(self, x):
        self.x, self.n = x, 0
    def __iter__(self):
        for v in self.x:
            if v > 0:
                self.n += 1
                yield v
    def scaled(self, by):
        for v in self:
            yield v * by

bag = Bag(x)
total = x.sum()
for v in bag:
    total = total + v * bag.n
    bag.n += 10
return total, bag.n, list(bag), sum(bag.scaled(2)), bag.n
"""
    )


@pytest.mark.parametrize("catch", ["KeyError", "(KeyError, ValueError)"])
def test_exceptions_of_the_loop_and_of_the_generator(catch: str) -> None:
    """A6, F1: each is raised where it is in dygraph."""
    same(
        f"""
def checked(x):
    for v in x:
        if v < -1.5:
            raise ValueError("low")
        yield v

total = x.sum()
try:
    for v in checked(x):
        if v > 4:
            raise KeyError("high")
        total = total + v
except {catch}:
    total = total - 10
return total
"""
    )


def test_a_stop_iteration_in_a_generator() -> None:
    """A1: it is a RuntimeError outside."""
    same(
        """
def paired(x):
    numbers = iter([1, 2])
    for v in x:
        yield v * next(numbers)

return [v for v in paired(x)]
"""
    )


def test_a_yield_in_a_try_is_refused() -> None:
    """A6: it is a generator of Python's, and a run has none; by default it stays in dygraph."""
    guarded = """
def guarded(x):
    try:
        for v in x:
            if v > 0:
                yield v
    finally:
        print("over")
"""
    function = function_of(
        f"{GENERATORS}{guarded}\ndef f(x):\n    return [v for v in guarded(x)]\n", "f"
    )
    with pytest.raises(UnsupportedInGraphError, match="a tensor decides what the generator"):
        d2s.to_static(function)(*CALLS[0])
    assert_same(d2s.to_static(function, full_graph=False), *CALLS[:1])


@pytest.mark.parametrize(
    "body",
    [
        "it = iter(x); return next(it), next(it)",
        "it = asked(x); return next(it), [v for v in it]",
        "it = asked(x); return [next(it) for _ in range(2)], list(it)",
        "it = asked(x); first = [v for _, v in zip([1], it)]; return first, list(it)",
        "it = asked(x); take = lambda: next(it); return take(), take()",
        "it = enumerate(asked(x)); return next(it), next(it), list(it)",
        "a, b = itertools.tee(asked(x)); return list(a), list(b)",
    ],
)
def test_a_generator_that_goes_on_and_no_tensor_decides(body: str) -> None:
    """A1: it stays Python's, and gives each of its items once."""
    function = function_of(f"{GENERATORS}\ndef f(x):\n    {body}\n", "f")
    assert_same(function, *CALLS[:2])


@pytest.mark.parametrize("search", ["any(v > 1 for v in it)", "all(v < 1 for v in it)"])
def test_what_a_search_has_left(search: str) -> None:
    """A1: how far ``any`` has come in an iterator is a number of the run; silently wrong once."""
    function = function_of(f"def f(x):\n    it = iter([*x])\n    return {search}, list(it)\n")
    assert_same(function, *CALLS[:3])

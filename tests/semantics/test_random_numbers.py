"""Random numbers of Python and NumPy that each run draws, of generators from outside (rule F5)."""

from __future__ import annotations

import copy
import random
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor

PYTHONS = {
    "number": "r.random()",
    "bounds of the run": "r.randint(0, int(x.abs().sum()))",
    "bits": "r.getrandbits(8)",
    "choice of numbers": "r.choice([1, 2, 3])",
    "choice of tensors": "r.choice([x, x * 2, x * 3]).sum()",
    "choice of several kinds": "(0 if r.choice([None, 'a', 2.0]) is None else 1)",
    "choice of tuples": "r.choice([(x, 1), (x * 2, 2)])[1]",
    "choice of rows": "r.choice(x)",
    "choice of a list of the run": "r.choice([v for v in x if v != 0])",
    "choices": "sum(r.choices([1, 2, 3], k=4))",
    "weights of the run": "sum(r.choices([5, 6], x.abs().tolist(), k=3))",
    "sample": "sum(r.sample(range(9), 3))",
    "sample of tuples": "r.sample([(x, 1), (x * 2, 2), (x, 3)], 2)[0][1]",
    "sample of texts": "len(''.join(r.sample(['a', 'bb', 'ccc'], 2)))",
    "none of them": "len(r.sample(range(4), 0))",
    "shuffle": "shuffled(r, [1, 2, 3, 4])[0]",
}

NUMPYS = {
    "number": "float(r.uniform(1, 2))",
    "array": "paddle.to_tensor(r.normal(size=2)).astype('float32').sum()",
    "size of the run": (
        "paddle.to_tensor(r.uniform(size=int(x.abs().sum())).sum()).astype('float32')"
    ),
    "permutation": "int(r.permutation(4)[0])",
    "permutation of the run": "float(r.permutation(x.numpy())[0])",
    "choice": "int(r.choice(5, 3, replace=False).sum())",
    "with chances": "float(r.choice([0.5, 1.5], p=[0.3, 0.7]))",
    "with chances of the run": "int(r.choice(2, p=shares(x)))",
    "of items with chances of the run": "float(r.choice([0.5, 1.5], p=shares(x)))",
    "several with chances of the run": "int(r.choice(2, 2, replace=False, p=shares(x))[0])",
    "shuffle": "shuffled(r, [1, 2, 3, 4])[0]",
}

PLACES = {
    "straight": "    y = x * {draw}\n",
    "branch": "    y = x\n    if x.sum() > 0:\n        y = x * {draw}\n",
    "both sides": (
        "    if x.sum() > 0:\n        y = x * {draw}\n    else:\n        y = x - {draw} + {draw}\n"
    ),
    "loop": "    y, n = x, 0\n    while n < x.sum().abs():\n        y, n = y + {draw}, n + 1\n",
    "early exit": (
        "    y = x\n    for _ in range(3):\n        y = y * {draw} + 1\n"
        "        if y.sum() > 3:\n            break\n"
    ),
    "unread": "    {draw}\n    y = x\n    if x.sum() > 0:\n        {draw}\n",
}

MADE: dict[str, Any] = {
    "Random": lambda: random.Random(3),
    "RandomState": lambda: np.random.RandomState(3),
    "Generator": lambda: np.random.default_rng(3),
}

CASES = [
    *(("Random", name, draw) for name, draw in PYTHONS.items()),
    *((kind, name, draw) for kind in ("RandomState", "Generator") for name, draw in NUMPYS.items()),
]

INPUTS = ([1.0, 2.0], [-1.0, 2.0], [-3.0, 2.0], [4.0, 2.0], [1.0, 2.0])


def shuffled(rng: Any, items: list[Any]) -> list[Any]:
    """``items`` in another order."""
    rng.shuffle(items)
    return items


def shares(x: paddle.Tensor) -> Any:
    """Probabilities, as an array."""
    p = paddle.nn.functional.softmax(x).numpy().astype("float64")
    return p / p.sum()


class Holder:
    """Where a generator is kept."""

    def __init__(self, generator: Any) -> None:
        self.rng = generator


def results(function: Any) -> list[Any]:
    """What calls give, with gradients."""
    found = []
    for values in INPUTS:
        x = tensor(*values)
        x.stop_gradient = False
        y = function(x)
        first = y[0] if isinstance(y, tuple) else y
        if not first.stop_gradient:
            first.sum().backward()
        found.append([np.round(first.numpy(), 4).tolist(), y[1:] if first is not y else None])
        found.append(None if x.grad is None else np.round(x.grad.numpy(), 4).tolist())
    return found


def same(text: str, generator: Any, **scope: Any) -> Any:
    """Compare with dygraph; the program."""
    want, got = Holder(generator), Holder(copy.deepcopy(generator))
    names = {"paddle": paddle, "np": np, "random": random, "shuffled": shuffled}
    names |= {"shares": shares, **scope}
    plain = function_of(text, "f", H=want, **names)
    static = d2s.to_static(function_of(text, "f", H=got, **names), full_graph=True)
    assert results(static) == results(plain)
    assert got.rng.random() == want.rng.random()
    return static


@pytest.mark.sampled(12, also=["Random-sample-sum(r.sample(range(9), 3))-loop"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_each_run_draws_what_dygraph_draws(case: Any, place: str) -> None:
    """F5: the same numbers in the same order, and the generator is left as dygraph leaves it."""
    kind, _, draw = case
    body = PLACES[place].format(draw=draw)
    same(f"def f(x):\n    r = H.rng\n{body}    return y, r.random()\n", MADE[kind]())


def test_gradients_see_the_numbers_of_their_forward() -> None:
    """F5: a loop's forward is computed again for its gradients, and nothing is drawn again."""
    same(
        """
        def f(x):
            y = x
            while y.abs().sum() < 30:
                y = y * (1 + H.rng.random()) + H.rng.choice([0.5, 1.5])
            return y
        """,
        random.Random(1),
    )


def test_a_generator_that_an_argument_brings() -> None:
    """F5, G1: each call draws from its own."""

    def run(convert: Any) -> list[Any]:
        function = convert(lambda x, r: (x * r.random(), r.randint(0, 9)))
        one, two = random.Random(1), random.Random(2)
        given = (one, two, one, two, random.Random(2))
        return [[y.tolist(), n] for y, n in (function(tensor(1.0), r) for r in given)]

    assert run(d2s.to_static) == run(lambda function: function)


def test_one_of_two_generators() -> None:
    """F5: the one that the run means is drawn from, the other one is not."""

    def run(convert: Any) -> list[Any]:
        one, two = random.Random(1), random.Random(2)

        def f(x):
            r = one if x.sum() > 1 else two
            return x * r.random(), one.random(), two.random()

        function = convert(f)
        return [[str(item) for item in function(tensor(*values))] for values in INPUTS]

    assert run(d2s.to_static) == run(lambda function: function)


def test_seeds_are_set_on_each_run() -> None:
    """F5: ``seed`` happens where it stands."""

    def run(convert: Any) -> list[Any]:
        rng = np.random.RandomState(1)

        def f(x):
            if x.sum() > 1:
                rng.seed(3)
            first = random.random()
            random.seed(4)
            return x * rng.rand(), first, random.random()

        random.seed(9)
        function = convert(f)
        return [[str(item) for item in function(tensor(*values))] for values in INPUTS]

    assert run(d2s.to_static) == run(lambda function: function)


def test_a_failing_run_has_drawn_what_dygraph_has_drawn() -> None:
    """F5: draws behind an exception do not happen, and none happens to explain it."""

    def run(convert: Any) -> list[Any]:
        rng, found = np.random.RandomState(1), []

        def f(x, index):
            first = rng.rand()
            y = paddle.gather(x, index)
            return y * first * rng.permutation(3)[0]

        function = convert(f)
        for at in (0, 5, 1, 7, 0):
            try:
                y = function(tensor(1.0, 2.0), paddle.to_tensor([at]))
                found.append(np.round(y.numpy(), 4).tolist())
            except IndexError:
                found.append([])
        return [*found, rng.rand()]

    assert run(d2s.to_static) == run(lambda function: function)


@pytest.mark.parametrize("draw", [
    "r.choice(len(p), p=p)", "r.choice(p, size=3, p=p)", "r.dirichlet(p)", "r.multinomial(3, p)",
])  # fmt: skip
@pytest.mark.parametrize("made", ["RandomState", "Generator"])
def test_probabilities_of_any_length(made: str, draw: str) -> None:
    """F5: what takes nothing but probabilities is found out about with some."""
    text = f"def f(x):\n    p, r = shares(x), H.rng\n    return {draw}\n"
    want, got = Holder(MADE[made]()), Holder(MADE[made]())
    names = {"shares": shares, "paddle": paddle}
    plain = function_of(text, "f", H=want, **names)
    static = d2s.to_static(function_of(text, "f", H=got, **names), full_graph=True)
    for x in (tensor(1.0, 2.0), tensor(4.0, 1.0, 2.0), tensor(*range(6)), tensor(3.0, 1.0)):
        expected, found = plain(x), static(x)
        assert type(found) is type(expected)
        assert np.array_equal(found, expected)
        assert got.rng.random() == want.rng.random()
    for function in (plain, static) if "choice" in draw else ():
        with pytest.raises(ValueError, match=r"(?i)probabilities contain nan"):
            function(tensor(1.0, float("nan")))


def test_an_item_that_was_drawn_is_the_item() -> None:
    """B4, F5: what is written into it is seen in the list."""

    def run(convert: Any) -> list[Any]:
        rng = random.Random(1)

        def f(x):
            a, b = x * 1, x * 2
            rng.choice([a, b]).add_(paddle.to_tensor(10.0))
            return a, b

        function = convert(f)
        return [[item.tolist() for item in function(tensor(*values))] for values in INPUTS]

    assert run(d2s.to_static) == run(lambda function: function)


def test_an_empty_list_of_the_run() -> None:
    """F5: the exception of ``choice`` can be caught."""

    def run(convert: Any) -> list[Any]:
        rng = random.Random(1)

        def f(x):
            positive = [v for v in x if v > 1]
            try:
                return rng.choice(positive)
            except IndexError:
                return x.sum()

        function = convert(f)
        return [function(tensor(*values)).item() for values in ([1.0, 2.0], [0.0, 0.5], [3.0, 4.0])]

    assert run(d2s.to_static) == run(lambda function: function)


class Coin(random.Random):
    """One of the user's."""

    def flip(self) -> bool:
        """Heads or tails."""
        return self.random() < 0.5


def test_a_class_derived_of_a_generator() -> None:
    """F5, E2: its own methods are converted."""
    same("def f(x):\n    return x if H.rng.flip() else x * H.rng.random()", Coin(3))


class Halved(random.Random):
    """One that draws in its own way."""

    def random(self) -> float:
        """A smaller number."""
        return super().random() / 2


@pytest.mark.parametrize(
    ("made", "body"),
    [
        ("None", "r = random.Random(3.5)\n    return x * r.random()"),
        ("None", "r = np.random.Generator(np.random.PCG64(3))\n    return x * r.random()"),
        ("None", "r = np.random.RandomState([1, 2])\n    return x * r.rand()"),
        ("random.Random(3)", "r = copy.deepcopy(rng)\n    return x * r.random()"),
        ("Halved(3)", "return x * rng.uniform(0, 1)"),
        ("random.SystemRandom()", "return x * rng.random()"),
        ("random.Random(3)", "return x * rng.sample(range(9), int(x.sum()))[0]"),
        ("random.Random(3)", "return x * rng.sample([v for v in x if v > 0], 1)[0]"),
        ("random.Random(3)", "return x * rng.randint(0, 2**70)"),
        ("np.random.RandomState(3)", "a = np.arange(4)\n    rng.shuffle(a)\n    return x"),
        ("np.random.RandomState(3)", "return x * rng.bytes(1)[0]"),
        ("np.random.default_rng(3)", "a = np.zeros(2)\n    rng.random(out=a)\n    return x"),
        ("None", "paddle.seed(3)\n    return x * paddle.rand([2])"),  # once, during the capture
        (
            "random.Random(3)",
            "try:\n        return x * rng.randrange(int(x.sum()))\n    except ValueError:\n"
            "        return x",
        ),
    ],
)  # fmt: skip
def test_what_no_run_can_draw(made: str, body: str) -> None:
    """F5: refused before anything is drawn."""
    scope = {"random": random, "np": np, "copy": copy, "Halved": Halved, "paddle": paddle}
    scope["rng"] = eval(made, dict(scope))
    function = function_of(f"def f(x):\n    {body}\n", "f", **scope)
    with pytest.raises(UnsupportedInGraphError) as caught:
        d2s.to_static(function, full_graph=True)(tensor(1.0, 2.0))
    assert caught.value.line is not None

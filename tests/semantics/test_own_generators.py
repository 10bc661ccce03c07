"""Generators of random numbers that the function itself makes, of a seed (rules A1, F4)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

SCOPE: dict[str, Any] = {"random": random, "np": np}

DRAWS = {
    "numbers": "r = random.Random(7)\nreturn x * r.random() + r.randint(0, 9) + r.gauss(0, 1)",
    "choices": "r = random.Random('s')\nreturn x * r.choice([2.0, 3.0]), r.sample(range(9), 3)",
    "shuffled": "r = random.Random(1)\nitems = [x, x * 2, x * 3]\nr.shuffle(items)\nreturn items",
    "arrays": (
        "r = np.random.RandomState(seed=3)\n"
        "return x + paddle.to_tensor(r.randn(2).astype('float32')), r.permutation(4).tolist()"
    ),
    "new arrays": (
        "r = np.random.default_rng(5)\n"
        "return x * r.random() + paddle.to_tensor(r.standard_normal(2).astype('float32'))"
    ),
    "unrolled": (
        "r = random.Random(3)\nfor _ in range(4):\n    if r.random() < 0.5:\n"
        "        x = x * r.uniform(1, 2)\nreturn x"
    ),
    "one branch": (
        "r = random.Random(3)\nfirst = r.random()\nif x.sum() > 3:\n    x = x * r.random()\n"
        "return x + first"
    ),
    "seeded anew": "r = random.Random(3)\nr.random()\nr.seed(4)\nreturn x * r.random()",
}


def _function(body: str) -> Any:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return function_of(f"def f(x):\n{lines}", "f", **SCOPE)


@pytest.mark.parametrize("draw", DRAWS)
def test_each_call_begins_with_the_seed(draw: str) -> None:
    """A1: what is drawn is the same on each call."""
    assert_same(_function(DRAWS[draw]), tensor(1.0, 1.0), tensor(2.0, 3.0))


def test_the_seed_is_a_number_of_the_state() -> None:
    """G2: another seed is another program."""

    def run(convert: Any) -> list[Any]:
        epochs = {"now": 0}
        function = convert(
            function_of(
                """
                def f(x):
                    r = np.random.RandomState(epochs["now"])
                    epochs["now"] += 1
                    return x[paddle.to_tensor(r.permutation(x.shape[0]))]
                """,
                epochs=epochs,
                **SCOPE,
            )
        )
        return [function(paddle.arange(size)).numpy().tolist() for size in (3, 3, 4, 3, 4)]

    assert run(lambda function: function) == run(d2s.to_static)


@pytest.mark.parametrize(
    "body",
    [
        "r = random.Random()\nreturn x * r.random()",
        "r = np.random.default_rng()\nreturn x * r.random()",
        "r = random.Random(None)\nreturn x * r.random()",
        "r = random.Random(int(x.sum()))\nreturn x * r.random()",
        "r = np.random.RandomState(int(x.sum()))\nreturn x * r.rand()",
        "r = random.Random(3)\nif x.sum() > 2:\n    x = x * r.random()\nreturn x + r.random()",
        "r = random.Random(3)\nwhile x.sum() < 9:\n    x = x + r.random()\nreturn x",
        "r = np.random.RandomState(3)\nfor _ in range(x.sum().astype('int64')):\n"
        "    x = x + r.rand()\nreturn x",
    ],
)
def test_what_the_run_alone_knows_is_refused(body: str) -> None:
    """F4: no seed, a seed of the run, or draws of which the run knows how many there were."""
    with pytest.raises(UnsupportedInGraphError):
        d2s.to_static(_function(body))(tensor(1.0, 3.0))

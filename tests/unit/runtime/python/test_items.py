"""Keys, bounds and attributes that are tensors, numbers or of several kinds (rules D1, E4)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from corpus.facts import difference, facts
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

KEYS = {
    "a slice of a list": "[x, x + 1, x * 2][a:b]",
    "a slice of a tuple": "(x, x + 1, x * 2)[a:b]",
    "a slice of layers": "[type(v).__name__ for v in layers[a:b]]",
    "a negative key": "[x, x + 1, x * 2][-b]",
    "a class with its own items": "own[a]",
    "a list with its own items": "mine[a]",
}
SCOPE = """
class Own:
    def __getitem__(self, key):
        return key + 5

class Mine(list):
    def __getitem__(self, key):
        return key + 7

own, mine = Own(), Mine([1, 2, 3])
layers = paddle.nn.LayerList([paddle.nn.ReLU(), paddle.nn.Tanh(), paddle.nn.Silu()])
"""


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_python_knows(name: str) -> None:
    """D1: they are the container's matter."""
    function = function_of(f"{SCOPE}\ndef f(x, a, b):\n    return {KEYS[name]}", "f")
    assert_same(function, (tensor(1.0, 2.0), 1, 2), (tensor(3.0, 4.0), 0, 3))


PARTS = ["i, ..., 0:2", "..., i, 0:2", "i, ..., 1", "None, i, ..., 0:2", "0:i, ..., 0:2"]


@pytest.mark.parametrize("key", PARTS)
def test_a_tensor_in_a_key_with_an_ellipsis(key: str) -> None:
    """D1: the ellipsis stands for the dimensions that no other part takes."""
    function = function_of(f"def f(x, i):\n    return x[{key}]")
    x = paddle.arange(24, dtype="float32").reshape([2, 3, 4])
    assert_same(function, (x, scalar(1)), (x, scalar(0)) if key[:3] != "0:i" else (x, scalar(2)))


def test_a_bound_of_one_element() -> None:
    """C1: it counts as its number, which NumPy before 2.4 does in dygraph, too."""

    def f(x, start, stop):
        seen = []
        for i in range(start, stop):
            x = x + i
            seen.append(x[i - 1])
        return x, seen, i * 2

    static: Any = d2s.to_static(f)
    for given in [(1, 4), (2, 3)]:
        wanted = facts("result", f(tensor(1.0, 2.0, 3.0), *given))
        got = static(tensor(1.0, 2.0, 3.0), *(paddle.to_tensor([number]) for number in given))
        assert difference(wanted, facts("result", got), rtol=0, atol=0) is None


def test_hasattr_of_one_of_several() -> None:
    """E1: the run knows which of them it is."""

    class Point:
        def __init__(self, x):
            self.x = x

    def f(x):
        thing = None
        if x.sum() > 0:
            thing = Point(x)
        if hasattr(thing, "x"):
            return x * 2, hasattr(thing, "x"), hasattr(thing, "y")
        return x * 3, hasattr(thing, "x"), hasattr(thing, "y")

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, -2.0))


STORES = {
    "a key of a dict": ('{"a": x, "b": x * 2}', '"a"', '"b"'),
    "a key that is None": ('{"a": x, None: x * 2}', '"a"', "None"),
    "an index of a list": ("[x, x * 2, x * 3]", "0", "-1"),
    "a list of lists": ("[[x], [x * 2]]", "0", "1"),
    "an index that is not there": ("[x, x * 2]", "0", "2"),
}


@pytest.mark.parametrize("name", STORES)
def test_an_item_that_a_tensor_chooses_is_set(name: str) -> None:
    """D1, D2: in the container that there is, once on each path."""
    container, true, false = STORES[name]
    function = function_of(f"""
        def f(x):
            z = {container}
            same = z
            k = {false}
            if x.sum() > 0:
                k = {true}
            z[k] = x * 5
            return z, same is z
    """)
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0, 0.0))


def test_an_item_at_an_index_that_may_not_be_bound() -> None:
    """B2: the run that comes to it raises."""

    def f(x):
        z = [x, x * 2]
        if x.sum() > 0:
            k = 1
        z[k] = x * 5
        return z

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 0.0))


NEW_KEY = """
    def f(x):
        z = {{}}
        k = {false}
        if x.sum() > 0:
            k = {true}
        z[k] = x
        return z
"""


@pytest.mark.parametrize(("true", "false"), [('"a"', '"b"'), ("1", "2")])
def test_a_new_key_that_a_tensor_chooses(true: str, false: str) -> None:
    """D2: the dict has the key that the run has chosen."""
    function = function_of(NEW_KEY.format(true=true, false=false))
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0, 0.0))


def test_a_new_key_that_may_be_a_tensor_or_none() -> None:
    """D2: refused with the line."""
    function = function_of(NEW_KEY.format(true="x", false="None"))
    with pytest.raises(ContainerInGraphError) as caught:
        d2s.to_static(function)(tensor(1.0, 2.0))
    assert caught.value.line == 6

"""Programs for lines that no other test runs (rules A5, E1, F1, G3)."""

from __future__ import annotations

import math

import paddle
import pytest

import d2s
from d2s.errors import LoweredEffectWarning
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, 2.0)


def test_a_cached_property_is_asked_for_once() -> None:
    """A1: its function runs while the code is captured, for an object that the code makes."""
    f = function_of("""
        import functools

        class Scaled:
            def __init__(self, x):
                self.x = x

            @functools.cached_property
            def double(self):
                return self.x * 2

        def f(x):
            scaled = Scaled(x)
            return scaled.double + scaled.double, scaled.double is scaled.double
    """)
    assert_same(f, (X,), (-X,))


def test_an_equality_that_a_dataclass_has_made() -> None:
    """E1: ``__eq__`` of a dataclass has no text; objects without tensors are compared by it."""
    f = function_of("""
        import dataclasses

        @dataclasses.dataclass
        class Size:
            width: int
            height: int

        def f(x):
            return x + 1 if Size(1, 2) == Size(1, 2) else x, Size(1, 2) != Size(2, 2)
    """)
    assert_same(f, (X,), (-X,))


def test_a_class_that_lets_nobody_set_anything() -> None:
    """A1: its methods stay as they are."""
    f = function_of("""
        class Closed(type):
            def __setattr__(cls, name, value):
                raise AttributeError(f"{name} cannot be set")

        class Pair(metaclass=Closed):
            def __init__(self, x):
                self.x = x

            def __len__(self):
                return 2

        def f(x):
            pair = Pair(x)
            return pair.x * len(pair)
    """)
    assert_same(f, (X,), (-X,))


def test_a_product_over_a_range_of_the_run() -> None:
    """E2: refused with a code where ``sum`` of it is known."""

    def f(n):
        return math.prod(range(1, n))

    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(f)(paddle.to_tensor(4))
    assert caught.value.code == "D2S205"
    assert caught.value.line == f.__code__.co_firstlineno + 1


def test_containers_that_a_saved_program_prints(tmp_path) -> None:
    """F1, G3: a print in a saved program is lowered with a warning, whatever holds its tensors."""
    f = function_of("""
        def f(x):
            seen = []
            for i in range(x.shape[0]):
                if x[i] > 0:
                    seen.append(x[i])
            print(f"{x.sum()} and {[x, 1]}", {"x": x, "n": 3}, seen, "text")
            return x * 2
    """)
    with pytest.warns(LoweredEffectWarning):
        d2s.save(f, str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([2], "float32")])
    loaded = d2s.load(str(tmp_path / "f"))
    assert loaded(X).tolist() == [2.0, 4.0]


def test_a_refusal_behind_a_branch_that_may_raise() -> None:
    """E2: what the branch has left open is closed, and the next capture begins afresh."""
    f = function_of("""
        def f(x, export):
            try:
                if x.max() > 5:
                    raise ValueError("large")
                if export:
                    x = x + len({x.max().item()})
            except ValueError:
                x = x - 5
            return x * 2
    """)
    static = d2s.to_static(f)
    with pytest.raises(d2s.D2SError) as caught:
        static(X, True)
    assert caught.value.line == 6
    assert_same(f, (X, False), (X * 5, False))


@pytest.mark.parametrize("result", ["(x, box.v)", "[box.v, x]", "(x, [box.v])"])
def test_an_attribute_that_one_path_lacks_inside_of_a_result(result: str) -> None:
    """B4, B6: a run on that path raises, the other one gives the attribute."""
    f = function_of(f"""
        class Box:
            pass

        def f(x):
            box = Box()
            if x.sum() > 0:
                box.v = x * 2
            return {result}
    """)
    assert_same(f, (X,))
    with pytest.raises(AttributeError):
        d2s.to_static(f)(-X)


def test_constants_of_two_sides() -> None:
    """B4: not a number is one constant, arrays that do not say "equal" are two."""
    f = function_of("""
        import numpy as np

        FIRST, SECOND = np.array([1.0, 2.0]), np.array([1.0, 2.0])

        def f(x):
            if x.sum() > 0:
                missing, array = float("nan"), FIRST
            else:
                missing, array = float("nan"), SECOND
            return x, missing != missing, array is FIRST
    """)
    assert_same(f, (X,), (-X,))


def test_operands_of_a_chain_that_wait() -> None:
    """B5: ``a and (b and c)`` asks each once, and only when the one before holds."""
    f = function_of("""
        def f(x):
            seen = []

            def ask(value):
                seen.append(1)
                return value

            if ask(x.sum() > 0) and (ask(x.max() > 1) and ask(x.min() > 0)):
                x = x + 1
            return x, len(seen)
    """)
    assert_same(f, (X,), (-X,), (X - 1.5,))


def test_the_else_of_a_try_whose_body_returns() -> None:
    """B6: it runs unless the body has returned."""
    f = function_of("""
        def f(x):
            try:
                if x.sum() > 0:
                    return x * 3
            except ValueError:
                x = x - 1
            else:
                x = x + 1
            return x * 2
    """)
    assert_same(f, (X,), (-X,))

"""Objects: cached properties, equality, attributes that one path lacks (rules A1, E1)."""

from __future__ import annotations

import pytest

import d2s
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

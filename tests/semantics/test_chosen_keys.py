"""Keys that a tensor chooses: tuples with parts that belong together (rules B2, B6, D2)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

SCENES: dict[str, str] = {
    "in_set": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x + 1 if (i, j) in {(0, 2), (7, 7)} else x
    """,
    "in_set_moved": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            p = tuple(u + v for u, v in zip((i, j), (1, -1)))
            return x + 1 if p in {(1, 2), (0, 2), (5, 5)} else x * 2
    """,
    "not_in_dict": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x + 1 if (i, j) not in {(0, 2): 1, (1, 2): 3} else x
    """,
    "in_list": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x + 1 if (i, j) in [(0, 2), (1, 2)] else x
    """,
    "in_keys": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            d = {(0, 2): 1, (1, 2): 3}
            return x + 1 if (i, j) in d.keys() else x
    """,
    "get_default": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x * {(0, 2): 3}.get((i, j), 10)
    """,
    "get_tensor": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return {(0, 2): x[1], (1, 3): x[2]}.get((i, j), x[0] * 0 - 1)
    """,
    "get_none": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            v = {(0, 2): 3}.get((i, j))
            return x if v is None else x * v
    """,
    "absent": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x * {(0, 2): 3}[i, j]
    """,
    "caught": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            try:
                return x * {(0, 2): 3}[i, j]
            except KeyError as e:
                return x - 1
    """,
    "store": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            d = {(0, 2): x[1], (1, 3): x[2]}
            d[i, j] = x[0] * 9
            return d[0, 2] + 10 * d[1, 3]
    """,
    "store_new": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            d = {(0, 2): x[1]}
            d[i, j] = x[0] * 9
            return sum(d.values()) + len(d)
    """,
    "add_to": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            d = {(0, 2): x[1], (1, 3): x[2]}
            d[i, j] += 1
            return d[0, 2] + 10 * d[1, 3]
    """,
    "sets": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            s = {(i, j), (0, 2)}
            return x + len(s)
    """,
    "add_set": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            s = {(0, 2)}
            s.add((i, j))
            return x + len(s)
    """,
    "pop": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            d = {(0, 2): x[1], (1, 3): x[2]}
            v = d.pop((i, j))
            return v + len(d)
    """,
    "array": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            a = paddle.arange(16.).reshape([4, 4])
            return a[i, j] + a[i:j].sum()
    """,
    "nparray": """
        def f(x):
            import numpy as np
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            a = np.arange(16.).reshape([4, 4])
            return x * float(a[i, j])
    """,
    "nested": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            t = [[1, 2, 3], [4, 5, 6, 7]]
            return x * t[i][j]
    """,
    "frozen": """
        def f(x):
            p = frozenset([1, 2]) if x[0] > 0 else frozenset([3])
            return x * {frozenset([1, 2]): 3, frozenset([3]): 4}[p]
    """,
    "index": """
        def f(x):
            k = 1 if x[0] > 0 else 5
            return x * [x[0] * 0 + 1, x[0] * 0 + 5].index(k)
    """,
    "count": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x * [(0, 2), (0, 2), (1, 3)].count((i, j))
    """,
    "indexp": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x * [(0, 2), (0, 2), (1, 3)].index((i, j))
    """,
    "indexq": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            return x * [(0, 2), (0, 2)].index((i, j))
    """,
    "setdefault": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            d = {(0, 2): x[1], (1, 3): x[2]}
            return d.setdefault((i, j), x[0]) + len(d)
    """,
    "counter": """
        def f(x):
            import collections
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            c = collections.Counter([(0, 2), (0, 2)])
            return x + c[i, j]
    """,
    "three": """
        def f(x):
            p = (0, "a", x[1]) if x[0] > 0 else (1, "b", x[2])
            return {(0, "a"): x[0], (1, "b"): x[1]}[p[:2]] + p[2]
    """,
    "discard": """
        def f(x):
            i, j = (0, 2) if x[0] > 0 else (1, 3)
            s = {(0, 2), (5, 5)}
            s.discard((i, j))
            return x + len(s)
    """,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SCENES)
def test_keys_that_a_tensor_chooses(name: str) -> None:
    """B6: combinations of parts that no run has raised ``KeyError``, or were looked up."""
    function: Any = function_of(SCENES[name])
    static = d2s.to_static(function, full_graph=True)
    assert_same(function, tensor(0.1, 2.0, 1.0), tensor(-3.0, 0.2, -2.0), static=static, grad=False)


@pytest.mark.parametrize(
    "made",
    [
        "{name: x}",
        "{name: 1.0, 'up': 2.0}",
        "dict([(name, x), ('down', x * 2)])",
        "{k: x for k in [name, 'z']}",
    ],
)
def test_a_dict_that_is_made_with_one_of_several_keys(made: str) -> None:
    """D2: it has the key that is meant, at its place."""
    text = f"""
def f(x):
    name = "up" if x.sum() > 0 else "down"
    made = {made}
    return made, list(made), name in made
"""
    assert_same(function_of(text, "f"), tensor(1.0, 2.0), tensor(-1.0, 0.5))

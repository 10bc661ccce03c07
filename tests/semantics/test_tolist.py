"""Lists of numbers that the run decides, and tuples of them (E1, E5)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import D2SError, NotStaticError
from tests.helpers import assert_same, function_of, tensor

X = tensor(1.0, -2.0, 3.0)
Y = tensor(-1.0, 2.5, -3.0)
Z = tensor(1.0, 1.0, 1.0)

EXPRESSIONS = [
    "x.tolist(), paddle.tolist(x), x[0].tolist(), x.reshape([3, 1]).tolist(), x[:0].tolist()",
    "(x > 1).tolist(), x.astype('int32').tolist(), x.astype('float64').tolist()",
    "x.astype('uint8').tolist(), (x * 0.1).tolist(), x.astype('float16').tolist()",
    "[v * 2 for v in x.tolist()], [v for v in x.tolist() if v > 0], sum(x.tolist())",
    "max(x.tolist()), min(x.tolist()), sorted(x.tolist()), sorted(x.tolist(), reverse=True)",
    "paddle.nonzero(x > 0).tolist(), paddle.nonzero(x > 0).flatten().tolist()",
    "[r * 10 + c for r, c in paddle.nonzero(x.reshape([1, -1]) > 0).tolist()]",
    "x[x > 0].tolist()[::-1], len(x[x > 0].tolist()), x[x > 0].tolist() == [1.0, 3.0]",
    "x[x > 0].tolist() != [2.5], [1.0] == x[x > 2].tolist(), x[x > 0].tolist() == [True, 3]",
    "x[x > 0].tolist() == x[x > 1].tolist(), x[x > 9].tolist() == [], x[x > 0].tolist() == 'a'",
    "', '.join(f'{v:.2f}' for v in x.tolist()), [f'{i}:{v}' for i, v in enumerate(x.tolist())]",
    "[f'{i}:{v}' for i, v in enumerate(x.tolist()) if v > 1]",
    "[('up' if v > 0 else 'down') for v in x.tolist() if v != 1]",
    "x.tolist()[1:], x.tolist()[::-1], x.tolist() + [1.5], [*x.tolist(), 0], tuple(x.tolist())",
    "[i for i, keep in zip([7, 8, 9], (x > 1).tolist()) if keep]",
    "paddle.concat([x] * 50).tolist()[3:5], len(paddle.concat([x] * 50).tolist())",
    "[v + 1 for v in paddle.concat([x] * 50).tolist()][:2]",
    "sum(a * b for a, b in paddle.concat([x] * 50).reshape([-1, 2]).tolist())",
    "paddle.to_tensor(x.tolist()), paddle.to_tensor([x.tolist(), x.tolist()], dtype='float64')",
    "x.tolist().index(v), x.tolist().count(v), v in x.tolist(), 7 in x.tolist()",
    "(s[0], s[1]) == (1, -2), (s[0], s[1]) != (1, 2), (s[0], 5) < (1, 7), [s[2], 1] >= [3, 1]",
    "(s[0],) == (1, -2), (1, s[1], 3) > (1, -2, 3), (s[0], 'a') == (1, 'a'), (s[0],) == [1]",
    "((s[0], 1), 2) == ((1, 1), 2), (s[0], s[0]) <= (s[0], s[1]), (1, 2) == pair, pair == (1, 2)",
    "(s[0], s[1]) in {(1, -2): 5}, {(1, -2): 5, (0, 0): 6}.get((s[0], s[1]), 'none')",
    "max(t), min(t), sorted(t), sorted(t, reverse=True), sorted(t, key=lambda p: -p[0])",
    "sorted([(s[0], 'b'), (s[1], 'a'), (s[0], 'a')]), max((1, s[1]), (1, s[2]))",
    "(1, 'a') in n, n.index((s[2], 'a')), n.count((1, 'a')), (9, 'a') in n",
]


@pytest.mark.sampled(
    2, also=["sorted([(s[0], 'b'), (s[1], 'a'), (s[0], 'a')]), max((1, s[1]), (1, s[2]))"]
)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_numbers_in_lists(expression: str) -> None:
    """E5: the numbers of a tensor are Python numbers, in lists, wherever these may stand."""
    function = function_of(
        f"""
        def run(x):
            v = x.sum().item()
            s = x.astype("int64").tolist()
            t = [(v, i) for i, v in enumerate(x.tolist())]
            n = [(v, "a") for v in s]
            pair = (int(x[0]), 2) if x[0] > 0 else None
            return {expression}
        """
    )
    assert_same(function, X, Y, Z)


def kept(x: Any) -> Any:
    out: list[Any] = []
    values, i = x.tolist(), 0
    while i < len(values):
        if values[i] > 1:
            out.append(values[i])
            i += 2
        else:
            i += 1
    return out


def indexed(x: Any) -> Any:
    total = paddle.zeros([3])
    for i in paddle.nonzero(x > 0).flatten().tolist():
        total[i] = x[i] * (i + 1)
    return total


def until(x: Any) -> Any:
    taken = 0.0
    for i in paddle.argsort(x).tolist():
        if x[i] > 2:
            break
        taken = taken + x[i]
    return taken


def changed(x: Any) -> Any:
    values = x.tolist()
    values.append(0.5)
    values[0] = 9.0
    values.insert(0, x.sum().item())
    values.sort()
    return values, x


def looked_up(x: Any) -> Any:
    names = {(1, -2): "a", (-1, 2): "b", (1, 1): "c"}
    first, second, _ = x.astype("int64").tolist()
    return names[first, second]


def counted(x: Any) -> Any:
    table = {(1, -2): 0, (-1, 2): 0, (1, 1): 5}
    first, second, _ = x.astype("int64").tolist()
    table[first, second] += 1
    return table


@pytest.mark.parametrize("function", [kept, indexed, until, changed, looked_up, counted])
def test_programs_with_lists_of_numbers(function: Any) -> None:
    """E5: what code does with the numbers of ``tolist`` is what dygraph does."""
    assert_same(function, X, Y, Z)


WEIGHT = tensor(4.0, 5.0)


def of_the_state(x: Any) -> Any:
    return WEIGHT.tolist()[1] * x


def test_a_tensor_of_the_state_gives_its_numbers_on_each_run() -> None:
    """E5, F3: the numbers are those that the tensor has by then."""
    run = d2s.to_static(of_the_state)
    for scale in (1.0, 2.0):
        WEIGHT.set_value(paddle.to_tensor([4.0, 5.0]) * scale)
        assert run(X).tolist() == of_the_state(X).tolist()


def missing_index(x: Any) -> Any:
    return [1.0, 2.0].index(x.tolist()[0])


def missing_key(x: Any) -> Any:
    return {(1, 1): 0}[x.astype("int64").tolist()[0], 1]


@pytest.mark.parametrize("function", [missing_index, missing_key])
def test_what_is_not_there(function: Any) -> None:
    """F1: the run raises what dygraph raises, in its words."""
    run = d2s.to_static(function)
    assert run(X) == function(X)
    found = []
    for call in (function, run):
        with pytest.raises((ValueError, KeyError)) as caught:
            call(Y)
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]


REFUSED = [
    ("x.astype('complex64').tolist()", NotStaticError),
    ("x.astype('bfloat16').tolist()", NotStaticError),
    ("paddle.nonzero(x > 0).expand([-1, 40]).tolist()", NotStaticError),
    ("hash(x.tolist()[0])", NotStaticError),
]


@pytest.mark.parametrize(("expression", "kind"), REFUSED)
def test_what_python_would_have_to_know(expression: str, kind: type[D2SError]) -> None:
    """E5: a number of the run has no hash; never a wrong answer."""
    with pytest.raises(kind):
        d2s.to_static(function_of(f"def run(x):\n    return {expression}"))(X)


def seen_before(x: Any, seen: dict[Any, int]) -> Any:
    key = tuple(x.tolist())
    if key in seen:
        return seen[key]
    seen[key] = len(seen)
    return -1


def test_a_new_key_is_never_missed() -> None:
    """D2, F4: a tuple of numbers of the run as a key of a dict that lives on."""
    plain: dict[Any, int] = {}
    given: dict[Any, int] = {}
    static = d2s.to_static(seen_before)
    for x in (X, X, X * 2, X, X * 2):
        assert static(x, given) == seen_before(x, plain)
        assert given == plain

"""Lists whose length a tensor decides, of texts, constants and things that may be ``None`` (D1)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError, D2SError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
CALLS = [(X, scalar(n)) for n in (3, 1, 0)]

ITEMS = [
    '"step"',
    '"big" if x[i] > 1 else "small"',
    '"" if x[i] > 1 else None',
    "None",
    'f"{i}: {x[i].item():.2f}"',
    'f"{int(x[i])}" + "|"',
    '"%d of %s" % (i, "three")',
    "str(float(x[i]))",
    '{"name": "a" if x[i] > 1 else "b", "score": x[i], "step": i, "none": None}',
    '(x[i], "ok", None, True)',
    "None if x[i] > 1 else x[i] * 2",
    "(None if x[i] > 1 else i, i)",
    "1 if x[i] > 1 else 2",
    "bool(x[i] > 1)",
]

LOOPS = [
    "for i in range(n):\n        out.append({})",
    "i = 0\n    while i < n:\n        out.append({})\n        i += 1",
    "for i in range(n):\n        if x[i] < 2.5:\n            out.append({})",
    "for i in range(3):\n        if i == n:\n            break\n        out.append({})",
    "out = [{} for i in range(n)]",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("item", ITEMS)
def test_items_of_other_kinds(item: str, loop: str) -> None:
    """D1: the list is that of dygraph, and so is its end."""
    f = function_of(f"""
def f(x, n):
    out = []
    {loop.format(item)}
    return out, len(out), out[-2:]
""")
    assert_same(f, *CALLS)


USES = [
    '"big" in out, "nope" in out, None in out, x in [x] and "small" in out',
    'out.count("big"), out.count("nope")',
    "[v for v in out], out[::-1], out + out, out * 2",
    'sum([1 for v in out if v == "big"])',
    '", ".join(out) + "."',
    '[f"<{v}>" for v in out]',
    '{"n": out, "first": out[:1]}',
]


@pytest.mark.parametrize("use", USES)
def test_what_is_done_with_texts(use: str) -> None:
    """D1, E1: they are compared, counted, joined and formatted."""
    f = function_of(f"""
def f(x, n):
    out = ["small"]
    for i in range(n):
        out.append("big" if x[i] > 1 else "small")
    return {use}
""")
    assert_same(f, *CALLS, grad=False)


@pytest.mark.parametrize("use", ["max(out)", "sorted(out)", "min(out), len(out)"])
def test_the_order_of_texts(use: str) -> None:
    """D1, E1: that of Python."""
    f = function_of(f"""
def f(x, n):
    out = []
    for i in range(n):
        out.append("big" if x[i] > 1 else "small")
    return {use}
""")
    assert_same(f, *CALLS, grad=False)


@pytest.mark.parametrize("use", ["paddle.stack(out)", "sum(out)"])
def test_texts_are_no_numbers(use: str) -> None:
    """D1: what counts them off is not seen."""
    f = function_of(f"""
def f(x, n):
    out = []
    for i in range(n):
        out.append("big" if x[i] > 1 else "small")
    return {use}
""")
    with pytest.raises((D2SError, TypeError)):
        d2s.to_static(f)(*CALLS[0])


def test_an_item_that_is_read_before_another_constant_comes() -> None:
    """D1: what may be read is known from before the loop on."""
    f = function_of("""
    def f(x, n):
        out, same = ["a"], 0
        for i in range(n):
            if out[-1] == "b":
                same += 1
            out.append("b" if x[i] > 1 else "c")
        for v in out:
            if v is not None and v != "c":
                same += 10
        return out, same
    """)
    assert_same(f, *CALLS, grad=False)


def test_gradients_of_items_that_may_be_none() -> None:
    """C7, D1: the tensors among them hand them back."""
    f = function_of("""
    def f(x, n):
        out = []
        for i in range(n):
            out.append(None if x[i] > 1.5 else x[i] * x[i])
        total = paddle.zeros([])
        for v in out:
            if v is not None:
                total = total + v
        return total
    """)
    assert_same(f, *CALLS)


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    """F1: what is printed is what dygraph prints."""
    f = function_of("""
    def f(x, n):
        log = []
        for i in range(n):
            log.append(f"{i}: {float(x[i]):.2f}")
        print(log, len(log))
        print("; ".join(log))
        return x
    """)
    outputs = []
    for function in (f, d2s.to_static(f)):
        for x, n in CALLS:
            function(paddle.assign(x), n)
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("things", "use"),
    [
        ("'a b c d e'.split()", "part, len(part), ' '.join(part)"),
        ("('a', 'b', 'c', 'd')", "part, part[::-1], things[-b:a], things[b:a]"),
        ("[('a', 1), ('b', x[0]), ('c', x[1] * 2)]", "part, [name for name, _ in part]"),
        ("['a', 1, None, x]", "part"),
        ("list('abcdef')", "things[a:b:2], things[:b], things[a:]"),
        ("['a'] * 40 + ['b'] * 40", "things[a * 9 : b * 30], things[a * 9 :]"),
        ("[paddle.sin, paddle.cos, paddle.exp]", "[use(x[0]) for use in part]"),
    ],
)
def test_a_slice_between_two_numbers_of_the_run(things: str, use: str) -> None:
    """D1: of a list or tuple of Python that holds what does not change."""
    function = function_of(f"""
def f(x):
    a, b = int((x < 0).sum()), int((x > 1).sum()) + 1
    things = {things}
    part = things[a:b]
    return {use}
""")
    assert_same(function, tensor(0.5, -1.0, 2.0), tensor(-1.0, -2.0, 0.0), tensor(4.0, 3.0, 2.0))


def test_a_slice_of_lists_between_two_numbers_of_the_run() -> None:
    """D3: the lists in it would be copies; tuples are not."""
    text = """
def f(x):
    things = {}
    return things[int((x < 0).sum()) : int((x > 1).sum()) + 1]
"""
    with pytest.raises(ContainerInGraphError, match="a slice of a list or tuple that holds lists"):
        d2s.to_static(function_of(text.format("[['a'], ['b'], ['c']]")), full_graph=True)(X)
    assert_same(function_of(text.format("[('a',), ('b',), ('c',)]")), X)

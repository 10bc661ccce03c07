"""C7: gradients flow through every branch and loop and equal dygraph's.

Of the arguments, of parameters, and of tensors that the function captures; on both sides of every
condition; for no trip, one and several.
"""

from __future__ import annotations

import copy
import itertools
import textwrap
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import paddle
import pytest
from paddle.autograd import PyLayer
from paddle.distributed.fleet.utils import recompute

import d2s
from d2s.errors import LoopGradientError, UnsupportedInGraphError
from tests.helpers import assert_same, fresh, function_of, scalar, tensor

PLUS, MINUS, SMALL = tensor(0.5, 1.0, 0.75), tensor(-0.5, -1.0, 0.25), tensor(0.1, -0.05, 0.02)
SIGNS = (PLUS, MINUS, SMALL)
TRIPS = (0, 1, 3)
COUNTED = [(x, scalar(n)) for x in (PLUS, MINUS) for n in TRIPS]


def leaf(*values: float) -> Any:
    """A tensor that a function captures and that takes a gradient."""
    found = tensor(*values)
    found.stop_gradient = False
    return found


def seen(result: Any, leaves: dict[str, Any]) -> dict[str, Any]:
    """The gradients of ``leaves`` for unequal weights of the outputs; none counts as zero."""
    outputs = [value for value in paddle.utils.flatten(result) if isinstance(value, paddle.Tensor)]
    losses = [
        (value.astype("float32") * paddle.linspace(0.5, 1.5, value.size).reshape(value.shape)).sum()
        for value in outputs
        if not value.stop_gradient and paddle.is_floating_point(value)
    ]
    if losses:
        paddle.add_n(losses).backward()
    found = {}
    for name, each in leaves.items():
        found[name] = np.zeros(each.shape) if each.grad is None else each.grad.numpy()
        each.clear_gradient(False)
    return found


def same(make: Callable[[], Any], *inputs: Any, moving: bool = True) -> None:
    """Hold all gradients against dygraph's, call by call, each call twice.

    Args:
        make: gives the function and what it captures, by name, or a layer; called once for
            dygraph and once to convert.
        *inputs: one argument, or a tuple of arguments, for each call.
        moving: some gradient of a captured tensor has to be other than zero, or the test would
            prove nothing.
    """

    def observe(convert: Callable[[Any], Any]) -> list[dict[str, Any]]:
        paddle.seed(7)
        made = make()
        function, captured = (
            (made, dict(made.named_parameters())) if isinstance(made, paddle.nn.Layer) else made
        )
        function = convert(function)
        calls = []
        for given in [*inputs, *inputs]:
            arguments = [fresh(each) for each in (given if isinstance(given, tuple) else (given,))]
            leaves = {
                f"argument {at}": each
                for at, each in enumerate(arguments)
                if isinstance(each, paddle.Tensor) and not each.stop_gradient
            }
            paddle.seed(11)
            result = function(*arguments)
            values = {
                f"result {at}": value.detach().numpy()
                for at, value in enumerate(paddle.utils.flatten(result))
                if isinstance(value, paddle.Tensor)
            }
            calls.append(values | seen(result, captured | leaves))
        return calls

    right, mine = observe(lambda function: function), observe(d2s.to_static)
    for at, (want, got) in enumerate(zip(right, mine, strict=True)):
        assert want.keys() == got.keys()
        for name in want:
            np.testing.assert_allclose(
                got[name], want[name], rtol=1e-4, atol=1e-5, err_msg=f"{name}, call {at}"
            )
    names = [name for name in right[0] if not name.startswith(("result", "argument"))]
    assert not moving or not names or any(want[name].any() for want in right for name in names)


# -- every construct in every other --------------------------------------------------------------

BLOCKS = {
    "if": """
        if x.sum() > 0.3:
            {body}
        else:
            x = x * 0.7 - w
    """,
    "elif": """
        if x.sum() > 1:
            x = x - 0.4
        elif x.max() > 0.2:
            {body}
    """,
    "while": """
        c@ = 0
        while x.abs().sum() < 4 and c@ < 2:
            c@ = c@ + 1
            {body}
    """,
    "range": """
        for i@ in range(n):
            {body}
            s = s + x * i@
    """,
    "rows": """
        for r@ in table[: n + 1]:
            x = x + r@ * 0.1
            {body}
    """,
    "unrolled": """
        for j@ in range(3):
            if x.sum() > 2 + j@:
                break
            {body}
    """,
}
LEAVES = {
    "product": "x = paddle.tanh(x * w) * 1.3",
    "sum": "s = s + x * w",
    "list": "kept.append(x * w)",
    "fan-out": "x = x * w\n            s = s + x",
    "layer": "x = layer(layer(x))",
    "item": 'state["h"] = state["h"] * w + x',
    "continue": "if x.max() > 0.9:\n                x = x * 0.5\n            s = s + w * x",
}
AFTER = """
    y = x + s * 0.5 + state["h"]
    for each in kept:
        y = y + each * 0.25
    return y, s
"""


def nested(*kinds: str, leaf_: str) -> str:
    """The text of ``f(x, n)`` with the blocks in each other, outermost first."""
    body = textwrap.dedent(LEAVES[leaf_].replace("            ", ""))
    for depth, kind in reversed([*enumerate(kinds)]):
        block = textwrap.dedent(BLOCKS[kind]).strip("\n").replace("@", str(depth))
        lines = []
        for line in block.split("\n"):
            at = len(line) - len(line.lstrip())
            lines.append(textwrap.indent(body, " " * at) if "{body}" in line else line)
        body = "\n".join(lines)
    start = 's = paddle.zeros([3])\nkept = []\nstate = {"h": paddle.ones([3])}\n'
    return "def f(x, n):\n" + textwrap.indent(start + body, "    ") + AFTER


def compare_nested(*kinds: str, leaf_: str) -> None:
    text = nested(*kinds, leaf_=leaf_)

    def make() -> Any:
        w = leaf(0.9, -0.8, 0.6)
        table = paddle.to_tensor([[0.3, 0.1, -0.2], [0.2, -0.5, 0.4]], stop_gradient=False)
        layer = paddle.nn.Linear(3, 3)
        captured = {"w": w, "table": table, **dict(layer.named_parameters())}
        return function_of(text, "f", w=w, table=table, layer=layer), captured

    same(make, *[(x, scalar(n)) for x in SIGNS for n in (0, 1, 2)], moving=False)


PAIRS = list(itertools.product(BLOCKS, BLOCKS))


@pytest.mark.sampled(4, also=["range-elif"])
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_two_deep(outer: str, inner: str) -> None:
    """Each construct in each; what stands inside goes round."""
    leaves = list(LEAVES)
    compare_nested(outer, inner, leaf_=leaves[PAIRS.index((outer, inner)) % len(leaves)])


@pytest.mark.slow
@pytest.mark.parametrize("leaf_", LEAVES)
@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_two_deep_all(outer: str, inner: str, leaf_: str) -> None:
    """Each construct in each, with each thing inside."""
    compare_nested(outer, inner, leaf_=leaf_)


TRIPLES = [
    (("if", "range", "if"), "list"),
    (("range", "if", "while"), "sum"),
    (("while", "if", "range"), "item"),
    (("range", "range", "elif"), "fan-out"),
    (("unrolled", "if", "range"), "product"),
    (("rows", "while", "if"), "continue"),
    (("elif", "unrolled", "while"), "layer"),
    (("range", "unrolled", "if"), "list"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kinds", "leaf_"), TRIPLES, ids=lambda each: "-".join(each))
def test_three_deep(kinds: tuple[str, ...], leaf_: str) -> None:
    compare_nested(*kinds, leaf_=leaf_)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", list(itertools.product(BLOCKS, repeat=3))[::5], ids="-".join)
def test_three_deep_more(kinds: tuple[str, ...]) -> None:
    """Every fifth triple, with what stands inside going round."""
    leaves = list(LEAVES)
    compare_nested(*kinds, leaf_=leaves[sum(map(len, kinds)) % len(leaves)])


# -- what a block can do to the way back ---------------------------------------------------------


def captured(**leaves: Any) -> Callable[..., Any]:
    """Give the function that ``function_of`` makes of a text, and the tensors that it captures."""

    def of(text: str, **scope: Any) -> tuple[Any, dict[str, Any]]:
        mine = {name: leaf(*each) for name, each in leaves.items()}
        return function_of(text, "f", **mine, **scope), mine

    return of


W = captured(w=(0.9, -0.8, 0.6))

FAN_OUT = {
    "twice in a side": """
        def f(x, n):
            if x.sum() > 0:
                a = x * w
                b = a + a * x
            else:
                b = x * x
                a = b * w
            return a * 2, b
    """,
    "through nested branches": """
        def f(x, n):
            if x.sum() > 0:
                a = x * w
                if x.max() > 0.9:
                    b = a * x
                else:
                    b = a + w
                c = a + b
            else:
                a = b = c = x * w
            return a, b, c
    """,
    "two names, one changed afterwards": """
        def f(x, n):
            if x.sum() > 0:
                a = x * w
                b = a
            else:
                a = b = x
            a = a * a
            return a, b
    """,
    "one state used by another": """
        def f(x, n):
            a = b = x
            for i in range(n):
                a = a * w
                b = b + a
                a = a + b * 0.5
            return a, b
    """,
    "states that change places": """
        def f(x, n):
            a, b = x, w
            for i in range(n):
                a, b = b * x, a + w
            return a, b
    """,
    "a state that a branch of the loop yields twice": """
        def f(x, n):
            a = b = x
            for i in range(n):
                if a.sum() > 0:
                    a = a * w
                    b = a
                else:
                    b = b + w
                    a = b
            return a, b
    """,
    "a value of the loop and its last use": """
        def f(x, n):
            last = x
            for i in range(n):
                step = last * w
                last = step * step
                x = x + step
            return last, x
    """,
    "read by two inner loops": """
        def f(x, n):
            s = x
            for i in range(n):
                y = s * w
                for j in range(i):
                    s = s + y
                while s.abs().sum() > 3:
                    s = s * 0.5 + y * 0.1
            return s
    """,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FAN_OUT)
def test_second_uses(name: str) -> None:
    """What a block yields is used inside of it as well, or goes out under two names."""
    same(lambda: W(FAN_OUT[name]), *COUNTED)


ACCUMULATORS = {
    "zeros": ("paddle.zeros([3])", "s = s + x * w"),
    "a Python number": ("0", "s = s + (x * w).sum()"),
    "a Python float times": ("1.0", "s = s * (x * w).sum()"),
    "None": ("None", "s = x * w if s is None else s + x * w"),
    "an integer tensor": ("paddle.zeros([3], 'int64').astype('float32')", "s = s + w * x"),
    "a tuple": ("(x, paddle.zeros([3]))", "s = (s[0] * w, s[1] + s[0])"),
    "a dict": ("{'a': paddle.zeros([3]), 'b': x}", "s['a'] = s['a'] + s['b'] * w"),
    "a list of two": ("[paddle.zeros([3]), x]", "s[0] = s[0] + s[1] * w"),
    "a growing list": ("[x]", "s.append(s[-1] * w)"),
    "a growing and shrinking list": ("[x, x * 2]", "s.append(s.pop() * w); s.append(w * i)"),
    "a tensor set by item": ("paddle.zeros([3, 3])", "s[i] = x * w"),
    "a tensor that grows": ("x.reshape([1, 3])", "s = paddle.concat([s, s[-1:] * w])"),
    "an object": ("SimpleNamespace(h=paddle.zeros([3]))", "s.h = s.h * 0.5 + x * w"),
}


@pytest.mark.sampled(9, also=["for i in range(3)-a Python float times"])
@pytest.mark.parametrize("name", ACCUMULATORS)
@pytest.mark.parametrize("loop", ["for i in range(n)", "for i in range(3)"])
def test_accumulators(name: str, loop: str) -> None:
    """C4, D1, D2: a sum that starts without a gradient has one in the end."""
    start, step = ACCUMULATORS[name]
    guarded = "if x.sum() > i - 1:\n                    " if "(3)" in loop else ""
    text = f"""
        def f(x, n):
            s = {start}
            {loop}:
                {guarded}{step}
            s = s.h if isinstance(s, SimpleNamespace) else s
            if isinstance(s, (tuple, list)):
                s = paddle.stack(s).sum(0)
            if isinstance(s, dict):
                s = s["a"] + s["b"]
            return x * 0.5 if s is None else s * x
    """
    same(lambda: W(text, SimpleNamespace=SimpleNamespace), *COUNTED)


EXITS = {
    "return in an inner loop": """
        def f(x, n):
            for i in range(n):
                x = x * w
                for j in range(n):
                    x = x + w * j
                    if x.sum() > 1:
                        return x * w
            return x - w
    """,
    "return under two conditions": """
        def f(x, n):
            if x.sum() > 0:
                y = x * w
                if y.max() > 0.5:
                    return y * y
                y = y + x
            else:
                y = w
            return y * x
    """,
    "break and else": """
        def f(x, n):
            for i in range(n):
                x = x * w + 0.1
                if x.sum() > 0.4:
                    s = x * x
                    break
            else:
                s = x - w
            return s * x
    """,
    "continue before the sum": """
        def f(x, n):
            s = w
            for i in range(n):
                x = x * w
                if x.sum() > 0:
                    continue
                s = s + x
            return s
    """,
    "return in a while True": """
        def f(x, n):
            c = 0
            while True:
                if c >= n:
                    return x
                x = x * w + x
                c = c + 1
                if x.abs().sum() > 3:
                    return x * w
    """,
    "a raise that is caught": """
        def f(x, n):
            for i in range(3):
                try:
                    if x.sum() > 0.9:
                        raise ValueError("large")
                    x = x * w + 0.5
                except ValueError:
                    x = x * 0.3
            return x
    """,
    "None or a tensor": """
        def f(x, n):
            h = None
            for i in range(n):
                h = x * w if h is None else h * w
            return (x if h is None else h * x)
    """,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EXITS)
def test_exits(name: str) -> None:
    """B6, C1: what was computed before a break, a continue or a return counts, and no more."""
    same(lambda: W(EXITS[name]), *COUNTED)


STOPPED = {
    "detach in one side": """
        def f(x, n):
            if x.sum() > 0:
                y = x.detach() * w
            else:
                y = x * w.detach()
            return y * x
    """,
    "detach in a loop": """
        def f(x, n):
            for i in range(n):
                x = x.detach() * w + x
            return x
    """,
    "stop_gradient in a side": """
        def f(x, n):
            y = x * w
            if x.sum() > 0:
                z = y * 2
                z.stop_gradient = True
            else:
                z = y
            return z * x
    """,
    "stop_gradient before a loop": """
        def f(x, n):
            h = x * w
            h.stop_gradient = True
            for i in range(n):
                h = h * w
            return h + x
    """,
    "no_grad in a side": """
        def f(x, n):
            if x.sum() > 0:
                with paddle.no_grad():
                    k = x * w
                y = k * x
            else:
                y = x * w
            return y
    """,
    "no_grad in a loop": """
        def f(x, n):
            for i in range(n):
                with paddle.no_grad():
                    k = x.max() * w
                x = x * k + w
            return x
    """,
    "a loop in no_grad": """
        def f(x, n):
            y = x
            with paddle.no_grad():
                for i in range(n):
                    y = y * w
            return y * x * w
    """,
    "a branch in no_grad": """
        def f(x, n):
            with paddle.no_grad():
                if x.sum() > 0:
                    k = x * w
                else:
                    k = w
            return k * x
    """,
    "a helper without gradients": """
        @paddle.no_grad()
        def helper(t):
            return t * w if t.sum() > 0 else t

        def f(x, n):
            for i in range(n):
                x = x * w + helper(x)
            return x
    """,
    "enable_grad in no_grad": """
        def f(x, n):
            with paddle.no_grad():
                a = x * w
                with paddle.enable_grad():
                    b = x * w
                    if x.sum() > 0:
                        b = b * x
            return a * x + b
    """,
    "set_grad_enabled": """
        def f(x, n):
            with paddle.set_grad_enabled(False):
                k = x * w
            if x.sum() > 0:
                x = x * k
            return x
    """,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", STOPPED)
def test_gradients_stop_where_they_should(name: str) -> None:
    """No gradient goes through ``detach``, ``stop_gradient`` and ``no_grad``; the others do."""
    same(lambda: W(STOPPED[name]), *COUNTED, moving=False)


INDEXED = {
    "a row at a loop's index": """
        def f(x, n):
            s = paddle.zeros([])
            for i in range(n):
                s = s + x[i] * w[i]
            return s
    """,
    "slices that move": """
        def f(x, n):
            s = x * w
            for i in range(n):
                s = s.clone()
                s[i:] = s[i:].clone() * x[i]
            return s
    """,
    "an item set in a branch": """
        def f(x, n):
            y = x * w
            if x.sum() > 0:
                y[0] = w[1] * x[2]
            else:
                y[1:] = 0.0
            return y * x
    """,
    "where, clip, max, sort": """
        def f(x, n):
            for i in range(n):
                x = paddle.where(x > 0.1, x * w, x.clip(-0.5, 0.5)) + x.max()
                x = paddle.sort(x) * w
            return x
    """,
    "gather and a mask": """
        def f(x, n):
            if x.max() > 0.3:
                x = paddle.gather(x * w, paddle.to_tensor([2, 0, 0]))
            y = x[x > -0.6]
            return y.sum() * w
    """,
    "in place": """
        def f(x, n):
            y = x * w
            for i in range(n):
                y.multiply_(w)
                y.add_(x)
            return y
    """,
    "products of matrices": """
        def f(x, n):
            m = paddle.outer(x, w)
            for i in range(n):
                if m.sum() > 0:
                    m = m @ m.T * 0.5
                else:
                    m = m + paddle.outer(w, x)
            return m
    """,
    "split and stack": """
        def f(x, n):
            for i in range(n):
                a, b, c = x.unbind()
                x = paddle.stack([b * w[0], c, a]) + w
            return x
    """,
    "another dtype": """
        def f(x, n):
            y = x.astype("float64")
            for i in range(n):
                y = y * w.astype("float64") + 0.1
            return y.astype("float32")
    """,
}


@pytest.mark.sampled(3, also=["another dtype", "slices that move", "split and stack"])
@pytest.mark.parametrize("name", INDEXED)
def test_operations(name: str) -> None:
    """Reads and writes at indices, changes in place, casts, within blocks."""
    same(lambda: W(INDEXED[name]), *COUNTED)


# -- layers, functions of one's own, hooks -------------------------------------------------------


class Twice(PyLayer):
    """A gradient of its own: three times what it would be."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensor()
        return g * y * 3, g * x * 3


CUSTOM = {
    "in both sides": """
        def f(x, n):
            if x.sum() > 0:
                y = Twice.apply(x, w)
            else:
                y = Twice.apply(w, x * 2)
            return y * x
    """,
    "in a nested branch": """
        def f(x, n):
            if x.sum() > 0:
                if x.max() > 0.9:
                    x = Twice.apply(x, w) + x
                x = x * w
            return x
    """,
    "in an unrolled loop with an exit": """
        def f(x, n):
            for i in range(3):
                if x.sum() > 1:
                    break
                x = Twice.apply(x, w) + 0.5
            return x
    """,
}


@pytest.mark.parametrize("name", CUSTOM)
def test_functions_with_a_gradient_of_their_own(name: str) -> None:
    """A ``PyLayer`` in branches and unrolled loops."""
    same(lambda: W(CUSTOM[name], Twice=Twice), *COUNTED)


SCALE = paddle.to_tensor([2.0])
TRAINED = paddle.to_tensor([3.0], stop_gradient=False)


class ReadsGlobals(PyLayer):
    """Reads tensors of its module, saved and not."""

    @staticmethod
    def forward(ctx, x, n=2):
        y = x * SCALE * TRAINED
        ctx.n = n
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, y = ctx.saved_tensor()
        if gradient.sum() > 0:
            gradient = gradient * TRAINED
        return gradient * SCALE * x * ctx.n + y * 0


class ReadsItsClass(PyLayer):
    scale = paddle.to_tensor([2.0])

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ReadsItsClass.scale


def test_a_custom_gradient_reads_tensors_of_its_module() -> None:
    """A ``PyLayer`` whose ``forward`` and ``backward`` read globals; Paddle died of these."""
    for text in ("ReadsGlobals.apply(x)", "ReadsGlobals.apply(x, 3) if x.sum() > 0 else -x"):
        function = function_of(f"def f(x): return {text}", ReadsGlobals=ReadsGlobals)
        same(lambda function=function: (function, {}), PLUS, MINUS, moving=False)


def test_a_custom_gradient_reads_variables_around_it() -> None:
    """The same for a ``PyLayer`` in a function."""
    scale = paddle.to_tensor([5.0])

    class Local(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * scale

        @staticmethod
        def backward(ctx, gradient):
            return gradient * scale * scale

    same(lambda: (lambda x: Local.apply(x), {}), PLUS, MINUS, moving=False)


def test_a_custom_gradient_that_reads_an_attribute_is_refused() -> None:
    """D2S307: when Paddle asks for the gradient, the tensor cannot come into the program."""
    x = paddle.ones([1])
    x.stop_gradient = False
    with pytest.raises(LoopGradientError, match="D2S307") as caught:
        d2s.to_static(lambda v: ReadsItsClass.apply(v))(x)
    assert "ReadsItsClass" in str(caught.value)
    assert "save_for_backward" in str(caught.value)


@pytest.mark.parametrize("head", ["for i in range(n):", "if x.sum() > 0:", "for i in range(2):"])
def test_recomputed_parts(head: str) -> None:
    """``recompute`` gives the gradients of what it runs twice."""
    text = f"""
        def part(t):
            return paddle.tanh(t * w) + t

        def f(x, n):
            {head}
                x = recompute(part, x)
            return x * w
    """
    same(lambda: W(text, recompute=recompute, name=None), *COUNTED)


HOOKS = {
    "of a value, in a side": """
        def f(x, n):
            y = x * w
            if x.sum() > 0:
                z = y * x
                z.register_hook(lambda g: g * 2)
                y = z + y
            return y
    """,
    "of a value that a branch reads": """
        def f(x, n):
            y = x * w
            y.register_hook(lambda g: g * 3)
            if x.sum() > 0:
                y = y * x
            return y
    """,
    "of a value that a loop reads": """
        def f(x, n):
            y = x * w
            y.register_hook(lambda g: g.clip(-0.5, 0.5))
            for i in range(n):
                x = x + y
            return x
    """,
    "that only looks": """
        def f(x, n):
            y = x * w
            y.register_hook(lambda g: None)
            return y * x
    """,
}


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_of_tensors(name: str) -> None:
    """A hook changes the gradient of one value and of what comes before it."""
    same(lambda: W(HOOKS[name]), *COUNTED)


class Net(paddle.nn.Layer):
    """One layer used in a branch, in a loop and outside; its hooks scale what goes in and out."""

    def __init__(self, hooks: bool = True) -> None:
        super().__init__()
        self.inner = paddle.nn.Linear(3, 3)
        self.scale = self.create_parameter([3])
        if hooks:
            self.inner.register_forward_pre_hook(lambda layer, given: (given[0] * self.scale,))
            self.inner.register_forward_post_hook(lambda layer, given, result: result * 0.5 + 0.1)

    def forward(self, x, n):
        y = self.inner(x)
        if y.sum() > 0:
            y = self.inner(y) + y
        else:
            y = y * self.scale
        for _i in range(n):
            y = paddle.tanh(self.inner(y)) + x
            if y.max() > 1:
                y = self.inner(y)
        return y


@pytest.mark.parametrize("hooks", [True, False])
def test_one_layer_in_many_places(hooks: bool) -> None:
    """Parameters that are shared by a branch, a loop and the rest; forward hooks run in all."""
    same(lambda: Net(hooks), *COUNTED)


def test_tied_weights_under_several_names() -> None:
    """One parameter, known as an attribute of two layers and as a variable of the closure."""

    def make() -> Any:
        first, second = paddle.nn.Linear(3, 3), paddle.nn.Linear(3, 3)
        second.weight = first.weight
        weight = first.weight

        def f(x, n):
            if x.sum() > 0:
                x = first(x) @ weight
            for _i in range(n):
                x = second(x) * weight[0]
            return x

        return f, {"weight": first.weight, "first": first.bias, "second": second.bias}

    same(make, *COUNTED)


def test_a_list_of_layers_with_an_exit() -> None:
    """Layers behind the exit have no gradient."""

    def make() -> Any:
        layers = paddle.nn.LayerList([paddle.nn.Linear(3, 3) for _ in range(3)])

        def f(x):
            for layer in layers:
                x = paddle.tanh(layer(x)) * 2
                if x.sum() > 0.5:
                    break
            return x

        return f, dict(layers.named_parameters())

    same(make, *SIGNS)


# -- derivatives inside, and calls from outside --------------------------------------------------


@pytest.mark.parametrize(
    "head", ["if x.sum() > 0:", "if x.sum() > 0 and x.max() > 0.9:", "for i in range(2):"]
)
def test_a_derivative_inside_is_differentiated(head: str) -> None:
    """``paddle.grad`` with ``create_graph`` in a block, and the gradient of what it gives."""
    text = f"""
        def f(x, n):
            {head}
                (g,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
                x = x + g * g
            return x * w
    """
    same(lambda: W(text), *COUNTED)


DERIVED = {
    "two of one argument": """
        def f(x):
            (a,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
            (b,) = paddle.grad((x * x * x).sum(), x, create_graph=True)
            return a * a + b * b * w
    """,
    "two steps, each on what the one before gave": """
        def f(x):
            (g,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
            x = x + g * g
            (g,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
            x = x + g * g
            return x * w
    """,
    "the second without a graph": """
        def f(x):
            (g,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
            x = x + g * g
            (g,) = paddle.grad((x * x * w).sum(), x)
            return (x + g * g) * w
    """,
    "the first without a graph": """
        def f(x):
            (g,) = paddle.grad((x * x * w).sum(), x)
            x = x + g * g
            (g,) = paddle.grad((x * x * w).sum(), x, create_graph=True)
            return (x + g * g) * w
    """,
    "of a derivative": """
        def f(x):
            (g,) = paddle.grad((x * x * x * w).sum(), x, create_graph=True)
            (h,) = paddle.grad((g * g).sum(), x, create_graph=True)
            return h * w
    """,
    "steps on what is captured": """
        def f(x):
            u = w
            for i in range(2):
                (g,) = paddle.grad((u * x * u).sum(), u, create_graph=True)
                u = u - 0.1 * g
            return u * x
    """,
}


@pytest.mark.parametrize("name", DERIVED)
def test_derivatives_of_derivatives(name: str) -> None:
    """Several ``paddle.grad`` in one function, and the gradient of what they give."""
    same(lambda: W(DERIVED[name]), *SIGNS)


def test_a_penalty_on_a_gradient() -> None:
    """The gradient of a critic, penalised, gives gradients to the critic."""

    def make() -> Any:
        critic = paddle.nn.Linear(3, 1)

        def f(x):
            score = paddle.tanh(critic(x)).sum()
            (g,) = paddle.grad(score, x, create_graph=True)
            norm = (g * g).sum()
            if norm > 0.3:
                score = score + norm * 0.1
            return score

        return f, {"weight": critic.weight}

    same(make, *SIGNS)


def test_calls_that_wait_for_their_way_back() -> None:
    """Two calls of one program, gone back through in the order of the calls and in the other."""
    w = leaf(0.9, -0.8, 0.6)

    def f(x, n):
        for _i in range(n):
            x = x * w
        return x

    static = d2s.to_static(f)
    for order in ((0, 1), (1, 0)):
        found = []
        for function in (f, static):
            inputs = [leaf(0.5, 1.0, 0.75), leaf(-1.0, 2.0, 3.0)]
            results = [function(x, scalar(2 + at)) for at, x in enumerate(inputs)]
            for at in order:
                results[at].sum().backward()
            found.append([x.grad.numpy() for x in [*inputs, w]])
            w.clear_gradient(False)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_gradients_add_up_over_calls() -> None:
    """As in dygraph, nobody clears what earlier calls have left."""
    w = leaf(0.9, -0.8, 0.6)

    def f(x):
        if x.sum() > 0:
            return x * w
        return x + w

    found = []
    for function in (f, d2s.to_static(f)):
        x = leaf(0.5, 1.0, 0.75)
        for _ in range(3):
            function(x).sum().backward()
        found.append([x.grad.numpy(), w.grad.numpy()])
        w.clear_gradient(False)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_only_one_of_the_results_is_used() -> None:
    """The other one's part of the program gives no gradient."""
    w, v = leaf(0.9, -0.8, 0.6), leaf(0.5, 0.5, 0.5)

    def f(x, n):
        a = b = x
        for _i in range(n):
            a = a * w
            b = b * v
        return a, b

    static = d2s.to_static(f)
    for index in (0, 1):
        found = []
        for function in (f, static):
            x = leaf(0.5, 1.0, 0.75)
            function(x, scalar(2))[index].sum().backward()
            found.append(
                [0 if each.grad is None else each.grad.numpy().sum() for each in (x, w, v)]
            )
            for each in (w, v):
                each.clear_gradient(False)
        assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_an_argument_twice_and_one_that_is_no_leaf() -> None:
    """One tensor given for two parameters; one that comes out of an operation."""

    def f(x, y):
        if x.sum() > 0:
            return x * x * y
        return x - y

    static = d2s.to_static(f)
    for sign in (1.0, -1.0):
        found = []
        for function in (f, static):
            x = leaf(0.5, 1.0, 0.75)
            middle = x * sign
            (function(middle, middle) + function(middle, x)).sum().backward()
            found.append(x.grad.numpy())
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@pytest.mark.parametrize("wanted", itertools.product((True, False), repeat=2), ids=str)
def test_which_arguments_take_a_gradient(wanted: tuple[bool, bool]) -> None:
    """Each combination is a program of its own; who takes none is given none."""

    def f(x, y):
        s = paddle.zeros([3])
        for _i in range(2):
            if (x * y).sum() > 0:
                s = s + x * y
            else:
                s = s - x
        return s

    static = d2s.to_static(f)
    found = []
    for function in (f, static):
        x, y = leaf(0.5, 1.0, 0.75), leaf(0.3, 0.2, 0.1)
        x.stop_gradient, y.stop_gradient = (not each for each in wanted)
        result = function(x, y)
        assert result.stop_gradient is not any(wanted)
        if any(wanted):
            result.sum().backward()
        found.append([None if each.grad is None else each.grad.tolist() for each in (x, y)])
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_dtypes(dtype: str) -> None:
    """The gradient has the dtype of the argument."""
    tolerance = 1e-9 if dtype == "float64" else 2e-2

    def f(x, n):
        for _i in range(n):
            if x.sum() > 0:
                x = x * x
            else:
                x = x - 0.5
        return x

    static = d2s.to_static(f)
    for sign in (1, -1):
        found = []
        for function in (f, static):
            x = (tensor(0.5, 1.0, 0.75) * sign).astype(dtype)
            x.stop_gradient = False
            function(x, scalar(2)).astype("float32").sum().backward()
            assert str(x.grad.dtype) == f"paddle.{dtype}"
            found.append(x.grad.astype("float64").numpy())
        np.testing.assert_allclose(found[0], found[1], rtol=tolerance)


# -- captured tensors, asked for copies and other forms of themselves ----------------------------

FORMS = (
    "w.clone() * x",
    "w.detach() * x",
    "w.flatten() * x",
    "w.cpu() * x",
    "w.to('cpu') * x",
    "w.to('float64').astype('float32') * x",
    "w.view([3, 1]).sum(1) * x",
    "w.view_as(x) * x",
    "w.cumprod(0) * x",
    "x.cpu() * w",
    "x.to('cpu') * w",
    "paddle.clone(w) * x",
    "paddle.flatten(w) * x",
    "paddle.view(w, [3]) * x",
    "paddle.stack([w, w]).sum(0) * x",
    "paddle.stack([w, x]).sum(0)",
    "paddle.median(w) * x",
    "paddle.quantile(w, 0.5) * x",
    "paddle.repeat_interleave(w, 2)[:3] * x",
    "paddle.Tensor.clone(w) * x",
)


@pytest.mark.sampled(
    4,
    also=[
        "w.view_as(x) * x-if x.sum() > 0:",
        "paddle.view(w, [3]) * x-if x.sum() > 0:",
        "paddle.quantile(w, 0.5) * x-if x.sum() > 0:",
    ],
)
@pytest.mark.parametrize("head", ["if x.sum() > 0:", "for i in range(n):"])
@pytest.mark.parametrize("form", FORMS)
def test_forms_of_captured_tensors(form: str, head: str) -> None:
    """What a tensor of dygraph meets in a capture: in Paddle some crash, some lose gradients."""
    text = f"""
        def f(x, n):
            {head}
                x = {form}
            return x
    """
    same(lambda: W(text), *COUNTED, moving="detach" not in form)


def test_a_view_of_other_numbers_is_refused() -> None:
    """There is no operation for it."""
    f = function_of("def f(x):\n    return x.view('int32')\n")
    with pytest.raises(d2s.errors.UnsupportedInGraphError) as raised:
        d2s.to_static(f)(PLUS)
    assert raised.value.code == "D2S205"
    assert raised.value.line == 1 + f.__code__.co_firstlineno


# -- what a loop only reads stays the user's -----------------------------------------------------


class Scaled(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.w = self.create_parameter([3])
        self.register_buffer("b", paddle.ones([3]))
        self.k = paddle.ones([3])


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "head", ["for i in range(n):", "if x.sum() > 0:", "while x.sum() > 1:\n        x = x * 0.5"]
)
@pytest.mark.parametrize("name", ["self.w", "self.b", "self.k", "g"])
def test_the_argument_of_an_in_place_method_is_left_alone(name: str, head: str) -> None:
    """F3: ``y.add_(w)`` changes ``y``; the parameter, buffer or global ``w`` remains the same."""
    lines = ["def forward(self, x, n):", "    y = x * 2", f"    {head}"]
    text = "\n".join([*lines, f"        y.multiply_({name})", "    return y", ""])
    forward = function_of(text, "forward", g=leaf(0.9, -0.8, 0.6))

    def make() -> Any:
        return type("Made", (Scaled,), {"forward": forward})()

    made = d2s.to_static(make())
    before = (made.w, made.b, made.k, forward.__globals__["g"])
    for x, n in COUNTED:
        made(x, n)
    assert all(
        now is was
        for now, was in zip((made.w, made.b, made.k, forward.__globals__["g"]), before, strict=True)
    )
    same(make, *COUNTED, moving=False)


def test_gradients_in_a_loop_of_what_was_computed_before_it_beside_loops() -> None:
    """C7: rows of a Jacobian, in a comprehension of open length; Paddle ended the process."""

    def jacobian(theta, t):
        theta = theta.detach()
        theta.stop_gradient = False
        out = theta[0] * paddle.exp(-theta[1] * t)
        rows = [paddle.grad(out[i], theta, retain_graph=True)[0] for i in range(out.shape[0])]
        return paddle.stack(rows)

    def fit(theta, t):
        for _ in range(3):
            theta = theta - 0.1 * jacobian(theta, t).sum(0)
            if theta.abs().max() > 100:
                break
        return theta

    converted = d2s.to_static(fit, full_graph=True)
    for times in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0]):
        given = tensor(1.0, 2.0), tensor(*times)
        assert np.allclose(converted(*given).numpy(), fit(*given).numpy(), rtol=1e-5)


class Holder:
    def __init__(self, x: Any) -> None:
        self.x = x


DEEP_COPIES = {
    "of an argument": "return copy.deepcopy(x) * x",
    "of what has a history": "return copy.deepcopy(x * 2) * x + x",
    "in a list": "return copy.deepcopy([x, 1])[0] * x",
    "in an object": "return copy.deepcopy(Holder(x * x)).x * x",
    "of a detached one": "return copy.deepcopy(x.detach()) * x",
    "as the result": "return copy.deepcopy(x), x * 2",
    "on one side": """
        if x.sum() > 0:
            y = copy.deepcopy({"k": x})["k"]
        else:
            y = x * 2
        return y * x
    """,
    "in a loop": """
        y, i = x, 0
        while i < 3:
            y = copy.deepcopy(Holder(y)).x * x
            i += 1
        return y
    """,
    "with a gradient of its own": """
        y = copy.deepcopy(x * 2)
        (y * y * x.detach()).sum().backward()
        return (y.grad * 1).detach()
    """,
}


@pytest.mark.parametrize("case", DEEP_COPIES)
def test_no_gradient_goes_through_a_deep_copy(case: str) -> None:
    """C7: it is a leaf, which wants gradients where the tensor does."""
    body = textwrap.indent(textwrap.dedent(DEEP_COPIES[case]).strip(), "    ")
    f = function_of(f"def f(x):\n{body}\n", copy=copy, Holder=Holder)
    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, -3.0))


CHOSEN = {
    "of an early return": """
        w, k = search(x)
        (g,) = paddle.grad((w * w).sum(), [w])
        return g, w, k
    """,
    "used in a branch before": """
        w, k = search(x)
        y = (w * w).sum() if x.sum() > 2 else w.sum()
        (g,) = paddle.grad(y + (w * w * w).sum(), w)
        return g, w, k
    """,
    "used without gradients before": """
        w, k = search(x)
        with paddle.no_grad():
            n = w.norm()
        (g,) = paddle.grad((w * w).sum() * n, w)
        return g, n, k
    """,
    "a second derivative": """
        w, k = search(x)
        (g,) = paddle.grad((w * w * w).sum(), w, create_graph=True)
        (h,) = paddle.grad(g.sum(), w)
        return g.detach(), h, k
    """,
    "and outside": "w, k = search(x)\nreturn (w * w).sum() * w.sum(), k",
}


@pytest.mark.parametrize("case", CHOSEN)
def test_a_tensor_that_is_one_of_several(case: str) -> None:
    """C7, H1: a gradient by it would be a part alone in one program, which is refused."""

    def search(w: Any, trips: int = 5) -> Any:
        for k in range(trips):
            if w.norm() < 0.5:
                return w, k
            w = w * 0.4
        return w, trips

    body = textwrap.indent(textwrap.dedent(CHOSEN[case]).strip(), "    ")
    f = function_of(f"def f(x):\n{body}\n", search=search)
    if case == "and outside":
        assert_same(f, tensor(1.0, 2.0), tensor(-0.1, 0.3), tensor(40.0, 30.0))
        return
    with pytest.raises(UnsupportedInGraphError, match="one of several"):
        d2s.to_static(f, full_graph=True)(paddle.to_tensor([1.0, 2.0], stop_gradient=False))

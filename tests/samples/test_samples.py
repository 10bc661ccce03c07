"""Minimised past failures, each named after what went wrong; none may come back."""

from __future__ import annotations

import contextlib
import gc
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import assert_same, fresh, function_of, scalar, tensor
from tests.processes import python

X = tensor(1.0, 2.0)
BOTH = (X, -X)


def test_a_parameter_rebound_before_an_early_return() -> None:
    """B1, B6: the other side saw the value that the first side had given to ``y``."""

    def f(x, y):
        if x.sum() < 0:
            y = y * 0.5
            return x - y
        return x + y

    assert_same(f, *[(x, X * 3) for x in BOTH])


def test_a_parameter_rebound_by_a_loop_after_an_early_return() -> None:
    """C2: ``NameError``, because the branch did not hand the parameter on to the loop inside."""

    def f(x):
        if x.max() < 0.01:
            return x
        while x.max() > 1:
            x = x * 0.5
        return x

    assert_same(f, *BOTH)


def test_tuples_from_both_sides() -> None:
    """B4: comparing the two tuples made operations in the wrong block."""

    def f(x):
        if x.sum() > 0:
            r = (x * 4, x * 3)
        else:
            r = (x * 2, x * 7)
        return r

    assert_same(f, *BOTH)


def test_a_branch_in_a_loop_that_reads_a_value_from_outside() -> None:
    """C7: the gradient counted one trip only, or was 0."""

    def f(x, n):
        s = x * 0
        for i in range(n):
            if i % 2 == 0:
                s = s + x * x
        return s

    assert_same(f, *[(X, scalar(n)) for n in (0, 1, 4)])


def test_a_loop_in_a_branch_behind_an_early_return() -> None:
    """C7: ``DenseTensor shouldn't be null`` in the backward."""

    def f(x, n):
        if x.sum() < 0:
            return x
        h = x * 0
        for _ in range(n):
            h = paddle.tanh(h + x)
        return h * x

    assert_same(f, *[(x, scalar(3)) for x in BOTH])


def test_a_branch_that_hands_on_nothing_beside_a_gradient() -> None:
    """C7: Paddle read saved values before they were back."""

    def f(x, y):
        k = 1
        if x.sum() > 0.37:
            if x.sum() > 0.37:
                w = 0
                while x.sum() > 0.37 and w < 1:
                    w = w + 1
                    k = 2
            x = x * 0.5
        return x + y * k * 0

    assert_same(f, *[(x, X) for x in BOTH])


def test_gradients_survive_the_capture_of_another_program() -> None:
    """F3: building a training program dropped the gradients of its parameters."""
    linear = paddle.nn.Linear(2, 2)

    @d2s.to_static
    def f(x, twice=False):
        return linear(x) * 2 if twice else linear(x)

    f(X, twice=True).sum().backward()
    before = linear.weight.grad.numpy().copy()
    f(X)
    assert linear.weight.grad is not None
    assert (linear.weight.grad.numpy() == before).all()


def test_a_range_bound_stays_a_tensor() -> None:
    """E1: ``range(n)`` made the argument ``n`` itself count as a Python number."""

    def f(x, n):
        for i in range(n):
            x = x + i
        return x, n + 0

    assert_same(f, (X, scalar(2)), grad=False)


def test_an_item_assigned_a_constant_has_no_gradient() -> None:
    """C7: Paddle's gradient went through the item that was overwritten."""

    def f(x):
        y = x * 3
        y[0] = 7.0
        return y

    assert_same(f, *BOTH)


def test_a_failed_capture_leaves_nothing_behind() -> None:
    """A later program got values of the failed one, and the process crashed."""
    weight = paddle.create_parameter([2], "float32")

    def fails(x):
        y = x * weight
        raise KeyError("no")
        return y

    def works(x):
        return x * weight

    for _ in range(20):
        with pytest.raises(KeyError):
            d2s.to_static(fails)(X)
        gc.collect()
        assert d2s.to_static(works)(X).shape == [2]


def test_text_in_front_of_a_branch_is_printed_first(capfd) -> None:
    """F1: the serial interpreter ran a later ``print`` before the branch."""

    @d2s.to_static
    def f(x):
        print("before")
        if x.sum() < 0:
            raise ValueError("no")
        print("after")
        return x

    f(X)
    with pytest.raises(ValueError, match="no"):
        f(-X)
    assert capfd.readouterr().out == "before\nafter\nbefore\n"


def test_a_value_used_before_between_and_in_two_loops() -> None:
    """C7: the first loop's accumulator began with one of several later gradients only."""

    def f(x, y):
        i = 0
        while i < 2:
            i = i + 1
            x = paddle.tanh(y) - x
            if y.sum() > 0.11 and y.sum() < 1.13:
                break
        x = y * 0.25 + x * 0.25
        i = 0
        while i < 2:
            i = i + 1
            if x.sum() > 0.37:
                y = x * 0.75
                break
            x = paddle.tanh(y) - x
        return x - y

    assert_same(f, (tensor(-1.5, 0.3), tensor(1.5, -0.7)), (X, X))


# -- found by running the tests of real packages, converted (tests/transparency) ------------------


def test_nonlocal_of_a_function_that_is_defined_in_a_branch() -> None:
    """A4: the branch got a variable of its own, and ``count`` of the function stayed 0."""

    def f(kind):
        count = 0
        if kind:

            def step():
                nonlocal count
                count += 1

            step()
        else:
            step = None
        return count

    assert d2s.convert(f)(True) == f(True) == 1


def test_nonlocal_through_a_function_in_between() -> None:
    """A4: ``between`` does not bind ``count``; it got a variable of that name all the same."""

    def f(kind):
        count = 0

        def between():
            def step():
                nonlocal count
                count += 1

            if kind:
                step()

        between()
        return count

    assert d2s.convert(f)(True) == f(True) == 1


def test_a_handler_that_reads_what_it_binds() -> None:
    """A1: ``NameError``; what a handler binds counted as not read before it."""

    def f(kind):
        n = 1
        if kind:
            try:
                raise ValueError
            except ValueError:
                n = n + 1
                print(n)
        return kind

    assert d2s.convert(f)(True) is f(True)


def test_a_return_from_a_loop_in_a_handler() -> None:
    """A1: the flag of the return was unbound where the loop asked for it."""

    def f(xs):
        if not xs:
            return 0
        try:
            return xs[9]
        except IndexError:
            for x in xs:
                if x > 1:
                    return x
        return -1

    converted = d2s.convert(f)
    for xs in ([], [1], [1, 2]):
        assert converted(xs) == f(xs)


def test_a_callee_without_source() -> None:
    """A1: converted code refused to call what ``exec`` and ``dataclass`` make."""
    names: dict = {}
    exec("def double(x):\n    return x * 2", names)

    def f(x):
        return names["double"](x)

    converted = d2s.convert(f)
    assert [converted(2), converted(3)] == [4, 6]


def test_eval_in_a_branch() -> None:
    """A1: ``NameError``; the body function had none of the variables that the text names."""

    def f(a, b):
        if a:
            total = eval("a + b")
        else:
            total = b and eval("b")
        for i in range(2):  # noqa: B007 - eval reads it
            total += eval("i + b")
        return total

    converted = d2s.convert(f)
    assert [converted(1, 2), converted(0, 2)] == [f(1, 2), f(0, 2)] == [8, 7]


def test_locals_in_a_branch() -> None:
    """A1: it held the variables of the body function."""

    def f(a):
        b = 1
        if a:
            c = b + 1
            return "{a} {b} {c}".format(**locals())
        return None

    assert d2s.convert(f)(7) == "7 1 2"


def test_the_frame_of_the_caller() -> None:
    """A1: under an ``if`` the caller was an operator; a named tuple got its module name."""

    def f(a):
        if a:
            return sys._getframe(1).f_code.co_name
        return None

    assert d2s.convert(f)(1) == "test_the_frame_of_the_caller"


def test_annotations_that_are_never_evaluated() -> None:
    """D2S101: under ``from __future__ import annotations`` (as here) they leave no names."""

    def f(x):
        def g(y: OnlyForTypeCheckers) -> OnlyForTypeCheckers:  # noqa: F821
            return y + 1

        return g(x)

    assert d2s.convert(f)(1) == 2


def test_super_in_a_class_that_a_function_makes() -> None:
    """A2: it got the function's own first argument as its instance."""

    def f(base, text):
        class Loud(base):
            def __str__(self):
                if text:
                    return super().__str__() + text
                return super().__str__()

        return str(Loud())

    class Quiet:
        def __str__(self):
            return "a"

    assert d2s.convert(f)(Quiet, "!") == f(Quiet, "!") == "a!"


def test_super_in_a_function_inside_a_method() -> None:
    """A2: ``super()`` is about the first argument of the function that it stands in."""

    class Base:
        def name(self):
            return f"base of {self.tag}"

    class Sub(Base):
        def __init__(self, tag):
            self.tag = tag

        def both(self, other):
            def name(one):
                if one is not None:
                    return super().name()
                return None

            return name(self), name(other), (lambda this: super().name())(other)

    one, other = Sub("one"), Sub("other")
    assert d2s.convert(Sub.both)(one, other) == one.both(other)
    assert one.both(other) == ("base of one", "base of other", "base of other")


def test_an_attribute_with_an_annotation_only() -> None:
    """``self.items: list`` without a value ended the conversion with an ``AttributeError``."""

    class Box:
        def fill(self, items):
            self.items: list
            if items:
                self.items = list(items)
            return self.items

    assert d2s.convert(Box.fill)(Box(), "ab") == ["a", "b"]


def test_a_variable_that_a_branch_or_loop_deletes() -> None:
    """A1: ``UnboundLocalError``; a variable that nobody reads again counted as the branch's own."""

    def f(xs):
        large = list(xs)
        if xs:
            del large
        while xs:
            last = xs.pop()
            if not xs:
                del last
        return "done"

    assert [d2s.convert(f)([1, 2]), d2s.convert(f)([])] == [f([1, 2]), f([])]


def test_a_condition_that_is_read_again_behind_its_loop() -> None:
    """C1: the loop wrote its last condition over the first one: ``False`` from then on."""

    def f(x, n):
        keep = x.sum() > 0
        going, k = keep, n
        while going:
            x = x * 2
            k = k - 1
            going = k > 0
        going, k = keep, n
        while going:
            x = x + 1
            k = k - 1
            going = k > 0
        if keep:
            x = x * 3
        return x

    assert_same(f, *[(x, scalar(3)) for x in BOTH])


def test_a_block_that_combines_the_same_values_as_the_code_around() -> None:
    """B1, C1: it freed the values, and the next reader found that a "Tensor holds no memory"."""

    def f(x, n):
        y, z = x * 2, x * 3
        a = paddle.stack([y, z]).sum(0)
        if x.sum() > 0:
            a = a + paddle.concat([y, z]).sum() * y
        for i in range(n):
            a = a + paddle.concat([y, z]).sum() * z
            b = paddle.stack([a, z]).mean(0)
            for _j in range(i + 1):
                b = paddle.tanh(paddle.concat([a, z]).sum() * b)
            a = a + b
        first, second = paddle.split(y, 2)
        if x.sum() < 9:
            left, right = paddle.split(y, 2)
            a = a + left * right
        return a + y * z + first - second

    assert_same(f, *[(x, scalar(3)) for x in BOTH])


def test_an_index_in_the_test_of_an_inner_loop_and_around_it() -> None:
    """C7: "DenseTensor shouldn't be null", as the inner loop freed the index of the outer one."""

    def f(x, bounds):
        for i in range(scalar(3)):
            while x.abs().max() > bounds[i]:
                x = x * 0.8
            x = x + 1
        return x

    assert_same(f, *[(x, tensor(1.5, 2.0, 0.5)) for x in BOTH])


def test_a_loop_that_always_breaks() -> None:
    """A1: it went on; the flag that ends it was one of the body function's own."""

    def f(rows):
        seen = []
        for row in rows:
            if row:
                for item in row:
                    seen.append(item)
                    break
        for row in rows:
            seen.append(row)
            if row:
                continue
            break
        return seen

    rows = [[1, 2], [], [3]]
    assert d2s.convert(f)(rows) == f(rows) == [1, 3, [1, 2], []]


def test_what_a_handler_reads_of_the_last_statement() -> None:
    """A1: ``NameError``; only the end of the ``try`` counted, not the way out of its middle."""

    def f(xs):
        try:
            for x in xs:
                if x > 1:
                    found = x * 2
                    xs[found]
        except IndexError:
            return x, found
        return None

    assert d2s.convert(f)([1, 2]) == f([1, 2]) == (2, 4)


def test_what_is_read_behind_a_swallowed_exception() -> None:
    """A1: the value of before the ``with`` came back."""

    def f(xs):
        x = 0
        with contextlib.suppress(IndexError):
            for x in xs:
                xs[x]
            x = -1
        return x

    assert [d2s.convert(f)(xs) for xs in ([0], [0, 5, 1])] == [f([0]), f([0, 5, 1])] == [-1, 5]


def test_a_function_made_in_a_branch_writes_nonlocal() -> None:
    """A4, B1: what it wrote was lost behind the branch."""

    def f(x, y):
        if x.sum() > 0:

            def halve():
                nonlocal y
                if y.sum() > 0:
                    y = y * 0.5

            halve()
        return y

    assert_same(f, *[(x, X * 3) for x in BOTH])


def test_a_function_made_in_a_loop_writes_nonlocal() -> None:
    """A4, C2: what it wrote was no loop variable."""

    def f(x, n):
        for _ in range(n):

            def halve():
                nonlocal x
                x = x * 0.5

            halve()
        return x

    assert_same(f, *[(X, scalar(n)) for n in (0, 1, 3)])


def test_a_saved_program_gives_arguments_and_repetitions(tmp_path: Path) -> None:
    """G3: what was returned as it came in, or twice, was missing from the loaded result."""

    def f(x, y):
        z = x * y
        return x, z, {"again": z, "y": y}

    specs = [paddle.static.InputSpec([2], "float32", name) for name in "xy"]
    d2s.save(d2s.to_static(f, input_spec=specs), str(tmp_path / "program"))
    loaded = d2s.load(str(tmp_path / "program"))(X, X * 3)
    z = (X * X * 3).tolist()
    assert [item.tolist() for item in loaded] == [X.tolist(), z, z, (X * 3).tolist()]


def test_a_process_ends_well_after_a_leaked_value(tmp_path: Path) -> None:
    """E1: Paddle aborts when it takes the refused program apart (found by a random search)."""
    script = tmp_path / "leaks.py"
    script.write_text(
        textwrap.dedent(
            """
            import d2s, paddle

            def f(x, y):
                if x.sum() > 0:
                    def change(z=y * 0.5):
                        return y + z
                else:
                    def change(z=y * 2):
                        return y + z
                y = y + 1
                return change()

            try:
                d2s.to_static(f)(paddle.ones([2]), paddle.ones([2]))
            except d2s.D2SError as error:
                print(error.code)
            """
        ),
        encoding="utf-8",
    )
    done = python(str(script))
    assert (done.returncode, done.stdout.split()) == (0, ["D2S305"])


class Scaled(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)
        self.scale = paddle.to_tensor([2.0, 3.0])
        self.shifts = [paddle.to_tensor([0.5, 0.25]), paddle.to_tensor(1.0)]

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.linear(x) * self.scale + self.shifts[0] + self.shifts[1]


@pytest.mark.parametrize("kind", ["layer", "method", "function", "object"])
def test_what_is_saved_may_read_any_tensor(kind: str, tmp_path: Path) -> None:
    """G3: Paddle saves what a layer names: a plain attribute was a KeyError, a closure refused."""
    layer = Scaled()
    what = {
        "layer": layer,
        "method": layer.forward,
        "function": lambda x: layer(x) * layer.scale,
        "object": types.MethodType(lambda self, x: layer(x) * self.scale, Holder(layer.scale)),
    }[kind]
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    expected, names = what(x).numpy(), list(layer.to_static_state_dict())
    d2s.save(what, str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([None, 2])])
    assert list(layer.to_static_state_dict()) == names
    np.testing.assert_array_equal(d2s.load(str(tmp_path / "f"))(x).numpy(), expected)
    assert what(x).numpy() == pytest.approx(expected)


STATE = """
import numpy as np
import paddle

class Sampler(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.sigmas = paddle.to_tensor([3.0, 1.0, 0.5])
        self.count = paddle.to_tensor(2)
        self.table = paddle.ones([300, 300])

    def forward(self, x):
        TEXT
        return x * y
"""


@pytest.mark.parametrize(
    "text",
    [
        "y = self.sigmas[1] * 2 if self.sigmas[0] > 1 else self.sigmas[2]",
        "y = paddle.to_tensor(np.interp([0.5, 1.5], [0.0, 1.0, 2.0], self.sigmas.numpy()))[0]",
        "logs = np.log(((1 + self.sigmas) / self.sigmas).numpy())\n"
        "        y = paddle.to_tensor(np.linspace(logs[0], 1.0, 3).astype('float32'))[0]",
        "y = x\n        for i in range(3):\n"
        "            y = y + i if self.sigmas[i] > 0.7 else y * self.sigmas[i]",
        "y = x\n        i = paddle.zeros([])\n        while i < self.count:\n"
        "            y = y + 1 if self.sigmas[0] > i else y * 2\n            i = i + 1",
        "self.sigmas = self.sigmas * 2\n        y = x if self.sigmas[1] > 1.5 else -x",
        "s = self.sigmas\n        y = x if s[0] > 2 or s[1] > 0 and s.sum() > 0 else -x",
        "y = x\n        if x.sum() > 0:\n"
        "            y = x + 1 if self.sigmas[0] > 2 or self.sigmas[1] > 0 else x",
        "y = x + 1 if self.table.sum() > 0 or x.sum() > 9 else x",
    ],
    ids=[
        *("if", "interp", "log", "if in a loop", "if in a static loop", "changed state"),
        *("and, or", "or in a branch", "many elements"),
    ],
)
def test_a_file_computes_nothing_of_its_state_again(text: str, tmp_path: Path) -> None:
    """G3: Paddle Inference failed at an ``if`` on a constant; NumPy on constants was refused."""
    layer = function_of(STATE.replace("TEXT", text), "Sampler")()
    spec = [paddle.static.InputSpec([None], "float32")]
    x = paddle.to_tensor([1.0, 2.0])
    name = str(tmp_path / "f")
    d2s.save(layer, name, input_spec=spec)
    np.savez(f"{name}.npz", **{"0/0": x.numpy()})
    predict = ("-W", "ignore", "-m", "corpus.predict")
    done = python(*predict, name, f"{name}.npz", f"{name}.out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(f"{name}.out.npz") as found:
        np.testing.assert_allclose(found["inference/0/0"], layer(x).numpy(), 1e-6)


class Holder:
    def __init__(self, scale: paddle.Tensor) -> None:
        self.scale = scale


def test_a_filter_on_tensors_of_open_length() -> None:
    """C6: what was not kept had another length than what was, and joining them failed."""

    def f(x, y):
        y = y + 0.25
        pairs = [(v * 2, v.sum()) for v in (x, y, x * y) if v.sum() > 0.37]
        return y - sum([v * 0.5 for v in (x, y) if v.sum() > 0.37], y * 0.25), pairs

    calls = [
        (paddle.to_tensor([a] * n), paddle.to_tensor([b] * n))
        for n in (2, 3, 4, 0, 1)
        for a, b in ((-2.0, 1.0), (2.0, 1.0), (-2.0, -1.0), (2.0, -1.0))
    ]
    assert_same(f, *calls, grad=False)


def test_a_filter_on_tensors_of_two_lengths() -> None:
    """C6: the one of them that is kept."""

    def f(x):
        return [v for v in (x[:2], x[:3]) if v.sum() > 2.5]

    assert_same(f, paddle.ones([5]), paddle.zeros([5]))


@pytest.mark.parametrize(
    "text",
    ["i, 0:2", "0:2, i", "1:i, 0:2", "i, ..., 1:", "0:i, 0:i, 1:3", "None, i, 1:3, ...", "i, ::2"],
)
def test_an_index_that_a_tensor_and_a_slice_share(text) -> None:
    """E4: ``x[i, 0:2]`` had the shape ``[0]`` in the program, and ``x.shape`` said so."""
    f = function_of(
        f"""
        def f(y, i):
            z = y[{text}]
            return z, z.shape, (z * 2).sum()
        """
    )
    y = paddle.reshape(paddle.arange(60.0), [3, 4, 5])
    assert_same(f, (y, scalar(1, "int64")), (y, scalar(2, "int64")))


def test_numbers_of_a_floating_tensor() -> None:
    """C5, E4: ``range`` and an index take it as ``int()`` does; a float of Python they refuse."""

    def trips(x):
        for _ in range(x.sum()):
            x = x + 1
        return x

    def item(x):
        return [x, x + 1, x + 2][x.sum()]

    def wrong_range(x):
        for _ in range(float(x.sum())):
            x = x + 1
        return x

    def wrong_index(x):
        return [x, x + 1, x + 2][float(x.sum())]

    for function in (trips, item, wrong_range, wrong_index):
        assert_same(function, tensor(1.7), tensor(2.0), tensor(-1.5), grad=False)


def test_a_tensor_without_dimensions_is_iterated() -> None:
    """C5: no trip, as in dygraph."""

    def f(x):
        for v in x.mean():
            x = x + v
        for i, v in enumerate(x.mean()):
            x = x + v + i
        return x, [v for v in x.mean()]

    assert_same(f, X)


def test_an_exception_in_a_loop_that_makes_no_trip() -> None:
    """C1, F1: what Python raises in the body was raised though there was no trip."""

    def f(x, table):
        y = x
        while x.sum() < 3:
            x = x + table["step"]
            y = x * 2
        return x, y

    assert_same(f, (X * 4, {}), (X, {}), (X * 4, {}), grad=False)


def test_a_variable_that_a_trip_deletes() -> None:
    """B2, C3: the second ``del`` raises, in the trip in which it is come to."""

    def once(x):
        t = x
        while x.sum() < 6:
            x = x + 1
            del t
        return x

    def twice(x):
        t = x
        for _ in range(x.sum().astype("int32")):
            del t
            del t  # noqa: F821 - what is tested
        return x

    def anew(x):
        while x.sum() < 6:
            t = x * 2
            x = x + 1
            del t
        return x

    for function in (once, twice, anew):
        assert_same(function, X, X * 0, X * 5, grad=False)


def test_is_of_what_was_just_computed() -> None:
    """B6, E1: only of variables it asked the run; ``helper(x) is None`` was ``False`` always."""

    def helper(x):
        return None if x.sum() > 0 else x

    def f(x):
        b = bool(x.sum() > 0)
        return (
            (b is True) is False,
            bool(x.sum() > 0) is True,
            helper(x) is None,
            (helper(x) or b) is None,
            (not x.sum() > 0) is True,
            (b and True) is True,
            (x > 0) is True,
        )

    assert_same(f, tensor(1.0), tensor(-1.0))


def test_a_printed_tensor_of_no_grad_behind_a_return() -> None:
    """F1: the check took ``stop_gradient=False`` in a text, true of another path, for an error."""

    def f(x):
        with paddle.no_grad():
            if x.sum() > 0.37:
                return x * 0.5
            x = x * 0.5
        print(x)
        return x

    for x in BOTH:
        assert d2s.check(f, fresh(x))


def test_one_dict_on_both_sides_of_a_choice() -> None:
    """B6, D2: what was stored in it stood in the place of what the side not taken has: zeros."""

    def f(x, y):
        table = {"a": x}
        if y.sum() > 0:
            table.setdefault("d", x * 0.5)
        if y.sum() > 1:
            table.setdefault("d", x * 0.25)
        table["a"] = x * 3
        return table

    assert_same(f, *((X, X * factor) for factor in (-1.0, 0.2, 5.0)))


def test_one_list_on_both_sides_of_a_choice() -> None:
    """B6, D1: the same for lists, which grow on one side only."""

    def f(x, y):
        items = [x]
        if y.sum() > 0:
            items = [x, x * 2]
        if y.sum() > 1:
            items = items if len(items) > 1 else items + [x * 9]  # noqa: RUF005 - a choice
        items[0] = x * 8
        items.append(x * 7)
        return items

    assert_same(f, *((X, X * factor) for factor in (-1.0, 0.2, 5.0)))


def test_a_context_manager_around_what_a_loop_captures_twice() -> None:
    """C4, F1: the exception that asks for another attempt was kept, and raised by the run."""
    function = function_of("""
        import contextlib

        @contextlib.contextmanager
        def noted():
            yield
            print("left")

        def f(x, n):
            items = [x]
            for _ in range(n):
                with noted():
                    items.reverse()
                items.insert(0, x * 2)
            return items[0], len(items)
    """)
    assert_same(function, (X, scalar(2)), (X, scalar(0)), (X, scalar(3)))


def test_a_list_of_open_size_made_anew_behind_an_early_exit() -> None:
    """D1: the item of the side that was not taken, of another size, was put into the list too."""

    def helper(v):
        if v.sum() > 0.3:
            return v * 0.5
        return v - 0.25

    def f(x, y):
        items = [x]
        trips = 0
        while True:
            trips = trips + 1
            if trips > 1 or x.sum() > -0.41:
                break
            items = [helper(y) * 0.5]
            items += [helper(x) * 0.5]
            assert x.sum() > -9.0
        items += [y * 0.5]
        return paddle.stack(items).sum(0) + x

    calls = [(tensor(*[0.5] * size) * sign, tensor(*[1.0] * size)) for size in (2, 3, 4)
             for sign in (1.0, -1.0)]  # fmt: skip
    assert_same(f, *calls)


@pytest.mark.parametrize("start", ["", ", x * 0.5", ", 0.7", ", 2"])
@pytest.mark.parametrize("item", ["y * 0.3 * i", "y[0] * i"])
def test_sum_adds_in_the_order_of_python(start: str, item: str) -> None:
    """A1: of a list that the run makes, in an order of its own; the last digit was another one."""
    if "x" in start and "[0]" in item:
        start = ", x[0]"
    function = function_of(f"def f(x, y, n):\n    return sum([{item} for i in range(n)]{start})")
    static = d2s.to_static(function)
    for seed in range(30):
        paddle.seed(seed)
        given = [paddle.rand([3]), paddle.rand([3]), scalar(seed % 8 + 1)]
        want, got = function(*given), static(*given)
        assert float(paddle.to_tensor(want).sum()) == float(paddle.to_tensor(got).sum())
    assert_same(function, *[(X, X * 3, scalar(count)) for count in (1, 3, 4)])

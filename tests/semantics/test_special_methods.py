"""Special methods of the user's classes that a tensor decides: truth, length, numbers, membership.

Python's own ``bool()`` insists on a bool, ``int()`` on an int; a program asks the method itself.
"""

from __future__ import annotations

import contextlib
import copy
import io
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, -2.0, 3.0)

CLASS = """
    class Signal:
        def __init__(self, values):
            self.values = values
        def __bool__(self):
            return bool(self.values.sum() > 0)
        def __len__(self):
            return int(self.values.abs().max())
        def __int__(self):
            return int(self.values.sum())
        def __float__(self):
            return float(self.values.sum())
        def __contains__(self, number):
            return bool((self.values == number).any())
        def __abs__(self):
            return Signal(self.values.abs())
        def __lt__(self, other):
            return bool(self.values.sum() < other.values.sum())
        def __getitem__(self, index):
            if self.values[index] > 0:
                return self.values[index]
            return self.values[index] * 0
        def __call__(self, factor):
            if self.values.sum() > 0:
                return self.values * factor
            return self.values
        @property
        def peak(self):
            if self.values.sum() > 0:
                return self.values.max()
            return self.values.min()

    class Sized:
        def __init__(self, values):
            self.values = values
        def __len__(self):
            return int(self.values.clip(0.0).sum())
"""

USES = """
    x * 2 if Signal(x) else x * 3 | x * 2 if not Signal(x) else x | bool(Signal(x)) | len(Signal(x))
    x if Signal(x) and x.sum() > 1 else x * 5
    int(Signal(x)) | float(Signal(x)) | abs(Signal(x)).values
    1.0 in Signal(x) | (7.0 not in Signal(x), 1.0 in Signal(x)) | Signal(x) < Signal(x * 2)
    Signal(x)[1] | Signal(x)(2.0) | Signal(x).peak | any([Signal(x), Signal(-x)])
    all([Signal(x), Signal(-x)]) | [1 for each in [Signal(x), Signal(-x)] if each]
    1 if Signal(-x) < Signal(x) else 2 | x * 2 if Sized(x) else x | not Sized(x)
    sorted([x, -x], key=lambda each: float(Signal(each)))
"""


@pytest.mark.sampled(3, also=["Signal(x).peak"])
@pytest.mark.parametrize("text", [each.strip() for each in USES.replace("\n", "|").split("|")])
def test_special_methods_that_a_tensor_decides(text: str) -> None:
    """E1, E2: of an object that the function makes."""
    if text:
        assert_same(function_of(f"{CLASS}\n    def f(x): return {text}", "f"), X, -X)


def test_of_an_object_from_outside() -> None:
    """E2: methods that Python calls are converted for objects of globals and arguments, too."""
    function = function_of(f"""{CLASS}
    kept = Signal(paddle.to_tensor([1.0, -2.0, 0.5]))
    def f(x):
        kept.values = kept.values + x
        return kept[0], kept(2.0), kept.peak, 1.5 in kept
    """)
    static = d2s.to_static(function)
    for given in (X, X, -X * 4, X):
        kept = function.__globals__["kept"]
        before = kept.values
        want = function(given)
        kept.values = before
        got = static(given)
        assert [str(each) for each in got] == [str(each) for each in want]


def test_a_function_of_paddle_that_python_calls_back() -> None:
    """E2: ``map(paddle.stack, ...)`` in the ``__getitem__`` of a container from outside."""
    rows = [(paddle.ones([2]) * each, paddle.zeros([1])) for each in range(4)]

    class Memory:
        def __getitem__(self, places: Any) -> Any:
            return tuple(map(paddle.stack, zip(*[rows[each] for each in places], strict=True)))

    memory = Memory()

    def f(x):
        first, second = memory[[0, 3]]
        return first * x + second

    assert_same(f, tensor(1.0, 2.0))


DTYPES = """
    k.any() | k.all() | paddle.any(k > 1) | paddle.equal_all(k, k) | paddle.exp(k) | k.log()
    paddle.log1p(k) | paddle.expm1(k) | paddle.log2(k) | paddle.log10(k)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
@pytest.mark.parametrize("text", [each.strip() for each in DTYPES.replace("\n", "|").split("|")])
def test_dtypes_are_declared_as_the_kernels_give_them(text: str, dtype: str) -> None:
    """E1, B1: what is built on the result of integers and bools sees the dtype that dygraph has."""
    if not text or (dtype == "bool" and ("log" in text or "exp" in text)):
        return  # dygraph has no kernels for those
    function = function_of(f"""
        def f(k):
            y = {text}
            if y.sum() > 0:
                z = y.astype("float32") * 2
            else:
                z = y.astype("float32") - 1
            return y, z, str(y.dtype), [y, y] if y.dtype == paddle.bool else y * 2
    """)
    for values in ([1, 2, 3], [1, 1, 0]):
        given = paddle.to_tensor(values).astype(dtype)
        want, got = function(given), d2s.to_static(function)(given)
        assert str(got) == str(want)


def test_a_loop_until_an_integer_tensor_has_no_ones() -> None:
    """C1: ``while frontier.any()`` of an int64 tensor."""

    def f(k):
        steps = 0
        while k.any():
            k = (k - 1).clip(0)
            steps += 1
        return k, steps

    assert_same(f, tensor(3, 1, 0, dtype="int64"), tensor(0, 0, 0, dtype="int64"), grad=False)


def test_size_is_called() -> None:
    """E4: ``x.size`` is a number that gives the shape when it is called."""

    def f(x):
        return x.size, x.size(), x.size(0), x * x.size

    assert_same(f, X)


def test_a_tensor_is_asked_for_its_kind() -> None:
    """E1: tensors of a program are dense."""

    def f(x):
        if x.is_dense() and not (x.is_sparse() or x.is_sparse_coo() or x.is_sparse_csr()):
            x = x * 2
        return x, x.is_selected_rows()

    assert_same(f, X)


def test_parameters_are_set_from_a_dict() -> None:
    """F3: ``set_state_dict`` in the function writes on every run."""
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2))
    begin = {key: value.clone() for key, value in net.state_dict().items()}
    other = {key: value.clone() * 0 + 3 for key, value in net.state_dict().items()}

    def f(x):
        before = net(x).sum()
        net.set_state_dict(other)
        return before, net(x).sum()

    def outcome(function: Any, x: Any) -> str:
        net.set_state_dict(begin)
        with paddle.no_grad():  # with gradients, those of the first result would be of new contents
            results = function(x)
        return f"{results} {[value.tolist() for value in net.state_dict().values()]}"

    x = paddle.to_tensor([[1.0, 2.0], [3.0, -1.0]])
    static = d2s.to_static(f)
    for scale in (1.0, 2.0):
        assert outcome(static, x * scale) == outcome(f, x * scale)


def test_a_tensor_beside_an_object_with_reflected_operators() -> None:
    """E2: Paddle leaves these to the class of the other operand."""

    class Scaled:
        def __init__(self, value):
            self.value = value

        def __rmul__(self, other):
            return self.value * other + 1

        __radd__ = __rsub__ = __rmatmul__ = __rpow__ = __rmul__

    def function(x):
        right = Scaled(x)
        n = int(x)
        return x * right, x + right, x - right, x**right, 2 * right, n * right

    assert_same(function, scalar(3.0), scalar(-2.0))


ATTRIBUTES = {
    "__setattr__": """
        def __setattr__(self, name, value):
            print("set", name, value)
            if isinstance(value, paddle.Tensor):
                value = value * 2
                if value.sum() > 4:
                    value = value + 1
            super().__setattr__(name, value)
    """,
    "__setattr__ that counts": """
        def __setattr__(self, name, value):
            self.__dict__["sets"] = self.__dict__.get("sets", 0) + 1
            self.__dict__[name] = value * 2 if isinstance(value, paddle.Tensor) else value
    """,
    "__delattr__": """
        def __delattr__(self, name):
            if isinstance(self.kept, paddle.Tensor) and self.kept.sum() > 0:
                self.other = self.kept * 3
            super().__delattr__(name)
    """,
    "__getattr__": """
        def __getattr__(self, name):
            if name.startswith("_") or name == "absent":
                raise AttributeError(name)
            held = self.__dict__["kept"]
            if isinstance(held, paddle.Tensor):
                return held * 2 if held.sum() > 0 else held - 1
            return 7
    """,
    "__getattribute__": """
        def __getattribute__(self, name):
            found = super().__getattribute__(name)
            if isinstance(found, paddle.Tensor):
                return found * 2 if found.sum() > 0 else found - 1
            return found
    """,
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("case", ATTRIBUTES)
def test_methods_that_attributes_are_read_and_set_by(case: str, full_graph: bool) -> None:
    """E2, F1: they meet tensors, decide by them, and print on each run."""
    text = f"""
    class Box:
        def __init__(self, x):
            self.kept = x
            self.other = 1
{ATTRIBUTES[case]}
    def f(x, box):
        box.kept = box.kept + x
        if x.sum() > 0:
            box.kept = x
            setattr(box, "more", x)
            seen = hasattr(box, "absent"), getattr(box, "absent", 5), box.kept
        else:
            seen = hasattr(box, "absent"), box.kept
        for _ in range(3):
            if box.kept.sum() < 20:
                box.kept = box.kept + box.kept
        found = box.kept, getattr(box, "extra", 0), seen
        del box.kept
        return found, box.other
    """
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=full_graph)):
        made = function_of(text)
        f, shown = convert(made), []
        for values in ([1.0, 2.0], [-1.0, -2.0], [0.25, 0.5]):
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                result = f(tensor(*values), made.__globals__["Box"](tensor(0.5, 0.25)))
            shown.append((repr(result), stream.getvalue()))
        found.append(shown)
    assert found[0] == found[1]


COPIED = {
    "__copy__": "def __copy__(self):\n            return Kept(self.x * 2 if self.is_one() else 5)",
    "__deepcopy__": "def __deepcopy__(self, memo):\n"
    "            return Kept(self.x * 3 if self.x.sum() > 0 else self.x - 1)",
    "__reduce__": "def __reduce__(self):\n"
    "            return Kept, (self.x * 2 if self.is_one() else 5,)",
    "__getstate__": "def __getstate__(self):\n"
    "            return {'x': self.x * 2 if self.is_one() else 5}",
}


@pytest.mark.parametrize("case", COPIED)
def test_methods_that_copies_are_made_by(case: str) -> None:
    """E2: they meet tensors, as in dygraph."""
    text = f"""
    class Kept:
        def __init__(self, x):
            self.x = x
        def is_one(self):
            return isinstance(self.x, paddle.Tensor)
        {COPIED[case]}
    def f(x):
        return copy.{"deepcopy" if "deep" in case else "copy"}(Kept(x)).x
    """
    assert_same(function_of(text, copy=copy), tensor(1.0, 2.0), tensor(-1.0, 0.5))


SAID = """
    class Kind:
        def __init__(self, x):
            self.x = x
        def name(self):
            return "one" if isinstance(self.x, paddle.Tensor) else "none"
        def __len__(self):
            return 1
        def __getitem__(self, i):
            return self.x[i]
        def __hash__(self):
            return 1 if isinstance(self.x, paddle.Tensor) else 2
        def __eq__(self, other):
            return self.name() == other.name()
        def __format__(self, how):
            return self.name() + how
        def __str__(self):
            return self.name()
        __repr__ = __str__
"""


def test_texts_and_hashes_of_an_object_with_items() -> None:
    """E2: they meet tensors, as in dygraph, where no tensor decides what they give."""
    text = f"""{SAID}
    def f(x):
        kind = Kind(x)
        print(kind, f"{{kind}} {{kind:!}} {{kind!r}}", [kind], "%s" % kind)
        return x * hash(kind), len({{kind, Kind(x + 1)}}), str(kind), repr(kind)
    """
    assert_same(function_of(text), tensor(1.0, 2.0))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("def __hash__(self): return 1 if self.x.sum() > 0 else 2", "len({it: 1})"),
        (
            "def __getattr__(self, name):\n"
            "            if self.__dict__['x'].sum() > 0: raise AttributeError(name)\n"
            "            return 7",
            "hasattr(it, 'more')",
        ),
    ],
)
def test_what_a_tensor_may_not_decide(text: str, asked: str) -> None:
    """E2, H1: Python asks for it while the program is captured: a code, or islands."""
    text = f"""
    class It:
        def __init__(self, x):
            self.x = x
        {text}
    def f(x):
        it = It(x)
        return x, {asked}
    """
    with pytest.raises(UnsupportedInGraphError, match="a tensor decides") as raised:
        d2s.to_static(function_of(text), full_graph=True)(tensor(1.0))
    assert raised.value.code == "D2S205"
    plain, islands = function_of(text), d2s.to_static(function_of(text), full_graph=False)
    for x in (tensor(1.0), tensor(-1.0)):
        assert repr(plain(x)) == repr(islands(x))


FORMATTED = """
    class Arm:
        def __init__(self, name, x):
            self.name, self.x, self.asked = name, x, 0
        mean = property(lambda self: self.x.sum() * 2)
        def __format__(self, spec):
            self.asked += 1
            return f"{self.name}={float(self.mean):{spec or '.3f'}}"
    class Sign(Arm):
        def __format__(self, spec):
            sign = "+" if self.x.sum() > 0 else "-" + spec
            return sign + super().__format__(spec)
        def __str__(self):
            return "sign " + self.__format__(".1f").upper()
    class Number(float):
        def __format__(self, spec):
            return "n" + super().__format__(spec) + f"{self.x}"
    class Wrong(Arm):
        def __format__(self, spec):
            return self.x
"""


@pytest.mark.parametrize(
    "code",
    [
        "return f'{arm} {arm:.1f}', format(arm), format(arm, '.2f'), format(sign, '.1f')",
        "return '{} {:.1f} {a:{w}}'.format(arm, sign, a=arm, w='.0f'), arm.asked",
        "return ' '.join(format(a, '.2f') for a in [arm, Sign('c', x + 1)])",
        "s = f'{arm} {arm.asked} {arm:.1f}'; arm.x = x + 1; return s, f'{arm}', arm.asked",
        "return f'{arm if x.sum() > 0 else sign:.2f}'",
        "which = arm if x.sum() > 0 else sign\n        return f'{which:.1f}', which.asked",
        "if x.sum() > 0: return f'{arm:.1f}'\n        return format(sign, '.2f')",
        "n = Number(2.5); n.x = x; return f'{n:.1f}', format(n)",
        "return str(sign), arm.__format__('.1f')",
        "print(f'{arm:.1f}', sign, '{}'.format(sign)); return f'{arm:4.1f}'.strip()",
        "try: return f'{Wrong(1, x)}'\n        except TypeError as e: return str(e)",
        "return f'{arm:q}'",
    ],
)
def test_what_an_object_is_formatted_as(code: str) -> None:
    """E2, F1: a class's own ``__format__`` gives a text of the run, with its effects, in order."""
    text = f"""{FORMATTED}
    def f(x):
        arm, sign = Arm("a", x), Sign("b", -x)
        {code}
    """
    assert_same(function_of(text), *(tensor(*v) for v in ((1.0, 2.0), (-1.0, 0.5), (0.0, 0.0))))

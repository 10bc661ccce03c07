"""Where a tensor comes from makes no difference to what can be done with it.

Each of ``OPERATIONS`` is done with a tensor from each of ``SOURCES``: an argument, a global, an
attribute, one that the function makes.  Between calls the tensors that the function finds get other
contents.  A program gives what dygraph gives, or is refused with a code of ours that is no defect.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import function_of

VALUES = {
    "vector": "paddle.to_tensor([0.5, -1.5, 2.0, 3.0])",
    "number": "paddle.to_tensor(2)",
    "matrix": "paddle.to_tensor([[1., 2.], [3., 4.]])",
    "flags": "paddle.to_tensor([True, False, True, True])",
    "flag": "paddle.to_tensor(True)",
    "positions": "paddle.to_tensor([3, 0, 1])",
}

SOURCES = {
    "argument": ("", "t", "t"),
    "global": ("T = {v}\n", "", "T"),
    "attribute": ("class H: pass\nh = H()\nh.t = {v}\n", "", "h.t"),
    "buffer": (
        "class L(paddle.nn.Layer):\n    def __init__(s):\n        super().__init__()\n        s.register_buffer('t', {v})\nh = L()\n",  # noqa: E501
        "",
        "h.t",
    ),
    "class": ("class H:\n    t = {v}\n", "", "H.t"),
    "default": ("D = {v}\n", "t=D", "t"),
    "dict": ("D = dict(t={v})\n", "", "D['t']"),
    "made": ("", "", "{v}"),
    "computed": ("", "t", "(t if t.dtype == paddle.bool else t * 1)"),
    "loop item": ("D = [{v}, {v}]\n", "", "[e for e in D][1]"),
    "choice": ("", "t", "(t if q.sum() > 0 else (t if t.dtype == paddle.bool else t + 1))"),
    "namedtuple": (
        "import collections\nN = collections.namedtuple('N', 't u')\nD = N({v}, 1)\n",
        "",
        "D.t",
    ),
    "property": (
        "class H:\n    _t = {v}\n    @property\n    def t(self): return self._t\nh = H()\n",
        "",
        "h.t",
    ),
    "getattr": ("class H: pass\nh = H()\nh.t = {v}\n", "", "getattr(h, 't')"),
    "dygraph made": ("@d2s.not_to_static\ndef make(x): return {v}\n", "", "make(q)"),
}
"""Lines before the function, a further parameter, and the expression of the tensor."""

OPERATIONS = {
    "vector": (
        "q[:1] + t",
        "t[0]",
        "t[-1]",
        "t[1:]",
        "t[::-1]",
        "t[1:3] * 2",
        "len(t)",
        "list(t)",
        "[e * 2 for e in t]",
        "sum(t)",
        "max(t)",
        "min(t)",
        "sorted(t)",
        "t.tolist()",
        "t.numpy()",
        "float(t[0])",
        "t[0].item()",
        "a, b, c, d = t\nreturn a + d",
        "a, *b = t\nreturn b",
        "max(*t)",
        "f'{t}'",
        "str(t)",
        "t.shape",
        "t.shape[0]",
        "t.dtype",
        "t.stop_gradient",
        "t.name is not None",
        "t is t",
        "t == t",
        "(t > 0).any()",
        "if (t > 0).all():\n    return 1\nreturn t",
        "s = 0\nfor e in t:\n    if e > 0:\n        s = s + e\nreturn s",
        "for i, e in enumerate(t):\n    q = q + e * i\nreturn q",
        "[a * b for a, b in zip(t, t)]",
        "t.clone()",
        "t.detach()",
        "t.T",
        "t.astype('int32')",
        "t.max().item()",
        "t.argmax()",
        "paddle.concat([t, q])",
        "paddle.stack([t, t])",
        "paddle.where(t > 0, t, -t)",
        "t[t > 0]",
        "t[t.argmax()]",
        "y = t.clone()\ny[0] = 9.\nreturn y",
        "y = t * 1\ny += 1\nreturn y",
        "y = t\ny = y + 1\nreturn y, t",
        "t.reshape([2, 2])",
        "t.unsqueeze(0) @ t.unsqueeze(1)",
        "t @ t",
        "-t",
        "abs(t)",
        "round(t[0], 1)",
        "t ** 2",
        "2 ** t",
        "t // 2",
        "t % 2",
        "1 / t",
        "bool(t[0] > 0)",
        "int(t[0])",
        "t.mean() if t.sum() > 0 else t.max()",
        "not t.any()",
        "t.any() and t.all()",
        "any(t > 0)",
        "all(t > 0)",
        "tuple(t)",
        "dict(a=t)",
        "{'a': t, 'b': t + q.sum()}",
        "copy.deepcopy(t) + 1",
        "np.asarray(t)",
        "np.sum(t.numpy())",
        "isinstance(t, paddle.Tensor)",
        "paddle.is_tensor(t)",
        "hasattr(t, 'shape')",
        "t.dim()",
        "t.ndim",
        "t.size",
        "t.numel()",
        "t.element_size()",
        "[*reversed(list(t))]",
        "t.unbind()",
        "t.split(2)",
        "paddle.split(t, [1, -1])",
        "t.topk(2)",
        "t.cumsum()",
        "t.sort()",
        "1.0 in t",
        "t.__len__()",
        "t.fill_(1.)",
        "t.add_(q.sum())",
        "t.zero_()",
        "t.set_value(t + 1)\nreturn t",
        "t[0] = 5.\nreturn t",
        "t.scale_(2.)\nreturn t",
        "u = t\nu[1:] = 0.\nreturn t, u",
        "t.stop_gradient = False\nreturn (t * q.sum()).sum()",
        "id(t) == id(t)",
        "t.to('float64')",
        "t.cpu()",
        "t.contiguous()",
        "t.is_leaf",
        "t.grad",
        "operator.add(t, t)",
        "functools.reduce(lambda a, b: a + b, t)",
        "[*itertools.accumulate(t)]",
        "[*map(lambda e: e + 1, t)]",
        "[*filter(lambda e: e > 0, t)]",
        "math.sqrt(t[3])",
        "math.exp(t[0])",
        "divmod(t, 2)",
        "t.pow(2)",
        "assert (t < 9).all()\nreturn t",
        "np.dot(t.numpy(), t.numpy())",
        "[t] * 2",
        "(t,) + (q,)",
        "t * 'a'",
        "t + [1., 2., 3., 4.]",
        "t + np.ones(4, 'float32')",
        "np.ones(4, 'float32') + t",
        "np.float32(2) * t",
        "t * True",
        "t * None",
    ),
    "number": (
        "[i for i in range(t)]",
        "s = q.sum()\nfor i in range(t):\n    s = s + i\nreturn s",
        "int(t)",
        "float(t)",
        "t.item()",
        "t.numpy()",
        "q[t - 2]",
        "q[:t]",
        "'abc'[t]",
        "[1, 2, 3][t]",
        "(1, 2, 3)[t]",
        "[q, q + 1, q + 2][t]",
        "paddle.zeros([t])",
        "paddle.zeros([t, 2])",
        "paddle.full([int(t)], 1.)",
        "paddle.arange(t)",
        "q.reshape([t - 1, -1])",
        "q.tile([t])",
        "q.expand([t, -1])",
        "[0] * t",
        "t + 1",
        "while t > 0:\n    t = t - 1\n    q = q + 1\nreturn q",
        "if t == 2:\n    return q\nreturn q * 2",
        "if t:\n    return q\nreturn -q",
        "t and q",
        "t or q",
        "not t",
        "f'{t}'",
        "f'{t:d}'",
        "'%d' % t",
        "str(t)",
        "hash(t) == hash(t)",
        "{2: 5}[int(t)]",
        "{t: 1}[t]",
        "t in [1, 2, 3]",
        "t == 2",
        "t is None",
        "t < 3 < 5",
        "1 < t < 3",
        "max(t, 3)",
        "min(t, q.sum())",
        "sum([t, t])",
        "paddle.nn.functional.one_hot(t, 4)",
        "paddle.gather(q, t - 2)",
        "math.floor(t)",
        "divmod(t, 2)",
        "pow(t, 2)",
        "-t",
        "~t",
        "t << 1",
        "t & 3",
        "t ^ 1",
        "[*range(0, 6, t)]",
        "paddle.linspace(0, 1, t)",
        "paddle.eye(t)",
        "paddle.topk(q.tile([3]), t)",
        "np.zeros(t)",
        "np.arange(int(t))",
        "t.astype('float32') * q",
        "bin(t)",
        "complex(t)",
        "round(t)",
        "operator.index(t)",
        "q.tile([4])[0:t:1]",
        "[e for e in 'abcd'][:t]",
        "'ab' * t",
        "'x'.rjust(t)",
        "[*itertools.islice([1,2,3], int(t))]",
        "t.tolist()",
        "bool(t)",
        "chr(t + 65)",
        "isinstance(t, int)",
        "range(10)[t]",
        "[*range(10)][t:]",
    ),
    "matrix": (
        "for row in t:\n    q = q + row.sum()\nreturn q",
        "[r for r in t]",
        "t[0][1]",
        "t[0, 1]",
        "t[:, 0]",
        "t.T",
        "t @ t",
        "t.mean(axis=0)",
        "t.tolist()",
        "a, b = t\nreturn a - b",
        "(a, b), (c, d) = t\nreturn a * d - b * c",
        "t.shape[-1]",
        "h, w = t.shape\nreturn t.reshape([h * w])",
        "np.linalg.det(t.numpy())",
        "t.flatten()",
        "paddle.linalg.inv(t)",
        "t[[1, 0]]",
        "t[t > 2]",
        "[*zip(*t)]",
        "[[e * 2 for e in r] for r in t]",
        "max(t, key=lambda r: r.sum())",
        "sorted(t, key=lambda r: -r.sum())",
        "t.any(axis=1)",
        "t.unsqueeze(-1).shape",
        "t.sum(0, keepdim=True)",
        "dict(zip('ab', t))",
        "t[..., 0]",
        "t[None].shape",
        "t.numpy().tolist()",
    ),
    "flags": (
        "t.any()",
        "t.all()",
        "if t.any():\n    return q\nreturn -q",
        "paddle.where(t, 1., 0.)",
        "t.astype('float32')",
        "~t",
        "t & t",
        "t.sum()",
        "[1 if e else 0 for e in t]",
        "any(t)",
        "all(t)",
        "q.tile([4])[t]",
        "t.logical_not()",
        "int(t.sum())",
        "t.tolist()",
        "sum(1 for e in t if e)",
        "paddle.nonzero(t)",
        "t ^ t",
        "t.cast('int32')",
    ),
    "flag": (
        "if t:\n    return q\nreturn -q",
        "q if t else -q",
        "while t:\n    q = q + 1\n    t = q.sum() < 5\nreturn q",
        "not t",
        "t and (q > 0).any()",
        "bool(t)",
        "int(t)",
        "t.item()",
        "t | False",
        "t == True",
        "t is True",
        "assert t\nreturn q",
        "[q, q * 2][int(t)]",
        "{True: 1, False: 2}[bool(t)]",
        "f'{t}'",
        "t.astype('float32') * q",
    ),
    "positions": (
        "q.tile([4])[t]",
        "paddle.gather(q.tile([4]), t)",
        "paddle.nn.functional.embedding(t, q.tile([4, 2]).reshape([4, 2]))",
        "[10 * i for i in t]",
        "[['a', 'b', 'c', 'd'][i] for i in t]",
        "for i in t:\n    q = q + q[0] * i\nreturn q",
        "t.tolist()",
        "[int(i) for i in t]",
        "sorted(t.tolist())",
        "set(t.tolist())",
        "max(t.tolist())",
        "t.max() + 1",
        "paddle.bincount(t)",
        "paddle.nn.functional.one_hot(t, int(t.max()) + 1)",
        "paddle.zeros([int(t.max()) + 1])",
        "t.unique()",
        "y = q.tile([4])\ny[t] = 0.\nreturn y",
        "paddle.scatter(q.tile([4]), t, paddle.ones([3]))",
        "3 in t",
        "t.numpy()[0]",
        "dict(zip(t.tolist(), 'abc'))",
        "' '.join(str(i) for i in t.tolist())",
        "' '.join(map(str, t.tolist()))",
        "[i % 2 == 0 for i in t]",
        "np.bincount(t.numpy())",
        "q.tile([4]).index_select(t)",
        "range(t[0])",
        "[*range(t[2], t[0])]",
        "q.tile([4])[t[1]:t[0]]",
        "[1, 2, 3, 4][t[1]]",
    ),
}
"""What is done with ``t``, a tensor, and ``q``, one with a gradient."""

MODULES = (
    "import copy\nimport functools\nimport itertools\nimport math\nimport operator\n"
    "import numpy as np\nimport d2s\n"
)


def text_of(kind: str, operation: str, source: str) -> str:
    before, parameter, tensor = (part.replace("{v}", VALUES[kind]) for part in SOURCES[source])
    lines = operation.split("\n")
    if len(lines) == 1 and not lines[0].startswith(("return", "assert")):
        lines = [f"return {operation}"]
    body = "".join(f"    {line}\n" for line in (f"t = {tensor}", *lines))
    return f"{MODULES}{before}def f(q{', ' if parameter else ''}{parameter}):\n{body}"


def tensors_in(thing: Any, seen: set[int]) -> Iterator[paddle.Tensor]:
    """The tensors that a module holds."""
    if id(thing) in seen or isinstance(thing, ModuleType):
        return
    seen.add(id(thing))
    if isinstance(thing, paddle.Tensor):
        yield thing
        return
    if isinstance(thing, dict):
        parts: list[Any] = [part for key, part in thing.items() if key != "__builtins__"]
    elif isinstance(thing, list | tuple):
        parts = list(thing)
    elif isinstance(thing, FunctionType):
        parts = [thing.__defaults__]
    elif isinstance(thing, paddle.nn.Layer):
        parts = list(thing.buffers())
    else:
        parts = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    for part in parts:
        yield from tensors_in(part, seen)


def change(tensor: paddle.Tensor) -> None:
    if tensor.dtype == paddle.bool:
        tensor.set_value(paddle.logical_not(tensor))
    elif tensor.dtype == paddle.int64 and tensor.ndim:
        tensor.set_value((tensor + 1) % 4)
    else:
        tensor.set_value(tensor + 1)


def shown(result: Any) -> Any:
    """A result to compare: with dtypes, flags and numbers."""
    if isinstance(result, paddle.Tensor):
        return "tensor", str(result.dtype), result.stop_gradient, result.numpy().tolist()
    if isinstance(result, np.ndarray):
        return "array", str(result.dtype), result.tolist()
    if isinstance(result, list | tuple):
        return type(result).__name__, [shown(item) for item in result]
    if isinstance(result, dict):
        return {str(type(key)): shown(item) for key, item in result.items()}
    return type(result).__name__, str(result)


def calls(function: Any, module: dict[str, Any], kind: str, given: bool) -> list[Any]:
    """What three calls give; between them, what the function finds gets other contents."""
    found = []
    for number in (1.0, 0.5, 0.25):
        if found:
            for tensor in tensors_in(module, set()):
                change(tensor)
        q = paddle.to_tensor([number], stop_gradient=False)
        arguments = [eval(VALUES[kind], {"paddle": paddle})] if given else []
        try:
            found.append(shown(function(q, *arguments)))
        except Exception as error:
            found.append(error)
    return found


def differing(kind: str, operation: str, source: str) -> str | None:
    """How a program differs from dygraph."""
    text = text_of(kind, operation, source)
    plain, other = function_of(text), function_of(text)
    given = SOURCES[source][1] == "t"
    want = calls(plain, plain.__globals__, kind, given)
    got = calls(d2s.to_static(other), other.__globals__, kind, given)
    for number, (right, mine) in enumerate(zip(want, got, strict=True)):
        if isinstance(mine, D2SError) and mine.code not in (None, "D2S902"):
            continue  # it says so
        if isinstance(right, Exception):
            if type(mine) is not type(right):
                return f"{operation!r} of {source}, call {number}: {mine!r}, not {right!r}"
        elif str(mine) != str(right):
            return f"{operation!r} of {source}, call {number}: {mine}, not {right}"
    return None


EVERY = [(kind, operation) for kind, some in OPERATIONS.items() for operation in some]


@pytest.mark.parametrize("source", SOURCES)
def test_some_operations(source: str) -> None:
    """A1, B1, E2: others of the operations for each source, together all."""
    some = EVERY[list(SOURCES).index(source) :: len(SOURCES)]
    assert [text for text in (differing(*each, source) for each in some) if text] == []


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_all_operations(source: str) -> None:
    """A1, B1, E2: all of them."""
    assert [text for text in (differing(*each, source) for each in EVERY) if text] == []


def test_results_of_two_programs_of_one_name() -> None:
    """G2: both are ``output_0``, of other shapes; a third program reads both."""
    total = d2s.to_static(lambda x: x.sum(), full_graph=True)(paddle.ones([2]))
    double = d2s.to_static(lambda x: x * 2, full_graph=True)(paddle.ones([2]))

    def both(x):
        return total + double * x

    found = d2s.to_static(both, full_graph=True)(paddle.ones([2]))
    assert found.tolist() == [4.0, 4.0]

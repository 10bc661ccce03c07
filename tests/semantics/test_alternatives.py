"""What a branch leaves need not be one value (rules B2 to B6): each use is that of dygraph."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import AmbiguousValueError, UnsupportedInGraphError
from tests.helpers import assert_same, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
BOTH = (PLUS, MINUS)


@pytest.mark.parametrize("use", ["axis", "keepdim", "index", "slice", "range", "key", "type"])
def test_a_constant_that_a_branch_chose_stays_one(use: str) -> None:
    """B3: it serves wherever Python or Paddle insists on a real number."""
    uses = {
        "axis": lambda x, k: paddle.stack([x, x * 2]).sum(axis=k),
        "keepdim": lambda x, k: paddle.sum(x, keepdim=k == 1),
        "index": lambda x, k: [x, x * 2][k],
        "slice": lambda x, k: [1, 2, 3][:k],
        "range": lambda x, k: [i * x for i in range(k)],
        "key": lambda x, k: {0: x, 1: x * 3}[k],
        "type": lambda x, k: (type(k) is int, k is True, isinstance(k, int)),
    }
    chosen = uses[use]

    def f(x):
        k = 0
        if x.sum() > 0:
            k = 1
        return chosen(x, k), k + 1

    assert_same(f, *BOTH)


def test_int_and_float_keep_their_types() -> None:
    """B3: arithmetic of each alternative is Python's own."""

    def f(x):
        a = 7
        if x.sum() > 0:
            a = 7.5
        return a * 2, a // 2, a

    assert_same(f, *BOTH)


def test_a_division_that_fails_on_one_path() -> None:
    """A1: the exception comes on the run that would divide by zero, and on no other."""

    def f(x):
        k = 0
        if x.sum() > 0:
            k = 2
        return 10 // k

    assert_same(f, *BOTH)


def test_lists_of_different_length() -> None:
    """B4: a list that one side has made longer is read, iterated and grown further."""

    def f(x):
        parts = [x]
        if x.sum() > 0:
            parts.append(x * 2)
        total = paddle.zeros([2])
        for part in parts:
            total = total + part
        parts.append(total)
        return len(parts), paddle.concat(parts), parts

    assert_same(f, *BOTH)


def test_a_list_known_under_two_names() -> None:
    """B4: each of them shows what the branch has made of it."""

    def f(x):
        parts = [x]
        same = parts
        if x.sum() > 0:
            parts.append(x * 2)
        return len(parts), paddle.concat(same)

    assert_same(f, PLUS, MINUS)


def test_one_of_two_lists_is_itself() -> None:
    """A1: an item that is set in the chosen list is set in the list that it is."""

    def f(x):
        a, b = [x, x], [x * 2, x * 3]
        chosen = a if x.sum() > 0 else b
        chosen[0] = x * 9
        return a, b, chosen

    assert_same(f, *BOTH)


def test_a_key_of_one_side() -> None:
    """B2: in, get, len, iteration and a read that raises KeyError, as in dygraph."""

    def f(x):
        d = {"a": x}
        if x.sum() > 0:
            d["b"] = x * 2
        return "b" in d, d.get("b", x), len(d), sorted(d), d

    def g(x):
        d = {}
        if x.sum() > 0:
            d["b"] = x * 2
        return d["b"]

    assert_same(f, *BOTH)
    assert_same(g, *BOTH)


def test_an_attribute_of_one_side() -> None:
    """B2: hasattr, getattr with a default, and AttributeError with Python's message."""

    class Box:
        pass

    def f(x):
        box = Box()
        if x.sum() > 0:
            box.top = x * 2
        return hasattr(box, "top"), getattr(box, "top", x)

    def g(x):
        box = Box()
        if x.sum() > 0:
            box.top = x * 2
        return box.top + 1

    assert_same(f, *BOTH)
    assert_same(g, *BOTH)


def test_names_of_the_users_win() -> None:
    """A3: attributes that our own class happens to have are those of the user's object."""

    class Named:
        def __init__(self, name: str, flag: int) -> None:
            self.name = name
            self.flag = flag

        def get(self) -> str:
            return self.name * 2

    def f(x):
        thing = Named("a", 1) if x.sum() > 0 else Named("b", 2)
        return thing.name, thing.flag, thing.get()

    assert_same(f, *BOTH)


def test_none_as_an_argument() -> None:
    """B6: None is a value like others where it is handed on."""

    def f(x):
        axis = None
        if x.sum() > 0:
            axis = 0
        return paddle.stack([x, x]).sum(axis), {None: 1}.get(axis, 2)

    assert_same(f, *BOTH)


def test_a_function_called_with_alternatives() -> None:
    """E2: a helper is converted with care when what it gets may be several things."""

    def helper(x, mask=None, axis=0):
        if mask is None:
            return paddle.sum(x, axis=axis)
        return paddle.sum(x * mask, axis=axis)

    def f(x):
        mask, axis = None, 0
        if x.sum() > 0:
            mask, axis = x * 2, -1
        return helper(x, mask, axis)

    assert_same(f, *BOTH)


def test_is_of_a_chosen_tensor_is_refused() -> None:
    """B5: only the run knows which tensor it is; never a silent False."""

    def f(x):
        best = x
        if x.sum() > 0:
            best = x * 2
        return 1 if best is x else 2

    with pytest.raises(UnsupportedInGraphError, match="'is'"):
        d2s.to_static(f)(PLUS)


def test_a_refusal_that_user_code_catches_is_one() -> None:
    """A5: an except clause of the user's does not turn a refusal into a wrong program."""

    def f(x):
        try:
            y = x + hash(x.sum().item())
        except Exception:
            y = -x
        return y

    with pytest.raises(d2s.D2SError, match="D2S208"):
        d2s.to_static(f)(PLUS)


def test_items_by_a_number_of_the_run() -> None:
    """D1: lists of tensors, of layers and of other things; out of range raises on the run."""
    layers = paddle.nn.LayerList([paddle.nn.Linear(2, 2), paddle.nn.Tanh()])

    def f(x, i):
        k = int(i)
        words = ["a", "b"]
        return [x, x * 2][k], layers[k](x), words[k], (1.5, 2.5)[i]

    cases: list[Any] = [(PLUS, paddle.to_tensor(n)) for n in (0, 1, -1, 5)]
    assert_same(f, *cases)


def test_an_alternative_as_a_key() -> None:
    """A1: a dict has the one that the run takes."""

    def f(x):
        k = 1
        if x.sum() > 0:
            k = 2
        return {k: x}

    assert_same(f, PLUS, -PLUS)


def test_a_pattern_that_looks_into_alternatives_is_refused() -> None:
    """B7: Python's match would find that no case fits, in silence."""

    def f(x):
        shape = {"r": x} if x.sum() > 0 else [x]
        match shape:
            case {"r": r}:
                return r * 2
            case [w]:
                return w - 1

    with pytest.raises(AmbiguousValueError):
        d2s.to_static(f)(PLUS)

"""Branches under tensor conditions: the program is what dygraph does (rules B1 to B7, C7)."""

from __future__ import annotations

import dataclasses
from collections import namedtuple

import paddle
import pytest

import d2s
from d2s.errors import ConditionError, SyntaxNotSupportedError
from tests.helpers import assert_same, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
BOTH = (PLUS, MINUS)


def test_if_else() -> None:
    """B1: one side runs; gradients too (C7)."""

    def f(x):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x * x
        return y

    static = assert_same(f, *BOTH)
    assert len(static.programs) == 1, static.programs


def test_if_without_else() -> None:
    """B1: the missing side keeps the value."""

    def f(x):
        y = x + 1
        if x.sum() > 0:
            y = y * x
        return y * 3

    assert_same(f, *BOTH)


def test_elif_chain() -> None:
    """B1: elif."""

    def f(x):
        if x.sum() > 2:
            y = x * 2
        elif x.sum() > 0:
            y = x * 3
        elif x.sum() == 0:
            y = x * 5
        else:
            y = -x
        return y

    assert_same(f, PLUS, tensor(0.5, 0.5), tensor(1.0, -1.0), MINUS)


def test_nested_ifs_and_temporaries() -> None:
    """B1: only names that are read afterwards become outputs; temporaries may differ in type."""

    def f(x):
        t = 1
        if x.sum() > 0:
            t = "text"
            if x.max() > 1:
                y = x * len(t)
            else:
                y = x / 2
        else:
            t = x * 2
            y = t + 1
        return y

    assert_same(f, PLUS, tensor(0.5, 0.25), MINUS)


def test_fan_out_of_a_branch_value() -> None:
    """B1, C7: a value that is yielded and used inside as well has the right gradient."""

    def f(x):
        a = x
        b = x
        if x.sum() > 0:
            a = x * 2
            b = a + x
        return a * b

    assert_same(f, *BOTH)


def test_two_names_for_one_value() -> None:
    """B1: one value yielded under two names."""

    def f(x):
        if x.sum() > 0:
            a = x * 2
            b = a
        else:
            a = x
            b = x
        a = a + 1
        return a, b

    assert_same(f, *BOTH)


def test_swap_in_a_branch() -> None:
    """B1: names change places."""

    def f(x, y):
        if x.sum() > y.sum():
            x, y = y, x
        return x - 2 * y

    assert_same(f, (PLUS, MINUS), (MINUS, PLUS))


def test_ternary() -> None:
    """B1: a conditional expression, nested and in an argument."""

    def f(x):
        y = x * 2 if x.sum() > 0 else x * x
        return paddle.add(y, x if x.max() > 1 else -x if x.min() < -5 else x * 3)

    assert_same(f, PLUS, MINUS, tensor(-9.0, 1.0), tensor(0.5, 0.5))


def test_python_number_against_tensor() -> None:
    """B3: a Python number is promoted to the tensor's dtype."""

    def f(x):
        y = 0
        if x.sum() > 0:
            y = x.sum()
        return y * 2.0 + x.mean()

    assert_same(f, *BOTH)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_numbers_on_both_sides(dtype: str) -> None:
    """B3: Python numbers keep their kind where they meet a tensor of any dtype."""

    def f(x):
        k = 1
        if x.sum() > 0:
            k = 3
        return x * k, x + k

    assert_same(f, PLUS.astype(dtype), MINUS.astype(dtype))


def test_int_and_float_numbers() -> None:
    """B3: 1 on one side, 0.5 on the other."""

    def f(x):
        if x.sum() > 0:
            k = 2
        else:
            k = 0.5
        return x * k

    assert_same(f, *BOTH)


def test_bools_on_both_sides() -> None:
    """B3: a flag that a branch sets decides another branch."""

    def f(x):
        positive = False
        if x.sum() > 0:
            positive = True
        if positive and x.max() > 1.5:
            return x * 2
        if not positive:
            x = x - 1
        return x

    assert_same(f, PLUS, MINUS, tensor(1.0, 1.0))


def test_dtypes_that_differ() -> None:
    """B3: tensor against tensor of another dtype keep theirs, also where they are used."""

    def f(x):
        if x.sum() > 0:
            y = x
        else:
            y = x.astype("int64")
        return y * 2, paddle.sum(y)

    assert_same(f, *BOTH)


def test_dtypes_that_differ_in_a_loop() -> None:
    """C4: as many forms as the trips make."""

    def f(x):
        y = x
        while y.sum() < 10:
            y = y.astype("float64") * 2
        return y

    assert_same(f, PLUS, tensor(20.0, 1.0))


@pytest.mark.row(110, refused="D2S202")
def test_types_that_differ_in_a_loop_are_refused() -> None:
    """C4: what each trip makes anew has no form; the error names the variable and both kinds."""

    def f(x):
        y = x
        while x.sum() < 10:
            y = {1}
            x = x * 2
        return y

    with pytest.raises(d2s.D2SError) as caught:
        d2s.to_static(f)(PLUS)
    assert "'y'" in str(caught.value)
    assert "float32" in str(caught.value)
    assert "set" in str(caught.value)
    assert caught.value.cure
    first = f.__code__.co_firstlineno
    assert caught.value.line in range(first, first + 5), caught.value


def test_shapes_that_differ() -> None:
    """B3: one rank, other dimensions."""

    def f(x):
        if x.sum() > 0:
            y = paddle.concat([x, x])
        else:
            y = x[:1]
        return y * 2

    assert_same(f, *BOTH)


def test_ranks_that_differ() -> None:
    """B3: tensors of different rank keep theirs, also where they are used."""

    def f(x):
        if x.sum() > 0:
            y = x.sum()
        else:
            y = x
        return y * 2, y.unsqueeze(0), paddle.sum(y)

    assert_same(f, *BOTH)


@pytest.mark.parametrize("kind", ["tuple", "list", "dict"])
def test_containers_are_merged(kind: str) -> None:
    """B4: leaf by leaf."""

    def f(x):
        if x.sum() > 0:
            pair = (x, x * 2)
            if kind == "list":
                pair = list(pair)
            elif kind == "dict":
                pair = {"a": x, "b": [x, 1]}
        else:
            pair = (x * 3, x)
            if kind == "list":
                pair = list(pair)
            elif kind == "dict":
                pair = {"a": -x, "b": [x * x, 2]}
        return pair

    assert_same(f, *BOTH)


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Cell:
    h: object
    c: object


def test_namedtuples_and_dataclasses() -> None:
    """B4."""

    def f(x):
        if x.sum() > 0:
            point = Point(x, 1)
            cell = Cell(x * 2, x)
        else:
            point = Point(-x, 2)
            cell = Cell(x, x * 3)
        return point, cell, point.x + cell.h

    assert_same(f, *BOTH)


def test_a_list_changed_in_a_branch() -> None:
    """B4: changed in place, same length on both sides."""

    def f(x):
        items = [x, x * 2]
        if x.sum() > 0:
            items[0] = x * 5
        else:
            items[1] = items[1] + items[0]
        return items[0] * items[1]

    assert_same(f, *BOTH)


def test_a_list_appended_to_on_both_sides() -> None:
    """B4."""

    def f(x):
        items = []
        if x.sum() > 0:
            items.append(x)
        else:
            items.append(x * 2)
        return items

    assert_same(f, *BOTH)


def test_a_dict_item_assigned_in_a_branch() -> None:
    """B4: ``cfg["k"] = ...`` takes part like a variable."""

    def f(x):
        table = {"k": x, "n": 1}
        if x.sum() > 0:
            table["k"] = x * 2
        return table["k"] + table["n"]

    assert_same(f, *BOTH)


def test_a_tensor_item_assigned_in_a_branch() -> None:
    """B4: ``x[i] = ...``."""

    def f(x):
        y = x * 1
        if x.sum() > 0:
            y[0] = 7.0
        else:
            y[1] = x[0] * 2
        return y

    assert_same(f, *BOTH)


class Holder(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.h = None

    def forward(self, x):
        self.h = x * 0
        if x.sum() > 0:
            self.h = x * 2
        else:
            self.h = self.h + 1
        return self.h * 3


def test_an_attribute_assigned_in_a_branch() -> None:
    """B4, F3: the object holds the value of the side that ran."""
    plain, static = Holder(), d2s.to_static(Holder())
    for x in (PLUS, MINUS, PLUS):
        assert plain(x).tolist() == static(x).tolist()
        assert plain.h.tolist() == static.h.tolist()
        assert isinstance(static.h, paddle.Tensor)


def test_unread_on_the_other_side() -> None:
    """B2: bound on one side only and read under the same condition."""

    def f(x):
        positive = x.sum() > 0
        if positive:
            scale = x.max()
        y = x
        if positive:
            y = x * scale
        return y

    assert_same(f, *BOTH)


def test_a_read_of_an_unbound_variable_raises_on_the_run() -> None:
    """B2: UnboundLocalError with variable and line, never a placeholder."""

    def f(x):
        if x.sum() > 0:
            y = x * 2
        return y + 1

    static = assert_same(f, *BOTH)
    assert static(PLUS).tolist() == [3.0, 5.0]
    with pytest.raises(UnboundLocalError, match="'y'") as caught:
        static(MINUS)
    lines = [entry.lineno for entry in caught.traceback if str(entry.path) == __file__]
    assert lines[-1] + 1 == f.__code__.co_firstlineno + 3


def test_and_or_not() -> None:
    """B5: tensors on either side."""

    def f(x, y):
        if x.sum() > 0 and y.sum() > 0:
            z = x + y
        elif not (x.sum() > 0) or y.sum() > 5:
            z = x - y
        else:
            z = x * y
        return z

    assert_same(f, (PLUS, PLUS), (PLUS, MINUS), (MINUS, PLUS), (MINUS, MINUS), (PLUS, PLUS * 4))


def test_the_right_operand_runs_only_if_it_must() -> None:
    """B5: the right side would divide an integer by zero, or index out of range."""

    def f(x, i):
        n = x.shape[0]
        if i < n and x[i] > 0:
            return x * 2
        return x

    assert_same(f, (PLUS, scalar(0)), (PLUS, scalar(1)), (PLUS, scalar(2)), (MINUS, scalar(0)))


def test_and_or_with_python_values_keep_operands() -> None:
    """B5: they return operands, not booleans."""

    def f(x, flag):
        z = flag and x * 2
        w = flag or x
        if flag and x.sum() > 0:
            return x * 3
        return x, z, w

    assert_same(f, (MINUS, 5), (MINUS, 0), (PLUS, 1))


@pytest.mark.parametrize("value", [0.0, 1.0, 2.5, 4.0])
def test_chained_comparison(value: float) -> None:
    """B5: the middle is evaluated once."""

    def f(x):
        y = x * 0
        if 0 < x.sum() < 3:
            y = x + 1
        if 1 <= x.sum() <= 2 != x.min():
            y = y * 2
        return y

    assert_same(f, tensor(value))


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_truth_of_a_tensor(dtype: str) -> None:
    """B1: any dtype of one element is a condition; shape [1] counts."""

    def f(x):
        if x:
            return x.astype("float32") + 1
        return x.astype("float32") - 1

    for value in (0, 1, -1):  # dygraph takes a negative number for false
        assert_same(f, paddle.to_tensor([value]).astype(dtype))
        assert_same(f, paddle.to_tensor(value).astype(dtype))


def test_a_condition_of_many_elements_is_refused() -> None:
    """B1: the code D2S204; dygraph raises as well."""

    def f(x):
        if x > 0:
            return x
        return -x

    with pytest.raises(AssertionError, match="one element"):
        f(PLUS)
    with pytest.raises(ConditionError) as caught:
        d2s.to_static(f)(PLUS)
    assert caught.value.line == f.__code__.co_firstlineno + 1


def test_early_returns() -> None:
    """B6: at any depth."""

    def f(x):
        if x.sum() > 0:
            if x.max() > 5:
                return x * 2
            x = x + 1
        elif x.min() < -5:
            return x * 3
        y = x * x
        if y.sum() > 9:
            return y
        return y - 1

    assert_same(f, PLUS, MINUS, PLUS * 4, MINUS * 4, tensor(0.5, 0.1))


def test_return_in_with_and_try() -> None:
    """B6: in ``with`` and ``try``."""

    def f(x):
        try:
            with paddle.no_grad():
                if x.sum() > 0:
                    return x * 2
                y = x + 1
        finally:
            x = x - 1
        return y * x

    assert_same(f, *BOTH)


def test_returns_of_different_structure() -> None:
    """B6: a direct call gives exactly what dygraph gives."""

    def f(x):
        if x.sum() > 0:
            return x, x * 2
        if x.min() < -5:
            return {"a": x}
        return x * 3

    assert_same(f, PLUS, MINUS, MINUS * 5)


def test_none_on_one_path() -> None:
    """B6."""

    def f(x):
        if x.sum() > 0:
            return x * 2
        return None

    assert_same(f, *BOTH)


def test_falling_off_the_end() -> None:
    """B6: None without a word."""

    def f(x):
        if x.sum() > 0:
            return x * 2

    assert_same(f, *BOTH)


def test_python_values_on_each_path() -> None:
    """B6: numbers and texts come back as what they are."""

    def f(x):
        if x.sum() > 0:
            return 1
        if x.min() < -5:
            return "low"
        return 2.5, True

    assert_same(f, PLUS, MINUS, MINUS * 5, grad=False)


def test_none_is_tested_later() -> None:
    """B6: a variable that is None on one path, tested with ``is None``."""

    def f(x):
        found = None
        if x.sum() > 0:
            found = x * 2
        if found is None:
            return x - 1
        return found + 1

    assert_same(f, *BOTH)


def test_match_with_a_tensor_guard() -> None:
    """B7."""

    def f(x, kind):
        match kind:
            case "a" if x.sum() > 0:
                y = x * 2
            case "a" | "b":
                y = x * 3
            case _:
                y = x
        return y

    assert_same(f, (PLUS, "a"), (MINUS, "a"), (PLUS, "b"), (PLUS, "c"))


def test_match_of_a_tensor() -> None:
    """B7: literals, alternatives, captures with guards and the wildcard on a tensor."""

    def f(x, code):
        match code:
            case 0:
                y = x * 2
            case 1 | -1 as sign:
                y = x * sign
            case n if n > 5:
                y = x + n
            case 3 if x.sum() > 0:
                y = x - 3
            case _:
                y = x * x
        return y

    for grad in (True, False):
        codes = [scalar(code) for code in (0, 1, -1, 9, 3, 4)]
        assert_same(f, *((x, code) for x in BOTH for code in codes), grad=grad)


def test_match_without_a_case_that_fits() -> None:
    """B7, B2: the value stays; a name that no case has bound is unbound."""

    def kept(x, code):
        y = x
        match code:
            case 0 | 2.5:
                y = x * 2
        return y

    def unbound(x, code):
        match code:
            case 0:
                y = x * 2
        return y

    assert_same(kept, *((PLUS, scalar(code)) for code in (0.0, 2.5, 7.0)))
    static = d2s.to_static(unbound)
    assert static(PLUS, scalar(0)).tolist() == [2.0, 4.0]
    with pytest.raises(UnboundLocalError, match="'y'"):
        static(PLUS, scalar(1))


def test_match_returns_under_a_tensor() -> None:
    """B7, B6: a case may leave the function, or go on with the loop."""

    def f(x, code):
        total = x.sum() * 0
        for step in range(3):
            match code + step:
                case 3:
                    return total - 100
                case 1:
                    continue
                case other:
                    total = total + other
        return total

    assert_same(f, *((PLUS, scalar(code)) for code in (0, 1, 3, 5)))


def test_match_tells_tensors_from_numbers() -> None:
    """B7: a class pattern asks ``isinstance``; a tensor of a program is a tensor."""

    def f(x, shift):
        match shift:
            case int(n) | float(n):
                return x + n
            case paddle.Tensor() as t if t > 1:
                return x + t
            case paddle.Tensor():
                return x
            case None:
                return -x
            case [paddle.Tensor() as first, [*_]]:
                return x - first
            case [paddle.Tensor() as first, *_]:
                return x * first

    shifts = (2, 0.5, scalar(3.0), scalar(0.5), None, [scalar(4.0)], (scalar(2.0), [1]))
    for shift in shifts:
        assert_same(f, (PLUS, shift))


def test_match_of_a_tuple_of_tensors() -> None:
    """B7: a tuple is matched item by item, written in the subject or held by a variable."""

    def written(x, a, b):
        match a, b:
            case 0, 0:
                return x
            case 0, n:
                return x * n
            case n, 0 | 7:
                return x + n
            case n, m if n == m:
                return x - n
        return x * 0

    def held(x, pair):
        match pair:
            case (0, y):
                r = x + y
            case (y, 1):
                r = x * y
            case [first, *rest] if first > 3:
                r = x - rest[0]
            case _:
                r = x / 2
        return r

    pairs = [(scalar(a), scalar(b)) for a, b in ((0, 0), (0, 2), (3, 0), (2, 2), (4, 1), (5, 7))]
    assert_same(written, *((PLUS, a, b) for a, b in pairs))
    assert_same(held, *((PLUS, pair) for pair in pairs))


def test_match_that_asks_for_a_tensor_where_only_python_looks() -> None:
    """B7, D2S103: refused with its line, not passed by."""

    def alternatives(x, v):
        match v:
            case [paddle.Tensor(), 0] | {"k": paddle.Tensor()}:
                return x
        return -x

    def attributes(x, v):
        match v:
            case paddle.Tensor(shape=[2]):
                return x
        return -x

    for function in (alternatives, attributes):
        with pytest.raises(SyntaxNotSupportedError) as caught:
            d2s.to_static(function)(PLUS, [PLUS, 0])
        assert caught.value.line == function.__code__.co_firstlineno + 2


def test_match_of_a_vector_is_refused() -> None:
    """B1: a pattern is a condition, and a condition has one element."""

    def f(x):
        match x:
            case 0:
                return x
            case _:
                return -x

    with pytest.raises(ConditionError):
        d2s.to_static(f)(PLUS)


@pytest.mark.parametrize(
    "test",
    [
        "gate > 0 and (top := x.max()) > 1",
        "gate < 0 or (top := x.max()) > 1",
        "not (gate > 0 and (top := x.max()) > 1)",
        "0 < gate < (top := x.max())",
        "(gate > 0 and (top := x.max()) > 1) or (low := x.min()) < 0",
    ],
)
def test_walrus_that_may_not_be_reached(test: str) -> None:
    """B5: the right side binds where it runs; in conditions, values and loops."""
    from tests.helpers import function_of

    f = function_of(f"""
        def f(x, gate):
            top = low = x.sum()
            if {test}:
                x = x * 2
            else:
                x = x - top
            if {test}:
                x = x + 1
            return x * top, low
    """)
    g = function_of(f"""
        def g(x, gate):
            top = low = x.sum()
            while gate < 4 and ({test}):
                gate = gate + 1
                x = x * 0.5
            else:
                x = x + low
            return x, top, gate
    """)
    inputs = [(x, scalar(gate)) for x in (PLUS, MINUS, tensor(0.5, 0.25)) for gate in (-1, 0, 1)]
    assert_same(f, *inputs)
    assert_same(g, *inputs)


def test_walrus_that_was_not_reached() -> None:
    """B2, B5: reading its name raises, on the run in which dygraph would."""

    def f(x, gate):
        small = gate > 0 and (top := x.max()) < 10
        if small:
            return x * top
        return x / top

    static = d2s.to_static(f)
    assert static(PLUS, scalar(1)).tolist() == [2.0, 4.0]
    with pytest.raises(UnboundLocalError, match="'top'"):
        static(PLUS, scalar(0))


def test_items_of_what_others_hold() -> None:
    """B4: a tensor in a list, a dict or an attribute is written into."""

    def f(x, v):
        class Box:
            pass

        box = Box()
        box.h, box.table, cache = x * 2, {"k": x * 3}, [x, x * 4]
        if v > 1:
            box.h[0] = v
        box.table["k"][1] = v * 2
        cache[1][0] = v
        return box.h, box.table["k"], cache

    assert_same(f, (PLUS, scalar(3.0)), (PLUS, scalar(0.5)))


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
def test_comparisons(operator: str) -> None:
    """B5: each comparison, tensor against tensor and against a number."""
    from tests.helpers import function_of

    f = function_of(f"""
        def f(x, y):
            z = x
            if x.sum() {operator} y.sum():
                z = z + 1
            if x.max() {operator} 2:
                z = z * 3
            if 2 {operator} y.max():
                z = z - 5
            return z
    """)
    assert_same(f, (PLUS, PLUS), (PLUS, MINUS), (MINUS, PLUS))


def test_membership() -> None:
    """B5: ``in`` with tensors."""

    def f(x, k):
        if k in x:
            x = x * 2
        if k not in [1.0, 9.0]:
            x = x + 1
        return x

    assert_same(f, (PLUS, scalar(1.0)), (PLUS, scalar(5.0)), (PLUS, 1.0))


def test_a_python_condition_stays_python() -> None:
    """A1: nothing of an untaken Python side is captured."""

    def f(x, flag):
        if flag:
            return x * 2
        return x.no_such_method()

    static = d2s.to_static(f)
    assert static(PLUS, True).tolist() == [2.0, 4.0]
    assert not any("if" in str(op.name()) for op in static.main_program.global_block().ops)


def test_gradient_stops_where_it_should() -> None:
    """C7: ``detach`` in one side only."""

    def f(x):
        if x.sum() > 0:
            y = x.detach() * x
        else:
            y = x * x
        return y

    assert_same(f, *BOTH)


def test_a_branch_in_a_branch_uses_outer_temporaries() -> None:
    """B1: values of the outer side are seen by the inner one."""

    def f(x):
        if x.sum() > 0:
            t = x * 2
            if x.max() > 1:
                t = t * t
            y = t
        else:
            y = x
        return y

    assert_same(f, PLUS, tensor(0.1, 0.2), MINUS)


@pytest.mark.row(122)
def test_closure_reads_a_variable_of_a_branch() -> None:
    """A4: a nested function sees the variable as it is at that moment."""

    def f(x):
        def scaled():
            return x * k

        k = 1.0
        if x.sum() > 0:
            k = x.max()
            y = scaled()
        else:
            y = scaled() + 1
        return y + scaled()

    assert_same(f, *BOTH)


def test_items_of_a_grid_beside_many_that_stay() -> None:
    """B4: what a branch leaves alone is the same behind it: numbers, texts, views, rows twice."""

    class Cell:
        def __init__(self, x):
            self.x = x

    def f(x):
        base = x * 1.0
        cell = Cell(base[0])
        grid = [[0.0] * 3 for _ in range(3)]
        held = [base, base[1:], "a", None, 3, (4, base), cell, grid[1]]
        lookup = {"row": grid[2], "n": 1, "cell": cell}
        heights = x.tolist()
        for i in range(3):
            for j in range(3):
                if heights[i % 2] > 0.5 * j:
                    grid[i][j] = heights[j % 2]
                    cell.x = cell.x + 1
                elif i == j:
                    held[4] = held[4] + 1
                    lookup["n"] = "none"
        if base.sum() > 0:
            base[1] += 5.0
            grid[1][0] = -1.0
        same = held[7] is grid[1], lookup["row"] is grid[2], lookup["cell"] is held[6]
        return grid, held[:6], held[6].x, held[7], lookup["row"], lookup["n"], same

    assert_same(f, tensor(0.4, 2.0), tensor(-1.0, 0.75), tensor(3.0, -4.0))

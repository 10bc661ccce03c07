"""Forms of expressions that need nothing but the arguments: values, conditions, numbers."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form

# -- values --------------------------------------------------------------------------------------


@form("value", "scaled")
def scaled(w: Writer) -> str:
    return f"{w.name()} * {w.factor()}"


@form("value", "mixed")
def mixed(w: Writer) -> str:
    return f"{w.name()} * {w.factor()} + {w.name()} * 0.25"


@form("value", "shifted")
def shifted(w: Writer) -> str:
    return f"{w.name()} * 0.5 - {w.choose('1', '0.3')}"


@form("value", "with int", 69)
def with_int(w: Writer) -> str:
    return f"{w.name()} * 0.5 + {w.small()}"


@form("value", "function of paddle", tensors=True)
def function_of_paddle(w: Writer) -> str:
    name, other = w.name(), w.name()
    return w.choose(
        f"paddle.tanh({name}) - {other}",
        f"paddle.nn.functional.relu({name}) - 0.1",
        f"paddle.where({name} > {other}, {name}, {other} * 0.5)",
        f"paddle.zeros_like({name})",
        f"paddle.full_like({name}, {w.limit()})",
    )


@form("value", "built-in function", 15)
def built_in_function(w: Writer) -> str:
    name, other = w.name(), w.name()
    return w.choose(
        f"abs({name}) - {other}",
        f"max({w.summed(name)}, {w.summed(other)}) * 0.25 + {name} * 0",
        f"min({w.summed(name)}, 0.3) + {other} * 0.5",
        f"sum([{name}, {other}]) * 0.5",
    )


@form("value", "ternary", 9, nests=True)
def ternary(w: Writer) -> str:
    return f"({w.value()} if {w.condition()} else {w.value()})"


@form("value", "cast to float", 65)
def cast_to_float(w: Writer) -> str:
    return f"{w.name()} * float({w.summed(w.name())}) * 0.1"


@form("value", "cast of dtype", 89, tensors=True)
def cast_of_dtype(w: Writer) -> str:
    name = w.name()
    return w.choose(
        f'({name} > 0).astype("float32") + {w.name()} * 0.5',
        f'{name}.astype("float64").astype("float32") * 0.5',
        f'{name}.astype("int64").astype("float32") * 0.5',
    )


@form("value", "slice", tensors=True)
def slice_(w: Writer) -> str:
    name = w.name()
    return w.choose(
        f"paddle.concat([{name}[1:], {name}[:1]])",
        f"{name}[::-1] * 0.5",
        f"{w.name()} * 0.5 + {name}[-1]",
        f"{w.name()} * {name}[:1]",
    )


@form("value", "index by int", 69, 77)
def index_by_int(w: Writer) -> str:
    return f"[{w.name()}, {w.name()}, {w.name()} * 0.5][{w.small()} % 3]"


@form("value", "item by int", 69, tensors=True)
def item_by_int(w: Writer) -> str:
    return f"{w.name()} * 0.5 + {w.name()}[{w.small()} % 2]"


@form("value", "value of and, or", 12, nests=True)
def value_of_logic(w: Writer) -> str:
    operator = w.choose("and", "or")
    return f"{w.name()} * 0.5 + (({w.summed(w.name())} > {w.limit()}) {operator} {w.small()} > 1)"


@form("value", "read of a name that may be unbound", 3)
def unbound(w: Writer) -> str:
    name = w.loose()
    return f"{name or w.name()} * 0.5"


@form("value", "detached", tensors=True)
def detached(w: Writer) -> str:
    return f"{w.name()} * 0.5 + {w.name()}.detach()"


@form("value", "size", 66, 89, tensors=True)
def size(w: Writer) -> str:
    name = w.name()
    return w.choose(
        f"{name} / len({w.name()})",
        f"{name} / {w.name()}.shape[0]",
        f"{name} * 0.5 + paddle.ones([{w.name()}.shape[0]])",
        f"{name}.reshape([1, {w.name()}.shape[0]])[0] * 0.5",
    )


@form("value", "function of math", 71, tensors=True)
def function_of_math(w: Writer) -> str:
    w.module["math"] = "import math"
    return f"{w.name()} * math.tanh({w.summed(w.name())})"


@form("value", "shape that depends on data", 90, tensors=True)
def shape_of_data(w: Writer) -> str:
    name = w.name()
    return w.choose(
        f"{w.name()} * 0.5 + {name}[{name} > {w.limit()}].sum() * 0.25",
        f"{w.name()} * 0.5 + paddle.nonzero({name} > {w.limit()}).shape[0]",
    )


# -- conditions ----------------------------------------------------------------------------------


@form("condition", "sum compared", 1)
def sum_compared(w: Writer) -> str:
    return f"{w.summed(w.name())} > {w.limit()}"


@form("condition", "int compared")
def int_compared(w: Writer) -> str:
    return f"{w.small()} < {w.upto(2)}"


@form("condition", "items compared", 1)
def items_compared(w: Writer) -> str:
    one, other = w.name(), w.name()
    return f"{one}[0] < {other}[1] + 0.17" if w.tensors else f"{one} < {other} + 0.17"


@form("condition", "not", 10, nests=True)
def not_(w: Writer) -> str:
    return f"not ({w.condition()})"


@form("condition", "and", 10, 11, nests=True)
def and_(w: Writer) -> str:
    return f"({w.condition()} and {w.condition()})"


@form("condition", "or", 10, 11, nests=True)
def or_(w: Writer) -> str:
    return f"({w.condition()} or {w.condition()})"


@form("condition", "chained comparison", 13)
def chained(w: Writer) -> str:
    return f"-0.41 < {w.summed(w.name())} <= {w.choose('1.13', '0.37')}"


@form("condition", "in", 14)
def in_(w: Writer) -> str:
    return f"{w.small()} {w.choose('in', 'not in')} (1, 2)"


@form("condition", "truth of a tensor", 16, tensors=True)
def truth_of_tensor(w: Writer) -> str:
    name = w.name()
    return w.choose(
        f"({name} > {w.limit()}).all()",
        f"({name} > {w.limit()}).any()",
        f"{name}.sum()",
        "n",
        "n > 1",
        "n == 2",
    )


@form("condition", "any, all", 15)
def any_all(w: Writer) -> str:
    function = w.choose("any", "all")
    return f"{function}({w.summed('v')} > {w.limit()} for v in ({w.name()}, {w.name()}))"


@form("condition", "cast to bool", 65)
def cast_to_bool(w: Writer) -> str:
    return f"bool({w.summed(w.name())} > {w.limit()})"


@form("condition", "walrus", 21)
def walrus(w: Writer) -> str:
    name = w.fresh("w")
    return f"({name} := {w.summed(w.name())} * 0.5) > {w.limit()}"


@form("condition", "isinstance", 67, 68, tensors=True)
def isinstance_(w: Writer) -> str:
    return w.choose(
        f"isinstance({w.name()}, paddle.Tensor)",
        f"isinstance({w.need('k')}, int)",
    )


@form("condition", "size compared", 66, 89, tensors=True)
def size_compared(w: Writer) -> str:
    name = w.name()
    return w.choose(f"len({name}) > 2", f"{name}.shape[0] > 2", f"{name}.shape == [2]")


@form("condition", "argument")
def argument(w: Writer) -> str:
    return f"p {w.choose('>', '==')} {w.upto(2)}"


# -- numbers -------------------------------------------------------------------------------------


@form("number", "constant")
def constant(w: Writer) -> str:
    return str(w.upto(2))


@form("number", "variable", 5)
def variable(w: Writer) -> str:
    return w.need("k")


@form("number", "int argument", 91)
def int_argument(w: Writer) -> str:
    return "p"


@form("number", "cast to int", 65)
def cast_to_int(w: Writer) -> str:
    return f"int({w.summed(w.name())} > {w.limit()})"


@form("number", "cast of a tensor to int", 65, 69, tensors=True)
def cast_of_tensor(w: Writer) -> str:
    return "int(n)"


@form("number", "ternary of ints", 9, nests=True)
def ternary_of_ints(w: Writer) -> str:
    return f"({w.small()} if {w.condition()} else {w.small()})"


@form("number", "min, max of ints", 15, nests=True)
def min_max(w: Writer) -> str:
    return f"{w.choose('min', 'max')}({w.small()}, {w.small()})"


@form("number", "count", 15, 49)
def count(w: Writer) -> str:
    return f"sum(1 for v in ({w.name()}, {w.name()}) if {w.summed('v')} > {w.limit()})"

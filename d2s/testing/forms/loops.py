"""Forms of loops; each ends by construction."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form


def _else(w: Writer) -> None:
    if w.allows("else of a loop"):
        w.block("else:")


@form("statement", "else of a loop", 18, 36, loops=True)
def loop_else(w: Writer) -> None:
    w.block(f"for {w.fresh('i')} in range({w.choose('2', 'n') if w.tensors else '2'}):", loop=True)
    w.block("else:")


@form("statement", "for range", 39, loops=True)
def for_range(w: Writer) -> None:
    w.block(f"for {w.fresh('i')} in range({1 + w.upto(2)}):", loop=True)
    _else(w)


@form("statement", "for range of a tensor", 26, loops=True, tensors=True)
def for_range_of_tensor(w: Writer) -> None:
    bounds = w.choose("n", "1, n", "n, 0, -1", "0, n, 2", "n + 1")
    index = w.fresh("i")
    with w.inside(f"for {index} in range({bounds}):", loop=True):
        w.body()
        if w.upto(1):
            w.write(f"x = x * 0.5 + {index}")
    _else(w)


@form("statement", "for range of an int", 39, 69, loops=True)
def for_range_of_int(w: Writer) -> None:
    index = w.fresh("i")
    with w.inside(f"for {index} in range(min({w.small()}, 3)):", loop=True):
        w.body()
        if w.upto(1):
            w.write(f"{w.need('k')} = {index}")
    _else(w)


@form("statement", "for over a tensor", 27, loops=True, tensors=True)
def for_tensor(w: Writer) -> None:
    name = w.fresh("e")
    with w.inside(f"for {name} in {w.name()}:", loop=True):
        w.write(f"x = {w.choose('x', w.name())} * 0.5 + {name} * 0.25")
        w.body()
    _else(w)


@form("statement", "enumerate", 28, loops=True)
def enumerate_(w: Writer) -> None:
    index, item = w.fresh("i"), w.fresh("e")
    things = w.choose("y", "x") if w.tensors else "(x, y)"
    with w.inside(f"for {index}, {item} in enumerate({things}{w.choose('', ', 1')}):", loop=True):
        w.write(f"x = x * 0.5 + {item} * {index}")
        w.body()


@form("statement", "zip", 29, loops=True)
def zip_(w: Writer) -> None:
    one, other = w.fresh("e"), w.fresh("e")
    things = w.choose("x, y", "y, range(3)") if w.tensors else "(x, y), (y, 1)"
    with w.inside(f"for {one}, {other} in zip({things}):", loop=True):
        w.write(f"y = y * 0.5 + {one} * {other} * 0.1")
        w.body()


@form("statement", "reversed", 30, loops=True)
def reversed_(w: Writer) -> None:
    item = w.fresh("e")
    things = w.choose("range(2)", "x", "range(n)") if w.tensors else "[x, y]"
    with w.inside(f"for {item} in reversed({things}):", loop=True):
        w.write(f"x = x * 0.5 - {item} * 0.25")
        w.body()


@form("statement", "for over a sequence", 31, loops=True)
def for_sequence(w: Writer) -> None:
    name = w.fresh("v")
    things = w.choose("(x, y)", "[y, x, x * 0.5]")
    with w.inside(f"for {name} in {things}:", loop=True):
        w.write(f"y = {name} * 0.5 + y * 0.25")
        w.body()
    _else(w)


@form("statement", "for over a text", 31, loops=True)
def for_text(w: Writer) -> None:
    with w.inside(f'for {w.fresh("letter")} in "ab":', loop=True):
        w.body()


@form("statement", "starred target", 35, loops=True)
def starred(w: Writer) -> None:
    one, rest = w.fresh("v"), w.fresh("rest")
    with w.inside(f"for {one}, *{rest} in [(x, y), (y, x, x)]:", loop=True):
        w.write(f"x = {one} * 0.5 + len({rest}) * 0.25")
        w.body()


@form("statement", "for over a generator", 32, loops=True)
def for_generator(w: Writer) -> None:
    name = w.fresh("v")
    with w.inside(f"for {name} in (u * 0.5 for u in (x, y)):", loop=True):
        w.write(f"x = x * 0.5 + {name}")
        w.body()


@form("statement", "while with a counter", 17, 20, loops=True)
def while_counter(w: Writer) -> None:
    counter = w.fresh("w")
    w.write(f"{counter} = 0")
    test = f"{counter} < {1 + w.upto(2)}"
    test = w.choose(test, f"{w.condition()} and {test}", f"{test} and {w.condition()}")
    with w.inside(f"while {test}:", loop=True):
        w.write(f"{counter} = {counter} + 1")
        w.body()
    _else(w)


@form("statement", "while on a tensor", 17, loops=True, tensors=True)
def while_tensor(w: Writer) -> None:
    name = w.fresh("t")
    w.write(f"{name} = paddle.zeros([])")
    with w.inside(f"while {name} + {w.name()}.abs().max() * 0 < {1 + w.upto(2)}:", loop=True):
        w.write(f"{name} = {name} + 1")
        w.body()
    _else(w)


@form("statement", "while that shrinks", 17, loops=True)
def while_shrinks(w: Writer) -> None:
    small = "x.abs().max() > 1" if w.tensors else "abs(x) > 1"
    w.write("x = x * 0.5" if w.upto(1) else "y = y * 0.5")
    with w.inside(f"while {small}:", loop=True):
        w.write("x = x * 0.5")
        if w.upto(1):
            w.write(f"y = {w.choose('y', 'x')} * 0.5 + 0.25")


@form("statement", "while True", 19, loops=True)
def while_true(w: Writer) -> None:
    counter = w.fresh("w")
    w.write(f"{counter} = 0")
    with w.inside("while True:", loop=True):
        w.write(f"{counter} = {counter} + 1")
        with w.inside(w.choose(f"if {counter} > 2:", f"if {counter} > 1 or {w.condition()}:")):
            w.write("break")
        w.body()


@form("statement", "last value of a loop variable", 25, 40, loops=True)
def last_value(w: Writer) -> None:
    index = w.fresh("i")
    bound = w.choose("2", "n", w.small()) if w.tensors else w.choose("2", w.small())
    w.block(f"for {index} in range({bound}):", loop=True)
    w.write(f"x = x * 0.5 + {index}")


@form("statement", "shape that grows", 22, loops=True, tensors=True)
def shape_grows(w: Writer) -> None:
    name = w.fresh("grown")
    w.write(f"{name} = {w.name()}[:1]")
    with w.inside(f"for {w.fresh('i')} in range({w.choose('n', '2')}):", loop=True):
        w.write(f"{name} = paddle.concat([{name}, {w.name()}[:1]])")
        w.body()
    w.write(f"x = x * 0.5 + {name}.mean()")


@form("statement", "int that becomes a float", 23, loops=True)
def int_becomes_float(w: Writer) -> None:
    name = w.fresh("sum")
    w.write(f"{name} = 0")
    with w.inside(
        f"for {w.fresh('i')} in range({w.choose('n', '2') if w.tensors else '2'}):", loop=True
    ):
        w.write(f"{name} = {name} + {w.choose('0.5', w.summed('x') + ' * 0.1')}")
        w.body()
    w.write(f"x = x * 0.5 + {name} * 0.25")


# -- comprehensions ------------------------------------------------------------------------------


@form("value", "list comprehension", 48)
def list_comprehension(w: Writer) -> str:
    return f"sum([v * 0.5 for v in ({w.name()}, {w.name()})]) * 0.5"


@form("value", "filtered comprehension", 49)
def filtered(w: Writer) -> str:
    test = f"{w.summed('v')} > {w.limit()}"
    return f"sum([v * 0.5 for v in ({w.name()}, {w.name()}) if {test}], {w.name()} * 0.25)"


@form("value", "comprehension with a ternary", 49)
def ternary_comprehension(w: Writer) -> str:
    item = f"v * 0.5 if {w.summed('v')} > {w.limit()} else v"
    return f"sum([{item} for v in ({w.name()}, {w.name()})]) * 0.5"


@form("value", "dict comprehension", 48)
def dict_comprehension(w: Writer) -> str:
    things = f"enumerate(({w.name()}, {w.name()}))"
    return f"{{i: v * 0.5 for i, v in {things}}}[{w.upto(1)}]"


@form("value", "comprehension over a range of a tensor", 49, tensors=True)
def tensor_comprehension(w: Writer) -> str:
    return f"sum([{w.name()} * 0.25 * i for i in range(n)], {w.name()} * 0.5)"


@form("value", "generator expression", 48)
def generator_expression(w: Writer) -> str:
    return f"sum(v * 0.5 for v in ({w.name()}, {w.name()})) * 0.5"


@form("value", "sorted", 15)
def sorted_(w: Writer) -> str:
    things = f"[{w.name()} * 0.5, {w.name()} - 0.1, {w.name()} + 0.2]"
    return f"sorted({things}, key=lambda v: {w.summed('v')})[{w.upto(2)}]"

"""Forms that define and call functions, close over variables, and write to outer ones."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form


def _helper(w: Writer) -> None:
    """A function of the module with a branch."""
    test = f"{w.summed('v')} > 0.3"
    w.module["helper"] = (
        "def helper(v, scale=0.5):\n"
        f"    if {test}:\n"
        "        return v * scale\n"
        "    return v - 0.25\n"
    )


@form("value", "helper", 54, 125)
def helper(w: Writer) -> str:
    _helper(w)
    return w.choose(f"helper({w.name()})", f"helper({w.name()}, scale={w.factor()})")


@form("value", "partial", 55)
def partial(w: Writer) -> str:
    _helper(w)
    w.module["functools"] = "import functools"
    return f"functools.partial(helper, scale=0.25)({w.name()})"


@form("value", "map", 55)
def map_(w: Writer) -> str:
    _helper(w)
    return f"sum(map(helper, [{w.name()}, {w.name()}])) * 0.5"


@form("value", "function in a dict", 54)
def function_in_dict(w: Writer) -> str:
    _helper(w)
    return f'{{"h": helper, "a": abs}}["{w.choose("h", "a")}"]({w.name()})'


@form("value", "lambda", 50)
def lambda_(w: Writer) -> str:
    test = f"{w.summed('v')} > {w.limit()}"
    body = w.choose("v * 0.5", f"v * 0.5 if {test} else -v", f"v * 0.5 + {w.name()} * 0.25")
    return f"(lambda v: {body})({w.name()})"


@form("statement", "nested function", 52, nests=True)
def nested(w: Writer) -> None:
    name = w.fresh("inner")
    with w.function(f"def {name}(v):"):
        if w.upto(1):
            with w.inside(f"if {w.summed('v')} > {w.limit()}:"):
                w.write(f"return v * 0.5 + {w.choose('x', 'y')} * 0.25")
        w.write(f"return v * {w.factor()}")
    if w.upto(1):
        w.write(f"y = {w.value()}")
    w.write(f"x = {name}({w.name()})")


@form("statement", "closure that reads later", 52, 122, nests=True)
def late(w: Writer) -> None:
    name = w.fresh("inner")
    w.write(f"{name} = lambda: y * 0.5")
    with w.inside(f"if {w.condition()}:"):
        w.write(f"y = {w.value()}")
    w.write(f"x = {name}() + x * 0.25")


@form("statement", "nonlocal", 53, nests=True)
def nonlocal_(w: Writer) -> None:
    name, k = w.fresh("bump"), w.need("k")
    with w.function(f"def {name}():"):
        w.write(f"nonlocal {k}, y")
        with w.inside(f"if {w.condition()}:"):
            w.write(f"{k} = {k} + 1")
            w.write("y = y * 0.5")
    w.write(f"{name}()")


@form("statement", "global", 53)
def global_(w: Writer) -> None:
    w.module["total"] = "total = paddle.zeros([])" if w.tensors else "total = 0.0"
    w.globals.add("total")
    w.write(f"total = total * 0.5 + {w.summed(w.name())}")


@form("value", "global read", 53, 97)
def global_read(w: Writer) -> str:
    w.module["total"] = "total = paddle.zeros([])" if w.tensors else "total = 0.0"
    w.globals.add("total")
    return f"{w.name()} * 0.5 + total"


@form("statement", "generator function", 57, loops=True)
def generator_function(w: Writer) -> None:
    name, item = w.fresh("parts"), w.fresh("v")
    with w.function(f"def {name}(v):"):
        w.write("yield v * 0.5")
        w.write(f"yield {w.value()}")
    with w.inside(f"for {item} in {name}(x):", loop=True):
        w.write(f"y = y * 0.5 + {item}")
        w.body()


@form("value", "recursion", 56)
def recursion(w: Writer) -> str:
    w.module["power"] = (
        "def power(v, times):\n"
        "    if times <= 0:\n"
        "        return v\n"
        "    return power(v * 0.5, times - 1)\n"
    )
    return f"power({w.name()}, {w.upto(2)})"


@form("statement", "decorated function", 52, nests=True)
def decorated(w: Writer) -> None:
    w.module["functools"] = "import functools"
    w.module["halved"] = (
        "def halved(function):\n"
        "    @functools.wraps(function)\n"
        "    def call(v):\n"
        "        return function(v) * 0.5\n"
        "\n"
        "    return call\n"
    )
    name = w.fresh("inner")
    w.write("@halved")
    with w.function(f"def {name}(v):"):
        w.write(f"return v if {w.summed('v')} > {w.limit()} else v * 0.5")
    w.write(f"x = {name}({w.name()})")

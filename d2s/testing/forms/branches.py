"""Forms of statements that assign, choose and leave."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form


@form("statement", "assign")
def assign(w: Writer) -> None:
    name = w.target()
    w.write(f"{name} = {w.value()}")
    w.bind(name)


@form("statement", "assign int", 5)
def assign_int(w: Writer) -> None:
    w.write(f"{w.need('k')} = {w.small()}")


@form("statement", "add one", 5)
def add_one(w: Writer) -> None:
    w.write(w.choose(f"{w.need('k')} = k + 1", "k += 1"))


@form("statement", "augmented assignment")
def augmented(w: Writer) -> None:
    name = w.name()
    if not w.tensors or name not in ("x", "y"):  # Paddle changes a tensor in place: not an argument
        w.write(f"{name} {w.choose('+=', '-=')} {w.value()}")
    else:
        w.write(f"{name} = {name} + 0.25")
        w.write(f"{name} {w.choose('+=', '-=')} {w.value()}")


@form("statement", "swap", 82)
def swap(w: Writer) -> None:
    w.write("x, y = y, x")


@form("statement", "assign two", 82)
def assign_two(w: Writer) -> None:
    one, other = w.target(), w.target()
    if one == other:
        w.write(f"{one} = {w.value()}")
    else:
        w.write(f"{one}, {other} = {w.value()}, {w.value()}")
    w.bind(one)
    w.bind(other)


@form("statement", "flag", 37, nests=True)
def flag(w: Writer) -> None:
    w.write(f"{w.need('flag')} = {w.condition()}")


@form("condition", "flag")
def flag_read(w: Writer) -> str:
    return f"{w.choose('', 'not ')}{w.need('flag')}"


@form("statement", "text", 5, 6)
def text(w: Writer) -> None:
    w.write(f"{w.need('word')} = " + w.choose('"b"', 'word + "c"', f'f"{{{w.small()}}}"'))


@form("condition", "text compared", 5, 6)
def text_compared(w: Writer) -> str:
    return f"{w.need('word')} == " + w.choose('"a"', '"b"', '"1"')


@form("statement", "None or a tensor", 4, 24)
def none_or_tensor(w: Writer) -> None:
    w.write(f"{w.need('found')} = {w.choose('None', w.value())}")


@form("condition", "is None", 4)
def is_none(w: Writer) -> str:
    return f"{w.need('found')} {w.choose('is', 'is not')} None"


@form("value", "None or a tensor read", 4, nests=True)
def none_or_tensor_read(w: Writer) -> str:
    return f"({w.need('found')} * 0.5 if found is not None else {w.value()})"


# -- branches ------------------------------------------------------------------------------------


@form("statement", "if", 1, 2, nests=True)
def if_(w: Writer) -> None:
    w.block(f"if {w.condition()}:")


@form("statement", "if else", 1, nests=True)
def if_else(w: Writer) -> None:
    body = w.block(f"if {w.condition()}:")
    w.join(body, w.block("else:"))


@form("statement", "elif", 1, nests=True)
def elif_(w: Writer) -> None:
    ends = [w.block(f"if {w.condition()}:"), w.block(f"elif {w.condition()}:")]
    w.join(*ends, w.block("else:"))


@form("statement", "match", 47, nests=True)
def match(w: Writer) -> None:
    subject, first, second = w.choose(
        (w.small(), "0", "1 | 2"),
        (w.need("word"), '"a"', '"b" | "1"'),
        (f"({w.small()}, {w.name()})", "(0, _)", "(1, inner)"),
    )
    guard = f" if {w.condition()}" if w.upto(1) else ""
    with w.inside(f"match {subject}:"):
        w.block(f"case {first}:")
        w.block(f"case {second}{guard}:")
        if w.upto(1):
            w.block("case _:")


@form("statement", "other dtype on one side", 7, nests=True, tensors=True)
def other_dtype(w: Writer) -> None:
    name = w.fresh("m")
    w.write(f"{name} = {w.name()}")
    with w.inside(f"if {w.condition()}:"):
        w.write(f'{name} = ({w.name()} * 4).astype("{w.choose("int64", "float64", "bool")}")')
    w.write(f"x = x * 0.5 + {name}.astype(x.dtype)")


@form("statement", "other shape on one side", 8, nests=True, tensors=True)
def other_shape(w: Writer) -> None:
    name = w.fresh("part")
    w.write(f"{name} = {w.name()}")
    with w.inside(f"if {w.condition()}:"):
        w.write(f"{name} = {w.choose('x[:1]', 'x.sum()', 'paddle.stack([x, y])', 'x[1:]')}")
    w.write(f"y = y * 0.5 + {name}.sum() * 0.25")


@form("statement", "floats on both sides", 70, nests=True)
def floats(w: Writer) -> None:
    name = w.fresh("rate")
    with w.inside(f"if {w.condition()}:"):
        w.write(f"{name} = 0.5")
    with w.inside("else:"):
        w.write(f"{name} = {w.choose('0.25', '1', '-0.5')}")
    w.write(f"x = x * {name}")


# -- exits ---------------------------------------------------------------------------------------


def _perhaps_assign(w: Writer) -> None:
    if w.upto(1):
        w.write(f"x = {w.value()}")


@form("statement", "return", 41, 42, 43, nests=True)
def return_(w: Writer) -> None:
    with w.inside(f"if {w.condition()}:"):
        _perhaps_assign(w)
        w.write(f"return {w.value()}")


@form("statement", "return of another structure", 45, nests=True)
def return_other(w: Writer) -> None:
    with w.inside(f"if {w.condition()}:"):
        others = ["None", "x, y", "[x]", f'{{"r": {w.value()}}}', w.small(), '"early"']
        w.write(f"return {w.choose(*others, 'x.sum()' if w.tensors else '-x')}")


@form("statement", "return in with", 46, nests=True, tensors=True)
def return_in_with(w: Writer) -> None:
    with w.inside("with paddle.no_grad():"), w.inside(f"if {w.condition()}:"):
        w.write(f"return {w.value()}")


@form("statement", "return in try", 46, nests=True)
def return_in_try(w: Writer) -> None:
    with w.inside("try:"):
        with w.inside(f"if {w.condition()}:"):
            w.write(f"return {w.value()}")
        w.write(f"x = {w.value()}")
    with w.inside("finally:"):
        w.write(f"{w.need('k')} = k + 1")


@form("statement", "break", 37, 38, 39, loops=True, in_loop=True)
def break_(w: Writer) -> None:
    with w.inside(f"if {w.condition()}:"):
        _perhaps_assign(w)
        w.write("break")


@form("statement", "continue", 37, loops=True, in_loop=True)
def continue_(w: Writer) -> None:
    with w.inside(f"if {w.condition()}:"):
        _perhaps_assign(w)
        w.write("continue")


@form("statement", "return in a loop under no condition", 44, loops=True, in_loop=True)
def return_at_once(w: Writer) -> None:
    with w.inside(f"for _ in range({w.small()}):"):
        w.write(f"return {w.value()}")


@form("statement", "del", 64)
def del_(w: Writer) -> None:
    names = w.bound()
    if not names:
        assign(w)
        return
    name = w.choose(*names)
    w.write(f"del {name}")
    w.unbind(name)

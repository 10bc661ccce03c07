"""Forms that print, log, assert, raise, catch, and enter contexts."""

from __future__ import annotations

from typing import Final

from d2s.testing.grammar import Writer, form


@form("statement", "print", 62)
def print_(w: Writer) -> None:
    w.write(
        w.choose(
            f'print("at", {w.small()})',
            f"print({w.name()})",
            f'print(f"x is {{{w.name()}}}, k is {{{w.small()}}}")',
            f'print({w.name()}, "and", {w.name()}, sep="; ")',
            f"print({w.condition()})",
        )
    )


@form("statement", "print of numbers", 71, 72, tensors=True)
def print_numbers(w: Writer) -> None:
    w.write(
        w.choose(
            f"print({w.name()}.tolist())",
            f"print({w.name()}.sum().item())",
            f'print("%.3f" % {w.name()}.sum())',
        )
    )


@form("statement", "logging", 118)
def logging(w: Writer) -> None:
    w.module["logging"] = "import logging"
    w.write(f'logging.warning("x is %s", {w.choose(w.name(), w.small())})')


@form("statement", "assert", 61)
def assert_(w: Writer) -> None:
    message = w.choose("", f', "too small: {w.limit()}"', f', f"x is {{{w.name()}}}"')
    w.write(f"assert {w.condition()}{message}")


@form("statement", "raise", 59, nests=True)
def raise_(w: Writer) -> None:
    with w.inside(f"if {w.condition()}:"):
        w.write("raise " + w.choose('ValueError("no")', 'KeyError("k", 3)', "RuntimeError"))


@form("statement", "exception of the user's", 59, 119, nests=True)
def own_exception(w: Writer) -> None:
    w.module["Stop"] = (
        "class Stop(Exception):\n"
        "    def __init__(self, code, text):\n"
        "        super().__init__(code, text)\n"
        "        self.code = code\n"
    )
    with w.inside(f"if {w.condition()}:"):
        w.write(f'raise Stop({w.upto(2)}, "stopped")')


@form("statement", "try around a raise", 60, nests=True)
def try_raise(w: Writer) -> None:
    with w.inside("try:"):
        if w.upto(1):
            w.statement()
        with w.inside(f"if {w.condition()}:"):
            w.write(f"y = {w.value()}")
            w.write('raise ValueError("caught")')
        w.write(f"x = {w.value()}")
    with w.inside("except ValueError:"):
        w.write(f"x = {w.value()}")
        if w.upto(1):
            w.statement()
    if w.upto(1):
        with w.inside("else:"):
            w.write(f"y = {w.value()}")


@form("statement", "try, finally", 58, nests=True)
def try_finally(w: Writer) -> None:
    w.block("try:")
    with w.inside("finally:"):
        w.write(f"{w.need('k')} = k + 1")


@form("statement", "exception of Python", 58, nests=True)
def python_exception(w: Writer) -> None:
    with w.inside("try:"):
        w.write(f"x = [x, y][{w.small()} + {w.upto(2)}] * 0.5")
    with w.inside("except IndexError as error:"):
        w.write(f"{w.need('word')} = str(error)")
        w.write(f"y = {w.value()}")


@form("statement", "with no_grad", 63, nests=True, tensors=True)
def no_grad(w: Writer) -> None:
    with w.inside("with paddle.no_grad():"):
        w.body()


_NOTED: Final = """\
@contextlib.contextmanager
def noted(text):
    print("enter", text)
    yield text
    print("leave", text)
"""

_CLOSING: Final = """\
@contextlib.contextmanager
def closing(text):
    print("open", text)
    try:
        yield text
    finally:
        print("close", text)
"""


@form("statement", "with a context manager", 63, nests=True)
def context_manager(w: Writer) -> None:
    w.module["contextlib"] = "import contextlib"
    w.module["noted"] = _NOTED
    with w.inside('with noted("it"):'):
        w.body()


@form("statement", "context manager that is left by an exception", 63, nests=True)
def closing(w: Writer) -> None:
    w.module["contextlib"] = "import contextlib"
    w.module["closing"] = _CLOSING
    with w.inside('with closing("it") as name:'):
        w.body()
        with w.inside(f"if {w.condition()}:"):
            w.write("raise ValueError(name)")


_SCOPE: Final = """\
class Scope:
    depth = 0

    def __init__(self, swallowed):
        self.swallowed = swallowed

    def __enter__(self):
        Scope.depth += 1
        return Scope.depth

    def __exit__(self, kind, error, trace):
        Scope.depth -= 1
        print("left with", kind)
        return kind is not None and issubclass(kind, self.swallowed)
"""


@form("statement", "context manager that swallows", 63, nests=True)
def swallowing(w: Writer) -> None:
    w.module["Scope"] = _SCOPE
    with w.inside("with Scope(KeyError) as depth:"):
        if w.upto(1):
            w.body()
        with w.inside(f"if {w.condition()}:"):
            w.write(f"y = {w.value()}")
            w.write(f"raise {w.choose('KeyError', 'ValueError')}(depth)")
        w.write(f"x = {w.value()} + depth")


@form("statement", "suppress", 58, 63, nests=True)
def suppress(w: Writer) -> None:
    w.module["contextlib"] = "import contextlib"
    with w.inside("with contextlib.suppress(ValueError):"):
        w.write(f"y = {w.value()}")
        with w.inside(f"if {w.condition()}:"):
            w.write('raise ValueError("suppressed")')
        w.write(f"x = {w.value()}")

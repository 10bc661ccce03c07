"""Small programs with branches and loops, drawn by hypothesis and written as plain text.

They end by construction: every ``while`` counts its trips. Values stay small: assignments average.
The simplest choice comes first everywhere, so a failing program shrinks to what a person would
have written to show the same defect.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

FLOATS = ("x", "y")
THRESHOLDS = ("0.37", "-0.41", "1.13", "-1.27")
FACTORS = ("0.5", "-0.75", "0.25")


@dataclass
class _Writer:
    """The text so far; ``counters`` makes the names of while counters unique."""

    draw: st.DrawFn
    tensors: bool
    counters: int = 0
    lines: list[str] = field(default_factory=list)

    def choose(self, *options: str) -> str:
        return self.draw(st.sampled_from(options))

    def number(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    # -- expressions -----------------------------------------------------------------------------

    def value(self) -> str:
        """A float (tensor), no larger than what it is made of."""
        name = self.choose(*FLOATS)
        factor = self.choose(*FACTORS)
        form = self.choose("scaled", "mixed", "shifted", "ternary", "k", "function")
        other = self.choose(*FLOATS)
        if form == "scaled":
            return f"{name} * {factor}"
        if form == "mixed":
            return f"{name} * {factor} + {other} * 0.25"
        if form == "shifted":
            return f"{name} * 0.5 - {self.choose('1', '0.3')}"
        if form == "k":
            return f"{name} * 0.5 + k"
        if form == "function":
            return f"paddle.tanh({name}) - {other}" if self.tensors else f"abs({name}) - {other}"
        return f"{name} if {self.condition()} else {other} * {factor}"

    def condition(self) -> str:
        form = self.choose("sum", "pair", "int", "and", "or", "not")
        name, limit = self.choose(*FLOATS), self.choose(*THRESHOLDS)
        summed = f"{name}.sum()" if self.tensors else name
        if form == "sum":
            return f"{summed} > {limit}"
        if form == "pair":
            other = self.choose(*FLOATS)
            item = "[0]" if self.tensors else ""
            return f"{name}{item} < {other}{item.replace('0', '1')} + 0.17"
        if form == "int":
            return f"k < {self.number(2)}"
        if form == "not":
            return f"not {summed} > {limit}"
        return f"({self.simple()} {form} {summed} < {limit})"

    def simple(self) -> str:
        name = self.choose(*FLOATS)
        return self.choose(f"{name}.sum() > 0.11" if self.tensors else f"{name} > 0.11", "k > 1")

    # -- statements ------------------------------------------------------------------------------

    def write(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def block(self, indent: int, depth: int, *, loop: bool) -> None:
        for _ in range(1 + self.number(2)):
            self.statement(indent, depth, loop=loop)

    def statement(self, indent: int, depth: int, *, loop: bool) -> None:
        kinds = ["assign", "int"]
        if depth > 0:
            kinds += ["if", "if else", "for", "while"]
            kinds += ["return"]
            if loop:
                kinds += ["break", "continue"]
        kind = self.choose(*kinds)
        if kind == "assign":
            self.write(indent, f"{self.choose(*FLOATS)} = {self.value()}")
        elif kind == "int":
            self.write(indent, self.choose("k = 2", "k = k + 1", "k = 0"))
        elif kind in ("if", "if else"):
            self.write(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth - 1, loop=loop)
            if kind == "if else":
                self.write(indent, "else:")
                self.block(indent + 1, depth - 1, loop=loop)
        elif kind in ("break", "continue", "return"):
            self.write(indent, f"if {self.condition()}:")
            if self.number(1):
                self.write(indent + 1, f"{self.choose(*FLOATS)} = {self.value()}")
            self.write(
                indent + 1,
                "return " + self.choose("x", "x - y", "y * k") if kind == "return" else kind,
            )
        elif kind == "for":
            times = self.choose("n", "2", "k") if self.tensors else self.choose("2", "n")
            if times == "k":  # a Python number that a branch may have made a tensor
                times = "min(k, 3)" if self.number(0) else "2"
            self.write(indent, f"for i in range({times}):")
            self.block(indent + 1, depth - 1, loop=True)
        else:
            self.counters += 1
            counter = f"w{self.counters}"
            self.write(indent, f"{counter} = 0")
            test = f"{counter} < {1 + self.number(2)}"
            if self.number(1):
                test = f"{self.condition()} and {test}"
            self.write(indent, f"while {test}:")
            self.write(indent + 1, f"{counter} = {counter} + 1")
            self.block(indent + 1, depth - 1, loop=True)


@st.composite
def programs(draw: st.DrawFn, *, tensors: bool) -> str:
    """The text of ``f(x, y, n)``: two floats (or float tensors) and a number of trips."""
    writer = _Writer(draw, tensors)
    writer.write(0, "def f(x, y, n):")
    writer.write(1, "k = 1")
    writer.block(1, 3, loop=False)
    writer.write(1, "return " + writer.choose("x + y", "x - y * k"))
    return "\n".join(writer.lines) + "\n"


NUMBERS = st.sampled_from([0.5, -0.5, 2.0, -2.0, 0.0])
TRIPS = st.integers(0, 3)

"""Forms with state over several calls, calls by keyword, second derivatives, and long loops."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form

MEMORY = """\
class Memory:
    def __init__(self):
        self.h = None
        self.count = 0
        self.limit = 0.41
        self.seen = []
        self.table = {"a": 0.0}

    def push(self, value):
        self.h = value if self.h is None else self.h * 0.5 + value * 0.25
        self.count += 1
        return self.h


memory = Memory()
"""
"""An object that outlives a call; ``observing.fresh_state`` puts it back."""

_TRACK = """\
@dataclasses.dataclass
class Track:
    at: object
    steps: int = 0
    seen: list = dataclasses.field(default_factory=list)

    def moved(self, by):
        return dataclasses.replace(self, at=self.at * 0.5 + by * 0.25, steps=self.steps + 1)
"""

_TRIPS = 8
"""A loop of at least so many trips is left early."""


def _memory(w: Writer) -> str:
    w.module["memory"] = MEMORY
    return "memory"


@form("statement", "object over calls", 84, 86, tensors=True)
def object_over_calls(w: Writer) -> None:
    memory, total = _memory(w), w.summed(w.name())
    w.write(
        w.choose(
            f"{memory}.push({total})",
            f"{memory}.count += 1",
            f"{memory}.h = {total}",
            f"{memory}.seen = {memory}.seen[-1:] + [{total}]",
            f'{memory}.table["a"] = {memory}.table["a"] * 0.5 + {total}',
            f"{memory}.limit = {memory}.limit * 0.5",
        )
    )


@form("value", "state of an object", 84, 86, tensors=True)
def state_of_object(w: Writer) -> str:
    memory = _memory(w)
    read = w.choose(
        f"{memory}.count",
        f"(0.25 if {memory}.h is None else {memory}.h)",
        f"len({memory}.seen)",
        f"sum({memory}.seen)",
        f'{memory}.table["a"]',
    )
    return f"{w.name()} * 0.5 + {read} * 0.1"


@form("statement", "changed between calls", 84, 86, nests=True, tensors=True)
def changed_between_calls(w: Writer) -> None:
    memory = _memory(w)
    w.between.append(
        w.choose(
            f"{memory}.limit = -{memory}.limit",
            f"{memory}.count = number",
            f"{memory}.h = None",
            f"{memory}.seen.clear()",
            f'{memory}.table = {{"a": 0.5}}',
            f"{memory}.h = paddle.to_tensor(number * 0.5)",
        )
    )
    test = w.choose(
        f"{w.summed('x')} > {memory}.limit", f"{memory}.count > 0", f"{memory}.h is None"
    )
    w.block(f"if {test}:")


# -- calls by keyword ----------------------------------------------------------------------------


def _mixed(w: Writer) -> None:
    w.module["mixed"] = (
        "def mixed(v, other=0.25, *rest, scale=0.5, **more):\n"
        f"    if {w.summed('v')} > 0.3:\n"
        "        v = v * scale\n"
        "    for part in rest:\n"
        "        v = v * 0.5 + part * 0.25\n"
        '    return v * 0.5 + other * 0.25 + more.get("shift", 0.0) * 0.25\n'
    )


@form("value", "keyword call", 54, 55)
def keyword_call(w: Writer) -> str:
    _mixed(w)
    one, other = w.name(), w.name()
    return w.choose(
        f"mixed(v={one})",
        f"mixed({one}, scale={w.factor()}, shift={other})",
        f"mixed(other={other}, v={one})",
        f"mixed({one}, 0.5, {other})",
        f'mixed(*[{one}, {other}], **{{"scale": {w.factor()}}})',
        f"mixed(**dict(v={one}, shift=0.5))",
    )


@form("statement", "options that grow", 55, 81, nests=True)
def options_that_grow(w: Writer) -> None:
    _mixed(w)
    name = w.fresh("options")
    w.write(f'{name} = {{"scale": {w.factor()}}}')
    with w.inside(f"if {w.condition()}:"):
        w.write(f'{name}["{w.choose("shift", "scale", "other")}"] = {w.choose("0.5", w.name())}')
    w.write(f"x = mixed(x, **{name})")


@form("value", "function of paddle by keyword", 125, tensors=True)
def paddle_by_keyword(w: Writer) -> str:
    one, other = w.name(), w.name()
    return w.choose(
        f"paddle.add(x=x, y={one}) * 0.5",
        f"paddle.clip(x=x * 0.5, min=-{0.5 + w.upto(2)}, max=1.0)",
        f"paddle.where(condition=x > {w.limit()}, x=x * 0.5, y=y * 0.5)",
        "paddle.stack(x=[x, x * 0.5], axis=0).mean(axis=0)",
        f"paddle.sum(x=x, axis=-1, keepdim=True) * 0.1 + {other} * 0.5",
    )


# -- second derivatives --------------------------------------------------------------------------


@form("statement", "second derivative", 125, tensors=True)
def second_derivative(w: Writer) -> None:
    point, slope = w.fresh("u"), w.fresh("slope")
    curve = w.choose(
        f"{point} * {point} * {point}",
        f"paddle.tanh({point})",
        f"paddle.exp({point} * 0.25)",
        f"paddle.where({point} > 0, {point} * {point}, {point} * 0.5)",
        f"paddle.nn.functional.sigmoid({point}) * {point}",
    )
    w.write(f"{point} = (x * {w.factor()}).detach()")
    w.write(f"{point}.stop_gradient = False")
    w.write(f"{slope} = paddle.grad(({curve}).sum(), {point}, create_graph=True)[0]")
    w.write(f"y = y * 0.5 + paddle.grad(({slope} * {slope}).sum(), {point})[0] * 0.1")


# -- loops that are left early -------------------------------------------------------------------


@form("statement", "many trips left early", 21, 22, loops=True)
def many_trips(w: Writer) -> None:
    index = w.fresh("i")
    bound = w.limit().lstrip("-")
    with w.inside(f"for {index} in range({_TRIPS + w.upto(8)}):", loop=True):
        w.write(w.choose("x = x * 0.5", "x = x * -0.75", "x, y = x * 0.5, y * 0.5 + x * 0.25"))
        if w.upto(1):
            k = w.need("k")
            w.write(f"{k} = {w.choose(index, f'{k} + 1')}")
        if w.upto(1):
            w.write(f"{w.need('items')}.append(x)")
        with w.inside(f"if abs({w.summed('x')}) < {bound}:"):
            w.write(w.choose("break", f"return y + {index}", "return x", "continue"))
        if w.upto(1):
            w.write(f"y = {w.value()}")
    if w.allows("else of a loop"):
        w.block("else:")


# -- data classes --------------------------------------------------------------------------------


@form("statement", "data class in a loop", 83, 84, loops=True)
def track(w: Writer) -> None:
    w.module["dataclasses"] = "import dataclasses"
    w.module["Track"] = _TRACK
    name = w.fresh("track")
    w.write(f"{name} = Track(x{w.choose('', ', steps=1', ', seen=[y]')})")
    trips = w.choose("2", "n", "6") if w.tensors else "2"
    with w.inside(f"for {w.fresh('i')} in range({trips}):", loop=True):
        w.write(
            w.choose(
                f"{name} = {name}.moved({w.name()})",
                f"{name}.at = {name}.at * 0.5 + {w.name()} * 0.25",
                f"{name}.seen.append({w.name()})",
                f"{name} = dataclasses.replace({name}, steps={name}.steps + 1)",
            )
        )
        with w.inside(f"if {w.summed(f'{name}.at')} > {w.limit()}:"):
            w.write(w.choose(f"{name}.steps += 1", "break", f"{name} = Track(at=y)"))
    w.write(f"x = {name}.at * 0.5 + {name}.steps * 0.1 + len({name}.seen)")


# -- what holds tensors, compared ----------------------------------------------------------------


@form("condition", "containers compared", 66, tensors=True)
def compared(w: Writer) -> str:
    return w.choose(
        "x[:n].shape == y.shape",
        "(int(n), 1) < (2, 0)",
        "[int(n), 1] in [[1, 1], [2, 1]]",
        f"x[:n].shape != [{1 + w.upto(1)}]",
    )

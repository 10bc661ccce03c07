"""Forms that change tensors in place: always ones that the program has made itself."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form


def _own(w: Writer) -> str:
    """A variable whose tensor no argument and no other variable is."""
    name = w.choose("y", "x", "a")
    w.write(f"{name} = {w.name()} * 1")
    w.bind(name)
    return name


@form("statement", "item set", 87, tensors=True)
def item_set(w: Writer) -> None:
    name = _own(w)
    place = w.choose("0", "-1", "1:", "::2", f"{w.small()} % 2")
    value = w.choose("0.5", f"{w.name()}[0]", f"{w.name()}.sum() * 0.25")
    w.write(f"{name}[{place}] = {value}")


@form("statement", "item set on one side", 87, nests=True, tensors=True)
def item_set_on_one_side(w: Writer) -> None:
    name = _own(w)
    with w.inside(f"if {w.condition()}:"):
        w.write(f"{name}[{w.upto(1)}] = {w.choose('0.5', 'x.sum() * 0.25')}")


@form("statement", "mask set", 87, tensors=True)
def mask_set(w: Writer) -> None:
    name = _own(w)
    w.write(f"{name}[{name} > {w.limit()}] = {w.choose('0.0', '-0.5')}")


@form("statement", "in-place method", 88, tensors=True)
def inplace_method(w: Writer) -> None:
    name = _own(w)
    w.write(
        w.choose(
            f"{name}.add_({w.name()})",
            f"{name}.scale_(0.5)",
            f"{name}.zero_()",
            f"{name}.clip_(-0.5, 0.5)",
        )
    )


@form("statement", "in-place method on one side", 88, nests=True, tensors=True)
def inplace_on_one_side(w: Writer) -> None:
    name = _own(w)
    with w.inside(f"if {w.condition()}:"):
        w.write(f"{name}.add_({w.choose('x', 'y')} * 0.5)")


@form("statement", "view", 88, tensors=True)
def view(w: Writer) -> None:
    name = _own(w)
    other = w.fresh("view")
    w.write(f"{other} = {name}[:1]")
    with w.inside(f"if {w.condition()}:"):
        w.write(f"{name}[0] = 0.5")
    w.write(f"x = x * 0.5 + {other}")


@form("statement", "two names for one tensor", 78, 88, tensors=True)
def alias(w: Writer) -> None:
    name = _own(w)
    other = w.fresh("same")
    w.write(f"{other} = {name}")
    w.write(f"{name}.add_(paddle.ones_like({name}))")
    w.write(f"x = {other} * 0.5")

"""Forms that make, change and read lists, tuples and dicts."""

from __future__ import annotations

from d2s.testing.grammar import Writer, form

# -- lists ---------------------------------------------------------------------------------------


@form("statement", "append", 74, 75)
def append(w: Writer) -> None:
    w.write(f"{w.need('items')}.append({w.value()})")


@form("statement", "list changed", 76)
def list_changed(w: Writer) -> None:
    items = w.need("items")
    w.write(
        w.choose(
            f"{items}.extend([{w.name()}, {w.value()}])",
            f"{items} += [{w.value()}]",
            f"{items}.insert(0, {w.value()})",
            f"{items}[0] = {w.value()}",
            f"{items}[-1] = {w.value()}",
            f"{items} = {items} + [{w.value()}]",
            f"{items} = [{w.value()}]",
            f"{items}.reverse()",
        )
    )


@form("statement", "pop", 76, nests=True)
def pop(w: Writer) -> None:
    items = w.need("items")
    with w.inside(f"if len({items}) > 1:"):
        w.write(f"x = {items}.pop({w.choose('', '0')}) * 0.5")


@form("value", "item of a list", 74)
def item(w: Writer) -> str:
    items = w.need("items")
    return w.choose(f"{items}[-1] * 0.5", f"{items}[0] * 0.5", f"sum({items}) * 0.25")


@form("value", "item of a list by int", 69, 77)
def item_by_int(w: Writer) -> str:
    items = w.need("items")
    return f"{items}[{w.small()} % len({items})] * 0.5"


@form("value", "stack", 74, tensors=True)
def stack(w: Writer) -> str:
    items = w.need("items")
    return w.choose(
        f"paddle.stack({items}).mean(0)",
        f"paddle.stack([*{items}, {w.name()}]).sum(0) * 0.25",
        f"paddle.concat({items})[: x.shape[0]] * 0.5",
    )


@form("number", "len of a list", 66, 75)
def length(w: Writer) -> str:
    return f"len({w.need('items')})"


@form("statement", "for over a list that grew", 31, 33, loops=True)
def for_list(w: Writer) -> None:
    name, other = w.fresh("v"), w.fresh("v")
    more = w.upto(1)
    whole = "list(items)" if more else "items"  # the body may append to it
    with w.inside(f"for {name} in {w.choose(whole, 'items[:2]')}:", loop=True):
        w.write(f"y = y * 0.5 + {name} * 0.25")
        if more:
            w.write(f"{other} = {name}")
            w.body()
    w.need("items")


# -- tuples --------------------------------------------------------------------------------------


@form("statement", "tuple", 82)
def tuple_(w: Writer) -> None:
    pair = w.need("pair")
    w.write(
        w.choose(
            f"{pair} = ({w.value()}, {w.value()})",
            f"{pair} = {pair}[::-1]",
            f"x, y = {pair}",
        )
    )


@form("value", "item of a tuple", 82)
def item_of_tuple(w: Writer) -> str:
    return f"{w.need('pair')}[{w.upto(1)}] * 0.5"


@form("statement", "starred assignment", 82)
def starred_assignment(w: Writer) -> None:
    first, rest = w.fresh("v"), w.fresh("rest")
    w.write(f"{first}, *{rest} = {w.value()}, {w.name()}, {w.name()}")
    w.write(f"x = {first} * 0.5 + {rest}[-1] * 0.25")


@form("statement", "namedtuple", 82)
def namedtuple(w: Writer) -> None:
    w.module["collections"] = "import collections"
    w.module["Two"] = 'Two = collections.namedtuple("Two", ["one", "two"])'
    name = w.fresh("two")
    w.write(f"{name} = Two({w.value()}, {w.name()})")
    with w.inside(f"if {w.condition()}:"):
        w.write(f"{name} = {name}._replace(one={w.value()})")
    w.write(f"y = {name}.one * 0.5 + {name}.two * 0.25")


# -- dicts ---------------------------------------------------------------------------------------


@form("statement", "item of a dict set", 79)
def dict_set(w: Writer) -> None:
    w.write(f'{w.need("table")}["{w.choose("a", "b")}"] = {w.value()}')


@form("statement", "dict updated", 80)
def dict_updated(w: Writer) -> None:
    table = w.need("table")
    w.write(
        w.choose(
            f"{table}.update(a={w.value()})",
            f'{table}["c"] = {w.value()}',
            f'{table}.setdefault("d", {w.value()})',
            f'{table}["a"] += 0.25' if not w.tensors else f'{table}["a"] = {table}["a"] + 0.25',
            f'{table} = {{"a": {w.value()}, "b": {w.name()}}}',
        )
    )


@form("value", "item of a dict", 79)
def item_of_dict(w: Writer) -> str:
    table = w.need("table")
    return w.choose(
        f'{table}["a"] * 0.5', f'{table}["b"] * 0.5', f'{table}.get("c", {w.name()}) * 0.5'
    )


@form("condition", "key in a dict", 14, 80)
def key_in_dict(w: Writer) -> str:
    return f'"{w.choose("c", "d", "a")}" in {w.need("table")}'


@form("statement", "for over a dict", 31, loops=True)
def for_dict(w: Writer) -> None:
    key, value = w.fresh("key"), w.fresh("v")
    with w.inside(f"for {key}, {value} in {w.need('table')}.items():", loop=True):
        w.write(f"x = x * 0.5 + {value} * 0.25")
        with w.inside(f'if {key} == "b":'):
            w.write(f"x = {w.value()}")


@form("statement", "dict with numbers in a loop", 81, loops=True)
def dict_in_loop(w: Writer) -> None:
    name, index = w.fresh("state"), w.fresh("i")
    w.write(f'{name} = {{"h": {w.name()}, "step": 1}}')
    bound = w.choose("2", "n") if w.tensors else "2"
    with w.inside(f"for {index} in range({bound}):", loop=True):
        w.write(f'{name}["h"] = {name}["h"] * 0.5 + {index}')
        w.write(f'{name}["step"] = {name}["step"] + 1')
        w.body()
    w.write(f'x = {name}["h"] * {name}["step"] * 0.25')

"""Lists, dicts and objects of the user's own classes keep class, attributes and manners (B4, G1).

What d2s notes, puts back, merges and builds runs no method of a user's class, asks no
``__getattr__`` of it, and keeps factory, length and attributes.
"""

from __future__ import annotations

import collections
import dataclasses
from collections import OrderedDict
from pathlib import Path
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

CALLS = (tensor(1.0, 2.0), tensor(4.0, 5.0), tensor(1.0, 1.0))


class Bag(dict):
    """A dict with an attribute."""

    def __init__(self, *given: Any, **items: Any) -> None:
        super().__init__(*given, **items)
        self.tag = "bag"


class Items(list):
    """A list with an attribute."""

    def __init__(self, items: Any = (), name: str = "n") -> None:
        super().__init__(items)
        self.name = name


class Recent(collections.deque):
    """A deque with an attribute."""

    def __init__(self, items: Any = (), maxlen: int | None = None, name: str = "r") -> None:
        super().__init__(items, maxlen)
        self.name = name


class Pair(tuple):
    """A tuple with a method."""

    def total(self) -> Any:
        return self[0] + self[1]


class Strict(dict):
    """A dict that changes its keys, and forbids most of what dicts do."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key.upper(), value)

    def __len__(self) -> int:
        return 99

    def _no(self, *given: Any, **options: Any) -> Any:
        raise TypeError("no")

    update = clear = items = keys = values = copy = _no
    __copy__ = __reduce_ex__ = _no


class Watchful(list):
    """A list that counts what is done to it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.log = 0

    def append(self, value: Any) -> None:
        self.log += 1
        super().append(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.log += 10
        super().__setitem__(key, value)

    def __iter__(self) -> Any:
        raise TypeError("no iteration")


class ModelOutput(OrderedDict):
    """The base of what the models of a well-known library return."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __delitem__(self, *given: Any, **options: Any) -> None:
        raise TypeError("no __delitem__")

    def setdefault(self, *given: Any, **options: Any) -> Any:
        raise TypeError("no setdefault")

    def pop(self, *given: Any, **options: Any) -> Any:
        raise TypeError("no pop")

    def update(self, *given: Any, **options: Any) -> None:
        raise TypeError("no update")

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Output(ModelOutput):
    """What one model returns."""

    loss: Any = None
    logits: Any = None
    hidden: Any = None


def shown(value: Any) -> Any:
    """All that can be seen of a value."""
    if isinstance(value, paddle.Tensor):
        return (str(value.dtype), value.tolist())
    if isinstance(value, list | tuple | collections.deque):
        base = next(b for b in (list, tuple, collections.deque) if isinstance(value, b))
        held: Any = [shown(item) for item in base.__iter__(value)]
    elif isinstance(value, OrderedDict):
        held = [(key, shown(item)) for key, item in OrderedDict.items(value)]
    elif isinstance(value, dict):
        held = [(key, shown(item)) for key, item in dict.items(value)]
    else:
        return value
    fields = (
        object.__getattribute__(value, "__dict__") if type(value).__module__ == __name__ else {}
    )
    factory = value.default_factory if isinstance(value, collections.defaultdict) else None
    longest = value.maxlen if isinstance(value, collections.deque) else None
    attributes = [(name, shown(item)) for name, item in sorted(fields.items())]
    return type(value).__name__, held, attributes, factory, longest


def defaultdict_in_a_branch(x):
    if x.sum() > 4:
        found = collections.defaultdict(list)
        found["a"].append(x)
    else:
        found = collections.defaultdict(list)
        found["a"].append(x + 1)
    found["b"].append(x)
    return found


def defaultdict_rebound_in_a_loop(x):
    found = collections.defaultdict(float)
    found["n"] = x.sum()
    i = paddle.zeros([])
    while i < 3:
        following = collections.defaultdict(float)
        following["n"] = found["n"] + i
        found = following
        i = i + 1
    found["k"] += 2
    return found


def ordered(x):
    if x.sum() > 4:
        found = OrderedDict(a=x, b=x * 2)
    else:
        found = OrderedDict(a=x + 1, b=x)
    found.move_to_end("a")
    i = paddle.zeros([])
    while i < 2:
        found["b"] = found["b"] + i
        i = i + 1
    return found, list(found)


def counter(x):
    if x.sum() > 4:
        n = collections.Counter(a=2)
    else:
        n = collections.Counter(a=3)
    n["a"] += 1
    n.update(["a", "b"])
    return n["a"], n["b"], n["none"]


def bounded(x):
    if x.sum() > 4:
        q = collections.deque([x, x + 1], maxlen=2)
    else:
        q = collections.deque([x + 2, x + 3], maxlen=2)
    q.append(x * 10)
    i = paddle.zeros([])
    while i < 2:
        q.append(q[0] + i)
        i = i + 1
    return q


def bag(x):
    if x.sum() > 4:
        d = Bag(a=x)
    else:
        d = Bag(a=x + 1)
    d["k"] = x
    return d, d.tag


def bag_changed(x):
    d = Bag(a=x)
    if x.sum() > 4:
        d["a"] = x * 2
        d.tag = "big"
    return d, d.tag


def items_in_a_loop(x):
    d = Items([x], name="a")
    i = paddle.zeros([])
    while i < x.sum():
        d[0] = d[0] + i
        i = i + 1
    return d, d.name


def recent(x):
    if x.sum() > 4:
        d = Recent([x, x], 2, "a")
    else:
        d = Recent([x + 1, x], 2, "a")
    d.append(x * 5)
    return d


def pair(x):
    if x.sum() > 4:
        p = Pair((x, x * 2))
    else:
        p = Pair((x + 1, x))
    i = paddle.zeros([])
    while i < 2:
        p = Pair((p[0] + i, p.total()))
        i = i + 1
    return p, p.total()


def strict(x):
    d = Strict()
    d["a"] = x
    if x.sum() > 4:
        d["a"] = x * 2
    i = paddle.zeros([])
    while i < 3:
        d["a"] = d["A"] + 1
        i = i + 1
    return d["A"]


def watchful(x):
    d = Watchful()
    d.append(x)
    if x.sum() > 4:
        d[0] = x * 2
    i = paddle.zeros([])
    while i < 3:
        d[0] = d[0] + 1
        i = i + 1
    return d[0], d.log


def output(x):
    found = Output(logits=x * 2, hidden=(x, x + 1))
    if found.logits.sum() > 8:
        y = found[0] + found.hidden[0]
    else:
        y = found["logits"]
    return found, y, found.to_tuple()


def output_changed(x):
    found = Output(logits=x * 2, loss=x.sum())
    if x.sum() > 4:
        found["logits"] = x * 5
        found.loss = found.loss * 2
    i = paddle.zeros([])
    while i < 3:
        found.logits = found.logits + i
        i = i + 1
    return found, found.logits, found[0]


OWN = [
    defaultdict_in_a_branch, defaultdict_rebound_in_a_loop, ordered, counter, bounded, bag,
    bag_changed, items_in_a_loop, recent, pair, strict, watchful, output, output_changed,
]  # fmt: skip


@pytest.mark.parametrize("function", OWN, ids=lambda function: function.__name__)
def test_is_what_dygraph_leaves(function: Any) -> None:
    """B4, G1: class, attributes, factory and length; on later calls too."""
    static = d2s.to_static(function)
    for x in (*CALLS, *CALLS):
        assert shown(static(x)) == shown(function(x))
    assert len(static.programs) == 1


def change(found, x):
    if x.sum() > 4:
        found["a"] = x * 2
        found.tag = "changed"
    found["n"] = found["a"] + 1
    return found["n"]


def test_an_argument_of_an_own_class() -> None:
    """G1: stays what it is, and is changed as in dygraph, attributes included."""
    static = d2s.to_static(change)
    for x in (*CALLS, *CALLS):
        mine, other = Bag(a=x), Bag(a=x)
        mine.more = other.more = 5
        assert shown(static(mine, x)) == shown(change(other, x))
        assert shown(mine) == shown(other)


def change_output(found, x):
    found.logits = found.logits + x
    return found


def test_a_model_output_as_argument() -> None:
    """G1: the caller's object is changed and handed back."""
    static = d2s.to_static(change_output)
    for x in CALLS:
        mine, other = (Output(logits=x, hidden=x + 1) for _ in range(2))
        assert static(mine, x) is mine
        change_output(other, x)
        assert shown(mine) == shown(other)


class AttrDict(dict):
    """A dict whose items are attributes."""

    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class KeyErrors:
    """An object that has a KeyError for what it does not know."""

    def __init__(self, **data: Any) -> None:
        self.__dict__["data"] = data

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["data"][name]


ASKED: list[str] = []


class Logging:
    """An object that notes every name that it does not know."""

    rate = 2.0

    def __getattr__(self, name: str) -> Any:
        ASKED.append(name)
        raise AttributeError(name)


class Slotted:
    """The same without a dictionary."""

    __slots__ = ("rate",)

    def __init__(self) -> None:
        self.rate = 2.0

    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)


CONFIGS = {
    "attributes are items": lambda: AttrDict(rate=2.0),
    "KeyError": lambda: KeyErrors(rate=2.0),
    "log": Logging,
    "slots": Slotted,
}

GLOBAL: Any = None


def from_argument(config, x):
    if x.sum() > 4:
        x = x * config.rate
    i = paddle.zeros([])
    while i < 2:
        x = x + config.rate
        i = i + 1
    things = [config, x]
    if x.sum() > 8:
        things[1] = x + 1
    return things[1]


def from_global(config, x):
    return from_argument(GLOBAL, x)


def made_inside(config, x):
    made = type(config)() if isinstance(config, Logging | Slotted) else type(config)(rate=2.0)
    made.rate = x * 2
    if x.sum() > 4:
        made.rate = made.rate + x
    i = paddle.zeros([])
    while i < 2:
        made.rate = made.rate + i
        i = i + 1
    return made.rate


def chosen(config, x):
    if x.sum() > 4:
        found, x = config, x * 2
    else:
        found = config
    return x * found.rate


class Holder(paddle.nn.Layer):
    """A layer with a configuration."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config

    def forward(self, x: Any) -> Any:
        return from_argument(self.config, x)


@pytest.mark.parametrize("function", [from_argument, from_global, made_inside, chosen])
@pytest.mark.parametrize("name", CONFIGS)
def test_no_getattr_of_the_users_is_asked(
    name: str, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1: a class that answers for unknown names is not asked for ours."""
    config = CONFIGS[name]()
    monkeypatch.setattr(f"{__name__}.GLOBAL", config)
    ASKED.clear()
    static = d2s.to_static(function)
    for x in (*CALLS, *CALLS):
        assert static(config, x).tolist() == function(config, x).tolist()
    assert ASKED == []


@pytest.mark.parametrize("name", CONFIGS)
def test_no_getattr_of_an_attribute_is_asked(name: str) -> None:
    """A1: where a layer holds the object."""
    ASKED.clear()
    layer = Holder(CONFIGS[name]())
    static = d2s.to_static(Holder(CONFIGS[name]()))
    for x in CALLS:
        assert static(x).tolist() == layer(x).tolist()
    assert ASKED == []


class Pooled(paddle.nn.Layer):
    """A layer that gives an output in the manner of published models."""

    def forward(self, x):
        y = x * 2
        return Output(logits=y, hidden=y.mean(0))


def test_a_saved_program_gives_the_items_of_an_output_once(tmp_path: Path) -> None:
    """G3: they are items and attributes."""
    d2s.save(Pooled(), str(tmp_path / "net"), input_spec=[paddle.static.InputSpec([2, 4])])
    x = paddle.rand([2, 4])
    got = d2s.load(str(tmp_path / "net"))(x)
    want = Pooled()(x)
    assert [value.shape for value in got] == [value.shape for value in want.values()]
    for value, other in zip(got, want.values(), strict=True):
        assert paddle.allclose(value, other)


OWN = """
import collections

class Output(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

def f(x):
    cache = None
    if x.sum() > 0:
        cache = x * 2
    found = Output()
    {change}
    kept = found["cache"]
    return x if kept is None else x + kept, len(found), list(found)
"""


@pytest.mark.parametrize(
    "change",
    [
        "found['cache'] = cache",
        "found.update(x=x, cache=cache)",
        "found.update({'cache': cache}, x=x)",
        "found.setdefault('cache', cache)",
    ],
)
def test_what_a_tensor_has_chosen_is_put_into_a_dict(change: str) -> None:
    """B4, D2: it is put there as it is, by ``super()`` too; the dict has one length."""
    f = function_of(OWN.format(change=change), "f")
    assert_same(f, (tensor(1.0, 2.0),), (tensor(-1.0, 0.5),))


class Log(list):
    """Counts what is put into it."""

    count = 0

    def append(self, item: Any) -> None:
        self.count += 1
        super().append(item)


class Named(dict):
    pass


class Tags(set):
    pass


GROWN_WITH_ATTRIBUTES = {
    "a list": "h.append(x)",
    "a list by its own method": "o.append(x)",
    "a dict": "d['k'] = x",
    "a set": "s.add(3)",
}


@pytest.mark.parametrize("case", GROWN_WITH_ATTRIBUTES)
@pytest.mark.parametrize("order", [0, 1])
def test_attributes_that_a_branch_changes_with_the_length(case: str, order: int) -> None:
    """B4: both are what the side that ran has left, also of the class's own."""
    change = GROWN_WITH_ATTRIBUTES[case]
    name = change[0]
    lines = [change, f"{name}.n += 1"]
    f = function_of(
        f"""
        def f(x):
            h, o, d, s = Log(), Log(), Named(), Tags()
            h.n = o.n = d.n = s.n = 0
            if x.sum() > 0:
                {lines[order]}
                {lines[1 - order]}
            return len({name}), {name}.n, h.count + o.count
        """,
        **{"Log": Log, "Named": Named, "Tags": Tags},
    )
    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 0.5), grad=False)


class Record(OrderedDict[str, Any]):
    """A dict whose fields are attributes, too, as the outputs of models in libraries are."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)


@dataclasses.dataclass
class Encoded(Record):
    last: Any = None
    hidden: Any = None


@dataclasses.dataclass
class Summed(Record):
    last: Any = None
    pooled: Any = None
    hidden: Any = None


@paddle.jit.not_to_static
def encoded(x: Any) -> Any:
    return Encoded(last=paddle.tanh(x))


def test_a_container_that_plain_code_makes_is_no_state() -> None:
    """A2: only a base of its class is known, by what the function makes itself; one program."""

    def function(x: Any) -> Any:
        found = encoded(x)
        return Summed(last=found["last"] * 2, pooled=found.last.sum(), hidden=found.hidden)

    static = d2s.to_static(function, full_graph=True)
    for number in range(4):
        x = paddle.full([2], float(number))
        got, want = static(x), function(x)
        assert type(got) is Summed
        assert list(got) == list(want) == ["last", "pooled"]
        assert got.last.tolist() == want.last.tolist()
        assert got.pooled.item() == want.pooled.item()
        assert got.hidden is None
    assert len(static.programs) == 1


def test_a_container_of_the_caller_without_items_is_state() -> None:
    """A2: what the function puts into it stays there."""
    kept = Encoded()
    kept.clear()

    def function(x: Any) -> Any:
        Encoded(last=x)
        kept["last"] = x * 2
        kept.hidden = x
        return kept["last"]

    static = d2s.to_static(function, full_graph=True)
    for number in (1.0, 2.0):
        static(paddle.full([1], number))
        assert kept["last"].tolist() == [2 * number]
        assert kept.hidden.tolist() == [number]


class Target(collections.namedtuple("Target", "labels boxes")):
    """A named tuple that looks like a list of pairs."""

    __slots__ = ()

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def __iter__(self) -> Any:
        return zip(self.labels, self.boxes, strict=True)

    def __getitem__(self, index: Any) -> Any:
        return self.labels[index], self.boxes[index]

    def __contains__(self, thing: object) -> bool:
        return thing == 3

    def __bool__(self) -> bool:
        return len(self) > 2


def target(size: int, scale: float = 1.0) -> Target:
    labels = paddle.arange(size).astype("float32") * scale
    return Target(labels, paddle.ones([size, 2]))


@pytest.mark.parametrize(
    "body",
    {
        "asked": "return len(t), [a + b.sum() for a, b in t], 3 in t, 1 if t else 0, t[0][0]",
        "of the state": "return len(kept.t), kept.t.labels + x[0], kept.t[1][0]",
        "made in a branch": (
            "if x.sum() > 4:\n    t = Target(t.labels * 2, t.boxes)\n"
            "return t.labels, t.boxes, len(t)"
        ),
        "made in a loop": (
            "n = x.sum()\nwhile n < 9:\n    t, n = Target(t.labels + 1, t.boxes), n + 1\n"
            "return t.labels, len(t), [a for a, _ in t]"
        ),
        "in a list of the run": (
            "ts, n = [], x.sum()\nwhile n < 9:\n    ts.append(Target(t.labels + n, t.boxes))\n"
            "    n = n + 1\nreturn len(ts), [len(each) for each in ts], ts[-1].labels"
        ),
    }.items(),
    ids=lambda case: case[0],
)
def test_a_tuple_with_methods_of_its_own(body: tuple[str, str]) -> None:
    """B4, G1: what d2s asks of a tuple runs no method of its class."""
    lines = "\n".join(f"    {line}" for line in body[1].split("\n"))
    kept = collections.namedtuple("Kept", "t")(target(3, 2.0))
    function = function_of(f"def f(x, t):\n{lines}", Target=Target, kept=kept)
    assert_same(function, *((x, target(size)) for x, size in zip(CALLS, (3, 2, 4), strict=True)))

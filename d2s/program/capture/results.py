"""What a captured function returns, taken apart into outputs of the program.

return {"y": y, "n": 3}, x    ->    output 0 is y; a run builds ({"y": outputs[0], "n": 3}, x)
"""

from __future__ import annotations

import array
import copy
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import user_line
from d2s.errors import UnsupportedInGraphError
from d2s.program.capture.captured import Build, Output, Run
from d2s.program.capture.hidden import in_its_list, reached, refuse_hidden, refuse_item, refuse_ours
from d2s.program.state.guards import Guard
from d2s.program.state.opaque import is_librarys, is_opaque, may_change, rebinds
from d2s.program.state.places import CONTAINERS, Place
from d2s.program.state.records import is_symbol
from d2s.program.state.relied import homes_of
from d2s.program.state.tracker import Watch
from d2s.runtime.aliasing import saved
from d2s.runtime.aliasing.origins import origin_of
from d2s.runtime.control_flow.stops import computed, is_known_here, stops_of, test_of
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.fixed import FixedDict, FixedList, owner_of_view, shallow
from d2s.runtime.lists.items.pools import linked, resolved
from d2s.runtime.lists.items.views import is_view, kind_of_view, number_of
from d2s.runtime.lists.positions import RunRange
from d2s.runtime.trace import Capture
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, empty, is_object, set_attributes
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tensors import number_kind
from d2s.runtime.values.tree import any_leaf, drop, is_mapping, is_mutable, like, parts, size
from d2s.runtime.values.tree import pairs as items_of
from d2s.runtime.values.unbound import UNBOUND


class Results:
    """Takes returned objects and changed state apart into outputs of the program."""

    def __init__(self, inputs: list[Any], state: Capture, watch: Watch) -> None:
        self.sometimes = state.notes.sometimes
        self.grown, self.born, self.goes_on = state.grown, state.born, state.goes_on
        self.pools, self.taken_in = state.pools, state.taken_in
        self.watches: tuple[Watch, ...] = (watch,)
        self.roots, self.written, self.stored = state.notes.roots, state.notes.written, state.stored
        self.copies = state.notes.copies
        self.makes, self.steps = state.makes, state.steps
        self.watch = watch
        # A saved program gives every tensor of the result, arguments and repetitions too.
        self.every = state.export
        self.inputs = {} if self.every else {value.id: at for at, value in enumerate(inputs)}
        self.outputs, self.given, self.kept = list[Any](), list[Any](), list[Any]()
        self.positions, self.arguments = dict[int, int](), dict[int, int]()
        self.stops, self.ambiguous = list[tuple[int, int]](), list[str]()
        self.texts = self.callers = False
        self.shared: dict[int, Build] = {}
        self.passed, self.views = list[Any](), list[Any]()
        self.storing, self.in_state, self.moved = False, list[Any](), dict[int, Any]()
        self.homes: dict[int, list[Place]] = {}

    def output(self, value: Any) -> int:
        """The position of ``value`` among the outputs."""
        known = self.positions.get(value.id)
        if self.storing:
            self.in_state.append(value)
        if known is None or self.every:
            copy = paddle.assign(value)
            copy.stop_gradient = value.stop_gradient or self.begins(value)
            known = self.positions[value.id] = len(self.outputs)
            self.outputs.append(copy)
            self.given.append(value)
            self.kept.append(value)
            self.stop_where(value, known)
        return known

    def begins(self, value: Any) -> bool:
        """Whether ``value`` is a tensor of the function's own at which gradients end."""
        inside = self.every or self.steps.record.used  # gradients have arrived, or never will
        return not inside and self.steps.leaves.begins_at(value)

    def check_leaves(self) -> None:
        """Refuse results that depend on another one at which gradients end.

        Raises:
            UnsupportedInGraphError: (D2S205) one program gives both, so gradients cannot go from
                the one to the other.
        """
        ends = {value.id for value in self.given if self.begins(value)}
        waiting = [value for value in self.given if ends and value.id not in ends]
        seen: set[int] = set()
        while waiting:
            value = waiting.pop()
            if value.stop_gradient or value.id in seen:
                continue
            seen.add(value.id)
            if value.id in ends:
                file, line = user_line(bridge.callstack(value.get_defining_op()))
                raise UnsupportedInGraphError(
                    "a tensor that the function gives stop_gradient=False leaves it together with "
                    "what is computed from it: no gradient could go from there to it",
                    cure="take its gradient in the function, or make it outside and pass it",
                    file=file,
                    line=line,
                )
            waiting.extend(bridge.sources(value))

    def check_overwritten(self) -> None:
        """Refuse results whose gradients read what was written since.

        Raises:
            InplaceError: (D2S304) dygraph's gradients would be those of the new contents.
        """
        if not self.steps.record.used:
            saved.check_results(self.given)

    def check_passed(self) -> None:
        """Refuse a function, say, that reaches what each run makes anew.

        Raises:
            UnsupportedInGraphError: (D2S205) what it changes would not be what a run gives.
        """
        for thing in self.views:
            refuse_item(thing, self.shared, self.pools, self.original(owner_of_view(thing)))
        for thing in self.passed:
            if self.goes_on and rebinds(thing) and not any(w.knows(thing) for w in self.watches):
                raise UnsupportedInGraphError(
                    f"the function gives back {thing.__qualname__!r}, which it has made and which "
                    "assigns a variable around it: each run would give the same one",
                    cure="make it outside of the converted function",
                )
            held = reached(thing, self.is_state)
            made = next((found for found in held if id(found) in self.shared), None)
            if made is not None:
                raise UnsupportedInGraphError(
                    f"an object of type {type(thing).__name__!r} leaves the function and holds a "
                    f"{type(made).__name__} that the function has made, and each run makes another",
                    cure="return one of the two, or make them outside of the converted function",
                )

    def stop_where(self, value: Any, position: int) -> None:
        """Note what says, after a run, that the output at ``position`` stops gradients."""
        stops = False if value.stop_gradient else computed(stops_of(value))
        if bridge.is_value(stops):
            self.stops.append((position, self.output(stops)))

    def take(self, thing: Any) -> Build:
        """A function from a run to ``thing`` with real tensors."""
        return self.original(thing) or self.new(thing)

    def original(self, thing: Any) -> Build | None:
        """How a run finds the container outside of the function that has become ``thing``."""
        if not self.grown or not isinstance(thing, (Choice, DynamicList, *CONTAINERS)):
            return None
        root = origin_of(thing)
        return None if root is None or root is thing else self.outside(root)

    def new(self, thing: Any) -> Build:
        """The same for what stands for no container that was there before."""
        piece = self.piece(thing)
        if piece is not None:
            return piece
        if isinstance(thing, FixedList | FixedDict):
            known = self.shared.get(id(thing))
            return known if known is not None else self.once(thing, self.item(thing))
        held = parts(thing)
        if held is None:
            return self.instance(thing)
        known = self.known(thing)
        if known is not None:
            return known
        return self.once(thing, self.contents(thing))

    def known(self, thing: Any) -> Build | None:
        """How a run finds a container that is no new one, or that has been taken already."""
        return self.outside(thing) or self.shared.get(id(thing))

    def outside(self, thing: Any) -> Build | None:
        """How a run finds a container that was there before."""
        number = self.arguments.get(id(thing))
        if number is not None:
            self.callers = True
            return lambda run: run.containers[number]
        record = self.watch.holds(thing)
        if record is None and is_object(thing):
            record = self.watch.record_of(thing)  # its attributes are state
        if record is None:
            return None
        place = record.place
        return (lambda run: thing) if place is None else lambda run: place.get()

    def once(self, thing: Any, build: Build) -> Build:
        """``build``, called once in each run."""
        slot = len(self.kept)
        self.kept.append(thing)

        def shared(run: Run) -> Any:
            if slot not in run.made:
                run.made[slot] = build(run)
            return run.made[slot]

        if not isinstance(thing, tuple):
            self.shared[id(thing)] = shared
        return shared

    def contents(self, thing: Any) -> Build:
        """A container of the same form with the run's parts."""
        if is_mapping(thing) and any(any_leaf(is_symbol, key) for key, _ in items_of(thing)):
            pairs = [self.take(pair) for pair in items_of(thing)]
            return lambda run: like(thing, dict(pair(run) for pair in pairs))
        held = parts(thing)
        assert held is not None
        items: list[Build] = []
        of_dict: dict[int, Build] = {}
        count = size(thing) if self.every and isinstance(thing, dict) else 0
        for at, (_, item) in enumerate(held[0]):
            # A saved program gives the items of a model's output once: they are its attributes too.
            known = of_dict.get(id(item)) if at >= count else None
            items.append(self.take(item) if known is None else known)
            if at < count:
                of_dict[id(item)] = items[-1]
        make = held[1]
        if not isinstance(thing, dict) and dict_of(thing) is None:
            return lambda run: make([item(run) for item in items])

        def build(run: Run) -> Any:
            made = make([item(run) for item in items])
            for table in (made, dict_of(made)):
                if isinstance(table, dict):
                    for key in [key for key, item in items_of(table) if item is UNBOUND]:
                        drop(table, key)
            return made

        return build

    def instance(self, thing: Any) -> Build:
        """An object of the user's that holds tensors of the program: its like; others as is."""
        if bridge.is_eager(thing):
            return self.eager(thing)
        if isinstance(thing, paddle.nn.Layer) and id(thing) in self.born:
            self.layer(thing)
        if isinstance(thing, types.BuiltinMethodType) and is_mutable(thing.__self__):
            owner, name = self.take(thing.__self__), thing.__name__
            return lambda run: getattr(owner(run), name)
        if isinstance(thing, types.MethodType) and id(thing.__self__) in self.born:
            owner, function = self.take(thing.__self__), thing.__func__
            return lambda run: types.MethodType(function, owner(run))
        if not is_object(thing):
            if isinstance(thing, types.FunctionType):
                self.passed.append(thing)
            refuse_hidden(thing, self.is_state)
            return self.kept_by_python(thing)
        refuse_ours(thing)
        known = self.known(thing)
        if known is not None:
            return known
        if id(thing) not in self.born and not _holds_values(thing):
            refuse_hidden(thing, self.is_state)
            strange = self.goes_on or is_librarys(type(thing))
            return self.kept_by_python(thing) if strange else lambda run: thing
        members, kind = self.contents(attributes_of(thing)), type(thing)
        return self.once(thing, lambda run: set_attributes(empty(kind), members(run)))

    def is_state(self, thing: Any) -> bool:
        """Whether ``thing`` was there before, and each run leaves in it what it holds then."""
        return any(
            watch.holds(thing) is not None or watch.record_of(thing) is not None
            for watch in self.watches
        )

    def kept_by_python(self, thing: Any) -> Build:
        """An object whose contents the program knows nothing of, made in each run if need be.

        Raises:
            UnsupportedInGraphError: (D2S205) an iterator that the function has made.
        """
        if any(watch.knows(thing) for watch in self.watches):
            self.watch.opaque.fixed.add(id(thing))
            return lambda run: thing
        if type(thing) is functools.partial and not vars(thing):
            held = self.take((thing.func, thing.args, thing.keywords))
            return self.once(thing, lambda run: _partial(*held(run)))
        if not (is_opaque(thing) or may_change(thing)):
            return lambda run: thing
        if isinstance(thing, np.ndarray | bytearray | array.array):
            return lambda run: copy.copy(thing)
        raise UnsupportedInGraphError(
            f"the function gives back an object of type {type(thing).__name__!r} that it has "
            "made, and each run would give the same one",
            cure="return what it is made of, and make it outside of the converted function",
        )

    def layer(self, made: Any) -> None:
        """Tell that the function has made a layer that is kept, if tensors are in it.

        Raises:
            UnsupportedInGraphError: (D2S205) it makes one on each call.
        """
        for part in made.sublayers(include_self=True):
            if any(map(_holds_values, (*vars(part).values(), *part._buffers.values()))):
                self.makes()
                raise UnsupportedInGraphError(
                    f"a layer of type {type(part).__name__!r} is made in the function and kept, "
                    "with tensors of the program in it",
                    cure="make it once, outside of the function, or on the first call",
                )

    def eager(self, tensor: Any) -> Build:
        """A tensor of the state that no operation reads: the one that is in its place now."""
        self.moved[id(tensor)] = tensor

        def build(run: Run) -> Any:
            places = self.homes.get(id(tensor))
            return places[0].get() if places else tensor

        return build

    def find_homes(self) -> list[Guard]:
        """Note where the tensors of :meth:`eager` are kept; what the program relies on for it."""
        tensors = list(self.moved.values())
        for index, place in homes_of(self.watch, tensors):
            self.homes.setdefault(id(tensors[index]), []).append(place)
        return [
            Guard(other, _is_at(places[0]), True)
            for places in self.homes.values()
            for other in places[1:]
        ]

    def piece(self, item: Any) -> Build | None:
        """How a run gives what stands for one value; ``None`` for anything else."""
        if isinstance(item, Choice):
            self.ambiguous.append(item.name)
            where = self.output(item.flag)
            true, false = self.take(item.true), self.take(item.false)
            return lambda run: (true if bool(run.outputs[where]) else false)(run)
        if is_view(item):
            return self.viewed(self.take(number_of(item)), kind_of_view(item))
        if isinstance(item, RunRange):
            return self.stacked(item)
        if isinstance(item, DynamicList):
            make = self.growing if owner_of_view(item) is None else self.item
            return self.shared.get(id(item)) or self.once(item, make(item))
        if isinstance(item, HostText):
            return self.text(item)
        if not bridge.is_value(item):
            return None
        if item.id in self.inputs:
            position = self.inputs[item.id]
            return lambda run: run.inputs[position]
        kept = self.rewritten(item)
        if kept is not None:
            return self.eager(kept)
        kind = number_kind(item)
        position = self.output(item)
        if kind is not None:
            return lambda run: kind(run.outputs[position].item())
        if item.id in self.sometimes and not self.every:
            mixed = self.sometimes[item.id][1]
            where, number = self.output(mixed.flag), self.take(mixed.number)
            return lambda run: number(run) if bool(run.outputs[where]) else run.outputs[position]
        return self.one_of(item, _leaf(position) if self.begins(item) else Output(position))

    def one_of(self, item: Any, fresh: Build) -> Build:
        """``fresh``, or the tensor itself that ``item`` is on the runs that take a side for it.

        Args:
            item: a result.
            fresh: gives what the program has computed for it.
        """
        choice = None if self.every or not bridge.is_chosen(item) else bridge.between(item)
        if choice is None or not is_known_here(test_of(choice[0])):
            return fresh
        sides = [self.same_as(side, fresh) for side in choice[1]]
        if all(side is fresh for side in sides):
            return fresh
        where = self.output(choice[0])
        return lambda run: sides[0 if bool(run.outputs[where]) else 1](run)

    def same_as(self, side: Any, fresh: Build) -> Build:
        """How a run finds the tensor that a branch hands on as it is; else ``fresh``."""
        while side.id in self.copies:
            side = side.get_defining_op().operand_source(0)
        if side.id in self.inputs:
            argument = self.inputs[side.id]
            return fresh if argument in self.written else lambda run: run.inputs[argument]
        tensor = bridge.tensor_of(side)
        if tensor is not None:
            held = self.steps.gradients.stands_for(tensor)  # a gradient of before the call
            return fresh if held else self.eager(tensor)
        position = self.positions.get(side.id)
        return self.one_of(side, fresh) if position is None else Output(position)

    def rewritten(self, item: Any) -> Any:
        """The tensor of the state that is changed in place and holds ``item`` in the end."""
        _, root = self.roots.get(item.id, (None, 0))
        if root >= 0 or not item.stop_gradient or self.written.get(root) is not item:
            return None
        return self.stored[root]

    def text(self, item: HostText) -> Build:
        """Text that the host formats."""
        self.texts = True
        shipment = Shipment()
        build = shipment.pack(item)
        pieces = [self.take(value) for value in shipment.values]
        return lambda run: build(tuple(piece(run) for piece in pieces))

    def growing(self, item: DynamicList) -> Build:
        """A list that has grown in a loop."""
        build = self.stacked(item)
        if not self.pools:
            return build
        objects = self.objects()
        return lambda run: resolved(build(run), objects(run))

    def stacked(self, item: DynamicList | RunRange) -> Build:
        """The same, with the numbers of objects in their places."""
        rows, make = item.d2s_shown()
        stacks = [self.output(row) for row in rows]
        return lambda run: make([run.outputs[position] for position in stacks])

    def item(self, thing: Any) -> Build:
        """A list or dict that was read out of one of the run; that of it, if that is given, too."""
        of_run = isinstance(thing, DynamicList)
        fresh = self.growing(thing) if of_run else self.contents(shallow(thing))
        outside = self.original(owner_of_view(thing)) is not None
        found = None if outside else in_its_list(thing, fresh, self.shared, self.output)
        if found is None:
            self.views.append(thing)
        return found or fresh

    def viewed(self, number: Build, kind: type) -> Build:
        """An object that is known by its number."""
        objects = self.objects()
        return lambda run: objects(run)[kind][number(run)]

    def objects(self) -> Build:
        """All objects that are known by their numbers, by class."""
        known = self.shared.get(id(self.pools))
        if known is not None:
            return known
        tables = {kind: self.stacked(pool.rows) for kind, pool in self.pools.items()}
        before = [
            (kind_of_view(view), self.take(number_of(view)), self.outside(thing))
            for thing, view in self.taken_in
        ]

        def build(run: Run) -> Any:
            found = {kind: table(run) for kind, table in tables.items()}
            for kind, number, thing in before:
                assert thing is not None
                found[kind][number(run)] = thing(run)
            kept = frozenset(id(found[kind][number(run)]) for kind, number, _ in before)
            return linked(found, kept)

        return self.once(self.pools, build)


def _partial(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    return functools.partial(function, *arguments, **options)


def _leaf(position: int) -> Build:
    """A tensor at which gradients end."""

    def build(run: Run) -> Any:
        tensor = run.outputs[position]
        tensor.stop_gradient = False
        return tensor

    return build


def _is_at(place: Place) -> Callable[[Any], bool]:
    return lambda thing: thing is place.get()


def _holds_values(thing: Any, depth: int = 4) -> bool:
    """Whether something of the program can be reached from ``thing``."""
    if is_symbol(thing):
        return True
    held = parts(thing) if depth else None
    if held is not None:
        return any(_holds_values(item, depth - 1) for _, item in held[0])
    if depth and is_object(thing):
        return any(_holds_values(item, depth - 1) for item in attributes_of(thing).values())
    return False

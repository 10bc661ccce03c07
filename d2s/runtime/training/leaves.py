"""Leaves: the tensors at which gradients arrive, and how they are found.

net.weight           a dygraph tensor of the state
f(x)                 an argument
h = x.detach()       a tensor of the function's own, with ``h.stop_gradient = False``
h.retain_grads()     not a leaf in dygraph, but its gradient is kept as one's is
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location
from d2s.errors import LoopGradientError, UnsupportedInGraphError
from d2s.runtime.trace import error_here
from d2s.runtime.training.record import Record
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import root_of


class Mark:
    """What a gradient is where it is no value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNTOUCHED: Final = Mark("as before the call")
CLEARED: Final = Mark("zero if there was one")
DROPPED: Final = Mark("none")
ZEROS: Final = Mark("zero")


@dataclass(eq=False)
class Leaf:
    """A tensor at which gradients arrive.

    Attributes:
        tensor: the dygraph tensor; ``None`` for an argument, or a tensor of the function's own.
        index: the argument's; ``None`` for any other.
        like: a value with its dtype and shape.
        grad: its gradient at this point of the capture, or a mark; a choice between values and
            ``None`` where only some runs have one.
        found: whether it had a gradient when the call began; ``None`` while nobody has asked.
        content: the value of that gradient.
        stored: the dygraph tensor that stands for it.
        nothing: a tensor without elements, to take its place between the runs.
        alone: the argument's gradient does not add to that of before the call.
        shown: the user's code has got the gradient, and may have kept it.
        stops: what the gradient says of itself: ``stop_gradient``.
        place: where the user's code has asked for the gradient of an argument.
    """

    tensor: paddle.Tensor | None
    index: int | None
    like: bridge.Value
    grad: bridge.Value | Choice | Mark = UNTOUCHED
    found: bool | None = None
    content: bridge.Value | None = None
    stored: paddle.Tensor | None = None
    nothing: paddle.Tensor | None = None
    alone: bool = False
    shown: bool = False
    stops: bool = False
    place: Location | None = None

    @property
    def changed(self) -> bool:
        """Whether the call leaves another gradient than it has found."""
        return self.grad is not UNTOUCHED and self.grad is not self.content

    @property
    def added(self) -> bool:
        """Whether the gradient of before the call is read, zero if there is none."""
        return self.stored is not None and self.found is None


class Leaves:
    """The leaves that one capture has met.

    Attributes:
        all: every leaf, by the identity of its tensor, the argument's index, or a number.
        sought: a backward has looked for leaves.
    """

    def __init__(self, record: Record) -> None:
        self.all: dict[Hashable, Leaf] = {}
        self._record = record
        self._retained: set[Leaf] = set()
        self.sought = False

    @property
    def contents(self) -> dict[int, tuple[bridge.Value, Leaf]]:
        """The leaf whose contents a value is, by the value's id."""
        return self._record.capture.notes.leaves

    def of(self, tensor: paddle.Tensor | bridge.Value) -> Leaf | None:
        """The leaf that ``tensor`` is, or ``None``."""
        return self.of_tensor(tensor) if bridge.is_eager(tensor) else self.of_value(tensor)

    def of_tensor(self, tensor: paddle.Tensor) -> Leaf:
        """The leaf that a dygraph tensor is."""
        leaf = self.all.get(id(tensor))
        if leaf is None:
            value = bridge.as_value(tensor)
            if not tensor.is_leaf:
                raise error_here(
                    UnsupportedInGraphError,
                    "backward() inside of the function would go on into a computation outside of "
                    "it, which has made a tensor that the function reads",
                    "compute it inside of the function, or read a .detach() of it",
                )
            if bridge.has_hooks(tensor):
                raise error_here(
                    UnsupportedInGraphError,
                    f"the gradient of {tensor.name!r} is changed by a hook that was set outside of "
                    "the function, where backward() is part of the program",
                    "call backward() outside of the function, or change .grad inside of it",
                )
            leaf = self.all[id(tensor)] = Leaf(tensor, None, value)
            self.contents[value.id] = value, leaf
        return leaf

    def of_value(self, value: bridge.Value) -> Leaf | None:
        """The leaf whose contents ``value`` is, or ``None``."""
        known = self.contents.get(value.id)
        if known is not None:
            return known[1]
        taken = bridge.taken(value, self._record.capture.facts())
        if taken is not value:  # the branches around say what it is
            leaf = self.of_value(taken)
            if leaf is not None:
                self.contents[value.id] = value, leaf
            return leaf
        index = root_of(value)
        if index is not None and index >= 0:
            return self.add(value, ("argument", index), index)
        if value.stop_gradient:
            return None
        tensor = bridge.tensor_of(value)
        if tensor is not None:
            return self.of_tensor(tensor)
        if self._is_own_leaf(value):
            return self.add(value, len(self.all), None)
        return None

    def _is_own_leaf(self, value: bridge.Value) -> bool:
        """Whether ``value`` has no history, and was given a gradient."""
        maker = value.get_defining_op()
        if maker is not None and bridge.is_cut(maker):
            return True
        return value.id in self._record.capture.notes.detached or bridge.is_made_of_constants(value)

    def add(self, value: bridge.Value, key: Hashable, index: int | None) -> Leaf:
        """The leaf under ``key``, whose contents ``value`` is."""
        leaf = self.all.get(key)
        if leaf is None:
            leaf = self.all[key] = Leaf(None, index, value)
            if index is None:
                leaf.found = False
        self.contents[value.id] = value, leaf
        return leaf

    def is_leaf(self, value: bridge.Value) -> bool:
        """Whether ``value`` is a leaf, not one whose gradient is kept as well."""
        leaf = self.of_value(value)
        return leaf is not None and leaf not in self._retained

    def used(self, value: bridge.Value, outputs: list[bridge.Value]) -> list[bridge.Value]:
        """What the leaf whose contents ``value`` is was where ``outputs`` were computed with it.

        The newest comes first, and ``value`` itself if there is none or it is no leaf.
        """
        leaf = self.contents[value.id][1] if value.id in self.contents else None
        same = {each.id for each, known in self.contents.values() if known is leaf}
        found: list[bridge.Value] = []
        seen: set[int] = set()
        waiting = list(outputs) if len(same) > 1 else []
        while waiting:
            each = waiting.pop()
            if each.id in seen or each.stop_gradient:
                continue
            seen.add(each.id)
            if each.id in same:
                found.append(each)
            elif each.id not in self.contents or self.contents[each.id][1] in self._retained:
                waiting.extend(bridge.sources(each))
        order = list(self.contents)
        found = sorted(found, key=lambda each: -order.index(each.id))
        return [each for each in found if not self._goes_on(each, found)] or [value]

    def _goes_on(self, value: bridge.Value, others: list[bridge.Value]) -> bool:
        """Whether the gradient of ``value`` is a part of that of one of ``others``, older ones.

        Raises:
            LoopGradientError: (D2S307) on some paths it is.
        """
        left_out = self._record.made | self._record.stepping
        older = {each.id for each in others if each.id != value.id}
        found = bridge.goes_on(value, older, left_out)
        if found is None:
            raise error_here(
                LoopGradientError,
                "a gradient is asked for what was computed with a parameter in front of a branch "
                "or loop that changes it, and for what was computed with it behind that",
                "call backward() for each of them, or change the parameter behind both",
            )
        return found

    def begins_at(self, value: bridge.Value) -> bool:
        """Whether ``value`` is a leaf that the function has made, its gradient among them."""
        known = self.contents.get(value.id)
        if known is not None:
            return known[1] not in self._retained
        return not value.stop_gradient and self._is_own_leaf(value)

    def retain(self, value: bridge.Value) -> None:
        """``value.retain_grads()``: gradients of it are kept as well."""
        if self.of_value(value) is None and not value.stop_gradient:
            self._retained.add(self.add(value, len(self.all), None))

    def check_parted(self, outputs: list[bridge.Value], wanted: list[bridge.Value]) -> None:
        """Refuse a gradient that would have to go from one result of a branch to another one.

        Raises:
            LoopGradientError: (D2S307) a branch or static loop makes both.
        """
        self.check_unchanged(outputs)
        retained = [leaf.like for leaf in self._retained]
        if any(bridge.parted(outputs, each) for each in (*wanted, *retained)):
            raise error_here(
                LoopGradientError,
                "a gradient is asked for a tensor that one branch or loop has made together with "
                "what is differentiated, and no gradient goes from one result of it to another",
                "compute the gradient inside of it, or one of the two behind it",
            )

    def check_unchanged(self, outputs: list[bridge.Value]) -> None:
        """Refuse a gradient that would have to go through a step of an optimizer.

        Raises:
            LoopGradientError: (D2S307) ``outputs`` come of a branch that has changed parameters.
        """
        seen: set[int] = set()
        queue = list(outputs)
        while queue:
            value = queue.pop()
            if value.id in seen or value.stop_gradient or self.of_value(value) is not None:
                continue
            seen.add(value.id)
            if bridge.holds(value, self._record.stepping):
                raise error_here(
                    LoopGradientError,
                    "a gradient is asked for what a branch has computed in which an optimizer has "
                    "stepped",
                    "call backward() inside of the branch, before the step",
                )
            queue.extend(bridge.sources(value))

    def check_joined(self, value: bridge.Value) -> None:
        """Refuse the gradient of what is a leaf on some paths only.

        Raises:
            LoopGradientError: (D2S307) a branch or static loop makes it.
        """
        waiting = [value] if self.sought else []
        while waiting:
            each = waiting.pop()
            paths = bridge.joined(each, bridge.place_among(each)) if bridge.joined(each) else []
            for part in (bridge.uncopied(part) for (part,) in paths):
                if not part.stop_gradient and self.of_value(part) is not None:
                    raise error_here(
                        LoopGradientError,
                        "the gradient is read of a tensor that a branch or loop may have taken "
                        "from outside, or made with stop_gradient=False",
                        "call backward() and read the gradient inside of it, or make the tensor "
                        "behind it",
                    )
                waiting.append(part)

    def check_results(self, results: list[bridge.Value]) -> None:
        """Refuse results from which a ``backward()`` in dygraph could go on to leaves.

        It would end at the result of the program, which no gradient leaves that has a
        ``backward()`` of its own.

        Raises:
            UnsupportedInGraphError: (D2S205) at the place that the record names.
        """
        seen: set[int] = set()
        queue = [value for value in results if self.of_value(value) is None]
        while queue and self._record.place is not None:
            value = queue.pop()
            maker = value.get_defining_op()
            if value.id in seen or value.stop_gradient or maker is None:
                continue
            seen.add(value.id)
            leaf = self.of_value(value)
            if leaf is None or leaf in self._retained:
                if maker.id() not in self._record.freed:
                    paths = bridge.joined(value) and bridge.joined(value, bridge.place_among(value))
                    queue.extend([part for (part,) in paths] or bridge.sources(value))
            elif leaf.tensor is not None or leaf.index is not None:
                place = self._record.place
                raise UnsupportedInGraphError(
                    "the function changes gradients or parameters, and a result leaves it from "
                    "which a later backward() could go on to them",
                    cure="return a .detach() of what no backward() of the function goes through",
                    file=place.file,
                    line=place.line,
                )

    def reached(
        self, outputs: list[bridge.Value], *, frees: bool = False
    ) -> list[tuple[bridge.Value, Leaf]]:
        """The leaves that ``outputs`` depend on, each with the value that they have read.

        Args:
            outputs: what is differentiated.
            frees: no other gradient can go that way.
        """
        self.sought = True
        found: dict[int, tuple[bridge.Value, Leaf]] = {}
        seen: set[int] = set()
        queue = list(outputs)
        while queue:
            value = queue.pop()
            if value.id in seen or value.stop_gradient:
                continue
            seen.add(value.id)
            leaf = self.of_value(value)
            if leaf is not None:
                found[value.id] = value, leaf
                if leaf.tensor is None and leaf.index is None and leaf not in self._retained:
                    # It may go on in Paddle's eyes.
                    self._record.stepping.add(bridge.id_of_maker(value))
            if leaf is None or leaf in self._retained:
                if value.get_defining_op() is None:
                    raise error_here(
                        LoopGradientError,
                        "backward() goes on into the trip before, which has computed what it is "
                        "called for, and no gradient goes from one trip of a static loop to "
                        "another one",
                        "compute the loss and call its backward() in the same trip",
                    )
                queue.extend(bridge.sources(value))
                if frees:
                    self._record.freed.add(bridge.id_of_maker(value))
        groups: dict[int, list[bridge.Value]] = {}
        for value, leaf in found.values():
            groups.setdefault(id(leaf), []).append(value)
        return [
            (value, leaf)
            for value, leaf in found.values()
            if len(groups[id(leaf)]) == 1 or not self._goes_on(value, groups[id(leaf)])
        ]

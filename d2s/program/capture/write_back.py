"""What each run changes outside of the program, as the function did while it was captured.

self.calls += 1     ->    a write of an attribute
cache.append(y)     ->    a write that adds to the list
x.add_(1)           ->    an update: the argument gets an output's contents
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import InplaceError, UnsupportedInGraphError
from d2s.program.capture.captured import Build, Run, Write
from d2s.program.capture.results import Results
from d2s.program.capture.steps import changes_of
from d2s.program.state.guards import Guard
from d2s.program.state.places import CONTAINERS
from d2s.program.state.records import Change, Record, is_symbol
from d2s.program.state.tracker import Watch
from d2s.runtime.trace import Capture, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import AheadFields
from d2s.runtime.values.objects import dict_of
from d2s.runtime.values.tensors import is_array
from d2s.runtime.values.tree import any_leaf, put, refill


class _HiddenError(Exception):
    """A value of another block is asked for."""


class Leaving(Results):
    """Takes changed state apart where an exception of the run leaves the program.

    Its outputs are those of a host operator.
    """

    def output(self, value: Any) -> int:
        known = self.positions.get(value.id)
        if known is None:
            if not bridge.is_visible(value):
                raise _HiddenError
            known = self.positions[value.id] = len(self.outputs)
            self.outputs.append(value)
            self.kept.append(value)
        return known


def leaving(
    results: Leaving,
    arguments: Watch,
    containers: dict[int, Any],
    state: Capture,
    drawn: int,
    guards: list[Guard],
) -> tuple[list[Any], Callable[[Run, list[Any]], None]]:
    """What has changed until here: the values that it needs, and how a run makes it so.

    What it relies on besides is added to ``guards``.
    """
    writes: list[tuple[Write, Build]] = []
    results.arguments = {id(made): number for number, made in containers.items()}
    changes = arguments.changed()
    moving, others = _apart(results.watch.changed())
    for change in moving:
        with contextlib.suppress(_HiddenError):
            writes.extend(_state(results, [change]))
    for number, container in containers.items():
        with contextlib.suppress(_HiddenError):
            writes.extend(_writes(results, changes, {number: container}, state.grown))
    for change in _in_order(others, state):
        with contextlib.suppress(_HiddenError):  # what a branch has left behind for nobody
            writes.extend(_state(results, [change]))
    with contextlib.suppress(_HiddenError):
        writes.extend(_divided(results, containers))
    with contextlib.suppress(_HiddenError):
        writes.extend(_trained(results, state))
    writes.extend(_unwritten(results, state))
    updates = []
    for index, value in state.notes.written.items():
        with contextlib.suppress(_HiddenError):
            if index < 0:
                writes.extend(_contents(results, value))
            else:
                updates.append((index, results.output(value)))
    guards.extend(results.find_homes())

    def make(run: Run, tensors: list[Any]) -> None:
        run.drawn = drawn
        now = Run(tensors, run.inputs, run.containers)
        values = [(write, build(now)) for write, build in writes]
        for write, value in values:
            write(now, value)
        with paddle.no_grad():
            for index, position in updates:
                paddle.assign(tensors[position], run.inputs[index])

    return results.outputs, make


def writes_of(
    results: Results,
    arguments: list[Change],
    changes: list[Change],
    containers: dict[int, Any],
    state: Capture,
) -> Iterator[tuple[Write, Build]]:
    """All that each run changes outside of the program, when it has come to its end.

    Args:
        results: takes the new values apart.
        arguments: what has changed in the caller's own containers.
        changes: what has changed in the state.
        containers: the caller's own by their number.
        state: of the capture.
    """
    moving, others = _apart(changes)
    yield from _state(results, moving)
    yield from _writes(results, arguments, containers, state.grown)
    yield from _state(results, _in_order(others, state))
    yield from _divided(results, containers)
    yield from _trained(results, state)
    for root, value in state.notes.written.items():
        if root < 0:
            yield from _contents(results, value)


def _writes(
    results: Results,
    changes: list[Change],
    containers: dict[int, Any],
    grown: dict[int, tuple[Any, Any]],
) -> Iterator[tuple[Write, Build]]:
    """What each run changes in the caller's own lists, dicts and data classes."""
    changed = {id(change.record.scope) for change in changes}
    for number, container in containers.items():
        fields = dict_of(container)
        if is_array(container):
            if container.value.id not in results.inputs:
                yield _array_writer(number), results.take(container.value)
            continue
        if id(container) in grown:
            yield _refiller(number), _become(results, grown[id(container)][1], container)
            continue
        if isinstance(container, tuple) or not {id(container), id(fields)} & changed:
            continue
        if isinstance(container, CONTAINERS):
            yield _refiller(number), results.contents(container)
        if fields:
            yield _setter(number), results.contents(dict(fields))


def _become(results: Results, form: Any, container: Any) -> Build:
    """The contents that ``container`` gets, which has become ``form``."""
    if form is container:
        return results.contents(container)
    if isinstance(form, Choice):
        where = results.output(form.flag)
        true = _become(results, form.true, container)
        false = _become(results, form.false, container)
        return lambda run: (true if bool(run.outputs[where]) else false)(run)
    return results.new(form)


def _refiller(number: int) -> Write:
    return lambda run, contents: refill(run.containers[number], contents)


def _array_writer(number: int) -> Write:
    def write(run: Run, contents: Any) -> None:
        run.containers[number][...] = contents.numpy()

    return write


def _setter(number: int) -> Write:
    def write(run: Run, contents: dict[str, Any]) -> None:
        for name, value in contents.items():
            object.__setattr__(run.containers[number], name, value)

    return write


def _contents(results: Results, value: Any) -> Iterator[tuple[Write, Build]]:
    """New contents of a tensor of the state that is changed in place.

    Where they have a gradient, the places that are known get a new tensor besides, as a change of
    the state: a tensor cannot be given another history.
    """
    target = results.eager(results.stored[results.roots[value.id][1]])
    position = results.output(value)
    yield _overwrite, lambda run: (target(run), run.outputs[position])


def _overwrite(run: Run, found: tuple[Any, Any]) -> None:
    tensor, contents = found
    with paddle.no_grad():
        paddle.assign(contents, tensor)


def _trained(results: Results, state: Capture) -> Iterator[tuple[Write, Build]]:
    """What each run does to gradients and schedulers."""
    for write, symbol in changes_of(state.steps):
        yield write, results.take(symbol)


def _unwritten(results: Results, state: Capture) -> Iterator[tuple[Write, Build]]:
    """The contents of parameters that a branch has changed, and that no memory has yet."""
    if state.steps is None:
        return
    for tensor, value in state.steps.parameters.unwritten():
        try:
            position = results.output(value)
        except _HiddenError:
            raise error_here(
                UnsupportedInGraphError,
                "an exception that a tensor decides comes behind a change of a parameter in a "
                "branch or loop, whose new contents are not known here",
                "raise it before the change, or behind the branch or loop",
            ) from None
        yield _overwrite, _contents_of(tensor, position)


def _contents_of(tensor: Any, position: int) -> Build:
    return lambda run: (tensor, run.outputs[position])


def _divided(results: Results, containers: dict[int, Any]) -> Iterator[tuple[Write, Build]]:
    """What each run fills lists and dicts with that are state and have become something else."""
    arguments = {id(container) for container in containers.values()}
    for root, form in list(results.grown.values()):
        record = results.watch.holds(root)
        if record is None or id(root) in arguments:
            continue
        if not _only_added(form, record):  # the program relies on what was in it
            results.watch.looks_into(record)
        yield _fill, _filled(record, _refilled(results, form, record))


def _filled(record: Record, build: Build) -> Build:
    return lambda run: (record.holder(), *build(run))


def _fill(run: Run, found: tuple[Any, bool, Any]) -> None:
    target, added, contents = found
    if isinstance(target, list) and added:
        list.extend(target, contents)
    elif isinstance(target, CONTAINERS):
        refill(target, contents)


def _only_added(form: Any, record: Record) -> bool:
    if isinstance(form, Choice):
        return _only_added(form.true, record) and _only_added(form.false, record)
    return type(form) is list and Change(record, None, form, record.before).added


def _refilled(results: Results, form: Any, record: Record) -> Build:
    """Whether items are added, and those or all items, for a list that has become ``form``."""
    if isinstance(form, Choice):
        where = results.output(form.flag)
        true = _refilled(results, form.true, record)
        false = _refilled(results, form.false, record)
        return lambda run: (true if bool(run.outputs[where]) else false)(run)
    added = _only_added(form, record)
    items = form[len(record.before) :] if added else form
    build = _become(results, items, items if form is record.scope else None)
    return lambda run: (added, build(run))


def _state(results: Results, changes: list[Change]) -> Iterator[tuple[Write, Build]]:
    """What each run changes outside of the arguments."""
    for change in changes:
        if change.whole and id(change.record.scope) in results.grown:
            continue  # what it has become fills it
        if not change.whole and any_leaf(is_symbol, change.key):
            pair = results.take((change.key, change.value))
            yield _put, _with_target(change, pair)
            continue
        value = change.contents if change.whole else change.value
        results.storing = not change.record.fields
        build = results.take(value)
        results.storing = False
        yield _changer(change), _with_target(change, build)


def _apart(changes: list[Change]) -> tuple[list[Change], list[Change]]:
    """Iterators that move, which do so before what they go over is changed; the other changes."""
    moves = [isinstance(change.record.scope, AheadFields) for change in changes]
    moving = [change for change, holds in zip(changes, moves, strict=True) if holds]
    return moving, [change for change, holds in zip(changes, moves, strict=True) if not holds]


def _in_order(changes: list[Change], state: Capture) -> list[Change]:
    """``changes``, with tensors given to layers in the order in which that has happened."""
    order = {} if state.steps is None else state.steps.buffers
    if len(order) < 2:
        return changes

    def position(change: Change) -> int:
        record = change.record
        return order.get((id(record.owner), change.key), -1) if record.fields else -1

    return sorted(changes, key=position)


def _put(run: Run, found: tuple[tuple[Any, Any], Any]) -> None:
    """Bind a key with a tensor that the run has made."""
    (key, value), target = found
    put(target, key, value)


def _changer(change: Change) -> Write:
    return lambda run, found: change.make(*found)


def _with_target(change: Change, build: Build) -> Build:
    return lambda run: (build(run), change.target())


def updates_of(state: Capture, main: Any, results: Results) -> list[tuple[int, int]]:
    """Inputs that were changed in place, with the outputs that hold their new values."""
    found = []
    top = main.global_block()
    inside = {result.id for operation in top.ops for result in operation.results()}
    for index, value in state.notes.written.items():
        if value.id not in inside:
            raise InplaceError(
                "an argument is changed in place inside a branch or loop, and not read afterwards",
                cure="return the changed tensor, and change the argument in the caller",
            )
        if index >= 0:
            found.append((index, results.output(value)))
    return found


def changed_arguments(
    changes: list[Change], containers: dict[int, Any], grown: dict[int, tuple[Any, Any]]
) -> list[int]:
    """The numbers of the caller's containers that have changed."""
    changed = {id(change.record.scope) for change in changes}
    return [
        number
        for number, container in containers.items()
        if id(container) in changed or id(container) in grown
    ]

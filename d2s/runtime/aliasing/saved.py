"""Tensors that ``set_value`` and the like write after an operation has read them.

Dygraph keeps what a gradient reads by reference, and such a write is not noticed: the gradient
reads the new contents, and so does that of a program, where it is built behind the write::

    y = w * w
    w.set_value(w * 0.9)
    y.backward()              the gradient is 2 * 0.9 * w

What cannot be given the new contents (a loop that was over by the write, a view of which it is not
known that it is one) is refused when a gradient is asked for that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import D2SError, InplaceError
from d2s.runtime.aliasing.chosen import may_be
from d2s.runtime.aliasing.views.links import link_of
from d2s.runtime.aliasing.views.sharing import Sharing
from d2s.runtime.trace import Capture, current, error_here, tentatively


@dataclass(frozen=True)
class Written:
    """A value whose contents were written, unseen by the gradients of what has read it.

    Attributes:
        value: it.
        error: what is raised where such a gradient cannot read the new contents.
        tensor: the parameter that it stood for, which the program writes into.
        fresh: values that stand for the tensor since, one in each branch, if it is no parameter.
        lost: it was changed in another way, too, after which dygraph has no gradient.
    """

    value: Any
    error: D2SError
    tensor: paddle.Tensor | None = None
    fresh: tuple[Any, ...] = ()
    lost: bool = False


def note_overwritten(old: paddle.Tensor, name: str, owner: object) -> None:
    """Note what was computed with ``old``, and whose gradient reads it, before it is written.

    Args:
        old: the value.
        name: of the method that writes it.
        owner: what the method is called for.
    """
    capture = current()
    if capture is None or not capture.gradients:
        return
    kept = bridge.tensor_of(owner) if bridge.is_value(owner) else owner
    steps = capture.steps
    tensor = kept if steps is not None and steps.parameters.keeps(kept) else None
    with tentatively():
        error = error_here(
            InplaceError,
            f".{name}() changes a tensor that was used before, and the gradient of what was "
            "computed with it would be that of the new contents in dygraph",
            "use a .clone() before, or change the tensor before it is used",
        )
    own = {old.id, *(view.id for view in bridge.views_among(old, _is_view))}
    others = [each for each in (*Sharing(old).others(), *may_be(old)) if each.id not in own]
    for value in (old, *others):
        for result, plainly in bridge.read_by_gradients(value, _is_view):
            if value is not old or not plainly:
                capture.notes.overwritten.setdefault(result.id, (result, error))
    known = capture.notes.rewritten.get(old.id)
    fresh = () if known is None else known.fresh
    capture.notes.rewritten[old.id] = Written(old, error, tensor, fresh)


def note_changed(old: paddle.Tensor, fresh: paddle.Tensor) -> None:
    """Note that ``fresh`` stands for ``old`` since it was changed in place."""
    capture = current()
    if capture is None or not capture.notes.rewritten or fresh is old:
        return
    table = capture.notes.rewritten
    known = table.get(old.id)
    if known is not None:
        table[old.id] = replace(known, fresh=(*known.fresh, fresh))
    for written in list(table.values()):
        if known is None and any(each.id == old.id for each in written.fresh):
            table[written.value.id] = replace(written, lost=True)


def _is_view(value: paddle.Tensor) -> bool:
    """Whether ``value`` shares its storage, on every run, with what an operation has made it of."""
    link = link_of(value)
    made_of = value.get_defining_op().operand_source(0)
    return link is not None and link.where is None and link.base.id == made_of.id


def contents_now(capture: Capture) -> dict[int, Any]:
    """The present contents of values that were written, by the ids of these."""
    found: dict[int, Any] = {}
    for value, leaf in capture.notes.leaves.values():
        if leaf.tensor is not None:
            _put(found, value, bridge.as_value(leaf.tensor))
    for written in capture.notes.rewritten.values():
        if written.tensor is not None:
            _put(found, written.value, bridge.as_value(written.tensor))
        else:
            _put(found, written.value, _newest(written.value, capture.notes.rewritten))
    return found


def _put(found: dict[int, Any], old: paddle.Tensor, now: paddle.Tensor | None) -> None:
    if now is not None and now.id != old.id and bridge.is_visible(now):
        found[old.id] = now


def views_of_all(capture: Capture, now: dict[int, Any]) -> set[int]:
    """The ids of the views of what has the contents ``now``."""
    values = [value for value, _ in capture.notes.leaves.values()]
    values += [written.value for written in capture.notes.rewritten.values()]
    return {
        view.id
        for value in values
        if value.id in now
        for view in bridge.views_among(value, _is_view)
    }


def _newest(value: paddle.Tensor, table: dict[int, Written]) -> Any:
    """The value that stands here for what ``value`` was; ``None`` if it is not known."""
    family: set[int] = set()
    while value is not None and (known := table.get(value.id)) is not None:
        if known.lost:
            return None
        family.update((value.id, *(each.id for each in known.fresh)))
        seen = [each for each in known.fresh if bridge.is_visible(each)]
        over = [each for each in known.fresh if not bridge.is_visible(each)]
        holders = {each.id(): each for each in map(bridge.holder_of, over) if each is not None}
        if seen:
            value = seen[-1]
        elif len(holders) == 1:
            for each in over:
                family.update(_later(each, table))
            (holder,) = holders.values()
            value = _joined(holder, family)
        else:
            return None if holders else value
    return value


def begun_as(value: paddle.Tensor) -> Any:
    """What ``value`` was before it was written, through which the gradients of all its uses go."""
    capture = current()
    while capture is not None:
        old = next(
            (
                written.value
                for written in capture.notes.rewritten.values()
                if any(each.id == value.id for each in written.fresh)
            ),
            None,
        )
        if old is None or old.stop_gradient or not bridge.is_visible(old):
            break
        value = old
    return value


def _later(value: paddle.Tensor, table: dict[int, Written]) -> Iterator[int]:
    """The ids of all that have stood for ``value`` since."""
    for each in table[value.id].fresh if value.id in table else ():
        yield each.id
        yield from _later(each, table)


def _joined(branch: Any, family: set[int]) -> Any:
    """What ``branch`` hands on that is one of ``family`` on both of its sides."""
    found = [
        result
        for place, result in enumerate(branch.results() if branch.name() == "pd_op.if" else ())
        if all(
            any(each.id in family for each in _copied(part))
            for (part,) in bridge.joined(result, place)
        )
    ]
    return found[0] if len(found) == 1 else None


def _copied(value: paddle.Tensor) -> Iterator[Any]:
    """``value``, what it is a copy of, and so on."""
    yield value
    maker = value.get_defining_op()
    while maker is not None and maker.name() == "pd_op.assign":
        value = maker.operand_source(0)
        yield value
        maker = value.get_defining_op()


def check_overwritten(outputs: Iterable[Any], ends: Callable[[Any], bool]) -> None:
    """Refuse gradients that read what was written since, and could not read the new contents.

    Args:
        outputs: where gradients begin; they are built here.
        ends: whether no gradient goes on from a value.

    Raises:
        InplaceError: (D2S304) there is such a one.
    """
    capture = current()
    if capture is None or not (capture.notes.overwritten or capture.notes.rewritten):
        return
    reached = bridge.gradients_go_to(outputs, ends)
    for number, (_, error) in capture.notes.overwritten.items():
        if number in reached:
            raise error
    now = contents_now(capture)
    for written in capture.notes.rewritten.values():
        if written.value.id not in now and not _is_unwritten(written):
            _check(written, reached)


def _is_unwritten(written: Written) -> bool:
    """Whether a parameter has its old contents here: the other side of a branch has written it."""
    tensor = written.tensor
    return tensor is not None and bridge.as_value(tensor).id == written.value.id


def check_results(outputs: Iterable[Any]) -> None:
    """Refuse results of the program whose gradients read what was written since.

    The program is differentiated as a whole, later, and reads parameters alone as they are then.

    Raises:
        InplaceError: (D2S304) dygraph's gradients would be those of the new contents.
    """
    capture = current()
    if capture is None or not (capture.notes.overwritten or capture.notes.rewritten):
        return
    reached = bridge.gradients_go_to(outputs, lambda value: False)
    for number, (_, error) in capture.notes.overwritten.items():
        if number in reached:
            raise error
    for written in capture.notes.rewritten.values():
        memory = _memory_of(written, capture.notes.rewritten)
        if memory is None:
            _check(written, reached)
            continue
        value = written.value
        read = [result.id for result in bridge.read_from_copies(value)]
        read += [
            result.id
            for result, plainly in bridge.read_by_gradients(value, _is_view)
            if not plainly
        ]
        if not reached.isdisjoint(read):
            raise written.error
        bridge.let_be_in_memory(value, memory, bridge.views_among(value, _is_view))


def _memory_of(written: Written, table: dict[int, Written]) -> Any:
    """What the program is given for the tensor that ``written`` was the contents of.

    When the program has ended, its memory has the last contents.

    Returns:
        A value; ``None`` for a tensor that the program makes, and where that is not known.
    """
    value = written.value
    own = value.get_defining_op()
    if own is None or written.lost:
        return None
    if own.name() in ("builtin.parameter", "pd_op.data"):
        return value
    if own.num_results() != 1 or own.num_regions() or bridge.reads_its_result(value):
        return None
    before = [w for w in table.values() if any(each.id == value.id for each in w.fresh)]
    return _memory_of(before[0], table) if len(before) == 1 else None


def _check(written: Written, reached: set[int]) -> None:
    """Raise the error of ``written`` if a gradient that goes to ``reached`` reads its value.

    Args:
        written: what was written.
        reached: ids of values.
    """
    value = written.value
    read = {result.id for result, _ in bridge.read_by_gradients(value, _is_view)}
    if bridge.reads_its_result(value):
        read.add(value.id)
    if read & reached:
        raise written.error

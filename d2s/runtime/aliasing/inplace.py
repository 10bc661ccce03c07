"""Methods and functions that change a tensor in place: ``y.add_(t)``, ``F.relu_(y)``.

A program has no storage to write into: the new contents are a new value, and every variable,
attribute and item that holds the tensor is bound to it (``aliasing.holders``), so that all names
of one tensor go on to show one tensor, as in dygraph.  Where a name lies outside of the branch or
loop that makes the change and is not part of its state, the change is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import InplaceError
from d2s.runtime.aliasing.chosen import may_be, merged, note_pick, picks_of
from d2s.runtime.aliasing.holders import (
    Holder,
    are_in_alternatives,
    is_handed_on,
    is_same,
    live_holders,
    live_holders_of,
    sames,
)
from d2s.runtime.aliasing.replays import Method, done
from d2s.runtime.aliasing.saved import note_changed, note_overwritten
from d2s.runtime.aliasing.sizes.ranks import open_axes
from d2s.runtime.aliasing.snapshots import tensors_in
from d2s.runtime.aliasing.views.links import is_sometimes_a_view, unknown_base
from d2s.runtime.aliasing.views.sharing import Sharing, note_renewed, with_contents
from d2s.runtime.aliasing.waiting import note_waiting
from d2s.runtime.trace import Block, Capture, current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    as_value,
    is_array,
    is_tensor,
    note_written,
    root_of,
    root_to_change,
)
from d2s.runtime.values.tree import is_list_or_tuple, like

_OTHERWISE: Final[dict[str, Callable[..., Any]]] = {
    "zero_": lambda y: paddle.zeros_like(y),
    "fill_": lambda y, value: paddle.full_like(y, value),
    "set_value": lambda y, value: _contents(value),
    "copy_": lambda y, other, *_: other,
    "assign": lambda y, other: paddle.assign(other),
    "increment": lambda y, value=1.0: y + bridge.as_float32(value, y.dtype),
    "fill_diagonal_": lambda y, value=0.0, offset=0, wrap=False: _diagonal(y, value, offset, wrap),
    "sub_": lambda y, other: y - other,
    "mul_": lambda y, other: y * other,
    "div_": lambda y, other: y / other,
}
"""What cannot be had by leaving off the underscore."""

_NO_PLACE: Final = frozenset(
    [
        *("cast_", "resize_", "set_", "detach_", "requires_grad_", "normal_", "uniform_"),
        *("exponential_", "bernoulli_", "cauchy_", "geometric_", "log_normal_", "random_"),
        *("apply_", "reconstruct_from_"),
    ]
)
"""They change the dtype, or draw random numbers: refused."""

_COPYING: Final = frozenset(("set_value", "copy_"))
"""They copy contents, behind the back of gradients."""

_RESHAPING: Final = frozenset(
    ("reshape_", "squeeze_", "unsqueeze_", "transpose_", "t_", "flatten_")
)
"""They leave the numbers as they are."""


def is_inplace(name: str) -> bool:
    """Whether a method or function of Paddle of this name changes its tensor."""
    if name.startswith("_"):  # Paddle calls what is behind x.new_zeros() _new_zeros_
        return False
    return name in ("set_value", "increment") or (name.endswith("_") and not name.endswith("__"))


def method(owner: object, name: str) -> Callable[..., Any]:
    """The in-place method ``name`` of a tensor, while a program is captured."""

    def change(*arguments: object, **options: object) -> Any:
        plain = getattr(paddle.Tensor, name[:-1], None)
        changed = _changed(owner, name, plain, arguments, options)
        return None if name == "set_value" else changed

    return change


def function(original: Callable[..., Any]) -> Callable[..., Any]:
    """An in-place function of Paddle, while a program is captured."""
    name = original.__name__

    def change(owner: object, *arguments: object, **options: object) -> Any:
        if not is_tensor(owner):
            with bridge.in_dygraph():  # it says what is wrong
                return original(owner, *arguments, **options)
        return _changed(owner, name, _plain_form(original, name), arguments, options)

    return change


def assigned(owner: object, other: object) -> Any:
    """``paddle.assign(other, owner)`` while a program is captured."""
    fresh = _contents(other)
    if list(fresh.shape) != list(as_value(owner).shape):
        raise _refusal("assign", "and the result has another shape")
    # Numbers are written behind the back of gradients.
    return _changed(owner, "assign" if is_tensor(other) else "copy_", None, (fresh,), {})


def _contents(thing: Any) -> Any:
    """What is written into a tensor that is given ``thing``, a tensor, array or number."""
    if is_tensor(thing):
        return as_value(thing)
    return as_value(paddle.assign(thing.value if is_array(thing) else thing))


def put_into(out: Any, result: Any) -> Any:
    """``out=``: the tensor ``out`` is the result from here on; so are those of a tuple.

    Returns:
        The result, as what ``out`` is bound to.
    """
    if is_list_or_tuple(result):
        return like(result, [put_into(*pair) for pair in zip(out, result, strict=True)])
    if not is_tensor(result):  # dygraph writes nothing then
        return result
    old, fresh = as_value(out), as_value(result)
    alike = fresh.dtype == old.dtype and list(fresh.shape) == list(old.shape)
    if not alike and not _is_alone(old):
        raise error_here(
            InplaceError,
            "out= gives a tensor another dtype or shape that is an argument, a part of the state, "
            "or shares its contents with another tensor",
            "write y = f(x) without out=",
        )
    kept = parameter_with(out, fresh, _OUT) if alike else None
    if kept is not None:
        return kept
    if alike and list(old.shape):  # as an item assignment: see _changed
        fresh = bridge.with_item(old, ..., fresh)
    if not alike:
        _rebind(live_holders(out), out, fresh, _OUT)
        return fresh
    return changed_to(out, old, fresh, _OUT)


_OUT: Final = "out="


def _is_alone(value: paddle.Tensor) -> bool:
    """Whether ``value`` is one that the program has made, of which no other one is a part."""
    outside = root_of(value) is not None or bridge.tensor_of(value) is not None
    return not outside and not any(map(live_holders, Sharing(value).others()))


def _plain_form(original: Callable[..., Any], name: str) -> Any:
    for module in (paddle, paddle.nn.functional):
        if getattr(module, name, None) is original or hasattr(module, name):
            return getattr(module, name[:-1], None)
    return None


def _changed(
    owner: Any, name: str, plain: Any, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    otherwise = _OTHERWISE.get(name)
    if name in _NO_PLACE or (otherwise is None and plain is None):
        raise _refusal(name, "which a captured program cannot express")
    old = as_value(owner)
    if name == "squeeze_" and open_axes(old, *arguments[:1], **options):
        raise _refusal(name, "and the run decides how many dimensions are left")
    change = otherwise or (Method(name[:-1]) if hasattr(old, name[:-1]) else plain)
    fresh = done(change, Method(name), (old, *arguments), options)
    reshaping = name in _RESHAPING
    if reshaping and not (paddle.is_grad_enabled() or old.stop_gradient):
        raise _refusal(name, "under no_grad, and its gradient has another shape then")
    if fresh.dtype != old.dtype or (not reshaping and len(fresh.shape) != len(old.shape)):
        raise _refusal(name, "and the result has another dtype or rank")
    if name in _COPYING:
        note_overwritten(old, name, owner)
    kept = parameter_with(owner, fresh, f".{name}()", copies=name in _COPYING)
    if kept is not None:
        return kept
    if list(old.shape) and not reshaping:  # an item assignment, so that a view is noticed
        fresh = bridge.with_item(old, ..., fresh)
    written = fresh
    if name in _COPYING:
        fresh = _with_contents(old, fresh, name)
    changed = changed_to(owner, old, fresh, f".{name}()")
    _settle_as(written, changed)
    return changed


def _settle_as(written: paddle.Tensor, changed: paddle.Tensor) -> None:
    """Note that an assignment has made ``written``, and that ``changed`` stands for it since."""
    capture = current()
    group = None if capture is None else capture.notes.settled.get(changed.id)
    if capture is not None and group is not None and written.id != changed.id:
        capture.notes.settled[written.id] = group | {written.id}


def _with_contents(old: paddle.Tensor, contents: paddle.Tensor, name: str) -> Any:
    """``contents`` with the history of ``old``: its gradient goes to what ``old`` is made of."""
    copy = paddle.assign(contents)
    copy.stop_gradient = True
    if old.stop_gradient or not paddle.is_grad_enabled():
        return copy
    capture = current()
    if capture is not None and any(block.kind == "loop" for block in capture.blocks):
        raise _refusal(name, "and its gradient stays that of the old contents, in a static loop")
    passed = bridge.static_py_layer(
        lambda _, old, copy: paddle.assign(copy),
        lambda _, gradient: (paddle.assign(gradient), paddle.zeros_like(gradient)),
    )([old, copy])
    passed.stop_gradient = False
    return passed


def parameter_with(owner: object, fresh: paddle.Tensor, what: str, *, copies: bool = False) -> Any:
    """The parameter that ``owner`` is, with the contents ``fresh`` from here on.

    ``None``: it is no parameter, or the change is to have a gradient, unless it ``copies`` behind
    the back of gradients.
    """
    capture = current()
    state = None if capture is None else capture.steps
    kept = bridge.tensor_of(owner) if bridge.is_value(owner) else owner
    if capture is not None and state is not None and _is_carried(owner, capture, state):
        state.record.check("a change of a parameter")
    differentiated = paddle.is_grad_enabled() and not copies
    if state is None or not state.parameters.keeps(kept) or differentiated:
        return None
    if any(map(is_held, Sharing(as_value(kept)).others())):
        raise _refusal_of_views(what, "a parameter in place of which a view is read later")
    state.parameters.overwrite(kept, fresh)
    if kept is not owner:
        _rebind(live_holders(owner), owner, kept, what)
    return kept


def _is_carried(owner: Any, capture: Capture, steps: Any) -> bool:
    """Whether ``owner`` is a parameter that a static loop around has as a variable."""
    return any(
        now is owner and steps.parameters.keeps(was)
        for block in capture.blocks
        for was, now in zip(block.before, block.given, strict=False)
    )


def changed_to(owner: object, old: paddle.Tensor, fresh: paddle.Tensor, what: str) -> Any:
    """``fresh`` as what ``owner``, whose value was ``old``, is from here on."""
    capture = current()
    written = fresh
    steps = None if capture is None else capture.steps
    kept = not (paddle.is_grad_enabled() or old.stop_gradient)
    if kept and not (steps is not None and steps.gradients.is_gradient(old)):
        fresh = with_contents(old, fresh)  # dygraph records nothing, and keeps the old gradient
        note_renewed(old, fresh)
    if steps is not None:
        fresh = steps.gradients.renewed(old, fresh)
    note_renewed(old, fresh)
    note_written(root_to_change(owner), fresh)
    bind_anew(owner, fresh, what)
    _settle_picks(owner, old, fresh, what)
    note_changed(old, fresh)
    _settle_as(written, fresh)
    return fresh


def _settle_picks(owner: object, old: paddle.Tensor, fresh: paddle.Tensor, what: str) -> None:
    """Write what was written into a picked item into the item, or the other way round."""
    capture = current()
    if capture is None or not capture.notes.picks:
        return
    mine = capture.notes.picks.pop(old.id, None)
    made: list[Any] = []
    if mine is not None:
        items = mine.different()
        steps = [merged(mine.holds(item), fresh, item) for item in items]
        news = [
            changed_to(item, as_value(item), step[-1], what)
            for item, step in zip(items, steps, strict=True)
        ]
        note_pick(fresh, [news[mine.place_of(each)] for each in mine.items], mine.position)
        made += [*itertools.chain(*steps), *news]
    for pick in picks_of(owner):
        del capture.notes.picks[pick.value.id]
        holders = live_holders(pick.value)
        if not holders:
            continue
        step = merged(pick.holds(owner), fresh, pick.value)
        items = [fresh if is_same(each, owner) else each for each in pick.items]
        note_pick(step[-1], items, pick.position)
        note_renewed(pick.value, step[-1])
        _rebind(holders, pick.value, step[-1], what)
        made += [*step, *map(as_value, items)]
    if made:
        group = frozenset((fresh.id, *(value.id for value in made)))
        for number in group:
            capture.notes.settled[number] = group | capture.notes.settled.get(number, frozenset())


def _refusal(name: str, why: str) -> Exception:
    return error_here(
        InplaceError,
        f"{name}() changes a tensor in place, {why}",
        f"write y = y.{name.rstrip('_')}(...) instead",
    )


def bind_anew(old: paddle.Tensor, fresh: paddle.Tensor, what: str) -> None:
    """Bind ``fresh`` wherever ``old`` is known.

    Args:
        old: the tensor before the change.
        fresh: the value after it.
        what: the change, for messages.

    Raises:
        InplaceError: (D2S304) a name outside of the present branch or loop would keep the old
            contents.
    """
    value = as_value(old)
    _refuse_chosen(value, what)
    note_waiting(old)
    sharing = Sharing(value)
    if any(link.where is not None for link in sharing.above):
        raise _refusal_of_chosen(what, "a part of another one")
    _refuse_unknown_part(sharing.whole, what)
    sharers = sharing.others()
    mine, *theirs = live_holders_of(old, *sharers)
    others = {each.id: (each, found) for each, found in zip(sharers, theirs, strict=True)}
    wanted = {
        number
        for number, (other, holders) in others.items()
        if holders or root_of(other) is not None or bridge.tensor_of(other) is not None
    }
    if any(_is_parameter(bridge.tensor_of(others[number][0])) for number in wanted):
        raise _refusal_of_views(what, "a view of a parameter in place")
    _rebind(mine, old, fresh, what)
    if any(are_in_alternatives(sames(old))):  # a list that only one side of a branch has
        raise _refusal_of_chosen(what, "a part of one of several things")
    if not wanted:
        return
    for other, new in sharing.settle(fresh, wanted):
        if not is_sometimes_a_view(other):  # else an argument that it is on other runs stays
            note_written(root_to_change(other), new)
        _rebind(others[other.id][1], other, new, what)


def _is_parameter(tensor: paddle.Tensor | None) -> bool:
    """Whether ``tensor`` is one outside that stays the same object, and has a gradient."""
    return tensor is not None and not tensor.stop_gradient


def _refusal_of_views(what: str, changed: str) -> Exception:
    return error_here(
        InplaceError,
        f"{what} changes {changed}",
        "take the view of p.clone(), and assign the parameter: p[i] = ... or p.set_value(...)",
    )


def _refuse_unknown_part(whole: paddle.Tensor, what: str) -> None:
    """Refuse to change a part of an argument or of the state that may lie anywhere in it.

    For what the program computes, ``program.views`` says whether anybody sees the difference.
    """
    base = unknown_base(whole)
    if base is not None and (root_of(base) is not None or bridge.tensor_of(base) is not None):
        raise error_here(
            InplaceError,
            f"{what} changes a view of a part of an argument or of the state in place, and d2s "
            "cannot say which part it is",
            "change the tensor itself, as in x[:n] = ..., or a copy of the part: y = x[:n].clone()",
        )


def _refuse_chosen(value: paddle.Tensor, what: str) -> None:
    """Refuse to change what is, as the run decides, a tensor that has another name, too."""
    root, others = root_of(value), list(may_be(value))
    inside = are_in_alternatives(others)
    for other, holders, part in zip(others, live_holders_of(*others), inside, strict=True):
        also = next((repr(holder.path) for holder in holders), None)
        if also is None and part:
            also = "a part of one of several things"
        if also is None and root_of(other) == root:
            continue
        if also is not None or root_of(other) is not None or bridge.tensor_of(other) is not None:
            raise _refusal_of_chosen(what, also or "an argument or a tensor of the state")


def _refusal_of_chosen(what: str, also: str) -> Exception:
    return error_here(
        InplaceError,
        f"{what} changes a tensor in place that is the same one as {also} on some runs, as a "
        "branch or loop decides",
        "change a copy of it: y = y.clone()",
    )


def is_held(thing: object) -> bool:
    """Whether a name, an attribute or a container holds ``thing``, and may be read again."""
    return bool(live_holders(thing))


def _rebind(holders: list[Holder], old: paddle.Tensor, fresh: paddle.Tensor, what: str) -> None:
    for holder in holders:
        _check(holder, old, what)
    same = sames(old)

    def renewed(held: object) -> Any:
        if isinstance(held, Choice):
            return held.like(renewed(held.true), renewed(held.false))
        return fresh if any(is_same(held, each) for each in same) else held

    for holder in holders:
        held = holder.get()
        holder.set(renewed(held) if isinstance(held, Choice) else fresh)


def _check(holder: Holder, old: paddle.Tensor, what: str) -> None:
    joining = []
    for block in holder.left:
        known = is_handed_on(holder, block)
        # A variable that got it in the block, which does not hand it on, is not read behind it.
        if block.makes(as_value(old)) and (known or holder.frame is not None):
            continue
        if not known and block.state is not None:
            joining.append(block)
            continue
        if known and is_sometimes_a_view(as_value(old)):
            continue  # what the loop began with stays as it is
        other = _other_name(holder, block) if known else holder.path
        if other is not None:
            raise error_here(
                InplaceError,
                f"{what} changes a tensor in place inside a branch or loop, and {other!r} "
                "outside of it is the same tensor",
                "write y = y.add(...) and use the one name y, or change a .clone()",
            )
    for block in joining:
        block.state.join(holder.path, holder)


def _other_name(holder: Holder, block: Block) -> str | None:
    """Another name of what ``holder`` held when the loop ``block`` began.

    What the loop can carry, too, joins its state: another name, or a part of the same tensor.
    """
    apart = _carried_apart(holder.path, block)
    if apart is not None:
        return apart
    root = holder.path.split("[")[0]
    for name, value in zip(block.names, block.before, strict=False):
        for tensor in tensors_in(value) if name in (holder.path, root) else ():
            for found in outer_holders(tensor, block):
                if block.state is None:
                    return found.path
                block.state.join(found.path, found, unchanged=True)
    return None


def outer_holders(tensor: paddle.Tensor, block: Block) -> Iterator[Holder]:
    """Who holds ``tensor``, or what shares its storage, and is not part of the loop ``block``."""
    for related in (tensor, *Sharing(as_value(tensor)).others()):
        for found in live_holders(related):
            if not is_handed_on(found, block) and any(each is block for each in found.left):
                yield found


def _carried_apart(path: str, block: Block) -> str | None:
    """Another variable of the loop ``block`` that has begun as what ``path`` has."""
    held = {
        name: (as_value(was).id, now)
        for name, was, now in zip(block.names, block.before, block.given, strict=False)
        if is_tensor(was)
    }
    before, given = held.get(path, (None, None))
    others = (name for name, (was, now) in held.items() if was == before)
    return next((name for name in others if not is_same(held[name][1], given)), None)


def _diagonal(y: paddle.Tensor, value: float, offset: int, wrap: bool) -> Any:
    if wrap or len(y.shape) != 2:
        raise _refusal("fill_diagonal_", "which is known for matrices without wrapping only")
    mask = paddle.diag(paddle.ones([min(y.shape)]), offset=0) if offset == 0 else None
    if mask is None or y.shape[0] != y.shape[1]:
        raise _refusal("fill_diagonal_", "which is known for the main diagonal of squares only")
    return paddle.where(mask.astype("bool"), paddle.full_like(y, value), y)

"""The names of a list that a loop grows: where it stands in the state, and who else knows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import Holder, holders_of, holders_of_form, is_handed_on
from d2s.runtime.aliasing.origins import other_places
from d2s.runtime.aliasing.snapshots import with_form
from d2s.runtime.aliasing.variables import State
from d2s.runtime.aliasing.waiting import check_waiting
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.storage import NeedsElementError, NeedsRowsError
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.growing import GrowingList
from d2s.runtime.trace import error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tree import is_mapping, is_sequence, pairs


def path_of_list(request: NeedsElementError | NeedsRowsError, state: State) -> str | None:
    """Where in the state the list stands that needs another form.

    Raises:
        NeedsElementError: a loop around knows the list too: it is prepared there.
    """
    targets = [request.target]
    if isinstance(request.target, DynamicList) and request.target.origin is not None:
        targets.append(request.target.origin)
    if isinstance(request, NeedsElementError):
        for names, values in open_trace().loops:
            if _path_in(names, values, targets) is not None:
                raise request
    return _path_in(state.names, state.read(), targets)


def _path_in(names: Iterable[str], values: list[object], targets: list[object]) -> str | None:
    """The path of one of ``targets`` in some variables."""
    for name, value in zip(names, values, strict=True):
        for target in targets:
            path = _path_of(name, value, target)
            if path is not None:
                return path
    return None


def _path_of(path: str, value: object, target: object) -> str | None:
    """The path at which the object ``target`` stands in ``value``, or ``None``."""
    if value is target:
        return path
    for key, part in pairs(value) if is_sequence(value) or is_mapping(value) else ():
        found = _path_of(f"{path}[{key!r}]", part, target)
        if found is not None:
            return found
    return None


def forms_of(carriers: list[Carrier]) -> dict[int, Choice]:
    """The several lists that a variable was one of, where :func:`bind_others` binds others."""
    return {
        index: each.form
        for index, each in enumerate(carriers)
        if isinstance(each, GrowingList) and each.form is not None and not each.rebound
    }


def bind_all_names(carriers: list[Carrier]) -> None:
    """Let every name of a list that has grown hold what the loop has made of it."""
    for top in carriers:
        for carrier in top.each():
            if isinstance(carrier, GrowingList):
                _bind_names(carrier)


def _bind_names(growing: GrowingList) -> None:
    trace, origin = open_trace(), growing.target.origin
    if origin is None or growing.rebound:
        return
    if len(origin) != growing.held:
        raise error_here(
            ContainerInGraphError,
            f"the list {growing.path!r} grows in a static loop, and is changed there "
            "through another name, which the loop does not know",
            "change it through one variable",
        )
    check_waiting(origin, growing.target)
    holders = holders_of(origin)
    others = list(other_places(origin))
    for path, _ in others:
        if trace.blocks:
            raise _in_branch(growing, path, "branch or loop")
    for holder in holders:
        for block in holder.left:
            if block.kind == "branch" and not is_handed_on(holder, block):
                if block.state is None or holder.fixed:
                    raise _in_branch(growing, holder.path)
                block.state.join(holder.path, holder, root=origin, form=origin)
    for holder in holders:
        holder.set(growing.target)
    for _, bind in others:
        bind(growing.target)
    trace.grown[id(origin)] = (origin, growing.target)


@contextmanager
def bind_others(carriers: list[Carrier]) -> Iterator[None]:
    """Let whoever holds one of several lists, as a variable does, hold what the loop makes of it.

    Where the loop is not captured to its end, they hold what they held before.
    """
    bound: list[tuple[Holder, Any]] = []
    try:
        for carrier in carriers:
            if (
                isinstance(carrier, GrowingList)
                and carrier.form is not None
                and not carrier.rebound
            ):
                form, target = carrier.form, carrier.target
                for holder in holders_of_form(form, target):
                    if not holder.live:
                        continue
                    if holder.fixed or not all(is_handed_on(holder, each) for each in holder.left):
                        raise _in_branch(carrier, holder.path, "branch, loop or tuple")
                    bound.append((holder, holder.get()))
                    holder.set(with_form(holder.get(), form, target))
        yield
    except BaseException:
        for holder, held in bound:
            holder.set(held)
        raise


def _in_branch(growing: GrowingList, path: str, around: str = "branch") -> Exception:
    return error_here(
        ContainerInGraphError,
        f"the list {growing.path!r}, known as {path!r} too, grows in a "
        f"static loop inside of a {around}",
        "use one name for it",
    )

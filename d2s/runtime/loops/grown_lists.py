"""The names of a list that a loop grows: where it stands in the state, and who else knows it."""

from __future__ import annotations

from collections.abc import Iterable

from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import holders_of
from d2s.runtime.aliasing.origins import other_places
from d2s.runtime.aliasing.variables import State
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.storage import NeedsElementError, NeedsRowsError
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.growing import GrowingList
from d2s.runtime.trace import error_here, open_trace
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
    holders = holders_of(origin)
    for holder in holders:
        if holder.left and any(block.kind == "branch" for block in holder.left):
            raise _in_branch(growing, holder.path)
    for holder in holders:
        holder.set(growing.target)
    for path, bind in other_places(origin):
        if trace.blocks:
            raise _in_branch(growing, path, "branch or loop")
        bind(growing.target)
    trace.grown[id(origin)] = (origin, growing.target)


def _in_branch(growing: GrowingList, path: str, around: str = "branch") -> Exception:
    return error_here(
        ContainerInGraphError,
        f"the list {growing.path!r}, known as {path!r} too, grows in a "
        f"static loop inside of a {around}",
        "use one name for it",
    )

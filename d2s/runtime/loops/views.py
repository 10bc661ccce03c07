"""Variables of a static loop that are views of each other, in every trip (rules A1, C2).

``row = y[0]`` before a loop that writes into ``y``: both are variables of the loop, and in each
trip the one is still that part of the other.  That holds by induction: it does before the loop,
and behind a trip that begins so.  Where a trip leaves something else, the loop is captured again,
with a variable that is no view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.runtime.aliasing.storage import Link, chain_of, note_link
from d2s.runtime.loops.carriers.carrier import Carrier
from d2s.runtime.loops.carriers.plans import Plans, Replan
from d2s.runtime.loops.carriers.tensor import TensorVariable
from d2s.runtime.values.tensors import as_value, is_tensor, number_kind


class LoopViews:
    """The variables of one capture of a loop that begin as views.

    Attributes:
        found: each of them, the variable that it is a view of, and how; ``None`` in the place of
            that for what the loop does not change.
    """

    def __init__(self, carriers: Sequence[Carrier], plans: Plans) -> None:
        variables = [
            each
            for top in carriers
            for each in top.each()
            if isinstance(each, TensorVariable) and _is_plain(each.before)
        ]
        owners = {as_value(each.before).id: each for each in variables}
        self.found: list[tuple[TensorVariable, TensorVariable | None, Link]] = []
        for each in variables:
            links = [] if plans[each.path].alone else list(chain_of(as_value(each.before)))
            known = next((link for link in links if link.base.id in owners), None)
            if known is not None or links:
                link = known or links[-1]
                self.found.append((each, owners.get(link.base.id), link))

    def note(self) -> None:
        """Note it of what the variables are now, in a trip or behind the loop."""
        for each, owner, link in self.found:
            base = _now(link, owner)
            if _is_plain(each.now) and _is_plain(base) and each.now is not each.before:
                note_link(link, as_value(each.now), as_value(base))

    def end(self) -> None:
        """A trip has left what the variables are now.

        Raises:
            Replan: one is no longer what it was a view of.
        """
        wrong = [
            Replan(each.path, alone=True)
            for each, owner, link in self.found
            if not _is_still(each.now, _now(link, owner), link)
        ]
        if wrong:
            wrong[0].others = wrong[1:]
            raise wrong[0]


def _now(link: Link, owner: TensorVariable | None) -> Any:
    return link.base if owner is None else owner.now


def _is_still(view: object, base: object, link: Link) -> bool:
    if not (_is_plain(view) and _is_plain(base)):
        return False
    whole = as_value(base).id
    chain = chain_of(as_value(view))
    return any(each.form == link.form and each.base.id == whole for each in chain)


def _is_plain(thing: object) -> bool:
    return is_tensor(thing) and number_kind(thing) is None

"""When a loop variable that is a tensor is still, or again, the Python number it began as (C4).

``best = 0`` before ``while ...: if score > best: best = score``: the loop carries a tensor, and a
bool that says whether it is the number; the number, too, where it is not always the first one.
Where only the first trip has it, as in ``total = total + x``, the bool comes when it is asked for.
"""

from __future__ import annotations

from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.loops.carriers.carrier import seed
from d2s.runtime.loops.carriers.plans import Plan, Replan, replan_as_choices
from d2s.runtime.values.constants import same_constant
from d2s.runtime.values.mixed import (
    AskedError,
    Mixed,
    as_mixed,
    note_mixed,
    number_as_value,
    told_apart,
)
from d2s.runtime.values.tensors import mark_number


class Numbers:
    """When one loop variable is a number.

    Args:
        path: the variable.
        before: what it is before the loop.
        plan: what is known of it.
        loop: the plans of the loop.

    Attributes:
        inits: the bool, and the number if it is carried.
    """

    def __init__(self, path: str, before: object, plan: Plan, loop: object) -> None:
        self.path = path
        self.value = before
        self.before = as_mixed(before)
        self.plan = plan
        self.loop = loop
        self.inits: list[paddle.Tensor] = []
        if plan.number is not None:
            mixed = self.before or Mixed(False, plan.number(0))
            if mixed.asked is not None:
                raise mixed.asked()
            self.number = mixed.number
            self.inits = self._carried(mixed)

    def _carried(self, mixed: Mixed) -> list[paddle.Tensor]:
        flag = mixed.flag
        found = [seed(paddle.full([], flag, "bool") if isinstance(flag, bool) else flag)]
        if self.plan.exact:
            found.append(seed(number_as_value(mixed.number)))
        return found

    def _wish(self, kind: type) -> Replan:
        constant = self.before is not None and not bridge.is_value(self.before.number)
        return Replan(self.path, number=kind, exact=not constant, lift=True)

    def enter(self, value: paddle.Tensor, carried: list[paddle.Tensor]) -> None:
        """Note it of ``value``, the variable in a trip or behind the loop."""
        if carried:
            flag, *exact = carried
            kind = self.plan.number
            assert kind is not None
            note_mixed(value, Mixed(flag, mark_number(exact[0], kind) if exact else self.number))
        elif self.before is not None:
            kind = self.before.kind
            note_mixed(value, Mixed(None, kind(0), lambda: AskedError(self.loop, self._wish(kind))))

    def leave(self, after: object) -> list[paddle.Tensor]:
        """The next bool and number, of what a trip has left.

        Raises:
            Replan: there is none yet, and the trip may leave a number.
        """
        mixed = as_mixed(after)
        kind = self.plan.number
        if mixed is None:
            return self._carried(Mixed(False, kind(0))) if kind is not None else []
        if kind is None:
            raise self._wish(mixed.kind)
        if mixed.asked is not None:
            raise mixed.asked()
        if mixed.kind is not kind:
            replan_as_choices(self.path, self.value, told_apart(after))
        if not self.plan.exact and not same_constant(mixed.number, self.number):
            raise Replan(self.path, exact=True)
        return self._carried(mixed)

    def settle(self, value: paddle.Tensor, tripped: paddle.Tensor) -> None:
        """Note it of ``value`` behind a loop whose trips all leave a tensor."""
        before = self.before
        if self.inits or before is None:
            return
        flag: Any = ~tripped
        if before.flag is not True and before.asked is None:
            flag = flag & before.flag
        note_mixed(value, before._replace(flag=flag))

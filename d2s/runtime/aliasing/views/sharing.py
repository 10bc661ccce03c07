"""Which tensors of a program share their storage in dygraph, and what a write does to the others.

``row = y[0]`` is a view there: a write to either is seen in both.  A program has values only, so
a write to one of them makes new values of all that somebody still reads.  What a value is a view
of is read from the operation that made it.

A write through a view leaves the gradient of the other tensors as it was recorded before: they
have new contents, and their gradient goes where it went (dygraph records nothing for them).
"""

from __future__ import annotations

from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.views.links import DEPTH, Link, bridge_copy, link_of, views_of
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import note_selected


class Sharing:
    """All values of one storage, as a write to one of them finds them.

    Attributes:
        above: from the written value to the whole: what each is a view of.
    """

    def __init__(self, old: paddle.Tensor) -> None:
        self.old = old
        self.above: list[Link] = []
        at = old
        while (link := link_of(at)) is not None and len(self.above) < DEPTH:
            self.above.append(link)
            at = link.base
        self.whole = at
        self.below: dict[int, list[Link]] = {}
        queue = [self.whole]
        while queue:
            at = queue.pop()
            if at.id not in self.below:
                found = views_of(at)  # what a branch or loop before had of it is not seen here
                self.below[at.id] = [link for link in found if bridge.is_visible(link.view)]
                queue.extend(link.view for link in self.below[at.id])

    def others(self) -> list[Any]:
        """The values besides the one that is written."""
        found = {self.whole.id: self.whole}
        for links in self.below.values():
            found.update((link.view.id, link.view) for link in links)
        found.pop(self.old.id, None)
        return list(found.values())

    def settle(self, fresh: paddle.Tensor, wanted: set[int]) -> list[tuple[Any, Any]]:
        """Make new values of the others, after ``fresh`` was written.

        Args:
            fresh: what the written value has become.
            wanted: ids of the others that are still known to somebody.

        Returns:
            Old and new values, the written one's not among them.
        """
        capture = current()
        assert capture is not None
        made: dict[int, Any] = {self.old.id: fresh}
        group = {fresh.id}
        pairs: list[tuple[Any, Any]] = []
        at = fresh
        fixed: list[tuple[Any, Link | None]] = []
        for link in self.above:
            raw = link.put(link.base, at)
            base = with_contents(link.base, raw)
            group |= {raw.id, base.id, *(step.id for step in link.steps)}
            capture.notes.links[raw.id] = None
            fixed.append((at, link.between(at, base)))
            made[link.base.id] = base
            pairs.append((link.base, base))
            at = base
        fixed.append((at, None))
        queue = [self.whole]
        while queue:
            parent = queue.pop()
            for link in self.below[parent.id]:
                if link.view.id not in made and self._leads_to(link.view, wanted):
                    raw = link.contents(made[parent.id])
                    view = with_contents(link.view, raw)
                    group |= {raw.id, view.id}
                    if link.where is not None:
                        note_selected(view, [link.view])
                    made[link.view.id] = view
                    pairs.append((link.view, view))
                    base = made[parent.id]
                    fixed.append((view, link.between(view, base)))
                if link.view.id in made:
                    queue.append(link.view)
        for value, link_ in fixed:
            capture.notes.links[value.id] = link_
        settled = frozenset(group)
        capture.notes.settled.update(dict.fromkeys(group, settled))
        for old, new in pairs:
            note_renewed(old, new)
        return pairs

    def _leads_to(self, view: paddle.Tensor, wanted: set[int]) -> bool:
        return view.id in wanted or any(
            self._leads_to(link.view, wanted) for link in self.below.get(view.id, ())
        )


def note_renewed(old: paddle.Tensor, new: paddle.Tensor) -> None:
    """Note that a write has put ``new`` in the place of ``old``."""
    capture = current()
    if capture is not None and new.id != old.id:
        capture.notes.renewed[new.id] = (new, old)


def with_contents(old: paddle.Tensor, new: paddle.Tensor) -> Any:
    """``new``, with the gradient of ``old``."""
    if old.stop_gradient:
        return bridge_copy(new)
    contents = bridge_copy(new)
    keep = bridge.static_py_layer(
        lambda context, before, after: paddle.assign(after),
        lambda context, gradient: (gradient, paddle.zeros_like(gradient)),
    )
    kept = keep([old, contents])
    kept.stop_gradient = False
    return kept

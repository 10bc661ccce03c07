"""The items of a list of the run in another order, or some of them; methods of its own class."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, TypeVar

import paddle

from d2s.diagnostics.location import is_ours
from d2s.errors import ContainerInGraphError
from d2s.runtime.lists.items.ordering import columns_of_order, places_in_order
from d2s.runtime.lists.items.rows import opened, sharing
from d2s.runtime.lists.storage import ItemStore
from d2s.runtime.trace import error_here
from d2s.runtime.values.tensors import passing_in

Kept = TypeVar("Kept", bound="OrderedItems")


@passing_in
class OrderedItems(ItemStore):
    """See the module's text."""

    def d2s_type(self) -> type:
        """The class that it has to a reader."""
        raise NotImplementedError

    def item_at(self, position: paddle.Tensor) -> Any:
        """The item at a position."""
        raise NotImplementedError

    def _built(self, position: paddle.Tensor) -> Any:
        return self.element.build([row[position + 1] for row in self.need_rows()])

    def item_rows(self) -> list[paddle.Tensor]:
        """The rows of the items, whose objects somebody else may know from here on."""
        self.share()
        end = self.length + 1
        return [
            opened(paddle.slice(row, [0], [1], [end]), leaf.shape)
            for row, leaf in zip(self.need_rows(), self.element.leaves, strict=True)
        ]

    def picked(self: Kept, order: paddle.Tensor) -> Kept:
        """The items at the positions that the 1-D tensor ``order`` holds."""
        places = paddle.concat([paddle.zeros([1], "int64"), order + 1])
        rows = self.need_rows()
        return self.selected([sharing(paddle.gather(row, places), [row]) for row in rows])

    def selected(self: Kept, rows: list[paddle.Tensor]) -> Kept:
        """One with rows of this one; a list where this one is of a class derived from ``list``."""
        made = self.like(rows)
        if isinstance(made.model, list):
            made.model = None
        return made

    def where(self: Kept, flags: paddle.Tensor) -> Kept:
        """The items for which the 1-D bool tensor ``flags`` holds."""
        return self.picked(paddle.reshape(paddle.nonzero(flags), [-1]))

    def ordered(self: Kept, keys: OrderedItems, reverse: bool) -> Kept:
        """The items in the order of ``keys``; equals stay as they are, also in reverse."""
        columns = columns_of_order(keys.element, keys.item_rows(), self.name)
        return self.picked(places_in_order(columns, reverse))

    def extreme(self, keys: OrderedItems, *, highest: bool) -> Any:
        """The first item of those whose key is the greatest, or the least."""
        columns = columns_of_order(keys.element, keys.item_rows(), self.name)
        places = places_in_order(columns, highest)
        return self.item_at(paddle.concat([places, paddle.full([1], -1, "int64")])[0])

    def reorder(self, places: paddle.Tensor) -> None:
        """Hold the items at these positions."""
        self.set_rows(self.picked(places).need_rows())

    def sort(self, *, key: object = None, reverse: object = False) -> None:
        """``list.sort``; by a key it is a matter of converted code."""
        if key is not None:
            raise error_here(
                ContainerInGraphError,
                f"list.sort is called on {self.name!r}, whose length a tensor decides, by code "
                "that stays Python",
                "sort it in a converted function",
            )
        self.set_rows(self.ordered(self, bool(reverse)).need_rows())

    # -- what its class has of its own ------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "d2s_")):
            raise AttributeError(name)
        kind = self.d2s_type()
        member = inspect.getattr_static(kind, name, None)
        own = isinstance(member, types.FunctionType | property | staticmethod | classmethod)
        if member is not None and (own or not hasattr(member, "__get__")):
            return member.__get__(self, kind) if own else member
        if member is None and kind.__module__ in ("builtins", "collections"):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        raise self._refused(f"{kind.__name__}.{name} is {'called' if member else 'read'} on")

    def __setattr__(self, name: str, value: object) -> None:
        """Ours for our own code; what the user sets would be an attribute of the container."""
        if not is_ours(sys._getframe(1).f_code.co_filename):
            raise self._refused(f"{name!r} is set, an attribute of")
        object.__setattr__(self, name, value)

    def _refused(self, cause: str) -> Exception:
        return error_here(
            ContainerInGraphError,
            f"{cause} {self.name!r}, whose length a tensor decides",
            "do the same with other methods, or with a loop over it",
        )

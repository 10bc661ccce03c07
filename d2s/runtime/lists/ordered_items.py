"""The items of a list of the run in another order, or some of them."""

from __future__ import annotations

from typing import Any, TypeVar

import paddle

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

    def _item(self, position: paddle.Tensor) -> Any:
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
        return self.like([sharing(paddle.gather(row, places), [row]) for row in rows])

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
        return self._item(paddle.concat([places, paddle.full([1], -1, "int64")])[0])

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

"""Deques whose length the run decides: lists of the run that change at both ends (rule D1).

::

    window = deque(maxlen=3)
    for x in xs:
        window.append(x)        drops the first item where there are more than three
        if x > limit:
            window.clear()
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import paddle

from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.positions import as_index
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.tensors import mark_number, passing_in


@passing_in
class DynamicDeque(DynamicList):
    """See the module's text."""

    @property
    def maxlen(self) -> int | None:
        """The greatest length, a Python number."""
        limit: int | None = self.model.maxlen
        return limit

    def _zero(self) -> paddle.Tensor:
        return paddle.full([], 0, "int64")

    def limit(self, *, left: bool = False) -> None:
        """Drop what is too much, at the end where nothing was added."""
        if self.maxlen is not None:
            length = self.length
            first = paddle.maximum(length - self.maxlen, self._zero())
            start, stop = (self._zero(), length - first) if left else (first, length)
            self.set_rows(self._part(start, stop).need_rows())

    def _join(self, parts: list[list[paddle.Tensor]]) -> None:
        super()._join(parts)
        self.limit()

    def appendleft(self, item: object) -> None:
        """``deque.appendleft``."""
        self._spliced(self._zero(), self._zero(), [self._row_of(item)])
        self.limit(left=True)

    def extendleft(self, items: Iterable[object]) -> None:
        """``deque.extendleft``: the last one of ``items`` comes first."""
        more = self.as_list()
        more.clear()
        more.extend(items)
        more.reverse()
        self.widen(more.element)
        rows = self.element.converted(more.element, iter(more.item_rows()))
        self._spliced(self._zero(), self._zero(), [rows])
        self.limit(left=True)

    def insert(self, index: object, item: object) -> None:
        """``deque.insert``."""
        if self.maxlen is not None:
            full = self.length >= self.maxlen
            raise_when(full, IndexError("deque already at its maximum size"))
        super().insert(index, item)

    def pop(self) -> Any:  # type: ignore[override]
        """``deque.pop``."""
        raise_when(self.length == 0, IndexError("pop from an empty deque"))
        return super().pop()

    def popleft(self) -> Any:
        """``deque.popleft``."""
        raise_when(self.length == 0, IndexError("pop from an empty deque"))
        return super().pop(0)

    def rotate(self, steps: object = 1) -> None:
        """``deque.rotate``."""
        length = self.length
        places = paddle.arange(0, length, dtype="int64") - as_index(steps)
        self.reorder(places % paddle.maximum(length, paddle.full([], 1, "int64")))

    def remove(self, item: object) -> None:
        """``deque.remove``."""
        same = self._equal(item)
        raise_when(~same.any(), ValueError("deque.remove(x): x not in deque"))
        del self[mark_number(paddle.argmax(paddle.cast(same, "int64")), int)]

    def _position(self, index: object, message: str = "deque index out of range") -> paddle.Tensor:
        if isinstance(index, slice):
            raise TypeError("sequence index must be integer, not 'slice'")
        return super()._position(index, message.replace("list assignment", "deque"))

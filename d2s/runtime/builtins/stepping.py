"""Iterators as Python has them, written in Python: this file is converted as a user's code is.

Where an iterator has come to is then an attribute, and a branch or loop that a tensor decides may
take an item as it may change any other attribute.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any


class SequenceIterator:
    """``iter(sequence)``, in a capture in which Python's own would not do.

    Attributes:
        items: the sequence.
        position: how many items have been taken; more than there can be when it has ended.
    """

    def __init__(self, items: Any) -> None:
        self.items = items
        self.position = 0

    def __iter__(self) -> SequenceIterator:
        return self

    def __next__(self) -> Any:
        if self.position >= len(self.items):
            self.position = sys.maxsize
            raise StopIteration
        item = self.items[self.position]
        self.position += 1
        return item


def next_of(iterator: Any, *default: Any) -> Any:
    """``next``, of an iterator whose class is written in Python."""
    if not default:
        return iterator.__next__()
    try:
        return iterator.__next__()
    except StopIteration:
        return default[0]


def asked(iterator: Any) -> tuple[bool, Any]:
    """Whether such an iterator has another item, and the item."""
    try:
        return True, iterator.__next__()
    except StopIteration:
        return False, None


def items_left(iterable: Any) -> Iterator[Any]:
    """The items of such an iterator, as far as they are asked for."""
    iterator = iter(iterable)
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            break
        yield item

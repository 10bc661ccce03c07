"""Which dimensions are open: sizes in, shapes out (rule G2)."""

from __future__ import annotations

from typing import Any

import pytest

from d2s.errors import NotStaticError
from d2s.program.keys.dimensions import Dimensions, OpenSize


def calls(*shapes: tuple[int, ...]) -> Any:
    return [(f"x{index}", shape) for index, shape in enumerate(shapes)]


def learned(*given: Any, fails: Any = lambda shapes: False) -> Dimensions:
    """A book after these calls, each captured as wide as it goes."""
    book = Dimensions()
    for call in given:
        if book.widened(call) is None:
            for trial in book.trials(call):
                if fails(trial.shapes):
                    book.close(trial)
                else:
                    book.open(trial)
                    break
        book.note(call)
    return book


def test_nothing_is_open_at_first() -> None:
    book = Dimensions()
    assert book.widened(calls((3, 4))) is None
    assert list(book.trials(calls((3, 4)))) == []


@pytest.mark.parametrize("size", [0, 1])
def test_sizes_0_and_1_stay(size: int) -> None:
    """They neither open a dimension nor share one."""
    book = learned(calls((size, 4)), calls((5, 4)))
    assert book.widened(calls((6, 4))) is None
    book = learned(calls((3, 4)), calls((5, 4)))
    assert book.widened(calls((size, 4))) is None
    assert book.widened(calls((2, 4))) == [(-1, 4)]


def test_dimensions_open_one_after_the_other() -> None:
    book = learned(calls((3, 4)), calls((5, 4)))
    (trial,) = book.trials(calls((5, 6)))
    assert trial.shapes == [(-1, -1)]
    assert trial.fresh == {(0, 1)}


def test_other_ranks_and_numbers_of_tensors_are_other_calls() -> None:
    book = learned(calls((3, 4)), calls((5, 4)))
    assert book.widened(calls((5,))) is None
    assert book.widened(calls((5, 4), (5, 4))) is None


def test_dimensions_that_change_alike_are_tried_together() -> None:
    book = learned(calls((4, 7), (4,)))
    shapes = [trial.shapes for trial in book.trials(calls((8, 9), (8,)))]
    assert shapes == [[(-1, -1), (-1,)], [(-1, 9), (-1,)], [(8, -1), (8,)]]


def test_only_what_fails_alone_is_closed() -> None:
    def fails(shapes: Any) -> bool:
        return shapes[0][1] == -1

    book = learned(calls((4, 7)), calls((8, 9)), fails=fails)
    assert book.widened(calls((5, 9))) == [(-1, 9)]
    book = learned(calls((4, 7)), calls((8, 9)), calls((8, 5)), calls((8, 4)), fails=fails)
    assert list(book.trials(calls((8, 3)))) == []  # known to fail: not tried again


def test_a_failure_is_not_repeated() -> None:
    book = learned(calls((3,)), calls((5,)), fails=lambda shapes: True)
    assert list(book.trials(calls((7,)))) == []
    assert book.widened(calls((7,))) is None


def test_computing_with_an_open_size_is_refused() -> None:
    """What a library reads for an open dimension answers only whether it is known."""
    size = OpenSize(-1)
    assert size == -1
    assert size < 0
    assert not size >= 0
    assert size is not None
    assert isinstance(size, int)
    assert hash(size) == hash(-1)
    for use in (
        lambda: size + 1,
        lambda: 2 * size,
        lambda: size == 3,
        lambda: size != 1,
        lambda: size > 1,
        lambda: float(size),
        lambda: size == OpenSize(-1),
        lambda: bool(size),
        lambda: [size, 2] == [3, 2],
    ):
        with pytest.raises(NotStaticError):
            use()

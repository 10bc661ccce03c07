"""A sample of a matrix is small, and has each value of each axis."""

from __future__ import annotations

import itertools

import pytest

from tests.sampling import sample


def places(*sizes: int) -> list[dict[str, int]]:
    """Where the cases stand of axes of these sizes, as pytest says it."""
    return [
        dict(zip("abc", place, strict=False)) for place in itertools.product(*map(range, sizes))
    ]


@pytest.mark.parametrize("every", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("sizes", [(8, 7), (2, 3, 4), (5, 5), (12, 2)])
def test_each_value_of_each_axis_is_in_some_case(sizes: tuple[int, ...], every: int) -> None:
    cases = places(*sizes)
    found = [cases[number] for number in sample(cases, every)]
    for axis, size in zip("abc", sizes, strict=False):
        assert {case[axis] for case in found} == set(range(size))
    assert len(found) <= len(cases) / every + sum(sizes)


def test_a_sample_that_is_smaller_than_an_axis_lies_on_a_diagonal() -> None:
    assert len(sample(places(8, 7), 50)) == 8
    assert len(sample(places(6, 6), 6)) == 6


def test_all_cases_on_one_axis_are_counted() -> None:
    assert sample(places(10), 4) == {0, 4, 8}


def test_arguments_that_are_given_together_are_one_axis() -> None:
    cases = [{"a": number, "b": number, "c": number} for number in range(10)]
    assert sample(cases, 4) == {0, 4, 8}

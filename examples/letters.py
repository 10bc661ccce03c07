"""Letters as numbers, for the tiny decoder; needs nothing but Python."""

from __future__ import annotations

LINES = (
    "the early bird catches the worm",
    "a rolling stone gathers no moss",
    "all that glitters is not gold",
    "practice makes perfect",
    "look before you leap",
    "every cloud has a silver lining",
)
NOTHING, END = 0, 1
LETTERS = ["", "", *"abcdefghijklmnopqrstuvwxyz "]


def numbers(prompt):
    """A text as numbers."""
    return [LETTERS.index(letter, 2) for letter in prompt]


def text(row):
    """Numbers as a text, up to the end of it."""
    letters = []
    for number in row:
        if number == END:
            break
        letters.append(LETTERS[number])
    return "".join(letters)

"""Compound interest until a goal is reached, for at most some years.

exercises: return in a for over range of a tensor; the loop's index is returned
rows: 43
"""

import paddle


def years_to(goal, capital, rate, years):
    for year in range(years):
        if capital >= goal:
            return year, capital
        capital = capital * (1 + rate)
    return years, capital


def build():
    return years_to


def inputs():
    rate = paddle.to_tensor(0.5)
    capital = paddle.to_tensor(1.0)
    for goal, years in ((3.0, 10), (0.5, 10), (100.0, 3), (3.0, 0)):
        yield paddle.to_tensor(goal), capital, rate, paddle.to_tensor(years)

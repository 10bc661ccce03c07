"""Compound interest until a goal, with a bonus if the goal is not met.

exercises: for-else over a range with a tensor bound and a tensor break
rows: 26, 36
"""

import paddle


def save_up(money, years, goal):
    for year in range(years):
        money = money * 1.1 + year
        if money > goal:
            money = money - 0.5
            break
    else:
        money = money + 100
    return money


def build():
    return save_up


def inputs():
    for years, goal in ((5, 2.5), (5, 1.05), (5, 900.0), (0, 2.0), (1, 900.0)):
        yield paddle.to_tensor(1.0), paddle.to_tensor(years), paddle.to_tensor(goal)

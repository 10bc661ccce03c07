"""A table of losses.

exercises: print with sep and end, f-strings with formats, texts in branches and loops
rows: 62
"""

import paddle

ASSERT_STDOUT = True


def table(losses, limit):
    total = losses.sum() * 0
    print("step", "loss", sep="\t")
    for i in range(3):
        total = total + losses[i]
        if losses[i] > limit:
            print(i, "high", sep=": ", end=" !\n")
        else:
            print(f"{i}: ok", end="\n")
    print(f"total {total:.3f}", f"limit {limit}", sep=" | ")
    print()
    return total


def build():
    return table


def inputs():
    limit = paddle.to_tensor(1.5)
    yield paddle.to_tensor([1.0, 2.0, 3.0]), limit
    yield paddle.to_tensor([1.0, 1.0, 1.0]), limit

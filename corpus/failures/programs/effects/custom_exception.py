"""An exception of the user's with several arguments."""

import paddle


class TooMany(Exception):
    def __init__(self, found, allowed):
        super().__init__(found, allowed)
        self.found = found
        self.allowed = allowed

    def __str__(self):
        return f"{self.found} of at most {self.allowed}"


def limited(boxes):
    kept = boxes[boxes > 0.5]
    if kept.sum() > 2:
        raise TooMany(int(kept.sum()), 2)  # <- fails
    return kept


def main(to_static):
    static = to_static(limited)
    static(paddle.to_tensor([0.1, 0.9]))
    static(paddle.to_tensor([1.0, 0.9, 2.0]))

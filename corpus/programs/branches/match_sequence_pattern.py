"""A stack of operands, taken apart by sequence patterns.

exercises: sequence patterns with star, empty, nested; tensor guard; captures
rows: 47
"""

import paddle


def fold(items):
    match items:
        case []:
            return paddle.zeros([])
        case [only]:
            return only * 2
        case [first, *_, last] if first > last:
            return first - last
        case [first, (second, *rest), *_]:
            return first + second + len(rest)
        case [first, *rest]:
            total = first
            for item in rest:
                total = total + item
            return total


def build():
    return fold


def inputs():
    one, two, four = (paddle.to_tensor(v) for v in (1.0, 2.0, 4.0))
    yield ([],)
    yield ([one],)
    yield ([four, one],)
    yield ([one, four],)
    yield ([one, two, four],)
    yield ([one, [two, four, four], two],)

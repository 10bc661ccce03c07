"""Two failures, two repairs.

exercises: raise of two classes in tensor branches, each with its handler; else and finally
rows: 60
"""

import paddle


def handled(x):
    count = 0
    try:
        if x.max() > 10:
            raise OverflowError("large")
        if x.min() < 0:
            raise ValueError("negative")
    except OverflowError:
        x = x / 10
    except (ValueError, TypeError):
        x = -x
    else:
        x = x + 1
    finally:
        count += 1
    return x, count


def build():
    return handled


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, 20.0]),)
    yield (paddle.to_tensor([-1.0, 20.0]),)

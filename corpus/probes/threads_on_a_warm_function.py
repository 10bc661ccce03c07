"""Four threads call one function 500 times each, after it has been called once.

The function has a branch; half of the calls take each side.
"""

import threading

import paddle


def halved_or_doubled(x):
    if x.sum() > 0:
        return x * 2
    return x / 2


def probe(convert):
    converted = convert(halved_or_doubled)
    inputs = [paddle.full([4], float(sign * size)) for size in (1, 2) for sign in (1, -1)]
    expected = [(x * 2 if x.sum() > 0 else x / 2).tolist() for x in inputs]
    for x in inputs:
        converted(x)
    wrong = []

    def work(start):
        try:
            for trip in range(500):
                which = (start + trip) % len(inputs)
                if converted(inputs[which]).tolist() != expected[which]:
                    wrong.append("another result")
        except Exception as error:  # what a caller would see
            wrong.append(type(error).__name__)

    threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not wrong:
        return "right"
    seen = ", ".join(sorted(set(wrong)))
    return f"WRONG {seen}" if "another result" in wrong else f"failed {seen} in a thread"

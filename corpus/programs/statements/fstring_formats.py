"""Names and labels for a report, made of Python values.

exercises: f-strings with conversions, nested formats, = and quotes; string methods; joined lists
rows: 5
"""

import paddle


def labels(x, name, width):
    parts = [f"{name!r:>{width}}", f"{3.14159:.2f}", f"{name=}", f"{{{width:02d}}}"]
    title = name.strip().title().replace("_", " ")
    lines = "\n".join(part.upper() for part in parts)
    if x.sum() > 0:
        x = x + len(lines)
    found = name.startswith("a") and "b" in name
    return x * len(title), lines, title, f"{title}: {width:>3}", found, "%s-%d" % (name, width)  # noqa: UP031


def build():
    return labels


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), "ab_c", 8
    yield paddle.to_tensor([-1.0, -2.0]), "ab_c", 8
    yield paddle.to_tensor([-1.0, -2.0]), " xy", 6

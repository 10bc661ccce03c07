"""From the raw output of a detector to boxes: threshold, sort, non-maximum suppression, saved.

python examples/nms_postprocessing.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import paddle
from paddle import nn
from paddle.static import InputSpec

import d2s


def overlap(box, boxes):
    """Intersection over union of one box with many."""
    low = paddle.maximum(box[:2], boxes[:, :2])
    high = paddle.minimum(box[2:], boxes[:, 2:])
    both = (high - low).clip(min=0).prod(1)
    area = (box[2:] - box[:2]).prod()
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    return both / (area + areas - both)


class Detections(nn.Layer):
    """What comes behind a detector; any number of boxes, any number of results."""

    def __init__(self, least=0.3, most_overlap=0.5, most=20):
        super().__init__()
        self.least, self.most_overlap, self.most = least, most_overlap, most

    @d2s.to_static
    def forward(self, boxes, scores):
        """``boxes`` [n, 4] and ``scores`` [n, kinds] to rows of kind, score, box."""
        found = []
        for kind in range(scores.shape[1]):
            mine = scores[:, kind]
            keep = mine > self.least
            these, rest = mine[keep], boxes[keep]
            order = paddle.argsort(these, descending=True)
            these, rest = these[order], rest[order]
            while these.shape[0] > 0 and len(found) < self.most:
                label = paddle.full([1], float(kind))
                found.append(paddle.concat([label, these[:1], rest[0]]))
                apart = overlap(rest[0], rest) <= self.most_overlap
                these, rest = these[apart], rest[apart]
        if len(found) == 0:
            return paddle.zeros([0, 6])
        return paddle.stack(found)


def detector_output(count, seed):
    """Boxes that crowd around three things."""
    paddle.seed(seed)
    centres = paddle.to_tensor([[20.0, 20.0], [60.0, 40.0], [45.0, 80.0]])
    centre = centres[paddle.randint(0, 3, [count])] + paddle.randn([count, 2]) * 2
    size = 14 + paddle.randn([count, 2])
    boxes = paddle.concat([centre - size / 2, centre + size / 2], 1)
    return boxes, paddle.rand([count, 2]) ** 2


def main():
    detections = Detections()
    results = []
    for count, seed in ((40, 1), (25, 2), (200, 3)):
        rows = detections(*detector_output(count, seed))
        print(f"{count} boxes -> {rows.shape[0]}")
        results.append(rows.tolist())
    for row in results[0]:
        print("kind {:.0f}  score {:.2f}  box {:.0f} {:.0f} {:.0f} {:.0f}".format(*row))
    return results


def export(path):
    spec = [InputSpec([None, 4], "float32", "boxes"), InputSpec([None, 2], "float32", "scores")]
    d2s.save(Detections(), path, input_spec=spec)


if __name__ == "__main__":
    main()
    with tempfile.TemporaryDirectory() as folder:
        export(str(Path(folder) / "nms"))
        served = paddle.jit.load(str(Path(folder) / "nms"))
        print("from the file:", served(*detector_output(40, 1)).shape[0], "boxes")

"""An auxiliary output that is taken out of the dict when it is not wanted.

exercises: pop of a key and del of a key in a tensor branch; the key is there on one side only
rows: 80
"""

import paddle


def outputs(x, threshold):
    out = {"logits": x * 2, "aux": x + 1, "debug": x}
    if x.sum() > threshold:
        out["logits"] = out["logits"] + out.pop("aux")
        del out["debug"]
    return out


def build():
    return outputs


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for threshold in (1.0, 5.0):
        yield x, paddle.to_tensor(threshold)

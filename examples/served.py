"""Run a saved loop with Paddle Inference alone: no d2s, no model, no source.

    python -m examples.served FILE IDS.npy OUT.npz [SECONDS]

FILE is the path that was given to ``d2s.save``.  OUT gets what came out for IDS, and how many
calls a second this process has made.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from paddle import inference


def open_predictor(path):
    """A predictor of a saved program, with one thread."""
    config = inference.Config(f"{path}.json", f"{path}.pdiparams")
    config.disable_glog_info()
    config.disable_mkldnn()
    config.set_cpu_math_library_num_threads(1)
    return inference.create_predictor(config)


def predict(predictor, *arrays):
    """The results of a predictor for some arrays."""
    for name, array in zip(predictor.get_input_names(), arrays, strict=True):
        predictor.get_input_handle(name).copy_from_cpu(array)
    predictor.run()
    names = predictor.get_output_names()
    return [predictor.get_output_handle(name).copy_to_cpu() for name in names]


def main(path, ids, out, seconds="1"):
    """Call it once, then for some time."""
    predictor = open_predictor(path)
    array = np.load(ids)
    (result,) = predict(predictor, array)
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < float(seconds):
        predict(predictor, array)
        calls += 1
    speed = calls / (time.perf_counter() - start)
    assert "d2s" not in sys.modules
    np.savez(out, result=result, calls_per_second=speed)


if __name__ == "__main__":
    main(*sys.argv[1:])

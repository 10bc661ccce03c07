"""Run a saved model on stored inputs, as a server would: with Paddle alone, d2s is not imported.

``python -m corpus.predict MODEL INPUTS.npz OUTPUTS.npz [SEED]`` where MODEL is the path that was
given to ``d2s.save``. INPUTS holds the arrays ``<call>/<input>``, an input by its name or place;
``<call>/`` is a call alone. OUTPUTS gets ``<runner>/<call>/<output>``, where the runners are
``jit`` (``paddle.jit.load``) and ``inference`` (Paddle Inference). Each call begins with SEED.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import paddle

Run = Callable[[dict[str, np.ndarray]], list[np.ndarray]]


def by_jit_load(path: str) -> Run:
    """The file as a layer."""
    layer = paddle.jit.load(path)
    return lambda inputs: [out.numpy() for out in layer(*map(paddle.to_tensor, inputs.values()))]


def by_inference(path: str) -> Run:
    """The file in a predictor."""
    config = paddle.inference.Config(f"{path}.json", f"{path}.pdiparams")
    config.disable_glog_info()
    # On by default on the CPU in Paddle 3.3; its kernels leave garbage in the state of an LSTM loop
    # (Paddle's own converter and file show the same).
    config.disable_mkldnn()
    predictor = paddle.inference.create_predictor(config)

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        names = predictor.get_input_names()
        for name, array in inputs.items():
            name = names[int(name)] if name.isdigit() else name
            predictor.get_input_handle(name).copy_from_cpu(array)
        predictor.run()
        names = predictor.get_output_names()
        return [predictor.get_output_handle(name).copy_to_cpu() for name in names]

    return run


def main(model: str, inputs: str, outputs: str, seed: str = "0") -> None:
    """Run every call of ``inputs`` with both runners."""
    calls: dict[str, dict[str, np.ndarray]] = {}
    with np.load(inputs) as stored:
        for key in stored.files:
            call, name = key.split("/")
            calls.setdefault(call, {}).update({name: stored[key]} if name else {})
    found: dict[str, np.ndarray] = {}
    for runner, make in (("jit", by_jit_load), ("inference", by_inference)):
        run = make(model)
        for call, arguments in calls.items():
            paddle.seed(int(seed))
            for index, output in enumerate(run(arguments)):
                found[f"{runner}/{call}/{index}"] = output
    np.savez(outputs, **found)
    assert "d2s" not in sys.modules


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Speech of PaddleSpeech: what makes it of phones, and what recognises it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.static import InputSpec

from corpus.generation.model import Arguments, Loop
from corpus.zoo.judge import seed
from corpus.zoo.model import words
from corpus.zoo.packages.paddlespeech import NETWORKS

RECOGNISER: dict[str, Any] = {
    "output_size": 16,
    "attention_heads": 2,
    "linear_units": 16,
    "num_blocks": 1,
    "dropout_rate": 0.0,
    "positional_dropout_rate": 0.0,
    "attention_dropout_rate": 0.0,
    "input_layer": "conv2d",
    "normalize_before": True,
}
CONFORMER: dict[str, Any] = {
    "cnn_module_kernel": 5,
    "use_cnn_module": True,
    "activation_type": "swish",
    "pos_enc_layer_type": "rel_pos",
    "selfattention_layer_type": "rel_selfattn",
}
DECODER: dict[str, Any] = {
    "attention_heads": 2,
    "linear_units": 16,
    "num_blocks": 1,
    "dropout_rate": 0.0,
    "positional_dropout_rate": 0.0,
    "self_attention_dropout_rate": 0.0,
    "src_attention_dropout_rate": 0.0,
}
DECODING: dict[str, tuple[str, dict[str, Any], int]] = {
    "attention": ("recognize", {"beam_size": 2}, 2),
    "greedy": ("ctc_greedy_search", {}, 2),
    "prefix beam": ("ctc_prefix_beam_search", {"beam_size": 2}, 1),
    "rescoring": ("attention_rescoring", {"beam_size": 2}, 1),
}
"""Name -> method of the model, its options, and how many rows it takes."""

SYNTHESIS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tacotron2": ("Tacotron2", "inference", {"maxlenratio": 3.0}),
    "fastspeech2": ("FastSpeech2", "inference", {}),
    "fastspeech2 conformer": ("FastSpeech2_conformer", "inference", {}),
    "transformer tts": ("TransformerTTS", "inference", {"maxlenratio": 2.0}),
    "wavernn": ("WaveRNN", "generate", {"batched": False, "gen_display": False}),
    "wavernn folded": (
        "WaveRNN",
        "generate",
        {"batched": True, "target": 6, "overlap": 2, "gen_display": False},
    ),
}
"""Name -> network of the zoo, method, and its options."""


def _network(name: str) -> Any:
    seed(7)
    module, kind, settings, _ = NETWORKS[name]
    network = getattr(importlib.import_module(f"paddlespeech.{module}"), kind)(**settings)
    network.eval()
    if hasattr(network, "duration_predictor"):  # some frames for each phone
        network.duration_predictor.linear.bias.set_value(paddle.full([1], 1.2))
    return network


def _calling(make_model: Callable[[], Any], method: str, options: dict[str, Any]) -> Any:
    """What a user converts: the method that has the loop, with its options."""

    def make() -> Callable[..., Any]:
        return _Run(make_model(), method, options).run

    return make


class _Run(nn.Layer):  # type: ignore[misc]
    def __init__(self, model: Any, method: str, options: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.method, self.options = model, getattr(model, method), options

    def run(self, *given: Any) -> Any:
        return self.method(*given, **self.options)


def _by_name(layer: type, names: Sequence[str]) -> type:
    """``layer`` as Paddle had it: a few arguments by position, which it takes by name now."""

    def init(self: Any, *given: Any) -> None:
        options = {key: value for key, value in zip(names, given, strict=False) if key != "name"}
        layer.__init__(self, **options)  # type: ignore[misc]

    return type(layer.__name__, (layer,), {"__init__": init})


def _as_paddle_was() -> None:
    """What the recogniser asks of an older Paddle."""
    aligned = importlib.import_module("paddlespeech.s2t.modules.align")
    conv = words("stride padding dilation groups padding_mode weight_attr bias_attr data_format")
    names = {
        "Conv1D": ["in_channels", "out_channels", "kernel_size", *conv],
        "Conv2D": ["in_channels", "out_channels", "kernel_size", *conv],
        "LayerNorm": ["normalized_shape", "epsilon", "weight_attr", "bias_attr", "name"],
    }
    for kind, known in names.items():
        getattr(aligned, kind).__bases__ = (_by_name(getattr(nn, kind), known),)
    paddle.softmax = nn.functional.softmax


def _recogniser(encoder: str) -> Any:
    _as_paddle_was()
    seed(7)
    settings = {
        "cmvn_file": None,
        "cmvn_file_type": "json",
        "input_dim": 20,
        "output_dim": 9,
        "encoder": encoder,
        "encoder_conf": {**RECOGNISER, **(CONFORMER if encoder == "conformer" else {})},
        "decoder": "transformer",
        "decoder_conf": DECODER,
        "model_conf": {
            "ctc_weight": 0.3,
            "lsm_weight": 0.1,
            "length_normalized_loss": False,
            "ctc_dropoutrate": 0.0,
            "ctc_grad_norm_type": None,
        },
    }
    made = importlib.import_module("paddlespeech.s2t.models.u2.u2").U2Model.from_config(
        importlib.import_module("yacs.config").CfgNode(settings)
    )
    made.eval()
    return made


def _phones() -> list[Arguments]:
    """Two sentences of one length, two of others."""
    rng = np.random.RandomState(11)
    return [(paddle.to_tensor(rng.randint(1, 20, (length,))),) for length in (5, 5, 7, 4)]


def _mels() -> list[Arguments]:
    paddle.seed(11)
    return [(paddle.randn([length, 8]),) for length in (22, 22, 25)]


def _sound(rows: int) -> Callable[[], list[Arguments]]:
    def calls() -> list[Arguments]:
        paddle.seed(11)
        return [
            (paddle.randn([rows, frames, 20]), paddle.to_tensor([frames] * rows))
            for frames in (23, 23, 31)
        ]

    return calls


def loops() -> list[Loop]:
    """Synthesis, and recognition with each way to decode."""
    found = []
    for name, (network, method, options) in SYNTHESIS.items():
        wave = network == "WaveRNN"
        make = _calling(lambda network=network: _network(network), method, options)
        specs = (
            tuple([InputSpec([frames, 8])] for frames in (None, 22))
            if wave
            else tuple([InputSpec([phones], "int64")] for phones in (None, 5))
        )
        found.append(Loop(name, make, _mels if wave else _phones, specs))
    for encoder in ("conformer", "transformer"):
        for name, (method, options, rows) in DECODING.items():
            make = _calling(lambda encoder=encoder: _recogniser(encoder), method, options)
            specs = tuple(
                [InputSpec([rows, frames, 20]), InputSpec([rows], "int64")] for frames in (None, 23)
            )
            found.append(Loop(f"{encoder} {name}", make, _sound(rows), specs))
    return found

"""Speech: synthesis, vocoders, speakers and keywords, from PaddleSpeech."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.language import Text
from corpus.zoo.model import Inputs, Model, Package, words

Settings = dict[str, Any]

FASTSPEECH: Settings = {
    "idim": 20,
    "odim": 8,
    "adim": 16,
    "aheads": 2,
    "elayers": 1,
    "eunits": 16,
    "dlayers": 1,
    "dunits": 16,
    "postnet_layers": 2,
    "postnet_chans": 8,
    "duration_predictor_chans": 8,
    "energy_predictor_chans": 8,
    "pitch_predictor_chans": 8,
    "pitch_embed_kernel_size": 1,
    "energy_embed_kernel_size": 1,
}
LAYER = {"channels": 16, "upsample_scales": [2, 2], "in_channels": 8}
SMALL_DISCRIMINATOR = {
    "in_channels": 1,
    "out_channels": 1,
    "kernel_sizes": [5, 3],
    "channels": 4,
    "downsample_scales": [3, 3, 1],
    "max_downsample_channels": 16,
    "bias": True,
    "nonlinear_activation": "leakyrelu",
    "nonlinear_activation_params": {"negative_slope": 0.1},
    "use_weight_norm": True,
    "use_spectral_norm": False,
}


def _speech(*shape: int) -> Inputs:
    return lambda: (paddle.randn(shape),)


def _synthesis() -> tuple[Any, ...]:
    """Phones with how long each lasts, and the sound that they make."""
    text = paddle.randint(1, 20, [2, 5])
    durations = paddle.to_tensor([[2, 1, 3, 2, 2], [1, 2, 2, 1, 0]])
    sound = paddle.randn([2, 10, 8])
    lengths = paddle.to_tensor([5, 4])
    per_phone = paddle.randn([2, 5, 1]), paddle.randn([2, 5, 1])
    return text, lengths, sound, paddle.to_tensor([10, 6]), durations, *per_phone


def _text_and_sound() -> tuple[Any, ...]:
    text = paddle.randint(1, 20, [2, 5])
    return text, paddle.to_tensor([5, 4]), paddle.randn([2, 8, 8]), paddle.to_tensor([8, 6])


def _spoken() -> tuple[Any, ...]:
    text, durations = paddle.randint(1, 20, [2, 5]), paddle.to_tensor([[2, 1, 3, 2, 2]] * 2)
    return text, paddle.randint(0, 4, [2, 5]), durations


NETWORKS: dict[str, tuple[str, str, Settings, Inputs]] = {
    "FastSpeech2": ("t2s.models.fastspeech2", "FastSpeech2", FASTSPEECH, _synthesis),
    "FastSpeech2_conformer": (
        "t2s.models.fastspeech2",
        "FastSpeech2",
        {
            **FASTSPEECH,
            "encoder_type": "conformer",
            "decoder_type": "conformer",
        },
        _synthesis,
    ),
    "SpeedySpeech": (
        "t2s.models.speedyspeech",
        "SpeedySpeech",
        {
            "vocab_size": 20,
            "tone_size": 4,
            "encoder_hidden_size": 16,
            "encoder_dilations": [1, 3],
            "duration_predictor_hidden_size": 16,
            "decoder_hidden_size": 16,
            "decoder_output_size": 8,
            "decoder_dilations": [1, 3],
        },
        _spoken,
    ),
    "Tacotron2": (
        "t2s.models.tacotron2",
        "Tacotron2",
        {
            "idim": 20,
            "odim": 8,
            "embed_dim": 16,
            "eunits": 16,
            "econv_chans": 16,
            "adim": 16,
            "aconv_chans": 4,
            "dunits": 16,
            "prenet_units": 8,
            "postnet_chans": 8,
            "dropout_rate": 0.0,
            "zoneout_rate": 0.0,
        },
        _text_and_sound,
    ),
    "TransformerTTS": (
        "t2s.models.transformer_tts",
        "TransformerTTS",
        {
            "idim": 20,
            "odim": 8,
            "embed_dim": 16,
            "eprenet_conv_chans": 16,
            "dprenet_units": 16,
            "elayers": 1,
            "eunits": 16,
            "adim": 16,
            "aheads": 2,
            "dlayers": 1,
            "dunits": 16,
            "postnet_chans": 8,
        },
        _text_and_sound,
    ),
    "HiFiGANGenerator": (
        "t2s.models.hifigan",
        "HiFiGANGenerator",
        {
            **LAYER,
            "upsample_kernel_sizes": [4, 4],
            "resblock_kernel_sizes": [3],
            "resblock_dilations": [[1, 3]],
        },
        _speech(2, 8, 10),
    ),
    "HiFiGANMultiPeriodDiscriminator": (
        "t2s.models.hifigan",
        "HiFiGANMultiPeriodDiscriminator",
        {"periods": [2, 3], "discriminator_params": SMALL_DISCRIMINATOR},
        _speech(2, 1, 64),
    ),
    "HiFiGANScaleDiscriminator": (
        "t2s.models.hifigan",
        "HiFiGANScaleDiscriminator",
        {"channels": 16, "max_downsample_channels": 16, "max_groups": 4},
        _speech(2, 1, 128),
    ),
    "MelGANGenerator": (
        "t2s.models.melgan",
        "MelGANGenerator",
        {**LAYER, "stacks": 1},
        _speech(2, 8, 10),
    ),
    "MelGANMultiScaleDiscriminator": (
        "t2s.models.melgan",
        "MelGANMultiScaleDiscriminator",
        {"scales": 2, "channels": 4, "max_downsample_channels": 16, "downsample_scales": [2, 2]},
        _speech(2, 1, 64),
    ),
    "StyleMelGANGenerator": (
        "t2s.models.melgan",
        "StyleMelGANGenerator",
        {
            "in_channels": 8,
            "aux_channels": 8,
            "channels": 8,
            "noise_upsample_scales": [2, 2],
            "upsample_scales": [2, 1],
        },
        lambda: (paddle.randn([2, 8, 8]), paddle.randn([2, 8, 2])),
    ),
    "PWGGenerator": (
        "t2s.models.parallel_wavegan",
        "PWGGenerator",
        {
            "layers": 4,
            "stacks": 2,
            "residual_channels": 8,
            "gate_channels": 16,
            "skip_channels": 8,
            "aux_channels": 8,
            "upsample_scales": [2, 2],
        },
        lambda: (paddle.randn([2, 1, 32]), paddle.randn([2, 8, 12])),
    ),
    "PWGDiscriminator": (
        "t2s.models.parallel_wavegan",
        "PWGDiscriminator",
        {"layers": 4, "conv_channels": 8},
        _speech(2, 1, 64),
    ),
    "ResidualPWGDiscriminator": (
        "t2s.models.parallel_wavegan",
        "ResidualPWGDiscriminator",
        {
            "layers": 4,
            "stacks": 2,
            "residual_channels": 8,
            "gate_channels": 16,
            "skip_channels": 8,
        },
        _speech(2, 1, 64),
    ),
    "WaveRNN": (
        "t2s.models.wavernn",
        "WaveRNN",
        {
            "rnn_dims": 16,
            "fc_dims": 16,
            "bits": 4,
            "upsample_scales": [2, 2],
            "aux_channels": 8,
            "compute_dims": 8,
            "res_out_dims": 8,
            "res_blocks": 2,
            "hop_length": 4,
        },
        lambda: (paddle.rand([2, 20]), paddle.randn([2, 8, 9])),
    ),
    "ConditionalWaveFlow": (
        "t2s.models.waveflow",
        "ConditionalWaveFlow",
        {
            "upsample_factors": [4, 4],
            "n_flows": 2,
            "n_layers": 8,
            "n_group": 8,
            "channels": 8,
            "n_mels": 8,
            "kernel_size": [3, 3],
        },
        lambda: (paddle.randn([2, 64]), paddle.randn([2, 8, 4])),
    ),
    "StarGANMappingNetwork": (
        "t2s.models.starganv2_vc.starganv2_vc",
        "MappingNetwork",
        {"hidden_dim": 16},
        lambda: (paddle.randn([2, 16]), paddle.to_tensor([0, 1])),
    ),
    "EcapaTdnn": (
        "vector.models.ecapa_tdnn",
        "EcapaTdnn",
        {
            "input_size": 8,
            "lin_neurons": 16,
            "channels": [16, 16, 16, 16, 48],
            "attention_channels": 8,
            "se_channels": 8,
        },
        _speech(2, 8, 20),
    ),
    "EcapaTdnn_lengths": (
        "vector.models.ecapa_tdnn",
        "EcapaTdnn",
        {
            "input_size": 8,
            "lin_neurons": 16,
            "channels": [16, 16, 16, 16, 48],
            "attention_channels": 8,
            "se_channels": 8,
        },
        lambda: (paddle.randn([2, 8, 20]), paddle.to_tensor([1.0, 0.6])),
    ),
    "LSTMSpeakerEncoder": (
        "vector.models.lstm_speaker_encoder",
        "LSTMSpeakerEncoder",
        {"n_mels": 8, "num_layers": 2, "hidden_size": 16, "output_size": 8},
        lambda: (paddle.randn([6, 10, 8]), 3),
    ),
    "CNN10": ("cls.models.panns", "CNN10", {"extract_embedding": False}, _speech(2, 1, 64, 64)),
    "MDTC": (
        "kws.models.mdtc",
        "MDTC",
        {
            "stack_num": 2,
            "stack_size": 2,
            "in_channels": 8,
            "res_channels": 16,
            "kernel_size": 3,
        },
        _speech(2, 40, 8),
    ),
}
"""Name -> module, class, settings and inputs."""


def _builder(module: str, name: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        return getattr(importlib.import_module(f"paddlespeech.{module}"), name)(**settings)

    return build


def models() -> list[Model]:
    """Small ones of each kind."""
    return [
        Model(name, _builder(module, kind, settings), inputs)
        for name, (module, kind, settings, inputs) in NETWORKS.items()
    ]


PACKAGE = Package(
    name="paddlespeech",
    pins=("paddlespeech==1.5.0",),
    roots=("paddlespeech",),
    modules=(
        "paddlespeech.t2s.models",
        "paddlespeech.vector.models.ecapa_tdnn",
    ),
    absent=words(
        "braceexpand ffmpeg flatten_dict h5py inflect jieba kaldiio librosa loguru pathos pypinyin "
        "resampy soundfile typeguard jsonlines textgrid g2p_en hyperpyyaml sacrebleu sentencepiece "
        "paddlenlp paddleaudio webrtcvad praatio paddleslim pyworld nara_wpe editdistance timer "
        "opencc zhon ToJyutping pypinyin_dict visualdl paddlespeech_feat pattern_singleton nltk "
        "g2pM ffmpy tiktoken paddlespeech_ctcdecoders swig_decoders"
    ),
    models=models,
    left_out={
        "paddlespeech.s2t": Text(
            "its own Conv1D, Conv2D and LayerNorm hand arguments by position that Paddle 3.3 takes "
            "by name only; recognition and Whisper need them",
            "它自己的 Conv1D、Conv2D 和 LayerNorm 按位置传递飞桨 3.3 只按名字接受的参数；"
            "语音识别和 Whisper 需要它们",
        ),
    },
)

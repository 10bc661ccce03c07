"""Networks for time series of PaddleTS: forecasts, anomalies, classes, representations."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.model import Inputs, Model, Package, words

Settings = dict[str, Any]
PAST, AHEAD, SERIES = 12, 4, 2
BOTH: Settings = {"in_chunk_len": PAST, "out_chunk_len": AHEAD}
TARGET: Settings = {**BOTH, "target_dim": SERIES}
STACKS: Settings = {**TARGET, "known_cov_dim": 1, "observed_cov_dim": 1, "num_stacks": 2}
FITTED: Settings = {
    "target_dim": SERIES,
    "known_cov_dim": 1,
    "observed_cov_dim": 1,
    "input_dim": 4,
    "feature_dim": SERIES,
    "observed_dim": SERIES,
    "in_chunk_dim": SERIES,
    "known_num_dim": 1,
    "known_cat_dim": 0,
    "observed_num_dim": 1,
    "observed_cat_dim": 0,
    "static_num_dim": 0,
    "static_cat_dim": 0,
    "known_cat_size": {},
    "observed_cat_size": {},
    "static_cat_size": {},
}
TRANSFORMER: Settings = {
    **TARGET,
    "d_model": 16,
    "nhead": 2,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "activation": "relu",
    "dropout_rate": 0.0,
}


def _series() -> tuple[Any, ...]:
    """What was measured, what is known of the time to come, and what else was seen."""
    return (
        {
            "past_target": paddle.randn([3, PAST, SERIES]),
            "known_cov_numeric": paddle.randn([3, PAST + AHEAD, 1]),
            "observed_cov_numeric": paddle.randn([3, PAST, 1]),
        },
    )


def _target() -> tuple[Any, ...]:
    return ({"past_target": paddle.randn([3, PAST, SERIES])},)


def _informer() -> tuple[Any, ...]:
    return (
        {
            "past_target": paddle.randn([3, PAST, SERIES]),
            "future_target": paddle.randn([3, AHEAD, SERIES]),
        },
    )


def _observed() -> tuple[Any, ...]:
    return ({"observed_cov_numeric": paddle.randn([3, PAST, SERIES])},)


NETWORKS: dict[str, tuple[str, str, Settings, Inputs]] = {
    "MLP": (
        "forecasting.dl.mlp",
        "_MLPModule",
        {
            "in_chunk_dim": PAST,
            "out_chunk_dim": AHEAD,
            "target_dim": SERIES,
            "hidden_config": [8, 8],
            "use_bn": True,
        },
        _target,
    ),
    "LSTNet": (
        "forecasting.dl.lstnet",
        "_LSTNetModule",
        {
            **TARGET,
            "skip_size": 2,
            "channels": 4,
            "kernel_size": 3,
            "rnn_cell_type": "GRU",
            "rnn_num_cells": 8,
            "skip_rnn_cell_type": "GRU",
            "skip_rnn_num_cells": 4,
            "dropout_rate": 0.0,
        },
        _target,
    ),
    "RNN_LSTM": (
        "forecasting.dl.rnn",
        "_RNNBlock",
        {
            **BOTH,
            "fit_params": FITTED,
            "rnn_type": "LSTM",
            "hidden_dim": 8,
            "embedding_dim": 4,
            "out_fcn_config": [8],
        },
        _series,
    ),
    "RNN_GRU_pooling": (
        "forecasting.dl.rnn",
        "_RNNBlock",
        {
            **BOTH,
            "fit_params": FITTED,
            "rnn_type": "GRU",
            "hidden_dim": 8,
            "embedding_dim": 4,
            "out_fcn_config": [8],
            "pooling": True,
        },
        _series,
    ),
    "NBEATS_generic": (
        "forecasting.dl.nbeats",
        "_NBEATSModule",
        {
            **STACKS,
            "generic_architecture": True,
            "num_blocks": [1, 2],
            "num_layers": 2,
            "layer_widths": [8, 8],
            "expansion_coefficient_dim": 4,
            "trend_polynomial_degree": 2,
        },
        _series,
    ),
    "NBEATS_trend": (
        "forecasting.dl.nbeats",
        "_NBEATSModule",
        {
            **STACKS,
            "generic_architecture": False,
            "num_blocks": [1, 1],
            "num_layers": 2,
            "layer_widths": [8, 8],
            "expansion_coefficient_dim": 4,
            "trend_polynomial_degree": 2,
        },
        _series,
    ),
    "NHiTS": (
        "forecasting.dl.nhits",
        "_NHiTSModule",
        {
            **STACKS,
            "num_blocks": 2,
            "num_layers": 2,
            "layer_widths": [8, 8],
            "pooling_kernel_sizes": ((2, 2), (1, 1)),
            "n_freq_downsample": ((2, 2), (1, 1)),
            "batch_norm": False,
            "dropout": 0.0,
            "activation": "ReLU",
            "MaxPool1d": True,
        },
        _series,
    ),
    "TCN": (
        "forecasting.dl.tcn",
        "_TCNModule",
        {**TARGET, "hidden_config": [8, 8], "kernel_size": 3, "dropout_rate": 0.0},
        _target,
    ),
    "Transformer": (
        "forecasting.dl.transformer",
        "_TransformerModule",
        {**TRANSFORMER, "input_dim": SERIES, "dim_feedforward": 16},
        _target,
    ),
    "Informer": (
        "forecasting.dl.informer",
        "_InformerModule",
        {**TRANSFORMER, "start_token_len": 4, "ffn_channels": 16},
        _informer,
    ),
    "SCINet": (
        "forecasting.dl.scinet",
        "_StackedSCINetModule",
        {
            "in_chunk_len": 16,
            "out_chunk_len": AHEAD,
            "in_dim": SERIES,
            "num_stack": 2,
            "num_level": 2,
            "dropout_rate": 0.0,
        },
        lambda: ({"past_target": paddle.randn([3, 16, SERIES])},),
    ),
    "AnomalyTransformer": (
        "anomaly.dl.anomaly_transformer",
        "_Anomaly",
        {
            "win_size": PAST,
            "enc_in": SERIES,
            "c_out": SERIES,
            "d_model": 16,
            "n_heads": 2,
            "e_layers": 2,
            "d_ff": 16,
        },
        _observed,
    ),
    "MTADGAT": (
        "anomaly.dl.mtad_gat",
        "_MTADGATBlock",
        {
            "in_chunk_len": PAST,
            "fit_params": FITTED,
            "target_dims": None,
            "kernel_size": 3,
            "feat_gat_embed_dim": 4,
            "time_gat_embed_dim": 4,
            "use_gatv2": True,
            "use_bias": True,
            "gru_n_layers": 1,
            "gru_hid_size": 8,
            "forecast_n_layers": 1,
            "forecast_hid_size": 8,
            "recon_n_layers": 1,
            "recon_hid_size": 8,
            "dropout": 0.0,
            "alpha": 0.2,
        },
        _observed,
    ),
    "VAE": (
        "anomaly.dl.vae",
        "_VAEBlock",
        {
            "in_chunk_dim": PAST,
            "hidden_config": [8, 4],
            "feature_dim": SERIES,
            "use_bn": False,
            "use_drop": False,
        },
        _observed,
    ),
    "CNN": (
        "classify.dl.cnn",
        "_CNNBlock",
        {
            "in_chunk_dim": SERIES,
            "in_chunk_lens": 40,
            "n_classes": 3,
            "hidden_config": [4, 4],
            "kernel_size": 5,
            "avg_pool_size": 2,
        },
        lambda: ({"features": paddle.randn([3, 40, SERIES])},),
    ),
    "InceptionTime": (
        "classify.dl.inception_time",
        "_InceptionTime",
        {
            "channel_in": SERIES,
            "channel_out": 3,
            "kernel_size": 8,
            "block_out_size": 8,
            "block_depth": 3,
        },
        lambda: ({"features": paddle.randn([3, 20, SERIES])},),
    ),
    "TS2Vec": (
        "representation.dl.ts2vec",
        "_TS2VecModule",
        {"in_channels": SERIES, "out_channels": 8, "hidden_channels": 8, "num_layers": 2},
        lambda: (paddle.randn([3, PAST, SERIES]), "all_true"),
    ),
    "TS2Vec_mask_last": (
        "representation.dl.ts2vec",
        "_TS2VecModule",
        {"in_channels": SERIES, "out_channels": 8, "hidden_channels": 8, "num_layers": 2},
        lambda: (paddle.randn([3, PAST, SERIES]), "mask_last"),
    ),
}
"""Name -> module, class, settings and inputs."""


def _builder(module: str, name: str, settings: Settings) -> Callable[[], Any]:
    def build() -> Any:
        return getattr(importlib.import_module(f"paddlets.models.{module}"), name)(**settings)

    return build


def models() -> list[Model]:
    """The networks, without the pipelines around them."""
    return [
        Model(name, _builder(module, kind, settings), inputs, labels=("future_target",))
        for name, (module, kind, settings, inputs) in NETWORKS.items()
    ]


PACKAGE = Package(
    name="paddlets",
    pins=("paddlets==1.1.0",),
    roots=("paddlets",),
    modules=("paddlets.models.forecasting", "paddlets.models.anomaly"),
    absent=words(
        "more_itertools chinese_calendar xarray h5py shap pyod statsmodels ray hyperopt arch"
    ),
    models=models,
)

"""What ``minmin solve --save`` writes: arrays and a summary, of which an estimator can be made."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from minmin.cli.estimator import ESTIMATORS
from minmin.cli.model import Model
from minmin.cli.output import summarise
from minmin.errors import InputError
from minmin.result import Result


def dump_solved(model: Model, result: Result) -> bytes:
    """The content of a file."""
    buffer = io.BytesIO()
    summary = json.dumps({**model.summary(), **summarise(result)})
    np.savez(
        buffer,
        allow_pickle=False,
        x=result.x,
        y=result.y,
        x_columns=np.array(model.x_columns),
        y_columns=np.array(model.y_columns),
        labels=model.labels,
        first_index=np.array([] if model.first_index is None else [model.first_index]),
        outcome=np.array(summary),
    )
    return buffer.getvalue()


def is_solved(content: bytes) -> bool:
    """Whether this is the content of a file of ``minmin solve``."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {"x.npy", "y.npy", "outcome.npy"} <= set(archive.namelist())
    except zipfile.BadZipFile:
        return False


def load_solved(content: bytes, file: Any) -> Any:
    """The estimator with the coefficients of a file of ``minmin solve``."""
    from minmin import estimators

    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        arrays = dict(archive)
    if "labels" not in arrays:
        raise InputError(f"{file} was written by an older 'minmin solve'; run that command again, with --save")
    summary = json.loads(str(arrays["outcome"]))
    loss = summary["loss"]
    if loss not in ESTIMATORS:
        raise InputError(
            f"{file} was solved with --loss {loss}, which makes no predictions here; the losses that do are "
            f"{', '.join(ESTIMATORS)}"
        )
    columns = np.concatenate([arrays["x_columns"], arrays["y_columns"]])
    alphas = {"x": summary["alpha_x"], "y": summary["alpha_y"]}
    model = getattr(estimators, ESTIMATORS[loss])(alpha=alphas, fit_intercept=False)
    if arrays["first_index"].size:
        model.first_index_ = int(arrays["first_index"][0])
        places = columns.astype(int) - 1
    else:
        model.feature_names_in_ = columns.astype(object)
        places = np.arange(len(columns))
    coef = np.zeros(places.max() + 1)
    coef[places] = np.concatenate([arrays["x"], arrays["y"]])
    model.n_features_in_ = len(coef)
    model.blocks_ = {"x": places[: len(arrays["x"])], "y": places[len(arrays["x"]) :]}
    model.coef_, model.intercept_ = coef, 0.0
    if loss == "logistic":
        model.coef_, model.intercept_, model.classes_ = coef[None, :], np.zeros(1), arrays["labels"]
    return model

"""What data must be, said before scikit-learn says it in other words, or reads them as something else."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from array_api_compat import is_torch_array

from minmin.core.arrays import to_numpy
from minmin.errors import InputError, require_values, show


def read_given(value: Any, name: str) -> Any:
    """A user's data as they are; those of PyTorch as NumPy's, since NumPy takes no tensor that records gradients."""
    require_values(value, name)
    return to_numpy(value) if is_torch_array(value) else value


def check_values(y: Any, numeric: bool) -> None:
    """Raise if the target of a regression holds text, or if one is missing; NaN among floats is left to scikit-learn.

    Values are looked at one by one only if y does not read as numbers.
    """
    try:
        values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)  # of a list, NaN may become text
    except (TypeError, ValueError):  # ragged lists: left to scikit-learn's checks
        return
    if values.ndim == 0 or values.size == 0 or values.dtype.kind not in ("OU" if numeric else "O"):
        return
    unknown = getattr(sys.modules.get("pandas"), "NA", None)
    for row, value in enumerate(values.reshape(len(values), -1)[:, 0].tolist()):
        if value is None or value is unknown or (isinstance(value, float) and math.isnan(value)):
            raise InputError(f"y[{row}] is {value}: that target is missing; leave its row out, or give a target")
        if isinstance(value, str) and numeric:
            raise InputError(
                f"y holds text, such as {show(value)}, and this model predicts numbers; for classes use "
                "BlockLogisticRegression"
            )

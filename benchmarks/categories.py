"""Text columns as they are, compared with a matrix of zeros and ones made by hand: seconds and peak memory.

Each way runs in a process of its own, with one thread; the ways take turns, and medians are shown. Time is processor
time from the frame to the certified model, encoding included; on small data it is the median of several fits. Memory is
the highest resident size while fitting, less the size before. By hand, the matrix is made by scikit-learn's
OneHotEncoder, or by pandas.factorize and a scipy.sparse array that is built from its codes. Data: insurance claims
(../shared/data), and generated rows.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent / "two_block_glm"))

WAYS = ("as they are", "OneHotEncoder", "factorize")
FRAMES = ("text", "category", "polars", "pyarrow")


def load_claims() -> tuple[Any, Any]:
    import pandas

    from benchmark_utils.real import SHARED

    frame = pandas.read_csv(SHARED / "tables" / "ausprivauto0405.csv.gz")
    return frame[["VehValue", "VehAge", "VehBody", "Gender", "DrivAge"]], frame["ClaimNb"].to_numpy()


def generate(rows: int, columns: int, categories: int) -> tuple[Any, Any]:
    """Text columns with equally likely categories; the effect of each is random."""
    import pandas
    import pyarrow

    rng = np.random.default_rng(0)
    labels = pyarrow.array([f"category {number:06d}" for number in rng.permutation(categories)])
    margins, data = np.zeros(rows), {}
    for column in range(columns):
        codes = rng.integers(0, categories, rows, dtype=np.int32)
        margins += rng.standard_normal(categories)[codes] / columns**0.5
        data[f"text{column}"] = pandas.Series(labels.take(pyarrow.array(codes)), dtype="str")
    return pandas.DataFrame(data), rng.random(rows) < 1.0 / (1.0 + np.exp(-margins))


def find_text(frame: Any) -> list[str]:
    return [name for name in frame.columns if frame[name].dtype == "str"]


def convert(frame: Any, kind: str) -> Any:
    if kind == "category":
        return frame.astype(dict.fromkeys(find_text(frame), "category"))
    if kind == "polars":
        import polars

        return polars.from_pandas(frame)
    if kind == "pyarrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    return frame


def encode_by_scikit_learn(frame: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    text = [name for name in frame.columns if str(frame[name].dtype) in ("str", "category")]
    return make_column_transformer(
        (OneHotEncoder(), text), remainder="passthrough", sparse_threshold=1.0
    ).fit_transform(frame)


def encode_by_factorize(frame: Any) -> Any:
    import pandas
    import scipy.sparse

    codes, numbers, width = [], [], 0
    for name in frame.columns:
        if str(frame[name].dtype) in ("str", "category"):
            of_column, labels = pandas.factorize(frame[name])
            codes.append((of_column + width).astype(np.int32))
            width += len(labels)
        else:
            numbers.append(frame[name].to_numpy(dtype=np.float64))
    places = np.stack(codes, axis=1)
    del codes
    ends = np.arange(0, places.size + 1, places.shape[1], dtype=np.int32)
    matrix = scipy.sparse.csr_array((np.ones(places.size), places.reshape(-1), ends), shape=(len(frame), width))
    if not numbers:
        return matrix
    return scipy.sparse.hstack([matrix, scipy.sparse.csr_array(np.stack(numbers, axis=1))], format="csr")


def read_memory(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(field)))


def measure(data: str, way: str, kind: str, options: argparse.Namespace) -> dict[str, Any]:
    """Fit in this process."""
    import scipy.sparse  # noqa: F401
    import sklearn.compose
    import sklearn.preprocessing  # noqa: F401

    from minmin.estimators import BlockLogisticRegression, BlockPoissonRegressor, text_columns

    small = data == "claims"
    frame, target = load_claims() if small else generate(options.rows, options.columns, options.categories)
    frame, numbers = convert(frame, kind), len(frame.columns) - len(find_text(frame))
    Model: Any = BlockPoissonRegressor if small else BlockLogisticRegression
    encode: Callable[[Any], Any] | None = {
        "OneHotEncoder": encode_by_scikit_learn,
        "factorize": encode_by_factorize,
    }.get(way)

    def fit() -> Any:
        matrix = frame if encode is None else encode(frame)
        text = text_columns if encode is None else slice(0, matrix.shape[1] - numbers)
        blocks, alpha = ({"text": text}, {"text": 1e-4, "rest": 1e-6}) if numbers else (None, 1e-6)
        return Model(blocks, alpha=alpha, tol=options.tol).fit(matrix, target)

    Path("/proc/self/clear_refs").write_text("5")  # the highest size is measured from here on
    before = read_memory("VmRSS")
    seconds = []
    for _ in range(options.repeats if small else 1):
        start = time.process_time()
        model = fit()
        seconds.append(time.process_time() - start)
    return {
        "seconds": statistics.median(seconds),
        "memory": read_memory("VmHWM") - before,
        "certified": bool(model.result_.certified),
        "passes": model.calls_["passes"],
        "fun": model.result_.fun,
        "size": int(model.coef_.size),
    }


def run_apart(data: str, way: str, kind: str) -> dict[str, Any]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    command = [sys.executable, __file__, *sys.argv[1:], "--child", data, way, kind]
    run = subprocess.run(command, env=os.environ | one_thread, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stderr)
    return dict(json.loads(run.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=["claims", "generated"], default=["claims", "generated"])
    parser.add_argument("--frames", nargs="*", choices=FRAMES, default=FRAMES)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--categories", type=int, default=10**4)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tol", type=float, default=1e-8)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*options.child, options)))
        return
    from report import print_machine

    print_machine("scikit-learn", "pandas", "polars", "pyarrow")
    print("| data | frame | way | coefficients | passes | f | certified | s | MB | time ratio | memory ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    cases = [("text", way) for way in WAYS] + [(kind, WAYS[0]) for kind in options.frames if kind != "text"]
    for data in options.data:
        rounds = [[run_apart(data, way, kind) for kind, way in cases] for _ in range(options.rounds)]
        found = [find_medians([of_round[number] for of_round in rounds]) for number in range(len(cases))]
        for (kind, way), r in zip(cases, found, strict=True):
            ratios = f"{r['seconds'] / found[0]['seconds']:.2f} | {r['memory'] / found[0]['memory']:.2f}"
            print(
                f"| {data} | {kind} | {way} | {r['size']} | {r['passes']} | {r['fun']:.10f} | {r['certified']} "
                f"| {r['seconds']:.3f} | {r['memory'] / 1e6:.0f} | {ratios} |",
                flush=True,
            )


def find_medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The first run, with the medians of time and memory over all."""
    return {**runs[0], **{name: statistics.median(run[name] for run in runs) for name in ("seconds", "memory")}}


if __name__ == "__main__":
    main()

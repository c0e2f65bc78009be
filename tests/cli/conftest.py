"""Command lines run in this process, and small files to run them on."""

import numpy as np
import pyarrow
import pyarrow.csv
import pytest

import minmin
from minmin.cli.app import run


@pytest.fixture
def call(capsys):
    """Run a command line in this process: its exit code, output and errors."""

    def called(*arguments):
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return called


@pytest.fixture
def svm(tmp_path):
    X, labels = minmin.datasets.load_a1a()
    rows = [
        " ".join([f"{label:g}", *(f"{j + 1}:1" for j in X.indices[a:b])])
        for label, a, b in zip(labels, X.indptr, X.indptr[1:], strict=False)
    ]
    path = tmp_path / "a1a.svm"
    path.write_text("\n".join(rows))
    return path


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    columns = {f"word_{i}": (rng.random(200) < 0.2).astype(float) for i in range(8)}
    columns |= {"age": rng.normal(size=200), "price": rng.normal(size=200)}
    margin = columns["word_0"] - columns["age"]
    columns["clicked"] = (rng.random(200) < 1 / (1 + np.exp(-margin))).astype(int)
    return pyarrow.table(columns)


@pytest.fixture
def csv(tmp_path, table):
    path = tmp_path / "clicks.csv"
    pyarrow.csv.write_csv(table, path)
    return path

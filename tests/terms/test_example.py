"""examples/terms.py draws the pictures of docs/guides/terms.md."""

import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "terms.py"


def test_the_example_finds_minima_on_the_constraints_and_a_sparse_model(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--folder", str(tmp_path)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    box, _, ball, dense, sparse = capsys.readouterr().out.splitlines()
    assert "x = [0.8 " in box
    assert "x = [1.1239 0.4206]" in ball
    assert int(sparse.split(": ")[1].split()[0]) < int(dense.split(": ")[1].split()[0]) / 2
    assert {path.name for path in tmp_path.iterdir()} == {"constraints.png", "sparse.png"}
    assert all(10_000 < path.stat().st_size < 200_000 for path in tmp_path.iterdir())

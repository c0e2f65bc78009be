"""The examples with JAX find what they claim to find."""

import re
import runpy
import sys
from pathlib import Path

import jax
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def setting_of_jax():
    """The examples switch float64 on; other tests need it as it was."""
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


def run_example(name, folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *folder])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_jax_and_pytorch_prove_the_same_answer(monkeypatch, capsys):
    said = run_example("autodiff_logistic.py", [], monkeypatch, capsys)
    assert said.count("converged") == said.count("is proved: True") == 2
    assert len(set(re.findall(r"f = ([\d.]+);", said))) == 1
    assert len(set(re.findall(r"bias ([\d.]+)", said))) == 1
    assert float(said.split()[-1]) < 1e-6


def test_eliminating_y_saves_most_simulations_and_no_bound_is_claimed(tmp_path, monkeypatch, capsys):
    said = run_example("variable_projection.py", ["--folder", str(tmp_path)], monkeypatch, capsys)
    assert said.startswith("converged")
    assert "f is not convex" in said
    assert "certified: False; bound on f - f*: inf" in said
    eliminated, jointly = (int(count) for count in re.findall(r"(\d+) simulations until", said))
    assert eliminated < jointly / 4
    true, *fitted = ([float(k) for k in rates.split()] for rates in re.findall(r"rates, .*\[(.*)\]", said))
    for rates in fitted:
        assert rates == pytest.approx(true, rel=0.1)
    (picture,) = tmp_path.iterdir()
    assert 10_000 < picture.stat().st_size < 200_000

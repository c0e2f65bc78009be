"""What a run says to the logger "minmin", and that nobody hears it without asking."""

import logging
import subprocess
import sys

import numpy as np
import pytest

import minmin
from minmin.problems import GLM, Function, Quadratic


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.INFO, logger="minmin")
    return lambda: [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "minmin"]


def test_a_run_says_what_auto_took_and_how_it_ended(said):
    minmin.minimize(Quadratic.random(d_x=3, d_y=2, seed=0))
    begun, inner, ended = said()
    assert begun == (
        "INFO",
        "reduced-lbfgs begins, with x as the outer block; auto took reduced-lbfgs in x, the more expensive block by "
        "convention",
    )
    assert inner == ("INFO", "auto took inner='lbfgs': y has no parts with Hessians")
    assert ended[1].startswith("reduced-lbfgs has ended as converged after ")


def test_other_choices_are_said_with_their_reasons(said):
    rng = np.random.default_rng(0)
    glm = GLM(
        rng.standard_normal((20, 3)),
        rng.standard_normal((20, 2)),
        rng.choice([-1.0, 1.0], 20),
        alpha_x=0.1,
        alpha_y=0.1,
    )
    minmin.minimize(glm)
    assert said()[0][1].endswith("auto took reduced-newton in x, the more expensive block by convention")
    minmin.minimize(minmin.Sum([glm, glm]), method="reduced-lbfgs")
    assert ("INFO", "auto took inner='newton': y has parts with Hessians") in said()
    minmin.minimize(Quadratic.random(d_x=3, d_y=2, L_x=500.0, L_y=2.0, seed=0), method="bam", outer="auto")
    (line,) = (line for _, line in said() if "outer=" in line)
    assert line.startswith("auto took outer='y': kappa_x = ")
    assert any(line.startswith("bam begins, with y as the outer block") for _, line in said())


def test_a_run_that_fails_is_said_too(said):
    f = Function(None, lambda x, y: x * np.nan, lambda x, y: y, d_x=1, d_y=1, constants=minmin.Constants(2, 2, 1, 1))
    with pytest.raises(minmin.MinMinError):
        minmin.minimize(f)
    assert said()[-1][1].startswith("reduced-lbfgs has ended as interrupted")


SILENT = """
import logging, minmin
from minmin.problems import Quadratic
minmin.minimize(Quadratic.random(d_x=3, d_y=2))
logging.getLogger("minmin").warning("nobody hears this")
"""


def test_without_a_handler_nothing_is_printed():
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")

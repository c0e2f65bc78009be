"""The example with PyTorch runs, and its shops profit."""

import re
import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "personalised_torch.py"


def test_the_example_converges_and_every_shop_does_better_on_visitors_held_out(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    said = capsys.readouterr().out
    assert said.startswith("converged")
    assert "(certified)" in said
    losses = re.findall(r"held-out loss ([\d.]+) before, ([\d.]+) after", said)
    assert len(losses) == 5
    assert all(float(after) < 0.7 * float(before) for before, after in losses)

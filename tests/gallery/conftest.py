"""Pages of the gallery are run as a reader runs them."""

import os
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "examples" / "gallery"


def read_front(name):
    """What the table at the gallery's front says about a page: minmin's count, and that of the best alternative."""
    text = (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8")
    row = re.search(rf"\* - :doc:`{name}`\n(?:     - .*\n)+", text)
    assert row, f"{name} has no row in the table at the gallery's front"
    cells = re.findall(r"- (.*)\n", row[0])
    return [int(re.search(r"\d+", cell)[0]) for cell in cells[2:4]]


def check_front(name, counts):
    """The table says what the page counts, up to the few calls by which machines differ."""
    for said in read_front(name):
        assert any(abs(said - count) <= 0.1 * said + 1 for count in counts.values() if isinstance(count, int)), said


@pytest.fixture(scope="module")
def run_page():
    """A function that runs a page and returns its variables; figures are drawn into memory and closed."""
    matplotlib = pytest.importorskip("matplotlib")
    backend = matplotlib.get_backend()
    matplotlib.use("agg")
    from matplotlib import pyplot

    def run(name, *needed):
        data = Path(os.environ.get("MINMIN_DATA") or ROOT.parent / "shared" / "data")
        for file in needed:
            if not (data / file).exists():
                pytest.skip(f"the data of this page are not beside the project (../shared/data/{file})")
        variables = runpy.run_path(str(GALLERY / f"{name}.py"))
        check_front(name, variables["counts"])
        return variables

    yield run
    pyplot.close("all")
    matplotlib.use(backend)

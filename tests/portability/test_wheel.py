"""What is installed: the package with its data, which needs three libraries and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SOLVE = """
import sys
class NothingElse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        known = {*sys.stdlib_module_names, "minmin", "numpy", "scipy", "array_api_compat"}
        if top not in known and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NothingElse())
sys.path.insert(0, sys.argv[1])
import minmin
A, labels = minmin.datasets.load_a1a()
r = minmin.minimize(minmin.problems.GLM(A[:, :100], A[:, 100:], labels, alpha_x=0.01, alpha_y=0.001))
client = minmin.federated.Client(minmin.problems.Quadratic.random(d_x=4, d_y=2))
print(minmin.__file__, r.certified, minmin.federated.run([client]).status, sep="\\n")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="hatchling is not installed, which builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (found,) = folder.iterdir()
    return found


def test_it_holds_the_package_with_its_data_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert package == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert {"minmin/py.typed", "minmin/datasets/a1a.svm.xz", "minmin/experiments/page/template.html"} <= package


def test_three_libraries_are_enough_to_solve_problems(wheel, tmp_path):
    command = [sys.executable, "-W", "error", "-c", SOLVE, str(wheel)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    place, *said = done.stdout.splitlines()
    assert place.startswith(str(wheel))
    assert said == ["True", "converged"]

"""What is published and installed: the package with its data, which needs three libraries and nothing else."""

import importlib.metadata
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {
    path.relative_to(ROOT / "src").as_posix()
    for path in (ROOT / "src").rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
}

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
def archives(tmp_path_factory):
    """The wheel and the sdist."""
    pytest.importorskip("hatchling", reason="hatchling is not installed, which builds them")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.fixture(scope="module", params=["wheel", pytest.param("sdist", marks=pytest.mark.slow)])
def installed(request, archives, tmp_path_factory):
    """A folder in which pip has installed one of them, without a network."""
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    command += ["--no-deps", "--no-build-isolation", "--target", str(folder), str(archives[request.param])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_holds_the_package_with_its_data_and_nothing_else(archives):
    names = zipfile.ZipFile(archives["wheel"]).namelist()
    package = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    assert package == SOURCES
    assert {"minmin/py.typed", "minmin/datasets/a1a.svm.xz", "minmin/experiments/page/template.html"} <= package


def test_the_sdist_holds_the_sources_and_what_their_tests_read(archives):
    with tarfile.open(archives["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in SOURCES} <= names
    assert {"pyproject.toml", "LICENSE", "CITATION.cff", "Makefile", "tests/conftest.py", "docs/glossary.md"} <= names
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders == {"benchmarks", "docs", "examples", "scripts", "src", "tests"}
    assert archives["sdist"].stat().st_size < 5e6


def test_installed_three_libraries_are_enough_to_solve_problems(installed, tmp_path):
    command = [sys.executable, "-W", "error", "-c", SOLVE, str(installed)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    place, *said = done.stdout.splitlines()
    assert Path(place).is_relative_to(installed)
    assert said == ["True", "converged"]


def test_its_metadata_say_who_made_it_for_which_python_and_under_which_licence(installed):
    (found,) = importlib.metadata.distributions(path=[str(installed)])
    metadata = found.metadata
    assert found.version == importlib.import_module("minmin").__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Author"] == "The minmin developers"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert (metadata["Description"] or metadata.get_payload()).startswith("# minmin")
    assert [script.name for script in found.entry_points] == ["minmin"]
    named = [line.rpartition(" ")[2] for line in metadata.get_all("Classifier") if " :: 3." in line]
    assert named == ["3.11", "3.12", "3.13"]

"""Files for hosts and readers of the repository: they can be read, and they agree with the package."""

import re
import tomllib
from pathlib import Path

import pytest

import minmin

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (".github/**/*.yml", "*.yaml", ".*.yaml", "CITATION.cff")
    for path in ROOT.glob(pattern)
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = ".github/workflows/ci.yml"


def read(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_it_is_valid_yaml(name):
    assert isinstance(read(name), dict)


def test_the_citation_names_this_version_and_the_paper():
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)  # what format 1.2.0 requires
    assert citation["version"] == minmin.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    (paper,) = citation["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert [author["family-names"] for author in paper["authors"]] == ["Kovalev", "Gasnikov", "Malinovsky"]
    assert paper["url"] == PROJECT["urls"]["Paper"]


def test_the_workflow_runs_what_the_repository_has_on_the_pythons_that_it_names():
    jobs = read(WORKFLOW)["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert commands["linux"] == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    assert commands["others"][-1].startswith("make quick")
    assert "\nquick:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if " :: 3." in line]
    assert jobs["linux"]["strategy"]["matrix"]["python"] == named


@pytest.mark.parametrize("name", [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/idea.yml"])
def test_a_form_has_what_the_host_requires(name):
    form = read(name)
    assert {"name", "description", "body"} <= set(form)
    fields = [entry["id"] for entry in form["body"]]
    assert len(fields) == len(set(fields))
    assert all(entry["attributes"]["label"] for entry in form["body"])


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md"])
def test_pages_at_the_root_link_to_files_that_exist(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []

"""A report links to the documentation, wherever that is."""

from email.message import Message

import pytest

from minmin.experiments.page import documentation
from minmin.experiments.page.documentation import find_documentation


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.setattr(documentation, "_SOURCE", tmp_path)
    monkeypatch.setattr(documentation, "metadata", lambda _: Message())
    return tmp_path


def test_in_a_clone_the_link_leads_to_the_built_pages_or_to_the_readme(clone):
    (clone / "pyproject.toml").touch()
    (clone / "README.md").touch()
    assert find_documentation(clone / "report") == "../README.md"
    site = clone / "docs" / "_build" / "html"
    site.mkdir(parents=True)
    (site / "index.html").touch()
    assert find_documentation(clone / "report") == "../docs/_build/html/index.html"


def test_the_address_of_the_metadata_comes_first(clone, monkeypatch):
    (clone / "pyproject.toml").touch()
    (clone / "README.md").touch()
    package = Message()
    package["Project-URL"] = "Source, https://example.org/source"
    package["Project-URL"] = "Documentation, https://example.org/docs"
    monkeypatch.setattr(documentation, "metadata", lambda _: package)
    assert find_documentation(clone) == "https://example.org/docs"


def test_without_a_clone_there_is_none(clone):
    assert find_documentation(clone / "report") is None

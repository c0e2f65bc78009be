"""The API reference: every public name has a page, and every page a summary."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
MODULES = ["", "problems", "methods", "terms", "estimators", "federated", "datasets", "theory", "extend"]


def load(module):
    return import_module(f"minmin.{module}" if module else "minmin")


def find_listed():
    """The objects that the pages list."""
    for page in REFERENCE.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        if module := re.search(r"\.\. (?:current)?module:: (\S+)", text):
            for block in re.findall(r"\.\. autosummary::\n   :toctree: api/\n\n((?:   \S+\n)+)", text):
                yield from (getattr(import_module(module[1]), name) for name in block.split())


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_one_page_with_a_summary(module):
    listed = list(find_listed())
    public = [getattr(load(module), name) for name in load(module).__all__]
    for item in public:
        if not inspect.ismodule(item):
            assert sum(item is other for other in listed) == 1, item
            assert item.__doc__, item
            assert item.__doc__.strip(), item
            assert not item.__doc__.startswith(f"{item.__name__}("), f"{item} has the docstring that Python made"


@pytest.mark.parametrize("module", MODULES)
def test_dir_lists_public_names_only(module):
    package = load(module)
    also = set() if module else {"__version__", "estimators", "theory"}
    assert set(dir(package)) == set(package.__all__) | also
    assert all(hasattr(package, name) for name in dir(package))

"""docs/benchmarks/tuning.md names constants that exist, with their values, and what is said to be there is there."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGE = (ROOT / "docs/benchmarks/tuning.md").read_text(encoding="utf-8")
POINTER = "Measured: docs/benchmarks/tuning.md."


def find_values(statements):
    """The expressions that assignments give to names, by the name."""
    values = {}
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=parts)):
                values.update((name.id, part) for name, part in zip(names, parts, strict=True))
            case ast.Assign(targets=names, value=value):
                values.update((name.id, value) for name in names if isinstance(name, ast.Name))
            case ast.AnnAssign(target=name, value=value):
                values[name.id] = value
    return values


def find_entries(section):
    assignments = re.findall(r"^- `([^`]*)`:", section, re.MULTILINE)
    return find_values(ast.parse("\n".join(" ".join(code.split()) for code in assignments)).body)


def parse(module):
    path = SOURCE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8")).body


def find_measured(statements):
    """The names of constants whose docstring says that figures are on the page."""
    return {
        name
        for statement, after in pairwise(statements)
        if isinstance(after, ast.Expr) and POINTER in " ".join(str(getattr(after.value, "value", "")).split())
        for name in find_values([statement])
    }


SECTIONS = dict(re.findall(r"^### `(minmin[\w.]*)`\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("module", SECTIONS)
def test_constants_of_the_page_have_its_values_in_the_code(module):
    stated, found = find_entries(SECTIONS[module]), find_values(parse(module))
    assert stated
    assert not stated.keys() - found.keys()
    assert {name: ast.unparse(found[name]) for name in stated} == {
        name: ast.unparse(value) for name, value in stated.items()
    }


def test_constants_with_figures_are_on_the_page():
    for path in (SOURCE / "minmin").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "Measured:" not in text:
            continue
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        missing = find_measured(ast.parse(text).body) - find_entries(SECTIONS.get(module, "")).keys()
        assert not missing, f"{module}: {sorted(missing)}"

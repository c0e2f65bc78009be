"""The Python code of the README and of the guides runs as it stands, each block in a fresh namespace."""

import re
import sys
from pathlib import Path

import jax
import matplotlib
import pytest

ROOT = Path(__file__).parents[2]


def find_code(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def name(page):
    return page.relative_to(ROOT).as_posix()


PAGES = ["README.md", *(name(page) for page in sorted((ROOT / "docs").rglob("*.md")))]
RUN_HERE = [p for p in PAGES if p.startswith("docs/guides/") or p in ("README.md", "docs/explanation/theory.md")]
IMPORTS_WARN = pytest.mark.filterwarnings("ignore:'click.utils:DeprecationWarning")
CASES = [
    pytest.param(
        page,
        code,
        id=f"{page}: {code.splitlines()[-1]}",
        marks=IMPORTS_WARN if "flower" in code else (),
    )
    for page in RUN_HERE
    for code in find_code(page)
]


@pytest.fixture(autouse=True)
def settings(tmp_path, monkeypatch):
    """A block may write files and switch float64 on; the next one starts as JAX does by default."""
    monkeypatch.chdir(tmp_path)
    backend, float64 = matplotlib.get_backend(), jax.config.jax_enable_x64
    matplotlib.use("Agg")
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", float64)
    matplotlib.use(backend)


@pytest.mark.parametrize(("page", "code"), CASES)
def test_a_block_runs_and_prints(page, code, capsys, monkeypatch):
    module = type(sys)("block")  # so that dataclasses find the module of what the block defines
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, page, "exec"), module.__dict__)
    assert capsys.readouterr().out.strip() or hasattr(module, "app")  # an app of Flower is started by Flower


def test_the_pages_have_code():
    assert len(CASES) >= 35


def test_every_page_with_code_is_named_in_a_test():
    tests = "".join(test.read_text(encoding="utf-8") for test in (ROOT / "tests").rglob("test_*.py"))
    others = [page for page in PAGES if page not in RUN_HERE and find_code(page)]
    assert not [page for page in others if Path(page).name not in tests]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES[1:]])
def test_the_pictures_and_pages_that_a_page_links_to_exist(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    built = [t for t in targets if "gallery/" in t]  # Sphinx makes these pages, and finds links to others
    assert not [t for t in targets if t not in built and not (ROOT / page).parent.joinpath(t).exists()]

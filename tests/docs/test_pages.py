"""The Python code of the README and of some pages runs as it stands, each block in a fresh namespace."""

import re
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parents[2]
LEAST_BLOCKS = {
    "README.md": 5,
    "docs/autodiff.md": 8,
    "docs/losses.md": 1,
    "docs/methods.md": 5,
    "docs/terms.md": 3,
    "docs/theory.md": 1,
}
OTHER_PAGES = ["docs/command-line.md", "docs/runs-where.md"]
BLOCKS = {
    page: re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    for page in LEAST_BLOCKS
}
CASES = [pytest.param(page, code, id=f"{page}: {code.splitlines()[-1]}") for page in BLOCKS for code in BLOCKS[page]]


@pytest.fixture(autouse=True)
def setting_of_jax():
    """A block may switch float64 on; the next one starts as JAX does by default."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize(("page", "code"), CASES)
def test_a_block_runs_and_prints(page, code, capsys):
    exec(compile(code, page, "exec"), {})
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("page", BLOCKS)
def test_a_page_has_code_to_run(page):
    assert len(BLOCKS[page]) >= LEAST_BLOCKS[page]


@pytest.mark.parametrize("page", [*BLOCKS, *OTHER_PAGES])
def test_the_pictures_and_pages_that_a_page_links_to_exist(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert targets
    assert not [target for target in targets if not (ROOT / page).parent.joinpath(target).exists()]

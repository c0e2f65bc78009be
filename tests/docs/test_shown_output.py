"""Pages that show what their code prints: the blocks of a page run in order, in one namespace, and print just that."""

import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEAST_SHOWN = {
    "docs/choose.md": 1,
    "docs/explanation/bam.md": 1,
    "docs/explanation/certificates.md": 4,
    "docs/explanation/counting.md": 2,
    "docs/explanation/reduced.md": 1,
    "docs/explanation/rounding.md": 3,
    "docs/index.md": 1,
    "docs/start/result.md": 5,
    "docs/start/tour.md": 8,
    "docs/start/when-not.md": 2,
}
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
ROUNDING_SIZE = 1e-6
"""Two numbers that are both smaller may differ by anything: they may be rounding errors, or bounds within tol."""


def agree(shown: str, printed: str) -> bool:
    """Whether two numbers are the same for a reader; another BLAS changes counts and bounds a little."""
    if re.fullmatch(r"-?\d+", shown) and re.fullmatch(r"-?\d+", printed):
        return abs(int(shown) - int(printed)) <= max(2, 0.1 * abs(int(shown)))
    one, other = float(shown), float(printed)
    if max(abs(one), abs(other)) <= ROUNDING_SIZE:
        return True
    return abs(one) < 2.0 * abs(other) < 4.0 * abs(one) if "e-" in shown else math.isclose(one, other, rel_tol=0.02)


def assert_same_text(shown: str, printed: str) -> None:
    """Assert that a text is the printed one: words to the letter, numbers nearly; … stands for one word."""
    pattern = re.escape(" ".join(NUMBER.sub("#", shown).split())).replace("…", r"\S+").replace(r"\#", "#")
    text = " ".join(printed.split())
    # A number under … must not be compared, so that the numbers of both texts belong together.
    groups = re.fullmatch(pattern.replace("#", f"({NUMBER.pattern})"), text)
    assert groups is not None, f"the page shows\n{shown}\nand its code prints\n{printed}"
    for one, other in zip(NUMBER.findall(shown), groups.groups(), strict=True):
        assert agree(one, other), f"the page shows {one}, and its code prints {other}:\n{printed}"


@pytest.mark.parametrize("page", LEAST_SHOWN)
def test_a_page_shows_what_its_code_prints(page, capsys, tmp_path, monkeypatch):
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert sum(bool(shown) for _, shown in blocks) >= LEAST_SHOWN[page]
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for code, shown in blocks:
        exec(compile(code, page, "exec"), namespace)
        printed = capsys.readouterr().out
        assert shown or not printed, f"this block prints, and the page does not show what:\n{code}"
        if shown:
            assert_same_text(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("f = 1.5, 12 calls", "f = 1.6, 12 calls"),
        ("f = 1.5, 12 calls", "f = 1.5, 15 calls"),
        ("f = 1.5, … s", "f = 1.5"),
        ("certified", "estimated"),
        ("bound 1e-5", "bound 2e-5"),
    ],
)
def test_another_text_is_noticed(shown, printed):
    with pytest.raises(AssertionError):
        assert_same_text(shown, printed)

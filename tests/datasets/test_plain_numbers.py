"""What counts as a number in a text file."""

import pytest

from minmin.datasets.plain_numbers import looks_like_number, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12.0), ("-.5", -0.5), ("+5.", 5.0), ("1.5e-3", 0.0015), ("2E+05", 2e5), (" 7\t", 7.0)],
)
def test_plain_numbers(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize(
    "text", ["", ".", "1_000", "1,000", "1'000", "１２", "−5", "nan", "inf", "Infinity", "1e999", "0x1A", "1e", "1 2"]
)
def test_other_texts_are_none(text):
    assert parse_number(text) is None


def test_decimals_after_a_comma():
    assert parse_number("-1,5e3", ",") == -1500.0
    assert parse_number("1.5", ",") is None
    assert parse_number("1.000,5", ",") is None


@pytest.mark.parametrize(
    "text", ["12", " -.5 ", "1e-3", "1_000", "1 000", "1'000,5", "１２", "−5", "12 €", "$5", "7%", "1,", "1.000.000"]
)
def test_texts_that_seem_meant_as_numbers(text):
    assert looks_like_number(text)


@pytest.mark.parametrize("text", ["", "nan", "unknown", "k01", "12 kg", "2024-01-31", "10-20", "1" + 5000 * " " + "x"])
def test_other_texts_do_not_look_like_numbers(text):
    assert not looks_like_number(text)

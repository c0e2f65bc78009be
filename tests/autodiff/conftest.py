import pytest

from autodiff.functions import switch_on_float64


@pytest.fixture(autouse=True, scope="session")
def float64():
    switch_on_float64()

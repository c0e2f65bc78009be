import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def float64():
    """The tests of other folders run without it."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)

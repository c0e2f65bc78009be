"""Data to try the methods on."""

from minmin.datasets.a1a import load_a1a

__all__ = ["load_a1a"]

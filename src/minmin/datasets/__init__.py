"""A data set to try the methods on, and a reader for LIBSVM files."""

from minmin.datasets.a1a import load_a1a
from minmin.datasets.libsvm import load_libsvm

__all__ = ["load_a1a", "load_libsvm"]

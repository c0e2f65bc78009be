"""A data set to try the methods on, a reader for LIBSVM files, and rows on disk."""

from minmin.datasets.a1a import load_a1a
from minmin.datasets.libsvm import load_libsvm
from minmin.datasets.partitions import Partitions, open_partitions, write_partitions

__all__ = ["Partitions", "load_a1a", "load_libsvm", "open_partitions", "write_partitions"]

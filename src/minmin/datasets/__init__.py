"""A data set to try the methods on, readers for LIBSVM and TNTP files, and rows on disk."""

from minmin.datasets.a1a import load_a1a
from minmin.datasets.libsvm import load_libsvm
from minmin.datasets.partitions import Partitions, open_partitions, write_partitions
from minmin.datasets.tntp import TntpNetwork, load_tntp_flows, load_tntp_network, load_tntp_nodes, load_tntp_trips

__all__ = [
    "Partitions",
    "TntpNetwork",
    "load_a1a",
    "load_libsvm",
    "load_tntp_flows",
    "load_tntp_network",
    "load_tntp_nodes",
    "load_tntp_trips",
    "open_partitions",
    "write_partitions",
]

__dir__ = __all__.copy  # dir() lists public names only

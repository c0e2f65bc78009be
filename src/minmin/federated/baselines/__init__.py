"""Methods of federated learning to compare with; x is shared, y_i is local.

Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, name them.
"""

from minmin.federated.baselines.methods import (
    FedAvg,
    FederatedReconstruction,
    LocalMethod,
    LocalState,
    ProxSkip,
    Scaffold,
)

__all__ = ["FedAvg", "FederatedReconstruction", "LocalMethod", "LocalState", "ProxSkip", "Scaffold"]

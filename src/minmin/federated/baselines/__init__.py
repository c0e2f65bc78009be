"""Methods of federated learning that the paper names, to compare with: x is shared, y_i local."""

from minmin.federated.baselines.methods import (
    FedAvg,
    FederatedReconstruction,
    LocalMethod,
    LocalState,
    ProxSkip,
    Scaffold,
)

__all__ = ["FedAvg", "FederatedReconstruction", "LocalMethod", "LocalState", "ProxSkip", "Scaffold"]

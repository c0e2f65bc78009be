"""Methods of federated learning that the paper names, to compare with: x is shared, y_i local."""

from minmin.federated.baselines.methods import (
    FedAvg,
    FederatedReconstruction,
    LocalMethod,
    LocalState,
    ProxSkip,
    Scaffold,
)
from minmin.federated.baselines.works import (
    FedAvgWork,
    GradientWork,
    LocalMemory,
    ProxSkipWork,
    ReconstructionWork,
    ScaffoldWork,
)

__all__ = [
    "FedAvg",
    "FedAvgWork",
    "FederatedReconstruction",
    "GradientWork",
    "LocalMemory",
    "LocalMethod",
    "LocalState",
    "ProxSkip",
    "ProxSkipWork",
    "ReconstructionWork",
    "Scaffold",
    "ScaffoldWork",
]

"""A Hamiltonian neural network (Greydanus et al., 2019): a learned energy and the motion it implies.

    H(q, p) = w . tanh(W2 tanh(W1 (q, p) + b1) + b2),    (dq/dt, dp/dt) = (dH/dp, -dH/dq)

The authors' network has a second output that this field does not use; ours has one.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from torch import Tensor, nn

from mclstm_paper.pendulum.motion import TIMES, Floats

__all__ = ["HIDDEN", "Hamiltonian", "integrate"]

HIDDEN = 200


class Hamiltonian(nn.Module):
    """The energy of a state (q, p), and the motion it implies.

    >>> network = Hamiltonian(seed=0)
    >>> state = torch.tensor([[0.3, 0.0]])
    >>> network.energy(state).shape, network.field(state).shape
    (torch.Size([1]), torch.Size([1, 2]))
    """

    def __init__(self, seed: int, hidden: int = HIDDEN) -> None:
        super().__init__()
        self.W1 = nn.Parameter(torch.empty(hidden, 2))
        self.b1 = nn.Parameter(torch.empty(hidden))
        self.W2 = nn.Parameter(torch.empty(hidden, hidden))
        self.b2 = nn.Parameter(torch.empty(hidden))
        self.w = nn.Parameter(torch.empty(hidden))
        self.reset_parameters(torch.Generator().manual_seed(seed))

    @torch.no_grad()
    def reset_parameters(self, source: torch.Generator) -> None:
        """Orthogonal weights, and biases as torch's linear layers have them: U(-1, 1) / sqrt(inputs)."""
        for W in (self.W1, self.W2, self.w.unsqueeze(0)):
            nn.init.orthogonal_(W, generator=source)
        for b, inputs in ((self.b1, 2), (self.b2, len(self.b1))):
            b.uniform_(-(inputs**-0.5), inputs**-0.5, generator=source)

    def energy(self, state: Tensor) -> Tensor:
        """H of states (B, 2): (B,)."""
        return self._layers(state)[1] @ self.w

    def field(self, state: Tensor) -> Tensor:
        """(dq/dt, dp/dt) of states (B, 2): the gradient of H by the chain rule, turned: (B, 2)."""
        first, second = self._layers(state)
        inner = ((1.0 - second.square()) * self.w) @ self.W2
        gradient = ((1.0 - first.square()) * inner) @ self.W1
        return torch.stack([gradient[:, 1], -gradient[:, 0]], dim=1)

    def _layers(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Both hidden layers, (B, H) each."""
        first = torch.tanh(state @ self.W1.T + self.b1)
        return first, torch.tanh(first @ self.W2.T + self.b2)


@torch.no_grad()
def integrate(network: Hamiltonian, start: tuple[float, float], times: Floats = TIMES) -> Floats:
    """The learned motion (q, p) from a start, integrated in float64: (N, 2).

    >>> integrate(Hamiltonian(seed=0), (0.3, 0.0), times=np.array([0.0, 0.1])).shape
    (2, 2)
    """
    solution = solve_ivp(
        numpy_field(network), (times[0], times[-1]), start, t_eval=times, method="DOP853", rtol=1e-10,
        atol=1e-12,
    )  # fmt: skip
    path: Floats = solution.y.T
    return path


def numpy_field(network: Hamiltonian) -> Callable[[float, Floats], Floats]:
    """The field for a solver, as a function of time and one state (2,): a call costs microseconds."""
    weights: list[NDArray[np.float64]] = [
        value.double().numpy() for value in (network.W1, network.b1, network.W2, network.b2, network.w)
    ]
    W1, b1, W2, b2, w = weights

    def change(t: float, state: Floats) -> Floats:
        first = np.tanh(W1 @ state + b1)
        second = np.tanh(W2 @ first + b2)
        gradient = ((1.0 - first**2) * (((1.0 - second**2) * w) @ W2)) @ W1
        return np.array([gradient[1], -gradient[0]])

    return change

"""The Hamiltonian network: its field is the symplectic gradient of its energy, which its motion conserves."""

import numpy as np
import torch

from mclstm_paper.hnn.network import Hamiltonian, integrate, numpy_field


def network(hidden: int = 7) -> Hamiltonian:
    return Hamiltonian(seed=3, hidden=hidden).double()


def states(count: int = 5) -> torch.Tensor:
    return torch.randn(count, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_the_field_is_the_symplectic_gradient_of_the_energy() -> None:
    model, state = network(200), states().requires_grad_()
    (gradient,) = torch.autograd.grad(model.energy(state).sum(), state)
    symplectic = torch.stack([gradient[:, 1], -gradient[:, 0]], dim=1)
    assert torch.allclose(model.field(state), symplectic, rtol=1e-12, atol=1e-14)


def test_gradients_of_the_field() -> None:
    model, state = network(3), states(2).requires_grad_()

    def field(state: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        return model.field(state)  # gradcheck moves the weights in place

    assert torch.autograd.gradcheck(field, (state, *model.parameters()))


def test_the_solvers_field_is_the_networks() -> None:
    model, state = network(), states(1)
    with torch.no_grad():
        assert np.allclose(
            numpy_field(model)(0.0, state[0].numpy()), model.field(state)[0].numpy(), rtol=1e-12
        )


def test_learned_motion_conserves_the_learned_energy() -> None:
    model = network(20)
    path = integrate(model, (0.5, -0.2))
    with torch.no_grad():
        energy = model.energy(torch.from_numpy(path.copy()))
    assert path[0].tolist() == [0.5, -0.2]
    assert float((energy - energy[0]).abs().max()) < 1e-7 * max(1.0, float(energy[0].abs()))


def test_a_seed_is_a_start() -> None:
    one, same, other = (Hamiltonian(seed, hidden=4) for seed in (1, 1, 2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.W2, other.W2)
    assert torch.allclose(one.W2 @ one.W2.T, torch.eye(4), atol=1e-6)

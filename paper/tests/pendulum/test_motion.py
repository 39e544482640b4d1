"""The generators: energy is conserved without friction, and the analytic solution is the integrated one."""

import numpy as np
import pytest

from mclstm_paper.pendulum.motion import TIMES, Pendulum, analytic, energies, integrated

# The solver's tolerances are 1e-10 of the state in each of a few hundred steps.
BOUND = 1e-7


@pytest.mark.parametrize("amplitude", [0.2, 1.0, 3.0])
def test_the_total_is_conserved_without_friction(amplitude: float) -> None:
    pendulum = Pendulum(length=0.75)
    total = energies(pendulum, integrated(pendulum, amplitude)).sum(axis=1)
    assert np.abs(total / total[0] - 1).max() < BOUND
    assert total[0] == pytest.approx(9.81 * 0.75 * (1 - np.cos(amplitude)))


def test_friction_takes_what_the_velocity_says() -> None:
    pendulum = Pendulum(friction=0.8)
    motion = integrated(pendulum, 0.4)
    total = energies(pendulum, motion).sum(axis=1)
    assert (np.diff(total) <= BOUND * total[0]).all()
    # dE/dt = -friction m l^2 v^2; the trapezoidal rule is off by dt^2 / 12 of the curvature.
    power = pendulum.friction * motion.velocity**2
    lost = np.concatenate([[0.0], np.cumsum((power[1:] + power[:-1]) / 2) * TIMES[1]])
    assert np.abs(total[0] - lost - total).max() < 1e-3 * total[0]


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.8])
@pytest.mark.parametrize("length", [0.75, 1.0])
def test_the_analytic_solution_is_the_integrated_one_of_small_angles(friction: float, length: float) -> None:
    pendulum = Pendulum(length=length, friction=friction)
    exact, numeric = analytic(pendulum, 0.4), integrated(pendulum, 0.4, small_angles=True)
    for one, other in zip(exact, numeric, strict=True):
        assert np.abs(one - other).max() < BOUND


def test_small_angles_differ_by_the_cube_of_the_amplitude() -> None:
    times = TIMES[:40]
    gaps = []
    for amplitude in (0.02, 0.04):
        exact, small = (integrated(Pendulum(), amplitude, times, small_angles=s) for s in (False, True))
        gaps.append(np.abs(exact.angle - small.angle).max())
    assert gaps[1] / gaps[0] == pytest.approx(8, rel=0.01)

"""The motion of a pendulum, analytic for small angles and integrated for any, and its two energies."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

__all__ = ["DT", "POINTS", "TIMES", "Floats", "Motion", "Pendulum", "analytic", "energies", "integrated"]

Floats = NDArray[np.float64]
POINTS, DT = 1_000, 0.025  # points of a series, and seconds between two
TIMES: Floats = DT * np.arange(POINTS, dtype=np.float64)


class Pendulum(NamedTuple):
    """A point on a rod: theta'' = -friction theta' - gravity / length sin(theta)."""

    length: float = 1.0  # m
    friction: float = 0.0  # 1/s, the paper's dampening constant
    mass: float = 1.0  # kg
    gravity: float = 9.81  # m/s2


class Motion(NamedTuple):
    """Angles and angular velocities over time."""

    angle: Floats  # (N,) rad
    velocity: Floats  # (N,) rad/s


def analytic(pendulum: Pendulum, amplitude: float, times: Floats = TIMES) -> Motion:
    """The solution for small angles, sin(theta) = theta, from rest at an amplitude.

        theta = amplitude exp(-l t / 2) (cos(w t) + l / (2 w) sin(w t)),    w^2 = gravity / length - l^2 / 4

    l: the friction, which is below 2 sqrt(gravity / length)

    >>> motion = analytic(Pendulum(length=9.81), amplitude=0.2)
    >>> float(motion.angle[0]), round(float(motion.angle[40]), 3)  # cos(t) after 1 s
    (0.2, 0.108)
    """
    decay = pendulum.friction / 2
    w = np.sqrt(pendulum.gravity / pendulum.length - decay**2)
    envelope = amplitude * np.exp(-decay * times)
    angle = envelope * (np.cos(w * times) + decay / w * np.sin(w * times))
    velocity = -envelope * (w + decay**2 / w) * np.sin(w * times)
    return Motion(angle, velocity)


def integrated(
    pendulum: Pendulum, amplitude: float, times: Floats = TIMES, *, small_angles: bool = False
) -> Motion:
    """The differential equation from rest at an amplitude, integrated numerically.

    >>> motion = integrated(Pendulum(), amplitude=0.2, times=np.array([0.0, 0.5]))
    >>> motion.angle.shape
    (2,)
    """
    restoring = pendulum.gravity / pendulum.length

    def change(t: float, state: Floats) -> list[Any]:
        angle, velocity = state
        force = angle if small_angles else np.sin(angle)
        return [velocity, -pendulum.friction * velocity - restoring * force]

    solution = solve_ivp(
        change, (times[0], times[-1]), [amplitude, 0.0], t_eval=times, method="DOP853", rtol=1e-10, atol=1e-12
    )
    return Motion(*solution.y)


def energies(pendulum: Pendulum, motion: Motion) -> Floats:
    """Kinetic and potential energy over time in joules: (N, 2).

        E_kin = m l^2 v^2 / 2,    E_pot = m g l (1 - cos(theta))

    >>> energies(Pendulum(), Motion(np.array([np.pi]), np.array([2.0]))).round(2).tolist()
    [[2.0, 19.62]]
    """
    mass, length = pendulum.mass, pendulum.length
    kinetic = 0.5 * mass * (length * motion.velocity) ** 2
    potential = mass * pendulum.gravity * length * (1.0 - np.cos(motion.angle))
    return np.stack([kinetic, potential], axis=1)

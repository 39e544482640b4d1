"""HBV: snow, soil, two groundwater boxes and a triangular unit hydrograph, after Bergström (1992).

The form is that of HBV-light (Seibert and Vis 2012) with one elevation zone. Steps are days, water is in mm.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.models.process.process_model import (
    Bound,
    Forcing,
    Parameters,
    ProcessModel,
    Water,
    snow_share,
)  # fmt: skip

__all__ = ["HBV"]

# Ranges after Seibert and Vis (2012) and Beck et al. (2016).
BOUNDS = {
    "TT": Bound(-2.5, 2.5),  # degC, half of the precipitation is snow
    "TTI": Bound(0.02, 4.0),  # degC over which snow turns into rain
    "SFCF": Bound(0.6, 1.6),  # snowfall / what the gauge catches of it
    "CFMAX": Bound(0.5, 10.0),  # mm of melt per day and degC
    "CFR": Bound(0.0, 0.1),  # refreezing / melt of the same number of degrees
    "CWH": Bound(0.0, 0.2),  # water that the pack holds / its ice
    "FC": Bound(50.0, 1000.0, log=True),  # mm, capacity of the soil
    "LP": Bound(0.2, 1.0),  # soil water / FC above which evaporation is potential
    "BETA": Bound(1.0, 6.0),
    "CPET": Bound(0.5, 1.7),  # evaporation of a wet soil / potential evapotranspiration given
    "PERC": Bound(0.0, 8.0),  # mm/day, most that reaches the lower box
    "UZL": Bound(0.0, 100.0),  # mm above which the upper box has its fast outlet
    "K0": Bound(0.05, 0.95),  # 1/day
    "K1": Bound(0.01, 0.5, log=True),
    "K2": Bound(0.0005, 0.15, log=True),
    "MAXBAS": Bound(1.0, 7.0),  # days, base of the triangle
}
LONGEST = 7  # days


class Boxes(NamedTuple):
    """mm, each (..., N)."""

    ice: Tensor
    liquid: Tensor  # held by the snow
    soil: Tensor
    upper: Tensor
    lower: Tensor


def prepare(p: Parameters, forcing: Forcing) -> tuple[Parameters, tuple[Tensor, ...]]:
    weather = (forcing.precipitation, forcing.temperature, forcing.pet)
    return p | {"dry": p["CPET"] / (p["LP"] * p["FC"])}, weather


def start(p: Parameters) -> Boxes:
    empty = torch.zeros_like(p["FC"])
    return Boxes(empty, empty, 0.5 * p["FC"], empty, empty)


def step(
    p: Parameters,
    state: Boxes,
    precipitation: Tensor,  # (N,)
    temperature: Tensor,  # (N,)
    pet: Tensor,  # (N,)
) -> tuple[Boxes, Water]:
    """One day, top to bottom. Every flux is taken from one place and added to another."""
    ice, liquid, soil, upper, lower = state
    frozen = precipitation * snow_share(temperature, p["TT"], p["TTI"])
    rain, snow = precipitation - frozen, frozen * p["SFCF"]
    ice, liquid, water = snow_routine(p, ice + snow, liquid + rain, temperature)
    recharge = water * (soil / p["FC"]) ** p["BETA"]
    soil = soil + (water - recharge)
    excess = (soil - p["FC"]).clamp(min=0.0)
    soil = soil - excess
    evaporated = torch.minimum(pet * torch.minimum(soil * p["dry"], p["CPET"]), soil)
    soil = soil - evaporated
    upper = upper + (recharge + excess)
    deep = torch.minimum(p["PERC"], upper)
    upper, lower = upper - deep, lower + deep
    fast = p["K0"] * (upper - p["UZL"]).clamp(min=0.0)
    upper = upper - fast
    slow, base = p["K1"] * upper, p["K2"] * lower
    boxes = Boxes(ice, liquid, soil, upper - slow, lower - base)
    return boxes, Water(rain + snow, fast + slow + base, evaporated)


def snow_routine(
    p: Parameters, ice: Tensor, liquid: Tensor, temperature: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Degree-days: melt, refreezing, and what the pack cannot hold; all (..., N)."""
    warmth = p["CFMAX"] * (temperature - p["TT"])
    melt = torch.minimum(warmth.clamp(min=0.0), ice)
    # At most one of the two is above zero.
    frozen = torch.minimum((-p["CFR"] * warmth).clamp(min=0.0), liquid)
    change = melt - frozen
    ice, liquid = ice - change, liquid + change
    water = (liquid - p["CWH"] * ice).clamp(min=0.0)
    return ice, liquid - water, water


def stores(p: Parameters, state: Boxes) -> dict[str, Tensor]:
    return state._asdict()


def hydrograph(p: Parameters) -> Tensor:
    """Shares of a triangle with the base MAXBAS, day by day, (LONGEST, ..., N)."""
    base = p["MAXBAS"]
    ends = torch.arange(LONGEST + 1, dtype=base.dtype, device=base.device).view(-1, *[1] * base.dim())
    rising = (ends / base).clamp(max=1.0)
    area = torch.where(rising < 0.5, 2 * rising**2, 1 - 2 * (1 - rising) ** 2)
    return area[1:] - area[:-1]


HBV = ProcessModel(BOUNDS, prepare, start, step, stores, hydrograph)

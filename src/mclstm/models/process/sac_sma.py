"""The Sacramento soil moisture accounting model (Burnash 1995) below Snow-17, with a gamma unit hydrograph.

Steps are days, water is in mm. Percolation is computed in `INCREMENTS` equal parts of a day. The original has
more of them on wet days, which the columns of a batch cannot do each for itself. Losses to deep groundwater
(SIDE) and riparian evaporation (RIVA) are zero, as in the runs of CAMELS (Newman et al. 2015); RSERV is 0.3.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.models.process import snow17
from mclstm.models.process.process_model import Bound, Forcing, Parameters, ProcessModel, Water

__all__ = ["SAC_SMA", "SOIL", "Soil", "soil_step"]

# Ranges after Anderson et al. (2006) and Newman et al. (2015).
SOIL = {
    "CPET": Bound(0.5, 1.7),  # evaporation of a wet basin / potential evapotranspiration given
    "UZTWM": Bound(1.0, 400.0, log=True),  # mm, upper zone, tension water
    "UZFWM": Bound(1.0, 400.0, log=True),  # mm, upper zone, free water
    "UZK": Bound(0.1, 0.75),  # 1/day, interflow
    "PCTIM": Bound(0.0, 0.1),  # share of the basin that is sealed
    "ADIMP": Bound(0.0, 0.4),  # share that is sealed when wet
    "ZPERC": Bound(1.0, 300.0, log=True),  # percolation into dry soil / into wet soil, minus one
    "REXP": Bound(1.0, 5.0),
    "LZTWM": Bound(10.0, 800.0, log=True),  # mm, lower zone, tension water
    "LZFSM": Bound(1.0, 500.0, log=True),  # mm, lower zone, supplementary free water
    "LZFPM": Bound(5.0, 1000.0, log=True),  # mm, lower zone, primary free water
    "LZSK": Bound(0.01, 0.4, log=True),  # 1/day
    "LZPK": Bound(0.0005, 0.05, log=True),  # 1/day
    "PFREE": Bound(0.0, 0.8),  # share of percolation that always goes to free water
    "USHAPE": Bound(1.0, 4.0),  # of the gamma unit hydrograph
    "USCALE": Bound(0.05, 3.0, log=True),  # days
}
INCREMENTS = 2
RESERVED = 0.3  # of the lower free water, which never refills tension water
LONGEST = 20  # days of the unit hydrograph


class Soil(NamedTuple):
    """mm of the area that a store lies under, each (..., N)."""

    tension: Tensor  # upper zone
    free: Tensor
    deep_tension: Tensor  # lower zone
    supplementary: Tensor
    primary: Tensor
    additional: Tensor  # tension water of the area that is sealed when wet


def prepare(p: Parameters, forcing: Forcing) -> tuple[Parameters, tuple[Tensor, ...]]:
    weather = (forcing.precipitation, *snow17.melt_weather(forcing), forcing.pet)
    return with_capacities(snow17.with_daily(p)), weather


def with_capacities(p: Parameters) -> Parameters:
    """The parameters with those that follow from them."""
    rates = {name: 1 - (1 - p[name]) ** (1 / INCREMENTS) for name in ("UZK", "LZSK", "LZPK")}
    free, tension = p["LZFSM"] + p["LZFPM"], p["UZTWM"] + p["LZTWM"]
    derived = {
        "lower free": free, "tension": tension, "upper": p["UZTWM"] + p["UZFWM"], "lower": free + p["LZTWM"],
        "usable": (1 - RESERVED) * free + p["LZTWM"], "reserved": RESERVED * free,
        "primary share": 2 * p["LZFPM"] / free,
        "wet percolation": (p["LZFPM"] * rates["LZPK"] + p["LZFSM"] * rates["LZSK"]) / p["UZFWM"],
        "pervious": 1 - p["PCTIM"] - p["ADIMP"],
    }  # fmt: skip
    return p | derived | {f"{name} part": rate for name, rate in rates.items()}


def start(p: Parameters) -> tuple[snow17.Pack, Soil]:
    """No snow, and every store of the soil half full."""
    return snow17.empty_pack(p["UZTWM"]), half_full(p)


def half_full(p: Parameters) -> Soil:
    capacities = (p[name] for name in ("UZTWM", "UZFWM", "LZTWM", "LZFSM", "LZFPM", "tension"))
    return Soil(*(0.5 * capacity for capacity in capacities))


def step(
    p: Parameters,
    state: tuple[snow17.Pack, Soil],
    precipitation: Tensor,  # (N,)
    *weather: Tensor,  # (N,) each: the columns of melt_weather, and last potential evapotranspiration
) -> tuple[tuple[snow17.Pack, Soil], Water]:
    """One day of snow, then of soil."""
    pack, water, entered = snow17.snow_step(p, state[0], precipitation, *weather[:-1])
    soil, runoff, evaporated = soil_step(p, state[1], water, weather[-1])
    return (pack, soil), Water(entered, runoff, evaporated)


def soil_step(
    p: Parameters,
    soil: Soil,
    water: Tensor,  # (..., N) rain and melt
    pet: Tensor,  # (N,)
) -> tuple[Soil, Tensor, Tensor]:
    """One day of the soil: its stores, runoff and evapotranspiration, mm over the basin."""
    soil, evaporated = evaporate(p, soil, pet * p["CPET"])
    filled = torch.minimum(water, p["UZTWM"] - soil.tension)
    soil = soil._replace(tension=soil.tension + filled, additional=soil.additional + filled)
    part = (water - filled) / INCREMENTS
    runoff = water * p["PCTIM"]
    for _ in range(INCREMENTS):
        soil, outflow = percolate(p, soil, part)
        runoff = runoff + outflow
    return soil, runoff, evaporated


def evaporate(p: Parameters, soil: Soil, demand: Tensor) -> tuple[Soil, Tensor]:
    """Evapotranspiration from the top down, and how tension water is refilled from free water."""
    tension, free, deep, supplementary, primary, additional = soil
    wanted = demand * (tension / p["UZTWM"])
    e1 = torch.minimum(wanted, tension)
    left = demand - e1
    # Free water evaporates only where nothing is left of the tension water.
    e2 = torch.minimum(left, free) * (wanted > tension)
    tension = tension - e1
    free = free - e2
    lift = (p["UZTWM"] * free - p["UZFWM"] * tension).clamp(min=0.0) / p["upper"]
    tension, free = tension + lift, free - lift
    e3 = torch.minimum((left - e2) / p["tension"] * deep, deep)
    deep = deep - e3
    wetness = (deep + supplementary + primary - p["reserved"]) / p["usable"]
    lift = (wetness * p["LZTWM"] - deep).clamp(min=0.0)
    taken = torch.minimum(lift, supplementary)
    rest = torch.minimum(lift - taken, primary)
    deep, supplementary, primary = deep + (taken + rest), supplementary - taken, primary - rest
    e5 = e1 + left * ((additional - e1 - tension) / p["tension"]).clamp(min=0.0)
    e5 = torch.minimum(e5, additional)
    evaporated = (e1 + e2 + e3) * p["pervious"] + e5 * p["ADIMP"]
    return Soil(tension, free, deep, supplementary, primary, additional - e5), evaporated


def percolate(p: Parameters, soil: Soil, water: Tensor) -> tuple[Soil, Tensor]:
    """One part of a day: base flow, percolation, interflow and surface runoff."""
    tension, free, deep, supplementary, primary, additional = soil
    wet = ((additional - tension) / p["LZTWM"]).clamp(min=0.0, max=1.0)
    direct = water * wet * wet
    slow, slowest = supplementary * p["LZSK part"], primary * p["LZPK part"]
    supplementary, primary = supplementary - slow, primary - slowest

    lower = deep + supplementary + primary
    dryness = (1 - lower / p["lower"]).clamp(min=0.0)
    # As a share of what is there: where that is all, or nothing, the gradient must not follow the demand.
    share = (p["wet percolation"] * (1 + p["ZPERC"] * dryness ** p["REXP"])).clamp(max=1.0)
    percolation = torch.minimum(share * free, (p["lower"] - lower).clamp(min=0.0))
    free = free - percolation
    inter = free * p["UZK part"]
    free = free - inter
    deep, supplementary, primary = refill(p, deep, supplementary, primary, percolation)

    over = (water + free - p["UZFWM"]).clamp(min=0.0)
    free = free + (water - over)
    # Of the area that is sealed when wet, the surface runoff is that of the part which is not yet sealed.
    surface = over * (1 - wet * wet)
    additional = additional + (water - direct - surface)
    spilt = (additional - p["tension"]).clamp(min=0.0)
    runoff = p["pervious"] * (slow + slowest + inter + over) + p["ADIMP"] * (direct + surface + spilt)
    return Soil(tension, free, deep, supplementary, primary, additional - spilt), runoff


def refill(
    p: Parameters, deep: Tensor, supplementary: Tensor, primary: Tensor, percolation: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Percolation fills tension water first, then the two free stores, the emptier one faster."""
    tight = torch.minimum(percolation * (1 - p["PFREE"]), p["LZTWM"] - deep)
    deep, loose = deep + tight, percolation - tight
    a, b = (1 - primary / p["LZFPM"]).clamp(min=0.0), (1 - supplementary / p["LZFSM"]).clamp(min=0.0)
    share = (p["primary share"] * a / (a + b).clamp(min=1e-6)).clamp(max=1.0)
    into = torch.minimum(loose - loose * share, p["LZFSM"] - supplementary)
    supplementary, primary = supplementary + into, primary + (loose - into)
    spilt = (primary - p["LZFPM"]).clamp(min=0.0)
    return deep + spilt, supplementary, primary - spilt


def stores(p: Parameters, state: tuple[snow17.Pack, Soil]) -> dict[str, Tensor]:
    """mm over the basin."""
    *pervious, additional = state[1]
    areas = {name: value * p["pervious"] for name, value in zip(Soil._fields, pervious, strict=False)}
    return snow17.snow_stores(state[0]) | areas | {"additional": additional * p["ADIMP"]}


def hydrograph(p: Parameters) -> Tensor:
    """Shares of a gamma density, day by day, (LONGEST, ..., N)."""
    shape, scale = p["USHAPE"], p["USCALE"]
    days = torch.arange(LONGEST, dtype=shape.dtype, device=shape.device).view(-1, *[1] * shape.dim()) + 0.5
    return torch.softmax((shape - 1) * days.log() - days / scale, 0)


SAC_SMA = ProcessModel(snow17.BOUNDS | SOIL, prepare, start, step, stores, hydrograph)

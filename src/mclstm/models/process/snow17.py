"""Snow-17: a snow pack with a heat deficit, held water and a depletion curve, after Anderson (1973, 2006).

Steps are days; factors that the literature gives per six hours count four times. Water is in mm. Two things
differ from the original, so that they can be calibrated by gradient: rain and snow mix over `PXSPAN`
degrees instead of at a threshold, and the depletion curve is a parabola with one parameter instead of a
table. Three more are simpler: excess water leaves the pack on the same day, where the original holds it for
up to five hours; new snow on partly bare ground covers no more of it than the curve says; the temperature
inside the pack follows cold air even when there is no snow.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.models.process.process_model import Bound, Forcing, Parameters, snow_share

__all__ = ["BOUNDS", "Pack", "melt_weather", "snow_step", "snow_stores", "with_daily"]

BOUNDS = {
    "SCF": Bound(0.6, 1.6),  # snowfall / what the gauge catches of it
    "PXTEMP": Bound(-2.5, 3.0),  # degC, half of the precipitation is snow
    "PXSPAN": Bound(0.02, 4.0),  # degC over which snow turns into rain
    "MFMAX": Bound(0.5, 3.0),  # mm of melt per degC and six hours, 21 June
    "MFMIN": Bound(0.01, 0.6),  # the same, 21 December
    "MBASE": Bound(-1.0, 1.5),  # degC above which snow melts
    "UADJ": Bound(0.01, 0.4),  # mm per hPa and six hours: wind while it rains on snow
    "SI": Bound(1.0, 1000.0, log=True),  # mm above which all ground is covered
    "ADC": Bound(-0.9, 0.9),  # curve of depletion: 0 straight, above 0 bare ground appears late
    "NMF": Bound(0.02, 0.5),  # mm of heat deficit per degC and six hours
    "TIPM": Bound(0.02, 0.8),  # weight of the last six hours in the temperature of the pack
    "PLWHC": Bound(0.0, 0.3),  # water that the pack holds / its ice
    "DAYGM": Bound(0.0, 0.5),  # mm/day of melt at the ground
}
PARTS = 4  # six hours in a day
HEAVY_RAIN, HEAVY_SNOW = 6.0, 36.0  # mm/day: 0.25 and 1.5 mm per hour
PRESSURE = 950.0  # hPa; a range of 200 hPa changes the melt of a rainy day by one tenth, as UADJ does
DEEPEST = 0.33  # largest heat deficit / ice
THINNEST = 0.1  # mm; thinner snow covers less. A steeper end would make gradients over many days overflow


class Pack(NamedTuple):
    """The snow of a basin, each (..., N): two stores in mm, and what they remember."""

    ice: Tensor
    liquid: Tensor
    deficit: Tensor  # mm of melt that would bring the pack to 0 degC
    inside: Tensor  # degC, temperature of the pack
    most: Tensor  # mm of snow at the last maximum


def with_daily(p: Parameters) -> Parameters:
    """The parameters with those that follow from them."""
    return p | {
        "melt low": PARTS * p["MFMIN"], "melt high": PARTS * p["MFMAX"],
        "cooling": p["NMF"] / p["MFMAX"],
        "memory": 1 - (1 - p["TIPM"]) ** PARTS,
        "wind": 8.5 * PARTS * p["UADJ"],
    }  # fmt: skip


def melt_weather(forcing: Forcing) -> tuple[Tensor, ...]:
    """Temperature, its part below 0 degC, summer, and what radiation and humid air melt on a rainy day."""
    t = forcing.temperature
    radiation = 24 * 6.12e-10 * ((t + 273.0) ** 4 - 273.0**4)
    vapour = 2.7489e8 * torch.exp(-4278.63 / (t.clamp(min=-60.0) + 242.792))
    humid = 0.9 * vapour - 6.11 + 0.00057 * PRESSURE * t
    return t, t.clamp(max=0.0), 0.5 + 0.5 * forcing.season, radiation, humid


def empty_pack(like: Tensor) -> Pack:
    empty = torch.zeros_like(like)
    return Pack(empty, empty, empty, empty, empty)


def snow_step(
    p: Parameters,
    pack: Pack,
    precipitation: Tensor,  # (N,)
    temperature: Tensor,  # (N,)
    cold: Tensor,  # (N,) the temperature, or 0 if it is above
    summer: Tensor,  # (N,) or (1,) from 0 at midwinter to 1 at midsummer
    radiation: Tensor,  # (N,) mm
    humid: Tensor,  # (N,) hPa
) -> tuple[Pack, Tensor, Tensor]:
    """One day: the pack after it, the water that leaves it, and the precipitation that entered."""
    frozen = precipitation * snow_share(temperature, p["PXTEMP"], p["PXSPAN"])
    rain, snow = precipitation - frozen, frozen * p["SCF"]
    factor = torch.lerp(p["melt low"], p["melt high"], summer)
    ice = pack.ice + snow
    cover, most = covered_share(p, ice + pack.liquid, pack.most)
    melt = cover * torch.minimum(surface_melt(p, factor, rain, temperature, radiation, humid), ice)
    deficit, inside = heat(p, pack, factor, snow, cold, cover)
    ice = ice - melt
    on_snow = rain * cover
    ice, liquid, excess, deficit = hold(p, ice, pack.liquid, melt + on_snow, deficit)
    # Warm ground melts ice, and the water beside it comes along.
    share = (p["DAYGM"] / ice.clamp(min=THINNEST)).clamp(max=1.0)
    below, beside = share * ice, share * liquid
    pack = Pack(ice - below, liquid - beside, deficit, inside, most)
    return pack, excess + (below + beside) + (rain - on_snow), rain + snow


def covered_share(p: Parameters, snow: Tensor, most: Tensor) -> tuple[Tensor, Tensor]:
    """The share of the basin under snow, from what is left of the last maximum, and that maximum."""
    most = torch.maximum(most, snow) * (snow > THINNEST)
    left = (snow / torch.minimum(most, p["SI"]).clamp(min=THINNEST)).clamp(max=1.0)
    return left * (1 + p["ADC"] * (1 - left)), most


def surface_melt(
    p: Parameters, factor: Tensor, rain: Tensor, temperature: Tensor, radiation: Tensor, humid: Tensor
) -> Tensor:
    """mm/day of a covered basin: by degree-days, or by the energy balance on a day of much rain."""
    dry = factor * (temperature - p["MBASE"])
    wet = torch.addcmul(radiation, p["wind"], humid)
    melt = torch.where(rain > HEAVY_RAIN, wet, dry).clamp(min=0.0)
    return torch.addcmul(melt, rain, temperature.clamp(min=0.0), value=0.0125)


def heat(
    p: Parameters, pack: Pack, factor: Tensor, snow: Tensor, cold: Tensor, cover: Tensor
) -> tuple[Tensor, Tensor]:
    """The heat deficit that cold air and cold snow add to, and the temperature inside the pack."""
    before = torch.where(snow > HEAVY_SNOW, cold, pack.inside)
    gain = cover * p["cooling"] * factor * (before - cold)
    deficit = (pack.deficit + gain - cold * snow / 160).clamp(min=0.0)
    return deficit, torch.lerp(before, cold, p["memory"])


def hold(
    p: Parameters, ice: Tensor, liquid: Tensor, water: Tensor, deficit: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Water freezes until the deficit is gone, then fills the pack; the rest is excess."""
    deficit = torch.minimum(deficit, DEEPEST * ice)
    room = p["PLWHC"] * (ice + deficit)
    liquid = liquid + water
    frozen = torch.minimum(torch.maximum(water, liquid - room), deficit)
    ice, liquid = ice + frozen, liquid - frozen
    excess = (liquid - p["PLWHC"] * ice).clamp(min=0.0)
    return ice, liquid - excess, excess, deficit - frozen


def snow_stores(pack: Pack) -> dict[str, Tensor]:
    return {"ice": pack.ice, "liquid": pack.liquid}

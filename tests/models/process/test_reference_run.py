"""Snow-17 and SAC-SMA against the run of the original code that CAMELS has for the Piscataquis River, 01031500.

Each part gets the inputs of the original part, is fitted on the first half of 34 years, and follows the second.
"""

import torch
from torch import Tensor

from mclstm.models.process import sac_sma, snow17
from mclstm.models.process.calibration import by_evolution, efficiency
from mclstm.models.process.process_model import Forcing, Parameters, ProcessModel, Water, flow
from support.weather import model_output


def at_once(p: Parameters) -> Tensor:
    """No routing."""
    return torch.ones(1, *next(iter(p.values())).shape)


def snow_alone(p: Parameters, pack: snow17.Pack, *weather: Tensor) -> tuple[snow17.Pack, Water]:
    """The stored snow in the place of runoff: what is fitted."""
    pack, water, entered = snow17.snow_step(p, pack, *weather)
    return pack, Water(entered, torch.stack(tuple(snow17.snow_stores(pack).values())).sum(0), water)


def soil_alone(p: Parameters, soil: sac_sma.Soil, water: Tensor, pet: Tensor) -> tuple[sac_sma.Soil, Water]:
    soil, runoff, evaporated = sac_sma.soil_step(p, soil, water, pet)
    return soil, Water(water, runoff, evaporated)


SNOW = ProcessModel(
    snow17.BOUNDS,
    lambda p, forcing: (snow17.with_daily(p), (forcing.precipitation, *snow17.melt_weather(forcing))),
    lambda p: snow17.empty_pack(p["SCF"]), snow_alone, lambda p, pack: snow17.snow_stores(pack), at_once,
)  # fmt: skip
SOIL = ProcessModel(
    sac_sma.SOIL,
    lambda p, forcing: (sac_sma.with_capacities(p), (forcing.precipitation, forcing.pet)),
    sac_sma.half_full, soil_alone, lambda p, soil: soil._asdict(), sac_sma.hydrograph,
)  # fmt: skip


def second_half(model: ProcessModel, forcing: Forcing, observed: Tensor, generations: int) -> float:
    """NSE in the second half after a fit on the first, whose first year does not count."""
    half = len(observed) // 2
    counted = observed[:half].clone()
    counted[:365] = torch.nan
    first = Forcing(*(column[:half] for column in forcing))
    fit = by_evolution(model, first, counted, generations=generations, population=100)
    with torch.no_grad():
        simulated = flow(model, fit.parameters, forcing)
    return efficiency(simulated[half:], observed[half:]).item()


def test_snow_17_follows_the_snow_of_the_original() -> None:
    columns, season = model_output()
    forcing = Forcing(columns["PRCP"], columns["TAIR"], columns["PET"], season)
    assert second_half(SNOW, forcing, columns["SWE"], generations=30) >= 0.98


def test_sac_sma_follows_the_flow_of_the_original() -> None:
    columns, season = model_output()
    forcing = Forcing(columns["RAIM"], columns["TAIR"], columns["PET"], season)
    assert second_half(SOIL, forcing, columns["MOD_RUN"], generations=30) >= 0.98

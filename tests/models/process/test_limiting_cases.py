"""Weather and parameters for which the answer is known without a model."""

import pytest
import torch

from mclstm.models.process import PROCESS_MODELS
from mclstm.models.process.hbv import HBV
from mclstm.models.process.process_model import run
from mclstm.models.process.sac_sma import SAC_SMA, Soil, evaporate, with_capacities
from support.weather import constant, middle

MODELS = pytest.mark.parametrize("name", PROCESS_MODELS)


@MODELS
def test_steady_rain_without_evaporation_becomes_flow(name: str) -> None:
    model = PROCESS_MODELS[name]
    fast = {"K2": 0.1} if name == "hbv" else {"LZPK": 0.05, "LZSK": 0.3}
    books = run(model, middle(model, **fast), constant(400, rain=6.0, temperature=15.0))
    assert books.flow[-1].item() == pytest.approx(6.0, rel=1e-3)
    assert books.evaporated.max() == 0


@MODELS
def test_without_water_nothing_evaporates_for_long(name: str) -> None:
    model = PROCESS_MODELS[name]
    fast = {"K2": 0.1} if name == "hbv" else {"LZPK": 0.05}
    books = run(model, middle(model, **fast), constant(400, rain=0.0, temperature=15.0, pet=20.0))
    assert books.flow[-1].item() < 1e-2
    assert books.evaporated[-1].item() < 1e-2


@MODELS
def test_a_frost_keeps_all_precipitation_as_snow(name: str) -> None:
    model = PROCESS_MODELS[name]
    catch = "SFCF" if name == "hbv" else "SCF"
    changed = {catch: 1.25} | ({} if name == "hbv" else {"DAYGM": 0.0})
    books = run(model, middle(model, **changed), constant(50, rain=4.0, temperature=-15.0))
    assert books.stores["ice"][-1].item() == pytest.approx(50 * 4.0 * 1.25, rel=1e-12)
    assert books.stores["liquid"][-1] == 0
    torch.testing.assert_close(books.entered, torch.full_like(books.entered, 5.0))


def test_hbv_melts_by_degree_days_and_holds_water_up_to_its_limit() -> None:
    parameters = middle(HBV, TT=0.0, TTI=0.02, SFCF=1.0, CFMAX=3.0, CWH=0.1)
    cold, warm = constant(20, rain=10.0, temperature=-5.0), constant(3, rain=0.0, temperature=2.0)
    forcing = type(cold)(*(torch.cat(columns) for columns in zip(cold, warm, strict=True)))
    stores = run(HBV, parameters, forcing).stores
    assert stores["ice"][20:].flatten().tolist() == pytest.approx([200.0, 194.0, 188.0, 182.0])
    # 6 and 12 mm are below a tenth of the ice; 18 mm would be too, so that nothing has left.
    assert stores["liquid"][20:].flatten().tolist() == pytest.approx([0.0, 6.0, 12.0, 18.0])


def test_hbv_recedes_by_its_lower_box() -> None:
    parameters = middle(HBV, K2=0.05, MAXBAS=1.0, PERC=8.0)
    wet, dry = constant(200, rain=7.0, temperature=15.0), constant(60, rain=0.0, temperature=15.0)
    forcing = type(wet)(*(torch.cat(columns) for columns in zip(wet, dry, strict=True)))
    flow = run(HBV, parameters, forcing).flow[230:, 0]
    torch.testing.assert_close(flow[1:] / flow[:-1], torch.full_like(flow[1:], 0.95))


def test_hbv_with_a_full_soil_and_one_box_is_a_linear_reservoir() -> None:
    parameters = middle(HBV, FC=50.0, K0=0.0, K1=0.2, PERC=0.0, MAXBAS=1.0)
    books = run(HBV, parameters, constant(80, rain=5.0, temperature=15.0))
    full = int((books.stores["soil"][:, 0] >= 50.0 - 1e-9).nonzero()[0])
    upper = books.stores["upper"][full:, 0]
    torch.testing.assert_close(upper[1:], 0.8 * (upper[:-1] + 5.0))


def test_sac_sma_lets_rain_on_sealed_ground_run_off_at_once() -> None:
    sealed = middle(SAC_SMA, PCTIM=0.1, ADIMP=0.0, USHAPE=1.0, USCALE=0.05)
    bare = sealed | {"PCTIM": torch.zeros(1, dtype=torch.float64)}
    first, second = (run(SAC_SMA, p, constant(1, rain=20.0, temperature=15.0)).flow for p in (sealed, bare))
    assert (first - 0.9 * second).item() == pytest.approx(0.1 * 20.0)


def test_sac_sma_recedes_by_its_primary_store() -> None:
    parameters = middle(SAC_SMA, ADIMP=0.0, PCTIM=0.0, LZPK=0.01, LZSK=0.4, UZK=0.7)
    wet, dry = constant(100, rain=20.0, temperature=15.0), constant(300, rain=0.0, temperature=15.0)
    forcing = type(wet)(*(torch.cat(columns) for columns in zip(wet, dry, strict=True)))
    flow = run(SAC_SMA, parameters, forcing).flow[380:, 0]
    torch.testing.assert_close(flow[1:] / flow[:-1], torch.full_like(flow[1:], 0.99), rtol=1e-3, atol=0)


def test_snow_17_freezes_the_first_rain_on_a_cold_pack() -> None:
    parameters = middle(SAC_SMA, DAYGM=0.0, PLWHC=0.0, PXSPAN=0.02, PXTEMP=0.5, MBASE=1.0, SI=1.0, NMF=0.02)
    cold, rain = constant(30, rain=5.0, temperature=-12.0), constant(1, rain=3.0, temperature=0.9)
    forcing = type(cold)(*(torch.cat(columns) for columns in zip(cold, rain, strict=True)))
    stores = run(SAC_SMA, parameters, forcing).stores
    assert (stores["ice"][31] - stores["ice"][30]).item() == pytest.approx(3.0)


@pytest.mark.parametrize(("largest", "held", "evaporated"), [(100.0, 60.0, 3.0), (2.0, 2.0, 5.0)])
def test_sac_sma_evaporates_free_water_only_where_no_tension_water_is_left(
    largest: float, held: float, evaporated: float
) -> None:
    """The share of the demand that is the tension water's share of its capacity; then the rest, if it can."""
    parameters = with_capacities(middle(SAC_SMA, UZTWM=largest, UZFWM=50.0, PCTIM=0.0, ADIMP=0.0))
    nothing = torch.zeros(1, dtype=torch.float64)
    soil = Soil(nothing + held, nothing + 20.0, nothing, nothing, nothing, nothing)
    after, gone = evaporate(parameters, soil, nothing + 5.0)
    assert gone.item() == pytest.approx(evaporated)
    assert (after.tension + after.free).item() == pytest.approx(held + 20.0 - evaporated)

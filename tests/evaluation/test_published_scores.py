"""Published scores: the derived columns equal the metrics of the series and the numbers of the paper."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.errors import DataError
from mclstm.evaluation.comparison import summary
from mclstm.evaluation.metrics import alpha_nse, beta_nse, fhv, flv, kge, nse
from mclstm.evaluation.published_scores import (
    PROCESS,
    kratzert_models,
    observed_moments,
    read_published_scores,
)
from support.flows import flows
from support.shared_data import shared


def wide(**options: object) -> xr.Dataset:
    return flows(days=3652, **options)  # type: ignore[arg-type]


def process_row(site: str, model: str, s: np.ndarray, o: np.ndarray) -> dict[str, object]:
    r, ratio = np.corrcoef(s, o)[0, 1], s.mean() / o.mean()
    gamma = (s.std() / s.mean()) / (o.std() / o.mean())
    own = 1 - np.sqrt((r - 1) ** 2 + (ratio - 1) ** 2 + (gamma - 1) ** 2)
    return {
        "gauge_id": site,
        "mdl": model,
        "NSE": nse(s, o),
        "KGE": own,
        "rPearson": r,
        "Beta": ratio,
        "Gamma": gamma,
    }


def write_benchmarks(folder: Path, data: xr.Dataset) -> Path:
    o = dict(zip(data["site"].to_numpy(), data["observed"].to_numpy(), strict=True))
    s = dict(zip(data["site"].to_numpy(), data["simulated"].to_numpy(), strict=True))
    rows = [process_row(site, model, s[site], o[site]) for model in ("SAC_SMA", "somebody") for site in o]
    pd.DataFrame(rows[:-1]).to_csv(folder / PROCESS, index=False)
    table = [
        {"basin": site, "NSE": nse(s[site], o[site]), "alpha_nse": alpha_nse(s[site], o[site]),
         "beta_nse": beta_nse(s[site], o[site]), "FHV": fhv(s[site], o[site]), "FMS": 0.0,
         "FLV": flv(s[site], o[site])} for site in o
    ]  # fmt: skip
    for name in ("seed111", "seed222", "ensemble"):
        pd.DataFrame(table).to_csv(folder / f"test_metrics_531camels_lstm_{name}.csv", index=False)
    (folder / "benchmark_of_other_years.csv").write_text("basin,nse\n01,0.5\n")
    return folder


def test_derived_scores_are_those_of_the_series(tmp_path: Path) -> None:
    data = wide()
    published, _ = read_published_scores(write_benchmarks(tmp_path, data), data["observed"])
    models = {model.name: model for model in published}
    assert list(models) == ["sac-sma", "lstm-kratzert2019", "lstm-kratzert2019-ensemble"]
    assert models["sac-sma"].conserving is True
    assert (len(models["lstm-kratzert2019"].frames), models["lstm-kratzert2019-ensemble"].members) == (2, 2)
    metrics = {"nse": nse, "kge": kge, "alpha-nse": alpha_nse, "beta-nse": beta_nse}
    for model in models.values():
        for row, site in enumerate(data["site"].to_numpy()):
            s, o = data["simulated"].to_numpy()[row], data["observed"].to_numpy()[row]
            for name, metric in metrics.items():
                assert model.frames[0].loc[site, name] == pytest.approx(metric(s, o), abs=1e-9)
    assert "flv" not in models["sac-sma"].frames[0]
    assert models["lstm-kratzert2019"].frames[0]["flv"].notna().all()


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    data = wide()
    more = xr.concat([data, data.isel(site=[0]).assign_coords(site=["99"])], "site")
    notes = " ".join(read_published_scores(write_benchmarks(tmp_path, data), more["observed"])[1])
    assert "somebody" in notes
    assert "benchmark_of_other_years.csv" in notes
    assert "sac-sma has no scores of 1 of 4 sites: '99'" in notes


def test_another_period_other_observations_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    data = wide()
    folder = write_benchmarks(tmp_path, data)
    with pytest.raises(DataError, match="1989-10-01 to 1999-09-30"):
        read_published_scores(folder, flows()["observed"])
    with pytest.raises(DataError, match="do not fit the run's observations"):
        read_published_scores(folder, data["observed"] * xr.where(data["observed"] > 2, 1.5, 1.0))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds neither"):
        read_published_scores(tmp_path / "empty", data["observed"])


def papers_basins() -> list[str]:
    return shared("basins_447.txt").read_text().split()


def test_the_published_lstm_is_close_to_the_papers() -> None:
    basins = papers_basins()
    files = sorted(shared("benchmarks").glob("test_metrics_531camels_lstm_*.csv"))
    single, together = kratzert_models(files, pd.DataFrame({"mean": 1.0, "deviation": 1.0}, index=basins))
    assert (len(single.frames), together.members, len(together.frames[0])) == (8, 8, 447)
    for model, metric, paper, slack in (
        (single, "nse", 0.737, 0.01), (together, "nse", 0.763, 0.01),
        (single, "fhv", -14.8, 1.0), (together, "fhv", -15.7, 1.0), (together, "beta-nse", -0.034, 0.005),
    ):  # fmt: skip
        found = summary(model, metric)
        assert found is not None
        assert found.value == pytest.approx(paper, abs=slack)


def test_moments_ignore_gaps() -> None:
    observed = xr.DataArray([[1.0, np.nan, 3.0]], {"site": ["A"], "time": [0, 1, 2]}, ("site", "time"))
    assert observed_moments(observed).loc["A"].tolist() == [2.0, 1.0]

"""The members of the experiment as a folder to give away, used on the archive they were trained on."""

from pathlib import Path

import numpy as np
import xarray as xr

from mclstm.cli.main import main
from mclstm.deploy.new_data import Source
from mclstm.deploy.predict import predict
from mclstm_paper.hydrology import unpacked
from mclstm_paper.hydrology.models import ATTRIBUTES

BASIN = "11141280"
BASINS = ("01022500", "07291000", BASIN, "12189500")  # of the experiment


def test_the_members_of_the_experiment_predict_as_one(made: Path, camels: Path, tmp_path: Path) -> None:
    runs = [made / "jobs" / f"mclstm-{member}" for member in (0, 1)]
    assert main(["pack", *map(str, runs), "--out", str(tmp_path / "pack")]) == 0
    (tmp_path / "columns.yaml").write_text(f"sites: ['{BASIN}']\n")
    source = Source(str(camels), columns=tmp_path / "columns.yaml")
    found = predict(tmp_path / "pack", source)
    each = [predict(run, source)["simulated"].to_numpy() for run in runs]
    assert found["simulated"].shape == (1, 10593)
    np.testing.assert_allclose(found["simulated"], np.mean(each, axis=0), rtol=1e-12)
    assert not np.array_equal(*each)
    xr.testing.assert_equal(found["simulated"].fillna(0), found["simulated"])


def test_the_card_knows_the_units_of_the_archive(made: Path, tmp_path: Path) -> None:
    """The files do not state those of attributes; the card does, and where the forcing came from."""
    assert main(["pack", str(made / "jobs/mclstm-0"), "--out", str(tmp_path / "pack")]) == 0
    card = (tmp_path / "pack" / "README.md").read_text()
    rows = {
        cells[1].strip(): cells[2].strip() for line in card.splitlines() if len(cells := line.split("|")) > 5
    }
    units = {name: rows[name] for name in ("prcp", "srad", "tmax", "tmin", "vp", *ATTRIBUTES)}
    assert "not stated" not in units.values()
    assert (units["prcp"], units["vp"], units["slope_mean"]) == ("mm/day", "Pa", "m/km")
    assert "basin_mean_forcing/" in card


def test_a_packed_member_is_a_run_again(made: Path, camels: Path, tmp_path: Path) -> None:
    """A recipe may count members whose runs are gone: they score as the runs did."""
    run, basins = made / "jobs/mclstm-0", tmp_path / "four.txt"
    basins.write_text("\n".join(BASINS) + "\n")
    assert main(["pack", str(run), "--out", str(tmp_path / "pack")]) == 0
    words = ["--data", str(camels), "--basins", str(basins), "--out", str(tmp_path / "runs")]
    unpacked.main([str(tmp_path / "pack"), *words])
    again = tmp_path / "runs" / "mclstm-0"
    for folder in (run, again):
        assert main(["evaluate", str(folder), "--split", "validation", "--no-figures"]) == 0
    scores = [(folder / "evaluation/validation/metrics.csv").read_text() for folder in (run, again)]
    assert scores[0] == scores[1]

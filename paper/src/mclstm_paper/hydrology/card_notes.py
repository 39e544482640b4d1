"""What the cards of the weights say beyond their own scores: basins never seen, regions, what they are for.

    python -m mclstm_paper.hydrology.card_notes weights/camels-us --ensemble hybrid --data camels_us

writes these sections of all cards in a folder again, from the result files as they are.
"""

import argparse
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mclstm.deploy.card import card
from mclstm.deploy.pack import CARD
from mclstm.deploy.trained_model import MODEL
from mclstm.errors import DataError
from mclstm.report.comparison.score_section import HEADS, score_cell
from mclstm.report.markdown import markdown
from mclstm.training.atomic import write_text_atomic
from mclstm_paper.hydrology.comparison_claims import model_of
from mclstm_paper.hydrology.folds import regions_of
from mclstm_paper.hydrology.models import PREFIX
from mclstm_paper.hydrology.page import comparison_table
from mclstm_paper.results import Row, read_results

__all__ = ["main", "notes_of", "region_table"]

WEIGHTED = """Give `predict` the folder above this card, with `weights.json`. Each member then has its weight
at the basins of the training, fitted on the validation years. At other basins, and with the folder of this
card, all members count alike. The test years with these weights:

{}"""
UNSEEN = """Each basin was simulated by one model that was trained on four fifths of the others.{}
Random folds leave neighbours of a basin in the training; region folds leave whole regions out.

{}"""
TUNED = """

With one year of a basin's own flow, continue the training there (`training.start`). At thirty basins never
seen the median NSE rose from {:.3f} to {:.3f} so, and with nine years to {:.3f}."""
ALIKE = "\nThese were hybrids that also see radiation and vapour pressure; none like this one was tried."
REGIONS = """Median NSE by two-digit hydrologic unit, which is the folder of a gauge in CAMELS-US: of the
ensemble{} in the test years, and of one model that has not seen the basin.

{}"""
USE = """The training data are daily means over 447 basins of the United States with little human influence,
from the extended Maurer forcings of 1980 to 2008. In other countries, and with other weather, score it
against gauges first. It is not for regulated rivers, glaciers, imported water, or steps other than days.
Floods need a correction: in the median basin the highest 2 % of the flows are {:.0f} % too low.

`simulated_low` and `simulated_high` are the extreme members, not bounds of an uncertainty. Stores and losses
are the model's, not observed storage or evaporation. m3/s = mm/day x km2 / 86.4."""
NAMES = {
    "01": "New England", "02": "Mid-Atlantic", "03": "South Atlantic-Gulf", "04": "Great Lakes", "05": "Ohio",
    "06": "Tennessee", "07": "Upper Mississippi", "08": "Lower Mississippi", "09": "Souris-Red-Rainy",
    "10": "Missouri", "11": "Arkansas-White-Red", "12": "Texas-Gulf", "13": "Rio Grande",
    "14": "Upper Colorado", "15": "Lower Colorado", "16": "Great Basin", "17": "Pacific Northwest",
    "18": "California",
}  # fmt: skip


def notes_of(
    ensemble: str, models: Collection[str], weighted: bool, results: Path, data: Path | None
) -> dict[str, str]:
    """What result files say of an ensemble, or of its models, elsewhere than on its own card."""
    unseen, tuned, stated = (
        (read_results(results / file) or {"rows": []})["rows"]
        for file in ("unseen.json", "fine-tuning.json", "stated.json")
    )
    name = f"{ensemble}-weighted-ensemble" if weighted else f"{ensemble}-ensemble"
    mine = {row["metric"]: row | {"paper": None} for row in stated if row["model"] == name}
    tested = [row for row in unseen if not row["setting"].endswith("validation")]
    own = [row for row in tested if model_of(row["model"]) in models]
    alike = [] if own or not all(model.startswith("hybrid") for model in models) else tested
    known = {*models} | {row["model"] for row in alike}
    tuned = [row for row in tuned if row["model"] in known and not row["setting"].endswith("validation")]
    notes: dict[str, str] = {}
    if weighted and mine:
        notes["Weights of members"] = WEIGHTED.format(comparison_table(list(mine.values())))
    if own or alike:
        notes["Basins never seen"] = UNSEEN.format(ALIKE if alike else "", fold_table(own or alike))
        notes["Basins never seen"] += TUNED.format(*gained(tuned)) if tuned else ""
    if data and mine:
        folds = {fold_of(row): row for row in own or alike if row["metric"] == "nse"}
        columns = {"basins of the training": mine["nse"]} | folds
        by_region = region_table(columns, regions_of(data, mine["nse"]["sites"]))
        notes["Regions"] = REGIONS.format(" with its weights" if weighted else "", by_region)
    if "fhv" in mine:
        notes["What it is for"] = USE.format(-mine["fhv"]["value"])
    return notes


def fold_of(row: Row) -> str:
    """How a row of unseen basins is called on a card.

    >>> fold_of({"setting": "447 basins never seen, region folds"})
    'region folds'
    """
    return str(row["setting"]).rpartition(", ")[2]


def fold_table(rows: Sequence[Row]) -> str:
    """A line per kind of folds: medians over basins, with quartiles."""
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(fold_of(row), {"": fold_of(row)})[HEADS[row["metric"]]] = score_cell(row)
    return markdown(pd.DataFrame(list(lines.values())))


def gained(tuned: Sequence[Row]) -> list[float]:
    """The median NSE at basins never seen: before, with one and with nine years of their own flow."""
    nse = {row["setting"].rpartition(", ")[2]: row["value"] for row in tuned if row["metric"] == "nse"}
    return [nse[when] for when in ("before", "1 year", "9 years")]


def region_table(columns: Mapping[str, Row], regions: Mapping[str, str]) -> str:
    """Number of basins and median score of each region, a column per row of results.

    >>> row = {"sites": ["a", "b"], "values": [0.5, 0.7]}
    >>> print(region_table({"known": row}, {"a": "01", "b": "01"}).splitlines()[-1])
    | 01 New England |      2 | 0.600 |
    """
    scores = {name: pd.Series(row["values"], row["sites"], dtype=np.float64) for name, row in columns.items()}
    frame = pd.DataFrame(scores)
    units = pd.Series({site: regions[site] for site in frame.index})
    lines = [
        {"region": f"{unit} {name}", "basins": len(part)} | part.median().to_dict()
        for unit, name in NAMES.items()
        if len(part := frame[units == unit])
    ]
    return markdown(pd.DataFrame(lines))


def rewrite(pack: Path, ensemble: str, weighted: bool, results: Path, data: Path) -> None:
    """Write model.json and the card of a packed model again, with notes from the results of today."""
    about: dict[str, Any] = json.loads((pack / MODEL).read_text())
    models = {about["name"].removeprefix(PREFIX)}
    about["notes"] = notes_of(ensemble, models, weighted, results, data)
    write_text_atomic(pack / MODEL, json.dumps(about, indent=1, allow_nan=False) + "\n")
    write_text_atomic(pack / CARD, card(about))


def main(words: Sequence[str] | None = None) -> None:
    """Write the notes of all cards in a folder again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a folder of packed models")
    parser.add_argument("--ensemble", required=True, help="its name in the recipe")
    parser.add_argument("--data", required=True, type=Path, help="folder of CAMELS-US, for regions")
    parser.add_argument("--results", type=Path, default=Path("results/hydrology"), help="the result files")
    options = parser.parse_args(words)
    packs = sorted(file.parent for file in options.folder.glob(f"*/{MODEL}"))
    if not packs:
        parser.error(f"{options.folder} holds no packed model. Give a folder such as weights/camels-us.")
    try:
        weighted = (options.folder / "weights.json").is_file()
        for pack in packs:
            rewrite(pack, options.ensemble, weighted, options.results, options.data)
    except DataError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

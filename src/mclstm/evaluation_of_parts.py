"""The evaluation of a run with more sites than memory: simulated, scored and written part after part."""

from collections.abc import Iterable, Sequence

import pandas as pd
import xarray as xr

from mclstm.evaluation.ensemble_scores import ensemble_table
from mclstm.evaluation.prediction_store import open_store, prediction_store
from mclstm.evaluation.rival_scores import rival_table
from mclstm.evaluation.score_tables import middle, score_table
from mclstm.evaluation_files import Evaluation, write_tables
from mclstm.explain.water_balance import balance_table
from mclstm.training import journal
from mclstm.training.atomic import make_folder
from mclstm.training.folder import RunFolder

__all__ = ["STORE", "evaluate_parts"]

STORE = "predictions.zarr"


def evaluate_parts(
    folder: RunFolder,
    split: str,
    parts: Iterable[xr.Dataset],
    sites: Sequence[str],
    metrics: Sequence[str],
    *,
    figures: bool,
) -> Evaluation:
    """Score and write the predictions of a period as they come; the result reads them from the disk.

    parts: predictions of some sites each · sites: of all parts in their order
    """
    place = folder.evaluation(split)
    make_folder(place)
    rows = []
    with prediction_store(place / STORE, sites, replace=True) as append:
        for part in parts:
            append(part)
            rows.append((score_table(part, metrics), balance_table(part), ensemble_table(part)))
    scores, balance, by_member = (pd.concat(tables, ignore_index=True) for tables in zip(*rows, strict=True))
    result = Evaluation(open_store(place / STORE), scores, balance, place, {}, rival_table({}, []))
    write_tables(result, by_member)
    folder.note(f"evaluated {split}: median NSE {middle(scores):.4f}")
    if figures:
        from mclstm.report.run_figures import ranked_sites, save_figures

        shown = ranked_sites([str(site) for site in sites], scores)
        few = result.predictions.sel(site=shown).load()
        save_figures(few, journal.read(folder.journal), folder.path if split == "test" else place, shown)
    return result

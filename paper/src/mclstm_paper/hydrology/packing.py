"""An ensemble of a recipe as weights to give away, with what its card must say beyond its own scores.

    python -m mclstm_paper.hydrology.packing RUN... --ensemble conserving --out weights/camels-us

Every model of the ensemble becomes a packed model in a folder of its own; all together predict as one, with
the frozen weights at the basins of the recipe, or without (`--plain`). `card_notes` writes what cards say of
basins never seen and of regions.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mclstm.config.same_model import Run
from mclstm.deploy.pack import pack
from mclstm.deploy.site_weights import save_site_weights
from mclstm.deploy.trained_model import member_file
from mclstm.errors import CheckpointError, ConfigError, DataError, StorageError
from mclstm.training.atomic import new_folder
from mclstm_paper.hydrology.card_notes import notes_of
from mclstm_paper.hydrology.final_scores import members_of
from mclstm_paper.hydrology.models import PREFIX
from mclstm_paper.hydrology.recipe import digest
from mclstm_paper.results import committed_results

__all__ = ["main", "pack_ensemble"]

LARGEST = 25_000_000  # bytes of all models together


def pack_ensemble(
    name: str, recipe: Mapping[str, Any], runs: Sequence[Run], notes: Mapping[str, str], out: Path
) -> None:
    """Pack the members of an ensemble model by model, and write its weights; the folder appears whole."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.config.name.removeprefix(PREFIX), []).append(run)
    with new_folder(out) as folder:
        for model, members in groups.items():
            pack([run.path for run in members], folder / model, LARGEST, notes=notes)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        if size > LARGEST:
            raise StorageError(
                f"{name} takes {size / 1e6:.1f} MB of at most {LARGEST / 1e6:g}. Leave out members."
            )
        if "weights" in recipe:
            names = {digest(run.path): member_name(run) for run in runs}
            save_site_weights(folder, [names[one] for one in recipe["members"]], recipe["weights"])


def member_name(run: Run) -> str:
    """How `mclstm predict` calls a member of several packed models."""
    return f"{run.config.name.removeprefix(PREFIX)}/{Path(member_file(run.config.training.seed)).stem}"


def main(words: Sequence[str] | None = None) -> None:
    """Pack an ensemble of a recipe."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--ensemble", required=True, help="a name in the recipe")
    parser.add_argument("--recipe", type=Path, default=Path("results/hydrology/recipe.json"))
    parser.add_argument("--data", type=Path, help="folder of CAMELS-US, for scores by region")
    parser.add_argument("--plain", action="store_true", help="all members count alike at every basin")
    parser.add_argument("--out", required=True, type=Path, help="folder to create")
    options = parser.parse_args(words)
    try:
        recipe = committed_results(options.recipe)["recipe"]
        if options.ensemble not in recipe:
            known = ", ".join(recipe)
            raise ConfigError(f"{options.recipe} has no {options.ensemble!r}. Choose from {known}.")
        mine = recipe[options.ensemble]
        if options.plain:
            mine = {key: value for key, value in mine.items() if key != "weights"}
        runs = members_of({options.ensemble: mine}, options.runs)[options.ensemble]
        models = {run.config.name.removeprefix(PREFIX) for run in runs}
        notes = notes_of(options.ensemble, models, "weights" in mine, options.recipe.parent, options.data)
        pack_ensemble(options.ensemble, mine, runs, notes, options.out)
    except (CheckpointError, ConfigError, DataError, StorageError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

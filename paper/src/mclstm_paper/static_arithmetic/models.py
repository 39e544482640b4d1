"""The models of static arithmetic, by operation, with the settings of the published scripts."""

from collections.abc import Callable

from torch import nn

from mclstm.nn.mcfc import MCFC
from mclstm_paper.arithmetic.models import (
    CELLS,
    PRODUCTS,
    SUMS,
    UNIT_MODELS,
    UNIT_RATE,
    mass_head,
    regularised,
    unit_names,
)
from mclstm_paper.baselines import UNITS
from mclstm_paper.seeds.networks import Sources
from mclstm_paper.seeds.recipes import Recipe

__all__ = ["STATIC", "static_recipe"]

# Which model learns which operation: the rows and columns of the paper's table.
STATIC: dict[str, tuple[str, ...]] = {"mcfc": SUMS + PRODUCTS, **UNIT_MODELS}
MCFC_RATES = {"addition": 1e-4, "subtraction": 1e-4, "multiplication": 0.01}


def static_recipe(model: str, operation: str, inputs: int = 100) -> Recipe:
    """How a model of static arithmetic is built and trained, the same under both protocols.

    >>> static_recipe("mcfc", "addition").learning_rate
    0.0001
    """
    if model == "mcfc":
        return Recipe(mcfc(operation, inputs), MCFC_RATES[operation])
    first, second = unit_names(model)

    def build(generators: Sources) -> nn.Module:
        layer = UNITS[first](inputs, 2, members=len(generators), seeds=generators)
        return nn.Sequential(layer, UNITS[second](2, 1, members=len(generators), seeds=generators))

    return regularised(Recipe(build, UNIT_RATE), model)


def mcfc(operation: str, inputs: int) -> Callable[[Sources], nn.Module]:
    cells = CELLS[operation]

    def build(generators: Sources) -> nn.Module:
        layer = MCFC(inputs, cells, members=len(generators), seeds=generators)
        return nn.Sequential(layer, mass_head(operation, cells, generators))

    return build

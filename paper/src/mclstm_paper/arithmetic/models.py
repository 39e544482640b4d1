"""What the models of recurrent and static arithmetic share: cells, output layers, and arithmetic units."""

from torch import nn

from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm_paper.baselines import Linear
from mclstm_paper.baselines.regularisers import RECOMMENDED
from mclstm_paper.seeds.networks import Sources
from mclstm_paper.seeds.recipes import Recipe, SparsityPenalty

__all__ = ["CELLS", "PRODUCTS", "SUMS", "UNIT_MODELS", "UNIT_RATE", "mass_head", "regularised", "unit_names"]

SUMS, PRODUCTS = ("addition", "subtraction"), ("multiplication",)
UNIT_RATE = 0.001
# Cells of MC-LSTM and MC-FC. Subtraction and multiplication have a trash cell.
CELLS = {"addition": 2, "subtraction": 3, "multiplication": 3}

# Which network of arithmetic units learns which operation: rows and columns of both tables of the paper.
UNIT_MODELS: dict[str, tuple[str, ...]] = {
    "nau": SUMS,
    "nmu": PRODUCTS,
    "nac": SUMS,
    "nac-mul": PRODUCTS,
    "nalu": SUMS + PRODUCTS,
}


def unit_names(model: str) -> tuple[str, str]:
    """First and second layer: the first one adds, since the operation is applied to sums."""
    return {"nmu": ("nau", "nmu"), "nac-mul": ("nac", "nac-mul")}.get(model, (model, model))


def regularised(recipe: Recipe, schedule: str) -> Recipe:
    """NAU and NMU with the sparsity penalty and the clamp; the others as they are."""
    if schedule not in RECOMMENDED:
        return recipe
    return recipe._replace(penalty=SparsityPenalty(RECOMMENDED[schedule]), clamped=True)


def mass_head(operation: str, cells: int, generators: Sources) -> nn.Module:
    """A free linear layer without bias for sums, a multiplicative MC-FC with a trash output for products."""
    if operation in PRODUCTS:
        return MultiplicativeMCFC(cells, 1, trash=True, members=len(generators), seeds=generators)
    return Linear(cells, 1, bias=False, start="xavier", members=len(generators), seeds=generators)

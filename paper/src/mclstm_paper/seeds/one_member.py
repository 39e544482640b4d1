"""The weights of one member of a finished job, as a network of its own."""

from pathlib import Path

from mclstm.training import checkpoint, state
from mclstm_paper.seeds.loop import CHECKPOINT
from mclstm_paper.seeds.recipes import MassConserving, Recipe, sources

__all__ = ["one_member"]


def one_member(
    recipe: Recipe, seeds: list[int], member: int, folder: Path, best: bool = True
) -> MassConserving:
    """A network with one member: number `member` of the job in a folder, its best weights or its last."""
    tensors, _ = checkpoint.load(folder / CHECKPOINT)
    network = recipe.build(sources([seeds[member]]))
    assert isinstance(network, MassConserving)
    found = state.named(tensors, "best." if best else "weights.")
    network.load_state_dict({name: value[member : member + 1] for name, value in found.items()})
    return network

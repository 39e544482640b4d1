"""What the networks of the synthetic tasks add to their loss."""

import torch
from torch import nn

from mclstm_paper.baselines import Linear
from mclstm_paper.seeds.recipes import OutputPenalty


def test_output_penalty_is_half_the_mean_square_of_each_members_output_weights() -> None:
    """Not of its bias, and of no other layer."""
    network = nn.ModuleDict({"layer": Linear(3, 3, members=2), "head": Linear(3, 1, members=2)})
    for parameter in network.parameters():
        nn.init.ones_(parameter)
    with torch.no_grad():
        network["head"].W.copy_(torch.tensor([[[1.0, 2.0, 3.0]], [[0.0, -4.0, 2.0]]]))
    wanted = 0.01 / 2 * torch.tensor([14.0, 20.0]) / 3
    torch.testing.assert_close(OutputPenalty(0.01)(network, update=0), wanted)

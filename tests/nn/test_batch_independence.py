"""A sample alone equals the same sample inside any batch, bit for bit on the reference path."""

import pytest
import torch

from mclstm import MCLSTM
from support.variants import VARIANTS, build, inputs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "hypernetwork"])
@pytest.mark.parametrize("cells", [1, 3, 8, 17])
def test_alone_equals_inside_a_batch(name: str, dtype: torch.dtype, cells: int) -> None:
    layer = build(name, cells, dtype=dtype, backend="reference")
    x, a, static = inputs(steps=4, batch=33, dtype=dtype)
    h, c = layer(x, a, static=static)
    order = torch.randperm(33)
    shuffled, _ = layer(x[:, order], a[:, order], static=static[order])
    assert torch.equal(shuffled, h[:, order])
    for sample in (0, 1, 15, 16, 32):
        alone, last = layer(x[:, sample], a[:, sample], static=static[sample])
        assert torch.equal(alone, h[:, sample])
        assert torch.equal(last, c[sample])


@pytest.mark.parametrize("batch", [1, 2, 5, 64])
@pytest.mark.parametrize("cells", [2, 10, 64])
def test_the_hydrology_layer_in_any_batch_size(batch: int, cells: int) -> None:
    options = {"gates_see": ("aux", "state", "mass"), "redistribution_norm": "relu", "input_norm": "sigmoid"}
    layer = MCLSTM(1, 4, cells, stay=None, backend="reference", **options)
    x, a = torch.rand(6, 64, 1), torch.randn(6, 64, 4)
    everyone, _ = layer(x, a)
    some, _ = layer(x[:, :batch], a[:, :batch])
    assert torch.equal(some, everyone[:, :batch])


def test_whole_batch_normalisation_says_that_it_couples_samples() -> None:
    layer = MCLSTM(1, 1, 4, state_norm="batch", stay=None)
    x, a = torch.rand(10, 8, 1), torch.randn(10, 8, 1)
    assert not layer.batch_independent
    assert "samples influence each other" in repr(layer)
    alone, _ = layer(x[:, 0], a[:, 0])
    assert (alone - layer(x, a)[0][:, 0]).abs().max() > 1e-4
    assert MCLSTM(1, 1, 4).batch_independent

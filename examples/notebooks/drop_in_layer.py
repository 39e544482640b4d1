"""The layer in a training loop of one's own, beside nn.LSTM."""

# %% [markdown]
# # A drop-in layer
#
# `mclstm.MCLSTM` takes the place of `nn.LSTM` in your own training loop. The one difference in the
# call: inputs that are conserved (mass) are separated from inputs that only steer the gates.

# %%
import torch

import mclstm

torch.manual_seed(0)
x, a = torch.rand(30, 8, 1), torch.randn(30, 8, 2)  # (time, batch, .): mass, and what steers the gates

lstm = torch.nn.LSTM(input_size=3, hidden_size=4)
h, (h_n, c_n) = lstm(torch.cat([x, a], dim=-1))

layer = mclstm.MCLSTM(mass_size=1, aux_size=2, hidden_size=4)
h, c_n = layer(x, a)  # outflow of every cell at every step, and what is stored at the end
h.shape, c_n.shape

# %% [markdown]
# What came in either left or is still stored, for every sample. `audit` checks this step by step,
# and raises an error that names the sample and the step if it does not hold.

# %%
came_in, left, stored = x.sum((0, 2)), h.sum((0, 2)), c_n.sum(-1)
print((came_in - left - stored).abs().max().item())
layer.audit(x, a)

# %% [markdown]
# ## Learning
# The addition problem: which two of twenty numbers were marked, and what is their sum? A linear layer
# reads the outflow of the last step.

# %%
layer, head = mclstm.MCLSTM(mass_size=1, aux_size=1, hidden_size=10), torch.nn.Linear(10, 1)
optimiser = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.05)
for _ in range(300):
    x, a = torch.rand(20, 64, 1) / 2, torch.zeros(20, 64, 1)
    a[torch.randint(10, (64,)), range(64)] = a[torch.randint(10, 19, (64,)), range(64)] = 1.0
    a[-1] = -1.0  # now answer
    h, c = layer(x, a)
    loss = (head(h[-1]) - (x * (a > 0)).sum(0)).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print(f"loss {loss.item():.1e}; always answering the mean would leave {2 * 0.25 / 12:.0e}")

# %% [markdown]
# ## Sequences of different lengths
# Pass `lengths`, or a `PackedSequence` as you would to `nn.LSTM`: the outflow then comes back
# packed. Nothing moves in the padding.

# %%
from torch.nn.utils.rnn import pack_padded_sequence

x = torch.rand(6, 3, 1)
layer = mclstm.MCLSTM(mass_size=1, aux_size=0, hidden_size=4)
h, c = layer(pack_padded_sequence(x, [6, 4, 2]))
h.data.shape, torch.equal(c, layer(x, lengths=[6, 4, 2])[1])

# %% [markdown]
# ## Gradients of each sample
# `torch.func.vmap` runs the layer sample by sample. Under vmap no value can be looked at, so the
# layer must not check its inputs: `check=False`.

# %%
from torch.func import functional_call, grad, vmap

layer = mclstm.MCLSTM(mass_size=1, aux_size=0, hidden_size=4, check=False)


def outflow(weights, x):
    return functional_call(layer, weights, (x,))[0].sum()


weights = {name: value.detach() for name, value in layer.named_parameters()}
each = vmap(grad(outflow), in_dims=(None, 1))(weights, x)
{name: tuple(value.shape) for name, value in each.items()}

# %% [markdown]
# More differences from `nn.LSTM`, in a table: [from nn.LSTM](../from-lstm.md).

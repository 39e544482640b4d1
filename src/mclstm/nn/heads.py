"""Heads: from the outflow of every cell to named predictions. With members, h and the result lead with E."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import require_names, require_size, require_width
from mclstm.nn.ensemble_dim import Seeds, draw, generators, leading, project, rows
from mclstm.nn.mcfc import MCFC, MCFCOptions
from mclstm.nn.row_product import row_product

__all__ = ["LinearHead", "MCFCHead", "ScaledHead", "SumHead"]

HELD_BACK = "held back"  # the outlet of what an output gate holds back


class SumHead(nn.Module):
    """Adds up the outflows of chosen cells; by default all but those of cell 0, the paper's trash cell.

        y = sum_{k >= 1} h_k

    `outlets` maps a name to its cells; what leaves the others is lost. Conserving: nothing is scaled.

    h: (..., K) -> y: (..., number of outlets)

    >>> head = SumHead(4, {"discharge": [1, 2], "evapotranspiration": [3]})
    >>> head(torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist(), head.outlets
    ([5.0, 4.0], ('discharge', 'evapotranspiration'))
    """

    membership: Tensor
    conserving = True

    def __init__(self, hidden_size: int, outlets: Mapping[str, Sequence[int]] | None = None) -> None:
        super().__init__()
        require_size("hidden_size", hidden_size, least=1)
        if outlets is None and hidden_size < 2:
            raise ValueError("hidden_size is 1, which leaves no cell beside the trash cell; name outlets.")
        chosen = {"prediction": range(1, hidden_size)} if outlets is None else outlets
        if not isinstance(chosen, Mapping):
            raise ValueError(f"outlets is {chosen!r}; say which cells each has, such as {{'flow': [1, 2]}}.")
        self.outlets, self.hidden_size = require_names("outlets", chosen), hidden_size
        self.register_buffer("membership", membership(hidden_size, chosen), persistent=False)

    def forward(self, h: Tensor) -> Tensor:
        """h (..., K) -> (..., number of outlets)."""
        require_width("h", h, self.hidden_size)
        return row_product(h, self.membership.to(h.dtype).t())

    def extra_repr(self) -> str:
        return ", ".join(self.outlets)


def membership(hidden_size: int, outlets: Mapping[str, Sequence[int]]) -> Tensor:
    """One column per outlet, 1 where a cell belongs to it: (K, number of outlets)."""
    columns = torch.zeros(hidden_size, len(outlets))
    for column, (name, cells) in enumerate(outlets.items()):
        for cell in cells:
            if not 0 <= cell < hidden_size:
                raise ValueError(f"outlet {name!r} names cell {cell}; cells are 0 to {hidden_size - 1}.")
            if columns[cell].any():
                raise ValueError(f"outlet {name!r} names cell {cell} again; a cell has one outlet at most.")
            columns[cell, column] = 1.0
    return columns


class LinearHead(nn.Module):
    """A free linear map, y = h W + b: for targets that are not conserved themselves.

    h: (..., K) -> y: (..., number of outlets)

    >>> LinearHead(3, ("discharge", "evapotranspiration"))(torch.rand(5, 3)).shape
    torch.Size([5, 2])
    """

    conserving = False

    def __init__(
        self,
        hidden_size: int,
        outlets: Sequence[str] = ("prediction",),
        bias: bool = True,
        *,
        members: int | None = None,
        seeds: Seeds | None = None,
    ) -> None:
        super().__init__()
        require_size("hidden_size", hidden_size, least=1)
        self.outlets, self.hidden_size = require_names("outlets", outlets), hidden_size
        self.members = members
        shape = (*leading(members), len(self.outlets))
        self.linear = nn.ParameterDict({"weight": torch.empty(*shape, hidden_size)})
        if bias:
            self.linear["bias"] = torch.empty(shape)
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Xavier weights, zero bias."""
        sources = generators(self.members, seeds)
        draw(self.linear["weight"], self.members, sources, xavier)
        if "bias" in self.linear:
            nn.init.zeros_(self.linear["bias"])

    def forward(self, h: Tensor) -> Tensor:
        """h (..., K) -> (..., number of outlets)."""
        require_width("h", h, self.hidden_size)
        W, b = self.linear["weight"], self.linear.get("bias")
        if self.members is None:
            return row_product(h, W, b)
        flat, shape = rows(h, self.members, self.hidden_size)
        return project(flat, W, b).view(*shape, len(self.outlets))


def xavier(W: Tensor, source: torch.Generator | None) -> None:  # (number of outlets, K)
    nn.init.xavier_uniform_(W, generator=source)


class MCFCHead(nn.Module):
    """Splits all outflow over the outlets by learned shares, y = h I: nothing is lost.

    With `budget` at most this share of the outflow of any cell leaves through the last of `outlets`.
    With `output_gate=True` the outlets have the gate of the paper's MC-FC, y = o * (h I) with o = σ(b_o).
    What it holds back leaves through one more outlet, the last, which is called "held back".

    h: (..., K) -> y: (..., number of outlets)

    >>> h = torch.rand(5, 3)
    >>> head = MCFCHead(3, ("north", "south"), output_gate=True)
    >>> head.outlets, torch.allclose(head(h).sum(-1), h.sum(-1))
    (('north', 'south', 'held back'), True)
    """

    conserving = True

    def __init__(
        self,
        hidden_size: int,
        outlets: Sequence[str] = ("prediction", "losses"),
        *,
        budget: float | None = None,
        output_gate: bool = False,
        members: int | None = None,
        seeds: Seeds | None = None,
    ) -> None:
        super().__init__()
        gated = require_names("outlets", outlets)
        self.outlets = require_names("outlets", (*gated, HELD_BACK)) if output_gate else gated
        options: MCFCOptions = {
            "output_gate": output_gate,
            "budget": budget,
            "members": members,
            "seeds": seeds,
        }
        self.mcfc = MCFC(hidden_size, len(gated), allow_negative_mass=True, **options)

    def forward(self, h: Tensor) -> Tensor:
        """h (..., K) -> (..., number of outlets)."""
        y, held_back = self.mcfc.split(h)
        return y if self.mcfc.b_o is None else torch.cat([y, held_back.sum(dim=-1, keepdim=True)], dim=-1)


class ScaledHead(nn.Module):
    """Positive output scaling: y = sum_{k >= 1} w_k h_k + b with w = exp(v) > 0, starting at w = 1, b = 0.

    The paper uses it for biased gauges. Cell 0, the trash cell, is left out.

    h: (..., K) -> y: (..., 1)

    >>> ScaledHead(3)(torch.tensor([1.0, 2.0, 3.0])).tolist()
    [5.0]
    """

    conserving = False

    def __init__(self, hidden_size: int, outlet: str = "prediction", *, members: int | None = None) -> None:
        super().__init__()
        require_size("hidden_size", hidden_size, least=2)
        self.outlets, self.hidden_size, self.members = (outlet,), hidden_size, members
        self.log_scale = nn.Parameter(torch.zeros(*leading(members), hidden_size - 1))
        self.bias = nn.Parameter(torch.zeros(*leading(members), 1))

    def forward(self, h: Tensor) -> Tensor:
        """h (..., K) -> (..., 1)."""
        scale = torch.exp(self.log_scale)
        if self.members is None:
            require_width("h", h, self.hidden_size)
            return row_product(h[..., 1:], scale.unsqueeze(0), self.bias)
        flat, shape = rows(h, self.members, self.hidden_size)
        y = (flat[..., 1:] * scale.unsqueeze(-2)).sum(dim=-1, keepdim=True) + self.bias.unsqueeze(-2)
        return y.view(*shape, 1)

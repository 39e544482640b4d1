"""The parameters of an MC-LSTM, their initial values, and the options that decide its form."""

from collections.abc import Iterable
from typing import Any, Literal, TypedDict, get_args

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import (
    has_values,
    one_of,
    require_dtype,
    require_from,
    require_initial,
    require_mask,
    require_members,
    require_number,
    require_outlet,
    require_size,
    require_stay,
    some_of,
)
from mclstm.nn.ensemble_dim import Seeds, draw, generators, leading, orthogonal
from mclstm.nn.learned_start import LOG_START, START, projected
from mclstm.ops.normalise import NORMALISERS, stay_logits
from mclstm.ops.problem import Form, Weights

__all__ = ["GateOptions", "Gates"]

Norm = Literal["softmax", "sigmoid", "relu"]
Redistribution = Literal["dynamic", "static", "outer", "identity"]
Outlet = Literal["gate", "constant", "none"]
StateNorm = Literal["sample", "batch", "none"]
Ablation = Literal["input", "redistribution", "output"]


class GateOptions(TypedDict, total=False):
    """The keywords that `MCLSTM` and `MCLSTMCell` pass on to their gates; `MCLSTM` explains them."""

    static_size: int
    redistribution: Redistribution | nn.Module
    redistribution_norm: Norm
    input_norm: Norm
    gates_see: Iterable[str]
    mask: Tensor | None
    initial_state: Literal["zero", "learned"] | float
    learned_from: float
    outlet: Outlet
    stay: float | None
    output_bias: float
    state_norm: StateNorm
    not_conserving: Iterable[str]
    allow_negative_mass: bool
    check: bool
    members: int | None
    seeds: Seeds | None
    device: torch.device | str | None
    dtype: torch.dtype | None


def chosen_form(options: GateOptions) -> Form:
    """The form that the options describe, each checked."""
    kind = options["redistribution"]
    return Form(
        redistribution="module"
        if isinstance(kind, nn.Module)
        else one_of("redistribution", kind, get_args(Redistribution)),
        redistribution_norm=one_of("redistribution_norm", options["redistribution_norm"], NORMALISERS),
        input_norm=one_of("input_norm", options["input_norm"], NORMALISERS),
        gates_see=some_of("gates_see", options["gates_see"], ("aux", "state", "mass")),
        outlet=one_of("outlet", options["outlet"], get_args(Outlet)),
        state_norm=one_of("state_norm", options["state_norm"], get_args(StateNorm)),
        not_conserving=some_of("not_conserving", options["not_conserving"], get_args(Ablation)),
        signed=options["allow_negative_mass"],
    )


class Gates(nn.Module):
    """Input gate, output gate, redistribution and initial state: everything learnable of an MC-LSTM.

    The gates are i = norm(W_i z + b_i), o = σ(W_o z + b_o) and R = norm(W_r z + B_r) of the features
    z = [a, static, c / |c|_1, x], as far as `gates_see` names them. `MCLSTM` builds them, with all options.
    """

    W_o: Tensor | None
    b_o: Tensor | None
    B_r: Tensor | None
    W_r: Tensor | None
    b_r: Tensor | None
    mask: Tensor | None
    c0: Tensor | None

    def __init__(self, mass_size: int, aux_size: int, hidden_size: int, options: GateOptions) -> None:
        super().__init__()
        self.mass_size, self.aux_size, self.static_size = mass_size, aux_size, options["static_size"]
        for name in ("mass_size", "aux_size", "static_size"):
            require_size(name, getattr(self, name), least=0)
        require_size("hidden_size", hidden_size, least=1)
        self.hidden_size, self.members = hidden_size, options["members"]
        self.check = options["check"]
        kind, mask = options["redistribution"], options["mask"]
        self.hypernetwork = kind if isinstance(kind, nn.Module) else None
        require_members(self.hypernetwork, self.members)
        self.form = chosen_form(options)
        require_outlet(self.form.outlet, self.form.not_conserving)
        self.stay = require_stay(options["stay"])
        self.output_bias = require_number("output_bias", options["output_bias"])
        self.initial_state = require_initial(options["initial_state"])
        self.learned_from = require_from(options["learned_from"], self.initial_state)
        device, dtype = options["device"], require_dtype(options["dtype"] or torch.get_default_dtype())
        if mask is not None:
            must_stay = self.form.redistribution == "identity"
            # A copy: the caller's tensor may change after it was checked.
            mask = require_mask(mask, hidden_size, must_stay).to(device, copy=True)
        self.register_buffer("mask", mask)
        self._make_parameters({"device": device, "dtype": dtype})
        self.reset_parameters(options["seeds"])

    @property
    def feature_size(self) -> int:
        """F, how many numbers the gates see at each step."""
        sizes = {"aux": self.aux_size + self.static_size, "state": self.hidden_size, "mass": self.mass_size}
        return sum(sizes[name] for name in self.form.gates_see)

    def _make_parameters(self, factory: dict[str, Any]) -> None:
        M, K, F = self.mass_size, self.hidden_size, self.feature_size
        kind, lead = self.form.redistribution, leading(self.members)

        def empty(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*lead, *shape, **factory))

        self.W_i, self.b_i = empty(M, K, F), empty(M, K)
        shapes: dict[str, tuple[str, dict[str, tuple[int, ...]]]] = {
            "W_o": (self.form.outlet, {"gate": (K, F)}),
            "b_o": (self.form.outlet, {"gate": (K,), "constant": (K,)}),
            "W_r": (kind, {"dynamic": (K, K, F), "outer": (2, K, F)}),
            "b_r": (kind, {"outer": (2, K)}),
            "B_r": (kind, {"dynamic": (K, K), "outer": (K, K), "static": (K, K)}),
            START: (str(self.initial_state), {"learned": (K,)}),
        }
        for name, (choice, by_choice) in shapes.items():
            shape = by_choice.get(choice)
            self.register_parameter(name, None if shape is None else empty(*shape))

    @torch.no_grad()
    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Initialise as the paper does: R near the identity, outlets nearly closed, the rest orthogonal."""
        sources = generators(self.members, seeds)
        for W in (self.W_i, self.W_o):
            if W is not None:
                draw(W, self.members, sources, orthogonal)
        self.b_i.zero_()
        if self.b_o is not None:
            self.b_o.fill_(self.output_bias)
        if self.W_r is not None:
            draw(self.W_r, self.members, sources, orthogonal)
            # Small compared with B_r, so that R hardly depends on time when learning starts.
            self.W_r.mul_(1.0 if self.stay is None else 0.01)
        if self.b_r is not None:
            self.b_r.fill_(1.0)
        if self.B_r is not None and has_values(self.B_r):
            self._reset_redistribution(self.B_r, sources)
        if self.c0 is not None:
            self.c0.fill_(self.learned_from)

    def _reset_redistribution(self, B_r: Tensor, sources: list[torch.Generator | None]) -> None:
        if self.stay is not None:
            everywhere = torch.ones(self.hidden_size, self.hidden_size, dtype=torch.bool)
            mask = everywhere if self.mask is None else self.mask.cpu()
            B_r.copy_(stay_logits(self.stay, self.form.redistribution_norm, mask))
        elif self.form.redistribution == "dynamic" and self.feature_size > 0:
            B_r.zero_()
        else:  # nothing else varies the logits, and zeros would never leave the kink of the ReLU
            draw(B_r, self.members, sources, orthogonal)

    def weights(self) -> Weights:
        """The tensors as `ops` takes them."""
        W_r, b_r, B_r = self.W_r, self.b_r, self.B_r
        return Weights(self.W_i, self.b_i, self.W_o, self.b_o, W_r, b_r, B_r, self.mask, self.hypernetwork)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        if prefix + LOG_START in state_dict:  # weights of version 0.1.0
            state_dict[prefix + START] = torch.exp(state_dict.pop(prefix + LOG_START))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def start(self) -> None:
        """Reset a hypernetwork that has a state, because a new sequence begins."""
        reset_state = getattr(self.hypernetwork, "reset_state", None)
        if reset_state is not None:
            reset_state()

    def first_state(self, batch: int) -> Tensor:
        """The state before the first step, (B, K) or (E, B, K): zero, an amount per cell, or learned."""
        if self.c0 is not None:
            return projected(self.c0).unsqueeze(-2).expand(*leading(self.members), batch, -1)
        value = self.initial_state if isinstance(self.initial_state, float) else 0.0
        return self.W_i.new_full((*leading(self.members), batch, self.hidden_size), value)

    def extra_repr(self) -> str:
        form = self.form
        parts = [f"{self.mass_size}, {self.aux_size}, {self.hidden_size}"]
        parts += [f"static_size={self.static_size}"] if self.static_size else []
        parts += [f"redistribution={form.redistribution}, redistribution_norm={form.redistribution_norm}"]
        parts += [f"input_norm={form.input_norm}, gates_see={form.gates_see}"]
        parts += [f"members={self.members}"] if self.members is not None else []
        parts += ["masked"] if self.mask is not None else []
        parts += [] if self.check else ["check=False"]
        parts += [f"outlet={form.outlet}"] if form.outlet != "gate" else []
        parts += ["state_norm=none"] if form.state_norm == "none" else []
        parts += ["state_norm=batch: samples influence each other"] if form.state_norm == "batch" else []
        parts += [f"NOT CONSERVING: {', '.join(form.not_conserving)}"] if form.not_conserving else []
        return ", ".join(parts)

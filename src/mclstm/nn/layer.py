"""MCLSTM: the sequence layer, with the manners of `nn.LSTM`."""

from collections.abc import Iterable, Sequence
from typing import Literal, Never

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from mclstm.nn.arguments import full_precision, one_of
from mclstm.nn.door import Layout, arrange
from mclstm.nn.ensemble_dim import Seeds
from mclstm.nn.flows import Flows, backend_flows, reference_flows
from mclstm.nn.from_lstm import packed_like, padded, refuse_keyword
from mclstm.nn.gates import GateOptions, Gates, Norm, Outlet, Redistribution, StateNorm
from mclstm.nn.trace import Trace, trace
from mclstm.ops import dispatch
from mclstm.ops.ledger import audit
from mclstm.ops.problem import Problem

__all__ = ["MCLSTM"]

Input = Tensor | None
Steps = Tensor | PackedSequence | None
Lengths = Tensor | Sequence[int] | None


class MCLSTM(nn.Module):
    """A recurrent layer that conserves mass: what flows in is stored or flows out.

    With states as rows (the paper writes the transpose, R c):

        m_t = c_{t-1} R_t + x_t i_t        mass after redistribution and inflow
        h_t = o_t * m_t                    outflow of every cell
        c_t = m_t - h_t                    what stays

    i_t = norm(W_i z_t + b_i), o_t = σ(W_o z_t + b_o) and R_t = norm(W_r z_t + B_r) see the features
    z_t = [a_t, static, c_{t-1} / |c_{t-1}|_1, x_t], as far as `gates_see` names them.

    Args:
        mass_size: M, mass inputs per step; 0 for closed systems.
        aux_size: A, auxiliary inputs per step.
        hidden_size: K, cells.
        static_size: S, auxiliary inputs that are given once per sequence.
        redistribution: "dynamic" (a matrix each step), "static" (one matrix), "outer" (two vectors each step
            times one matrix), "identity" (cells do not exchange), or a module (x, a, c) -> (B, K, K) logits,
            such as `Hypernetwork`. A module also sees the static inputs, behind the auxiliary ones: its a is
            (B, A + S). It may have a state; its `reset_state()`, if any, is called when a sequence starts
            without c0. With members it has as many.
        redistribution_norm, input_norm: how logits become shares: "softmax", "sigmoid", "relu".
        gates_see: any of "aux", "state", "mass"; static inputs belong to "aux".
        mask: (K, K) bool, row = from, column = to; False forbids a transfer.
        initial_state: "zero", "learned" (an amount per cell, never negative), or an amount for each cell.
        learned_from: the amount in each cell before a learned start is trained; 0 can be left again.
        outlet: "gate"; "constant", a share of each cell that is learned and never changes, o = σ(b_o); or
            "none", a closed system: h is 0 and c_t = m_t.
        stay: share of mass that stays in its cell at initialisation; None initialises as the paper's
            hydrology experiments do.
        output_bias: initial b_o; -3 keeps the outlets nearly closed.
        state_norm: how the gates see the cells: "sample", c / |c|_1; "none", the raw cells; "batch"
            reproduces the published hydrology code, in which the samples of a batch influence each other
            (`layer.batch_independent` is then False).
        not_conserving: the paper's ablations, any of "input", "redistribution", "output"; breaks conservation
            on purpose, and `layer.conserving` says so.
        backend: "reference", "torch", "native", or "auto", the fastest that can compute the layer.
        members: E, how many independent layers run together. Every parameter leads with E; x (T, B, M),
            a (T, B, A), static (B, S) and c0 (B, K) are shared by all members, or lead with E where each has
            its own; h is (E, T, B, K), c_n (E, B, K), and so on for all results. A member's results and
            gradients are those of the layer alone, within rounding. A mask and lengths are shared.
        seeds: one number or torch.Generator per member: the member is initialised as a layer built alone
            after `torch.manual_seed` of that number.
        allow_negative_mass: accept negative x and c0; the ledger still closes, the bounds no longer hold.
        check: look at the values of every call and refuse NaN, infinities and negative mass. False saves the
            look, and is needed under `torch.vmap` over samples, where no value can be looked at.
        batch_first: (B, T, .) instead of (T, B, .).

    >>> layer = MCLSTM(mass_size=1, aux_size=2, hidden_size=4)
    >>> x, a = torch.rand(30, 8, 1), torch.randn(30, 8, 2)
    >>> h, c = layer(x, a)
    >>> h.shape, c.shape
    (torch.Size([30, 8, 4]), torch.Size([8, 4]))
    >>> torch.allclose(x.sum((0, 2)), h.sum((0, 2)) + c.sum(-1))
    True

    >>> h, c = MCLSTM(1, 2, 4, members=10, seeds=range(10))(x, a)
    >>> h.shape, c.shape
    (torch.Size([10, 30, 8, 4]), torch.Size([10, 8, 4]))
    """

    def __init__(
        self,
        mass_size: int,
        aux_size: int,
        hidden_size: int,
        *,
        static_size: int = 0,
        redistribution: Redistribution | nn.Module = "dynamic",
        redistribution_norm: Norm = "softmax",
        input_norm: Norm = "softmax",
        gates_see: Iterable[str] = ("aux", "state"),
        mask: Tensor | None = None,
        initial_state: Literal["zero", "learned"] | float = "zero",
        learned_from: float = 1.0,
        outlet: Outlet = "gate",
        stay: float | None = 0.9,
        output_bias: float = -3.0,
        state_norm: StateNorm = "sample",
        not_conserving: Iterable[str] = (),
        members: int | None = None,
        seeds: Seeds | None = None,
        backend: str = "auto",
        allow_negative_mass: bool = False,
        check: bool = True,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **others: Never,
    ) -> None:
        super().__init__()
        for name in others:
            refuse_keyword("MCLSTM", name, "help(mclstm.MCLSTM) lists its keywords")
        self.backend = one_of("backend", backend, dispatch.BACKENDS)
        self.batch_first = batch_first
        options: GateOptions = {
            "static_size": static_size,
            "redistribution": redistribution,
            "redistribution_norm": redistribution_norm,
            "input_norm": input_norm,
            "gates_see": gates_see,
            "mask": mask,
            "initial_state": initial_state,
            "learned_from": learned_from,
            "outlet": outlet,
            "stay": stay,
            "output_bias": output_bias,
            "state_norm": state_norm,
            "not_conserving": not_conserving,
            "allow_negative_mass": allow_negative_mass,
            "check": check,
            "members": members,
            "seeds": seeds,
            "device": device,
            "dtype": dtype,
        }
        self.gates = Gates(mass_size, aux_size, hidden_size, options)

    @property
    def conserving(self) -> bool:
        """Whether mass is conserved; False only for the ablations of `not_conserving`."""
        return not self.gates.form.not_conserving

    @property
    def batch_independent(self) -> bool:
        """Whether a sample's result does not depend on its batch; False only for `state_norm="batch"`."""
        return self.gates.form.state_norm != "batch"

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Initialise again, as the constructor did."""
        self.gates.reset_parameters(seeds)

    def forward(
        self,
        x: Steps,  # (T, B, M)
        a: Steps = None,  # (T, B, A)
        c0: Input = None,  # (B, K)
        *,
        static: Input = None,  # (B, S)
        lengths: Lengths = None,  # (B,)
    ) -> tuple[Tensor | PackedSequence, Tensor]:  # (T, B, K), (B, K)
        """Outflow of every cell at every step, and what is stored at the end of each sequence.

        Unbatched inputs (T, M), (T, A), (K,), (S,) are accepted. x may be None: nothing flows in.
        Where x and a are PackedSequences, the outflow is one too; all other methods give tensors.
        """
        problem, layout = self._arrange(x, a, c0, static, lengths)
        h, c = self._run(problem)
        outflow, steps = layout.outward(h), a if x is None else x
        shown = (
            packed_like(steps, outflow, self.batch_first) if isinstance(steps, PackedSequence) else outflow
        )
        return shown, layout.state(c.select(-3, -1))

    def last(
        self,
        x: Steps,  # (T, B, M)
        a: Steps = None,  # (T, B, A)
        c0: Input = None,  # (B, K)
        *,
        static: Input = None,  # (B, S)
        lengths: Lengths = None,  # (B,)
    ) -> tuple[Tensor, Tensor]:  # (B, K), (B, K)
        """Outflow of each sequence's last step, and what is stored after it; arguments as for `forward`.

        The same numbers as `forward` gives, with less memory and time: the other outflows are not kept.

        >>> layer, x = MCLSTM(1, 0, 3), torch.rand(5, 2, 1)
        >>> torch.equal(layer.last(x)[0], layer(x)[0][-1])
        True
        """
        problem, layout = self._arrange(x, a, c0, static, lengths)
        with full_precision(problem.x.device):
            h, c = dispatch.last(self.backend, problem)
        return layout.state(h), layout.state(c)

    def trajectory(
        self,
        x: Steps,  # (T, B, M)
        a: Steps = None,  # (T, B, A)
        c0: Input = None,  # (B, K)
        *,
        static: Input = None,  # (B, S)
        lengths: Lengths = None,  # (B,)
    ) -> tuple[Tensor, Tensor]:  # (T, B, K), (T + 1, B, K)
        """Outflows and cells at every step, c[0] the initial state; arguments as for `forward`."""
        problem, layout = self._arrange(x, a, c0, static, lengths)
        h, c = self._run(problem)
        return layout.outward(h), layout.outward(c)

    def flows(
        self,
        x: Steps,  # (T, B, M)
        a: Steps = None,  # (T, B, A)
        c0: Input = None,  # (B, K)
        *,
        static: Input = None,  # (B, S)
        lengths: Lengths = None,  # (B,)
    ) -> Flows:
        """Every gate, transfer, inflow, outflow and storage of every step; arguments as for `forward`.

        Computed by the reference, whatever the backend, and differentiable; `audit` looks at the backend.

        >>> layer = MCLSTM(1, 0, 3)
        >>> flows = layer.flows(torch.rand(5, 2, 1))
        >>> flows.transfers.shape, flows.residual.dtype
        (torch.Size([5, 2, 3, 3]), torch.float64)
        """
        problem, layout = self._arrange(x, a, c0, static, lengths)
        with full_precision(problem.x.device):
            return reference_flows(problem, layout)

    def audit(
        self,
        x: Steps,  # (T, B, M)
        a: Steps = None,  # (T, B, A)
        c0: Input = None,  # (B, K)
        *,
        static: Input = None,  # (B, S)
        lengths: Lengths = None,  # (B,)
    ) -> Flows:
        """The flows if every ledger closes, else a ConservationError that names the first sample and step.

        The layer's own backend is audited: h and c are its results, the gates are those of the reference.
        Arguments as for `forward`.
        """
        problem, layout = self._arrange(x, a, c0, static, lengths)
        with torch.no_grad(), full_precision(problem.x.device):
            flows = backend_flows(self.backend, problem, layout)
        audit(flows.ledger, flows.h.shape[-1], problem.x.dtype)
        return flows

    def trace(
        self,
        x: Input,  # (T, B, M)
        a: Input = None,  # (T, B, A)
        c0: Input = None,  # (B, K)
        *,
        static: Input = None,  # (B, S)
        lengths: Lengths = None,  # (B,)
        c: Tensor | None = None,  # (T + 1, B, K)
    ) -> Trace:
        """Where the mass came from and where it went, see `Trace`; arguments as for `forward`.

        c: what `trajectory` gave for the same call, batch second; without it the layer runs once more.

        >>> layer, x = MCLSTM(1, 0, 3), torch.rand(5, 2, 1)
        >>> trace = layer.trace(x)
        >>> trace.behind(torch.tensor([4])).x.shape  # what each step gave to the last outflow
        torch.Size([5, 2, 1, 1])
        >>> torch.allclose(trace.ages(3).sum(2).float(), layer(x)[0])
        True
        """
        problem, layout = self._arrange(x, a, c0, static, lengths)
        with full_precision(problem.x.device):
            return trace(self.backend, problem, layout, c)

    def _arrange(
        self, x: Steps, a: Steps, c0: Input, static: Input, lengths: Lengths
    ) -> tuple[Problem, Layout]:
        if isinstance(x, PackedSequence) or isinstance(a, PackedSequence):
            x, a, lengths = padded(x, a, lengths, self.gates.members, self.batch_first)
        return arrange(self.gates, x, a, c0, static, lengths, batch_first=self.batch_first)

    def _run(self, problem: Problem) -> tuple[Tensor, Tensor]:  # (T, B, K), (T + 1, B, K)
        with full_precision(problem.x.device):
            return dispatch.BACKENDS[self.backend](problem)

    def extra_repr(self) -> str:
        return f"backend={self.backend}" + (", batch_first=True" if self.batch_first else "")
